"""From process start to the first mask, and the one-time compilation of the kernels.

    python benchmarks/bench_start.py            # with warm caches
    python benchmarks/bench_start.py --cold     # also once with an empty cache of kernels (about 15 s)

Every figure is of fresh processes; the clock starts in the parent, before the child exists. Warm means as on a user's
machine: Python's bytecode, numba's kernels and the vocabulary are cached, also where the environment forbids bytecode.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

from bench_masks import ROOT, TOKENIZER, data_folder  # sets the paths of this checkout

os.environ["PYTHONPATH"] = str(ROOT)

IMPORT = "import constrain, sys, time; print(time.time()); assert not {'numba', 'torch'} & set(sys.modules)"
FIRST_MASK = """
import constrain, numpy, sys, time
vocabulary = constrain.Vocabulary.from_tokenizer_json(sys.argv[1])
schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["a"]}
matcher = constrain.compile(constrain.json_schema(schema), vocabulary).matcher()
bitmask = numpy.zeros((1, -(-vocabulary.vocab_size // 32)), dtype=numpy.int32)
matcher.fill_next_token_bitmask(bitmask)
print(time.time())
"""


def seconds(code: str, *arguments: str, **environment: str) -> float:
    """Return the seconds from before the process starts to the time that it prints."""
    began = time.time()
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, env=os.environ | environment, check=True, text=True)
    return float(done.stdout) - began


def row(name: str, values: list[float]) -> None:
    values = sorted(values)
    print(f"{name:46} {statistics.median(values):7.3f} s   ({values[0]:.3f} to {values[-1]:.3f}, {len(values)} runs)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cold", action="store_true", help="also compile the kernels anew")
    parser.add_argument("--runs", type=int, default=9)
    options = parser.parse_args()

    tokenizer = str(data_folder() / TOKENIZER)
    with tempfile.TemporaryDirectory() as bytecode:
        os.environ |= {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": bytecode}
        measure(tokenizer, options.runs, options.cold)


def measure(tokenizer: str, runs: int, cold: bool) -> None:
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}")
    seconds(FIRST_MASK, tokenizer)  # fills the caches
    row("process start to `import constrain` done", [seconds(IMPORT) for _ in range(runs)])
    row("process start to the first mask (Llama 3.1)", [seconds(FIRST_MASK, tokenizer) for _ in range(runs)])
    if cold:
        with tempfile.TemporaryDirectory() as empty:
            row("the same with no compiled kernels", [seconds(FIRST_MASK, tokenizer, NUMBA_CACHE_DIR=empty)])


if __name__ == "__main__":
    main()
