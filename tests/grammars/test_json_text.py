"""JSON strings against `json.loads`, patterns inside them against `re`."""

import json
import re

import pytest
from grammar_oracle import accepts
from hypothesis import given, settings
from hypothesis import strategies as st

from constrain.grammars.json_text import CHARS, STRING, json_chars, quoted, string_between
from constrain.grammars.regex import parse
from constrain.ir import And, Grammar, Lexeme, Not, walk

FREE = Grammar(Lexeme(STRING))


def is_string(data):
    """Return the decoded text if `data` is an RFC 8259 string literal that UTF-8 can spell, else None."""
    try:
        text = json.loads(data.decode())
        text.encode()
    except (ValueError, UnicodeError, AttributeError):
        return None
    return text if data[:1] == b'"' == data[-1:] else None


RAW = ['"', "\\", "a", "é", "😀", "\n", "\x00", "\x7f", "\ufeff", "\u2028"]
ESCAPED = [r"\n", r"\/", r"\u0041", r"\u00e9", r"\uD83D", r"\ude00", r"\ud83d\uDE00", r"\uDBFF\udfff", r"\x", r"\u12"]
PIECES = st.sampled_from(RAW + ESCAPED)


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=5).map("".join))
def test_free_string_is_rfc_8259_without_lone_surrogates(body):
    data = f'"{body}"'.encode()
    assert accepts(FREE, data) == (is_string(data) is not None), data


def spellings(text):
    """Strategy: the string literal of `text` with each character spelled in a random way."""
    ways = []
    for char in text:
        units = char.encode("utf-16-be")
        escape = "".join(f"\\u{units[at]:02x}{units[at + 1]:02X}" for at in range(0, len(units), 2))
        ways.append(st.sampled_from([json.dumps(char, ensure_ascii=False)[1:-1], escape]))
    return st.tuples(*ways).map(lambda parts: '"' + "".join(parts) + '"')


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from([r"^[a-c😀-😅\n]{2,3}$", r"^(?!.*b).*$", r"^\S+$", r"é|\\", r"^[^a]*$"]),
    st.text('abc😀😆é\n\\" ', max_size=4),
    st.data(),
)
def test_patterns_hold_for_every_spelling(pattern, text, data):
    grammar = Grammar(Lexeme(quoted(json_chars(parse(pattern, dialect="ecma", search=True)))))
    spelled = data.draw(spellings(text))
    want = re.search(pattern.replace("$", r"\Z"), text) is not None
    assert accepts(grammar, spelled.encode()) == want, (pattern, spelled)


def test_complement_stays_inside_strings():
    grammar = Grammar(Lexeme(quoted(json_chars(And((parse("(?s:.*)"), Not(parse("a"))))))))
    assert accepts(grammar, b'"b"')
    assert accepts(grammar, b'""')
    assert not accepts(grammar, b'"a"')
    assert not accepts(grammar, rb'"\u0061"')
    assert not accepts(grammar, b'"""')


@pytest.mark.parametrize(
    ("literal", "length"), [('""', 0), ('"ab"', 2), ('"😀"', 1), (r'"\ud83d\ude00"', 1), (r'"\n\u0041"', 2)]
)
def test_lengths_count_code_points(literal, length):
    for minimum, maximum in [(0, None), (0, 1), (1, 1), (2, 3), (2, None)]:
        want = minimum <= length and (maximum is None or length <= maximum)
        assert accepts(Grammar(string_between(minimum, maximum)), literal.encode()) == want


def test_common_nodes_are_made_once():
    assert string_between(0, None) is string_between(0, None)
    assert json_chars(parse(r"(?s:.*)")) is CHARS
    assert sum(1 for _ in walk(STRING)) < 60
