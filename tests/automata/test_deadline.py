"""`max_compile_seconds` is looked at while a constraint is compiled, not only afterwards."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import pytest

from constrain import deadline
from constrain.automata.warmup import warm
from constrain.compiled import compile_grammar
from constrain.errors import EmptyLanguageError, LimitExceededError
from constrain.grammars.json_schema import json_schema
from constrain.grammars.regex import regex
from constrain.ir import And, Grammar, Lexeme
from constrain.limits import Limits
from constrain.vocabulary import Vocabulary
from tests.byte_tokens import BYTES

A_ONLY = Vocabulary.from_tokens([b"a", None], eos_token_ids=[1])
WIDE = json_schema({"type": "object", "properties": {f"p{i}": {"type": "null"} for i in range(500)}})
LONG = {
    "a rule with many members": lambda: compile_grammar(WIDE, BYTES, LIMITS),
    "many alternatives": lambda: compile_grammar(regex("|".join(f"[ab]{i}*" for i in range(500))), BYTES, LIMITS),
    "an intersection": lambda: compile_grammar(
        Grammar(Lexeme(And(tuple(regex(f"(a{{{size}}})*b").start.pattern for size in (7, 11, 13))))), BYTES, LIMITS
    ),
}
LIMITS = Limits(max_compile_seconds=20.5)


@pytest.fixture(autouse=True)
def warm_kernels() -> None:
    warm()  # it looks at the clock too, once on a machine


@pytest.mark.parametrize("name", LONG)
def test_compilation_ends_soon_after_the_limit(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = itertools.count()  # each look at the clock takes a second
    monkeypatch.setattr(deadline, "time", SimpleNamespace(perf_counter=lambda: next(ticks)))
    with pytest.raises(LimitExceededError, match=r"max_compile_seconds=20\.5"):
        LONG[name]()
    assert next(ticks) < 30


def test_the_search_for_what_a_vocabulary_misses_ends_too(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = itertools.count()
    monkeypatch.setattr(deadline, "time", SimpleNamespace(perf_counter=lambda: next(ticks)))
    with pytest.raises(EmptyLanguageError):
        compile_grammar(regex("(b{2}){200}|(c{2}){300}"), A_ONLY, LIMITS)
    assert next(ticks) < 30


def test_the_sooner_deadline_holds() -> None:
    with pytest.raises(LimitExceededError, match="max_compile_seconds=0"), deadline.within(0), deadline.within(60):
        deadline.check()
    deadline.check()
