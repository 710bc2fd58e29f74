"""`constrain warmup`: compile the kernels once, so that no answer waits for it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from constrain.compiled import CompiledGrammar
    from constrain.vocabulary import Vocabulary

# Uses what schemas use: rules, counters, sets of keys, shared strings and numbers, literals.
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 5},
        "kind": {"enum": ["a", "b"]},
        "items": {"type": "array", "items": {"$ref": "#"}, "minItems": 1, "maxItems": 3},
        "size": {"type": "number", "minimum": 0},
    },
    "required": ["name"],
    "additionalProperties": {"type": "integer"},
}
DOCUMENT = b'{"name":"x","items":[{"name":"y","kind":"a"}],"size":1.5,"other":2}'


def warmup() -> None:
    """Compile the kernels (once for each version; they are cached on disk)."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    began = time.perf_counter()
    console = Console(stderr=True)
    columns = (TextColumn("{task.description:<22}"), BarColumn(), TextColumn("{task.completed}/{task.total}"))
    with Progress(*columns, TimeElapsedColumn(), console=console) as progress:
        task = progress.add_task("loading numba", total=1 + len(STEPS))

        def show(done: int, steps: int, label: str) -> None:
            progress.update(task, completed=done, total=steps + len(STEPS), description=label)

        compile_kernels(show)
        state: dict[str, CompiledGrammar] = {}
        for label, step in STEPS:
            progress.update(task, description=label)
            step(state)
            progress.advance(task)
    console.print(f"ready in {time.perf_counter() - began:.1f} s")


def compile_kernels(progress: Callable[[int, int, str], None] | None = None) -> None:
    """Compile all kernels; they are all there is to compile, the steps after it make sure of that."""
    from constrain.automata.warmup import warm

    warm(progress)


def _vocabulary() -> Vocabulary:
    from constrain.vocabulary import Vocabulary

    words = [b'{"', b'":', b'", "', b"name", b"\xc3\xa9", b"12", b"  ", b'"}']
    tokens = [bytes([byte]) for byte in range(256)] + words + [b"<end>"]
    end = len(tokens) - 1
    return Vocabulary.from_tokens(tokens, eos_token_ids=[end])


def _compile_regex(_: dict[str, CompiledGrammar]) -> None:
    from constrain.compiled import compile_grammar
    from constrain.grammars.regex import regex

    _walk(compile_grammar(regex("(a|bc){1,40}[^x]*é"), _vocabulary()), "abcaé".encode())


def _compile_schema(state: dict[str, CompiledGrammar]) -> None:
    from constrain.compiled import compile_grammar
    from constrain.grammars.json_schema import json_schema

    state["schema"] = compile_grammar(json_schema(SCHEMA), _vocabulary())


def _walk_schema(state: dict[str, CompiledGrammar]) -> None:
    _walk(state["schema"], DOCUMENT)


def _walk(compiled: CompiledGrammar, data: bytes) -> None:
    state = compiled.start
    for byte in data:
        compiled.bitmask(state)
        state = compiled.advance(state, byte)
    compiled.is_accepting(state)
    compiled.next_bytes(state)


def _fill_batch(state: dict[str, CompiledGrammar]) -> None:
    import numpy as np

    compiled = state["schema"]
    bitmask = np.zeros((2, -(-compiled.vocabulary.vocab_size // 32)), dtype=np.int32)
    compiled.fill_bitmasks([compiled.start, compiled.advance_bytes(compiled.start, DOCUMENT[:9])], bitmask)


def _follow_matcher(state: dict[str, CompiledGrammar]) -> None:
    matcher = state["schema"].matcher()
    matcher.forced_bytes()
    matcher.forced_tokens()
    for byte in DOCUMENT:
        matcher.accept_token(byte)
    matcher.rollback(3)


def _budget(state: dict[str, CompiledGrammar]) -> None:
    compiled = state["schema"]
    compiled.completion(compiled.start)
    compiled.allowed_within(compiled.start, compiled.distance(compiled.start) + 3)


STEPS: list[tuple[str, Callable[[dict[str, CompiledGrammar]], None]]] = [
    ("masks of a pattern", _compile_regex),
    ("compiling a schema", _compile_schema),
    ("masks of a schema", _walk_schema),
    ("batches", _fill_batch),
    ("forced text", _follow_matcher),
    ("budgets", _budget),
]
