"""Acceptance 7: the cases rewritten from public bug reports pass, or are refused with a typed error; a table says which.

Kinds without a front end yet are listed, not tested; `behaviour` cases are covered where the table of `COVERED` says.
"""

import pytest
from oracles import datasets
from oracles.surveys import TookTooLongError, at_most
from oracles.validator import Validator

from constrain.compiled import compile_grammar
from constrain.errors import ConstrainError
from constrain.grammars.json_schema import json_schema
from constrain.grammars.regex import regex

SECONDS = 60
COVERED = {
    "E04": "tests/acceptance/test_cases.py::test_every_split_of_a_text",
    "E11": "tests/acceptance/test_cases.py::test_runs_of_blanks_are_bounded",
}


def grammars_of(case):
    """The front ends a case is run through, by name; both orders of keys for a schema."""
    if case["kind"] == "json_schema":
        return {
            "schema order": lambda: json_schema(case["constraint"]),
            "any order": lambda: json_schema(case["constraint"], property_order="any"),
        }
    if case["kind"] == "regex":
        return {"regex": lambda: regex(case["constraint"])}
    return {}


def by_tokens(compiled, text, vocabulary):
    """Whether a text is accepted, greedily cut into tokens: `accepts` must say the same."""
    tokens = vocabulary.fewest_tokens(text)
    if tokens is None:
        return False
    matcher = compiled.matcher()
    return all(matcher.try_accept_token(token_id) for token_id in tokens) and matcher.is_accepting()


def run_case(case, vocabulary):
    """Return (verdict, note): "passes", "refused", "wrong"."""
    notes = []
    for name, make in grammars_of(case).items():
        try:
            with at_most(SECONDS):
                compiled = compile_grammar(make(), vocabulary)
                for text in (*case["accept"], *case["reject"]):
                    expected = text in case["accept"]
                    said = compiled.accepts(text.encode()), by_tokens(compiled, text.encode(), vocabulary)
                    if said != (expected, expected):
                        notes.append(f"{name}: {text[:80]!r} should be {expected}, accepts and tokens say {said}")
        except ConstrainError as error:
            message = " ".join(str(error).split())
            return "refused", f"{type(error).__name__}: {message}"
        except TookTooLongError:
            notes.append(f"{name}: more than {SECONDS} s")
        except Exception as error:
            notes.append(f"{name}: {type(error).__name__}: {error}")
    if notes:
        return "wrong", "; ".join(notes)
    return ("wrong", "was compiled; an error is expected") if case["expect"] == "error" else ("passes", "")


def test_cases(data, llama_vocabulary):
    wrong, rows = [], []
    for case in datasets.cases(data):
        if not grammars_of(case):
            rows.append((case["id"], case["kind"], "not here", COVERED.get(case["id"], "")))
            continue
        verdict, note = run_case(case, llama_vocabulary)
        rows.append((case["id"], f"{case['kind']} {case['expect']}", verdict, note))
        if verdict == "wrong":
            wrong.append(f"{case['id']}: {note}")
    print()
    for row in rows:
        print("{:4} {:22} {:9} {}".format(*row)[:200])
    assert not wrong


def test_the_validator_agrees_with_the_cases(data):
    """The oracle and the cases are independent; where they differ one of them is wrong."""
    differ = []
    for case in datasets.cases(data):
        if case["kind"] == "json_schema" and case["expect"] in ("match", "fast", "error_or_match"):
            validator = Validator(case["constraint"])
            differ += [
                (case["id"], text)
                for text in (*case["accept"], *case["reject"])
                if validator.accepts(text) != (text in case["accept"])
            ]
    assert not differ


def test_every_split_of_a_text(llama_vocabulary):
    """E04: the same verdict for every split; the end token is accepted exactly once."""
    end = llama_vocabulary.eos_token_ids[0]
    matcher = compile_grammar(regex("a"), llama_vocabulary).matcher()
    letter = llama_vocabulary.fewest_tokens(b"a")[0]
    for _ in range(2):
        assert matcher.try_accept_token(letter)
        assert matcher.try_accept_token(end)
        assert matcher.is_terminated()
        assert not matcher.try_accept_token(end)
        assert not matcher.try_accept_token(letter)
        matcher.reset()


@pytest.mark.parametrize(
    "text",
    ["{%s}", '{%s"a":1}', '{"a"%s:1}', '{"a":%s1}', '{"a":1%s}', '{"a":1,%s"b":[]}', '{"a":[%s]}', '{"a":[1%s,2]}'],
)
def test_runs_of_blanks_are_bounded(llama_vocabulary, text):
    """E11: a run of 8 blanks is allowed, one of 9 is not, whatever the blanks and however they are cut into tokens."""
    compiled = compile_grammar(json_schema({"type": "object"}), llama_vocabulary)
    for blank in (" ", "\n", " \t\r\n"):
        for size in (0, 1, 8, 9, 200):
            run = (blank * size)[:size]
            assert compiled.accepts((text % run).encode()) == (size <= 8), (blank, size)
