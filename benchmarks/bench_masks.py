"""Masks of real schemas: ours, llguidance and xgrammar, side by side on the same schemas, vocabulary and tokens.

    python benchmarks/bench_masks.py                       # 100 schemas of MaskBench dev, all three engines
    python benchmarks/bench_masks.py --engines constrain,llguidance --sample 300 --seed 1 --json result.json

Each engine lives in a process of its own. A schema goes to one engine after the other before the next schema begins, so
that a noisy minute hits all of them; an engine that hangs is killed and started again, and the table says so.

Timed, with `perf_counter_ns` around exactly one Python call each: *compile* (schema to a matcher that can be asked),
*first mask* (compile and the first fill), *mask* (one fill), *advance* (one accepted token). Tokens are those of the
schema's valid instances. Invalid instances are only read, to count those that are accepted.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
ENGINES = ("constrain", "llguidance", "xgrammar")
TOKENIZER = Path("tokenizers/llama3_1/tokenizer.json")

os.environ.setdefault("NUMBA_CACHE_DIR", str(ROOT / ".numba_cache"))
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]


def data_folder() -> Path:
    """Return the folder of data made by others, or end with a word on where it was looked for."""
    from oracles import datasets

    folder = datasets.data_folder()
    if folder is None:
        raise SystemExit(datasets.MISSING)
    return folder


# Engines: `compile(schema)` gives a matcher or raises, `fill`, `accept` and `ended` work on it;
# `keep` makes of a fresh one what `again` gives fresh ones from, without compiling.


class Constrain:
    def __init__(self, path: Path, options: argparse.Namespace) -> None:
        import numpy as np

        from constrain.compiled import compile_grammar
        from constrain.grammars.json_schema import json_schema
        from constrain.vocabulary import Vocabulary

        self.vocabulary = Vocabulary.from_tokenizer_json(path)
        self.order = options.property_order
        self.json_schema, self.compile_grammar = json_schema, compile_grammar
        self.bitmask = np.zeros((1, (self.vocabulary.vocab_size + 31) // 32), dtype=np.int32)

    def compile(self, schema: Any) -> Any:
        grammar = self.json_schema(schema, property_order=self.order)
        return self.compile_grammar(grammar, self.vocabulary).matcher()

    def keep(self, matcher: Any) -> Any:
        return matcher.copy()

    def again(self, kept: Any) -> Any:
        return kept.copy()

    def fill(self, matcher: Any) -> None:
        matcher.fill_next_token_bitmask(self.bitmask, 0)

    def accept(self, matcher: Any, token_id: int) -> bool:
        return bool(matcher.try_accept_token(token_id))

    def ended(self, matcher: Any) -> bool:
        return bool(matcher.is_accepting())


class LLGuidance:
    def __init__(self, path: Path, options: argparse.Namespace) -> None:
        import llguidance
        import numpy as np

        self.matcher_class = llguidance.LLMatcher
        # JSON slices are its own means for masks of JSON.
        self.tokenizer = llguidance.LLTokenizer(str(path), slices=llguidance.LLTokenizer.json_slices())
        self.bitmask = np.zeros((self.tokenizer.vocab_size + 31) // 32, dtype=np.int32)
        self.pointer, self.size = self.bitmask.ctypes.data, self.bitmask.nbytes

    def compile(self, schema: Any) -> Any:
        matcher = self.matcher_class(self.tokenizer, self.matcher_class.grammar_from_json_schema(json.dumps(schema)))
        if matcher.is_error():
            raise RuntimeError(matcher.get_error())
        return matcher

    def keep(self, matcher: Any) -> Any:
        return matcher.deep_copy()

    def again(self, kept: Any) -> Any:
        # A refusal leaves a matcher in its error state for good.
        return kept.deep_copy()

    def fill(self, matcher: Any) -> None:
        # The call below its NumPy helper, which costs 2.5 us by itself.
        matcher.unsafe_compute_mask_ptr(self.pointer, self.size)

    def accept(self, matcher: Any, token_id: int) -> bool:
        return bool(matcher.consume_token(token_id))

    def ended(self, matcher: Any) -> bool:
        return bool(matcher.is_accepting())


class XGrammar:
    def __init__(self, path: Path, options: argparse.Namespace) -> None:
        import tokenizers
        import xgrammar

        tokenizer = tokenizers.Tokenizer.from_file(str(path))
        size = tokenizer.get_vocab_size(with_added_tokens=True)
        encoded = [tokenizer.id_to_token(index) or "" for index in range(size)]
        ends = [encoded.index(name) for name in ("<|end_of_text|>", "<|eom_id|>", "<|eot_id|>") if name in encoded]
        info = xgrammar.TokenizerInfo(
            encoded,
            vocab_type=xgrammar.VocabType.BYTE_LEVEL,
            vocab_size=size,
            stop_token_ids=ends,
            add_prefix_space=False,
        )
        self.end = ends[0]
        self.compiler = xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)
        self.matcher_class = xgrammar.GrammarMatcher
        self.bitmask = xgrammar.allocate_token_bitmask(1, size)

    def compile(self, schema: Any) -> Any:
        # strict_mode would close objects and arrays that the schema leaves open.
        self.compiled = self.compiler.compile_json_schema(json.dumps(schema), any_whitespace=True, strict_mode=False)
        return self.matcher_class(self.compiled)

    def keep(self, matcher: Any) -> Any:
        return self.compiled

    def again(self, kept: Any) -> Any:
        return self.matcher_class(kept)

    def fill(self, matcher: Any) -> None:
        matcher.fill_next_token_bitmask(self.bitmask, 0)

    def accept(self, matcher: Any, token_id: int) -> bool:
        return bool(matcher.accept_token(token_id))

    def ended(self, matcher: Any) -> bool:
        return bool(matcher.accept_token(self.end))


CLASSES: dict[str, Any] = {"constrain": Constrain, "llguidance": LLGuidance, "xgrammar": XGrammar}


def measure(engine: Any, job: dict[str, Any]) -> dict[str, Any]:
    """Return the record of one schema on one engine."""
    clock = time.perf_counter_ns
    began = clock()
    try:
        matcher = engine.compile(job["schema"])
    except Exception as error:
        return {"status": "refused", "why": f"{type(error).__name__}: {error}"[:200], "compile": clock() - began}
    compiled = clock()
    engine.fill(matcher)
    first = clock()
    kept = engine.keep(matcher)
    record: dict[str, Any] = {"status": "compiled", "compile": compiled - began, "first": first - began}
    masks: list[int] = []
    advances: list[int] = []
    valid_refused = invalid_accepted = 0
    for tokens in job["valid"]:
        matcher = engine.again(kept)
        for token_id in tokens:
            start = clock()
            engine.fill(matcher)
            filled = clock()
            accepted = engine.accept(matcher, token_id)
            masks.append(filled - start)
            if not accepted:
                break
            advances.append(clock() - filled)
        else:
            start = clock()
            engine.fill(matcher)
            masks.append(clock() - start)
            accepted = engine.ended(matcher)
        valid_refused += not accepted
    for tokens in job["invalid"]:
        matcher = engine.again(kept)
        accepted = all(engine.accept(matcher, token_id) for token_id in tokens) and engine.ended(matcher)
        invalid_accepted += accepted
    return record | {
        "masks": masks,
        "advances": advances,
        "valid_refused": valid_refused,
        "invalid_accepted": invalid_accepted,
    }


def serve(name: str, options: argparse.Namespace) -> None:
    """Be one engine: a job a line on stdin, a record a line on stdout."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what an engine prints must not mix with the records
    engine = CLASSES[name](options.tokenizer, options)
    warm = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["a"]}
    measure(engine, {"schema": warm, "valid": [], "invalid": []})
    out.write("ready\n")
    out.flush()
    for line in sys.stdin:
        out.write(json.dumps(measure(engine, json.loads(line))) + "\n")
        out.flush()


class Worker:
    """One engine's process, started when it is needed."""

    def __init__(self, name: str, options: argparse.Namespace) -> None:
        self.name = name
        self.seconds: float = options.timeout
        self.command = [sys.executable, __file__, "--worker", name, "--tokenizer", str(options.tokenizer)]
        self.command += ["--property-order", options.property_order]
        self.process: subprocess.Popen[bytes] | None = None
        self.rest = b""
        self.log = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the worker

    def line(self, seconds: float) -> bytes | None:
        """Return the next line, None if it takes too long or the process has ended."""
        assert self.process is not None
        assert self.process.stdout is not None
        until = time.monotonic() + seconds
        while b"\n" not in self.rest:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0.0, until - time.monotonic()))
            piece = os.read(self.process.stdout.fileno(), 1 << 20) if ready else b""
            if not piece:
                return None
            self.rest += piece
        line, self.rest = self.rest.split(b"\n", 1)
        return line

    def ask(self, job: dict[str, Any]) -> dict[str, Any]:
        """Return the engine's record of a schema; start the engine again when it hangs or dies."""
        if self.process is None:
            self.rest = b""
            self.log.seek(0)
            self.log.truncate()
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log
            )
            if self.line(600) is None:
                self.close()
                self.log.seek(0)
                printed = self.log.read().decode(errors="replace")[-4000:]
                raise SystemExit(f"{self.name} does not start: {' '.join(self.command)}\n{printed}")
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(job).encode() + b"\n")
            self.process.stdin.flush()
            line = self.line(self.seconds)
        except BrokenPipeError:
            line = None
        if line is not None:
            record: dict[str, Any] = json.loads(line)
            return record
        code = self.process.poll()
        self.close()
        return (
            {"status": "timeout", "why": f"{self.seconds} s"}
            if code is None
            else {"status": "crash", "why": f"exit {code}"}
        )

    def close(self) -> None:
        process, self.process = self.process, None
        if process is not None:
            process.kill()
            process.wait()


# The tables


def quantile(values: list[int], share: float) -> float:
    """Return a quantile, by the nearest rank."""
    ordered = sorted(values)
    return float(ordered[min(len(ordered) - 1, int(share * len(ordered)))]) if ordered else float("nan")


def summary(records: dict[str, dict[str, Any]]) -> dict[str, float]:
    """Return the figures of one engine over the schemas it compiled."""
    good = [record for record in records.values() if record["status"] == "compiled"]
    masks = [value for record in good for value in record["masks"]]
    advances = [value for record in good for value in record["advances"]]
    compiles, firsts = [r["compile"] for r in good], [r["first"] for r in good]
    return {
        "schemas compiled": len(good),
        "refused": sum(r["status"] == "refused" for r in records.values()),
        "timeout or crash": sum(r["status"] in ("timeout", "crash") for r in records.values()),
        "valid refused": sum(r["valid_refused"] for r in good),
        "invalid accepted": sum(r["invalid_accepted"] for r in good),
        "compile p50 ms": quantile(compiles, 0.5) / 1e6,
        "compile p99 ms": quantile(compiles, 0.99) / 1e6,
        "first mask p50 ms": quantile(firsts, 0.5) / 1e6,
        "first mask p99 ms": quantile(firsts, 0.99) / 1e6,
        "masks": len(masks),
        "mask p50 us": quantile(masks, 0.5) / 1e3,
        "mask p90 us": quantile(masks, 0.9) / 1e3,
        "mask p99 us": quantile(masks, 0.99) / 1e3,
        "mask max us": quantile(masks, 1.0) / 1e3,
        "mask mean us": sum(masks) / max(len(masks), 1) / 1e3,
        "advance p50 us": quantile(advances, 0.5) / 1e3,
        "advance p99 us": quantile(advances, 0.99) / 1e3,
        "advance mean us": sum(advances) / max(len(advances), 1) / 1e3,
        "mask+advance mean us": (sum(masks) + sum(advances)) / max(len(masks), 1) / 1e3,
        "all of it ms": (sum(compiles) + sum(masks) + sum(advances)) / 1e6,
    }


def print_table(results: dict[str, dict[str, dict[str, Any]]], title: str, *, ratios: bool) -> None:
    names = list(results)
    figures = {name: summary(records) for name, records in results.items()}
    others = [name for name in names[1:] if ratios]
    print(f"\n{title}")
    print(
        f"{'':22}"
        + "".join(f"{name:>13}" for name in names)
        + "".join(f"{name + '/' + names[0]:>20}" for name in others)
    )
    for row in next(iter(figures.values())):
        values = [figures[name][row] for name in names]
        shown = "".join(
            f"{value:13,.0f}" if value == int(value) else f"{value:13,.2f}" for value in values if value == value
        )
        timed = row.endswith((" us", " ms"))
        factors = [f"{value / values[0]:18.2f} x" for value in values[1 : 1 + len(others)] if timed and values[0]]
        print(f"{row:22}{shown}" + "".join(factors))


def print_worst(results: dict[str, dict[str, dict[str, Any]]], count: int) -> None:
    """Print where each engine's slowest masks are."""
    for name, records in results.items():
        found = [
            (value, key, at)
            for key, r in records.items()
            if r["status"] == "compiled"
            for at, value in enumerate(r["masks"])
        ]
        share = sum(sorted((value for value, _, _ in found), reverse=True)[: max(1, len(found) // 100)]) / max(
            1, sum(v for v, _, _ in found)
        )
        print(f"\n{name}: the slowest 1 % of masks take {100 * share:.0f} % of the time; slowest:")
        for value, key, at in sorted(found, reverse=True)[:count]:
            print(f"  {value / 1e3:12,.1f} us  {key}  mask {at}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engines", default=",".join(ENGINES), help="of " + ", ".join(ENGINES))
    parser.add_argument("--sample", type=int, default=100, help="how many schemas")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="write every record here")
    parser.add_argument("--timeout", type=float, default=40.0, help="seconds for one schema on one engine")
    parser.add_argument(
        "--property-order", default="any", choices=("any", "schema"), help="constrain: as instances write keys in any"
    )
    parser.add_argument("--worst", type=int, default=5, help="how many of the slowest masks to name")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--tokenizer", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        serve(options.worker, options)
        return

    import tokenizers
    from oracles import datasets

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    folder = data_folder()
    options.tokenizer = folder / TOKENIZER
    tokenizer = tokenizers.Tokenizer.from_file(str(options.tokenizer))
    names = options.engines.split(",")
    if unknown := sorted(set(names) - set(ENGINES)):
        parser.error(f"no engine {', '.join(unknown)}; there are {', '.join(ENGINES)}")
    workers = {name: Worker(name, options) for name in names}
    results: dict[str, dict[str, dict[str, Any]]] = {name: {} for name in names}
    rows = datasets.sample_dev(folder, options.sample, options.seed)
    try:
        for done, row in enumerate(rows):
            job: dict[str, Any] = {"schema": row["schema"], "valid": [], "invalid": []}
            for case in row["tests"]:
                text = datasets.instance_text(case["data"])
                job["valid" if case["valid"] else "invalid"].append(
                    tokenizer.encode(text, add_special_tokens=False).ids
                )
            # The engine that goes first changes, so that none always finds the caches of the CPU cold.
            for shift in range(len(names)):
                name = names[(done + shift) % len(names)]
                results[name][row["id"]] = workers[name].ask(job)
            if sys.stderr.isatty():
                print(f"\r{done + 1}/{len(rows)}", end="", file=sys.stderr)
    except KeyboardInterrupt:
        print(f"stopped after {min(len(records) for records in results.values())} schemas; what is known so far:")
    finally:
        for worker in workers.values():
            worker.close()
    report(results, len(rows), options)


def report(results: dict[str, dict[str, dict[str, Any]]], count: int, options: argparse.Namespace) -> None:
    names = list(results)
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    print(f"{count} schemas of MaskBench dev, seed {options.seed}; Llama-3.1 vocabulary; {versions}")
    print(
        f"{platform.processor() or platform.machine()}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, Python {platform.python_version()}"
    )
    print_table(results, "each engine over the schemas it compiles", ratios=False)
    shared = [
        key
        for key in results[names[0]]
        if all(results[name].get(key, {}).get("status") == "compiled" for name in names)
    ]
    common = {name: {key: results[name][key] for key in shared} for name in names}
    if len(names) > 1 and shared:
        print_table(common, f"over the {len(shared)} schemas that all of them compile", ratios=True)
    print_worst(results, options.worst)
    if options.json:
        options.json.write_text(json.dumps({"versions": versions, "seed": options.seed, "results": results}))


def version(name: str) -> str:
    """Return the installed version of an engine."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "(not installed)"


if __name__ == "__main__":
    main()
