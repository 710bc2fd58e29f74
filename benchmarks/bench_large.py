"""Large and hostile constraints: what compiling them, completing them and reading a text of them costs.

    python benchmarks/bench_large.py             # all of them, about a minute
    python benchmarks/bench_large.py required    # those with a word in their name

The vocabulary is the 256 bytes, so that a step is a byte. Every row has a fresh grammar; terminals of earlier rows may
be known already.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import itertools

import constrain

BYTES = constrain.Vocabulary.from_tokens([*(bytes((byte,)) for byte in range(256)), None], eos_token_ids=[256])
Made = tuple[Callable[[], constrain.Grammar], bytes | None]


def pattern(text: str, data: bytes) -> Made:
    return lambda: constrain.regex(text), data


def schema(value: object, data: bytes | None = None, order: str = "schema") -> Made:
    return lambda: constrain.json_schema(value, property_order=order), data


def members(count: int, required: int) -> dict[str, object]:
    names = [f"property_{i}" for i in range(count)]
    properties = {name: {"type": "integer"} for name in names}
    return {"type": "object", "properties": properties, "required": names[:required], "additionalProperties": False}


def letters(size: int) -> bytes:
    draw = random.Random(0)
    return bytes(draw.choice(b"ab") for _ in range(size))


def strings(count: int, least: int) -> dict[str, object]:
    return {"type": "array", "items": {"type": "string", "minLength": least}, "minItems": count}


ROWS = {
    "repeat .{1,100000}": pattern(".{1,100000}", b"a" * 100_000),
    "repeat .{1,100000}x": pattern(".{1,100000}x", b"a" * 100_000 + b"x"),
    "repeat (a|aa){1,5000}": pattern("(a|aa){1,5000}", b"a" * 9_000),
    "repeat (a|aa){1000,5000}": pattern("(a|aa){1000,5000}", b"a" * 9_000),
    "repeat (a{1,1000}b?){1,1000}": pattern("(a{1,1000}b?){1,1000}", b"a" * 3_000),
    "repeat [ab]*a[ab]{300}c": pattern("[ab]*a[ab]{300}c", letters(3_000)),
    "repeat (.{0,50}a){30}(.{0,60}b){40}": pattern("(.{0,50}a){30}(.{0,60}b){40}", letters(1_000)),
    "string maxLength 100000 with a pattern": schema(
        {"type": "string", "maxLength": 100_000, "pattern": "^[a-z]+$"}, b'"' + b"a" * 20_000 + b'"'
    ),
    "string minLength 5000 with a pattern": schema({"type": "string", "minLength": 5_000, "pattern": "^[a-z]+$"}),
    "string minLength 100000": schema({"type": "string", "minLength": 100_000}),
    "300 strings of minLength 300": schema(strings(300, 300)),
    "array minItems 5000": schema({"type": "array", "items": {"type": "integer"}, "minItems": 5_000}),
    "object, 5000 optional": schema(members(5_000, 0)),
    "object, 5000 optional, any order": schema(members(5_000, 0), order="any"),
    "object, 2000 required": schema(members(2_000, 2_000)),
    "object, 2000 required, any order": schema(members(2_000, 2_000), order="any"),
}


def measure(name: str, make: Callable[[], constrain.Grammar], data: bytes | None) -> str:
    """Return a row of the table."""
    marks = [time.perf_counter()]
    try:
        compiled = constrain.compile(make(), BYTES)
        marks.append(time.perf_counter())
        completion = BYTES.decode(compiled.completion(compiled.start))
        marks.append(time.perf_counter())
        compiled.accepts(completion if data is None else data)
        marks.append(time.perf_counter())
    except constrain.LimitExceededError as error:
        return f"{name:42} {error.limit} after {time.perf_counter() - marks[0]:.2f} s"
    costs = " ".join(f"{after - before:9.3f}" for before, after in itertools.pairwise(marks))
    return f"{name:42} {costs}   {len(completion):7} {len(completion if data is None else data):7}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("word", nargs="?", default="")
    word = parser.parse_args().word
    constrain.compile(constrain.regex("a"), BYTES)  # the kernels
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}")
    print(f"{'seconds':42} {'compile':>9} {'complete':>9} {'read':>9}   {'bytes':>7} {'read':>7}")
    for name, (make, data) in ROWS.items():
        if word in name:
            print(measure(name, make, data), flush=True)


if __name__ == "__main__":
    main()
