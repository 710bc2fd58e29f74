"""Where the time of our slowest masks goes: the 1 % that take longest, by what they had to make first.

    python benchmarks/profile_masks.py               # the schemas of bench_masks.py
    python benchmarks/profile_masks.py --sample 300

Timers stand around four things that a mask of a new state may need: rows of lexer states (derivatives, in Python),
inside rows (a walk of the vocabulary for a new lexer state), rules, and what is left: the kernel.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from typing import Any

from bench_masks import TOKENIZER, data_folder  # sets the paths of this checkout

PARTS = {"expand": "rows of lexer states", "_make_inside": "walks for inside rows", "_expand_rule": "rules"}
REST = "kernel and call"
spent: Counter[str] = Counter()
open_timers: list[list[float]] = []


def timed(owner: type, name: str) -> None:
    """Replace a method by one that adds its own time, without that of timed methods below it, to `spent`."""
    original = getattr(owner, name)

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        open_timers.append([time.perf_counter(), 0.0])
        try:
            return original(*args, **kwargs)
        finally:
            began, below = open_timers.pop()
            took = time.perf_counter() - began
            spent[PARTS[name]] += took - below
            if open_timers:
                open_timers[-1][1] += took

    setattr(owner, name, wrapper)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    import numpy as np
    import tokenizers
    from oracles import datasets

    import constrain
    from constrain.automata.lexicon import Lexicon
    from constrain.automata.machine import Machine

    folder = data_folder()
    path = folder / TOKENIZER
    tokenizer = tokenizers.Tokenizer.from_file(str(path))
    vocabulary = constrain.Vocabulary.from_tokenizer_json(path)
    bitmask = np.zeros((1, -(-vocabulary.vocab_size // 32)), dtype=np.int32)
    for owner, name in ((Lexicon, "expand"), (Machine, "_make_inside"), (Machine, "_expand_rule")):
        timed(owner, name)
    masks: list[tuple[float, dict[str, float], str, int]] = []
    for row in datasets.sample_dev(folder, options.sample, options.seed):
        try:
            compiled = constrain.compile(constrain.json_schema(row["schema"], property_order="any"), vocabulary)
        except constrain.ConstrainError:
            continue
        for case in (case for case in row["tests"] if case["valid"]):
            matcher = compiled.matcher()
            ids = tokenizer.encode(datasets.instance_text(case["data"]), add_special_tokens=False).ids
            for at, token_id in enumerate(ids):
                spent.clear()
                began = time.perf_counter()
                matcher.fill_next_token_bitmask(bitmask)
                took = time.perf_counter() - began
                masks.append((took, dict(spent) | {REST: took - sum(spent.values())}, row["id"], at))
                matcher.accept_token(token_id)
    masks.sort(key=lambda mask: -mask[0])
    for share in (1.0, 0.1, 0.01):
        chosen = masks[: max(1, int(share * len(masks)))]
        total = sum(mask[0] for mask in chosen)
        print(
            f"\nslowest {100 * share:.0f} % of {len(masks)} masks: {1e3 * total:.0f} ms, from {1e6 * chosen[-1][0]:.0f} us on"
        )
        for part in (*PARTS.values(), REST):
            print(f"  {part:24} {100 * sum(mask[1].get(part, 0.0) for mask in chosen) / total:5.1f} %")


if __name__ == "__main__":
    main()
