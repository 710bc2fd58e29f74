"""Emptiness of regular nodes, and reading many texts by one node."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constrain.errors import LimitExceededError
from constrain.grammars.emptiness import Reader, is_empty, texts_of
from constrain.grammars.membership import matches
from constrain.grammars.regex import parse
from constrain.ir import And, Not
from constrain.limits import DEFAULT_LIMITS, Limits

PATTERNS = ["(?:a|b)*a", "[^b]{2,3}", "a?b?c?", "(?!ab)[a-c]*", "", "é+|ab", "(?:ab|c){1,2}"]


@given(st.sampled_from(PATTERNS), st.text("abcé", max_size=5))
def test_readers_agree_with_matches(pattern, text):
    node = parse(pattern, dialect="ecma")
    reader = Reader(node)
    assert reader.matches(text) == matches(node, text)
    assert reader.matches(text + "a") == matches(node, text + "a")


def test_characters_that_an_operand_lacks_are_not_searched():
    few = Limits(max_emptiness_steps=5)
    words = parse("(?:[a-z]{1,50}[.]){1,50}", dialect="ecma")
    assert is_empty(And((words, parse("[^]*@[^]*", dialect="ecma"))), few)
    assert not is_empty(And((words, Not(parse("[^]*@[^]*", dialect="ecma")))), DEFAULT_LIMITS)
    with pytest.raises(LimitExceededError, match="max_emptiness_steps"):
        is_empty(And((words, parse("[^]*[.][.][^]*", dialect="ecma"))), few)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("ab?|c", ("a", "ab", "c")),
        ("[ab]{1,2}", ("a", "aa", "ab", "b", "ba", "bb")),
        ("", ("",)),
        ("a*", None),
        ("(?:ab)+", None),
        ("x(?:yz)*", None),
        ("[a-z]{3}", None),
        ("(?!a)[a-c]", ("b", "c")),
    ],
)
def test_texts_of_finite_languages(pattern, expected):
    assert texts_of(parse(pattern, dialect="ecma"), 20) == expected


def test_no_text():
    assert texts_of(And((parse("a", dialect="ecma"), parse("b", dialect="ecma"))), 20) == ()
