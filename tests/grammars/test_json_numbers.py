"""Numbers with bounds against Decimal."""

from decimal import Decimal

import pytest
from grammar_oracle import accepts
from hypothesis import given, settings
from hypothesis import strategies as st

from constrain.grammars.json_multiples import (
    fraction_terminal,
    has_multiple,
    is_multiple,
    multiple_terminal,
    whole_terminal,
)
from constrain.grammars.json_numbers import UNBOUNDED, Bounds, integer_terminal, number_terminal
from constrain.ir import Grammar

LIMITS = st.one_of(
    st.integers(-120, 120).map(Decimal),
    st.integers(-2000, 2000).map(lambda value: Decimal(value) / 100),
    st.tuples(st.integers(-30, 30), st.integers(-4, 4)).map(lambda two: Decimal(two[0]).scaleb(two[1])),
)
BOUNDS = st.builds(
    lambda low, high, low_open, high_open: Bounds(
        low, high, low_open and low is not None, high_open and high is not None
    ),
    st.none() | LIMITS,
    st.none() | LIMITS,
    st.booleans(),
    st.booleans(),
)
NUMBERS = st.from_regex(r"\A-?(0|[1-9][0-9]{0,2})(\.(0|5|00|25|50|049|10|999))?([eE][+-]?(0|1|2|02|003|3))?\Z")


def offered(text):
    """Return whether a number with bounds may be spelled so: an exponent only after one digit 1 to 9, or for zero."""
    mantissa, exponent, _ = text.lower().lstrip("-").partition("e")
    whole = mantissa.partition(".")[0]
    return not exponent or Decimal(text) == 0 or (len(whole) == 1 and whole != "0")


@settings(max_examples=120, deadline=None)
@given(BOUNDS, st.lists(NUMBERS, min_size=3, max_size=8))
def test_numbers_are_compared_exactly(bounds, texts):
    grammar = Grammar(number_terminal(bounds))
    for text in texts:
        want = bounds.holds(Decimal(text)) and (bounds == UNBOUNDED or offered(text))
        assert accepts(grammar, text.encode()) == want, (bounds, text)


@settings(max_examples=200, deadline=None)
@given(BOUNDS, st.lists(st.integers(-150, 150), min_size=5, max_size=15))
def test_integers_are_compared_exactly(bounds, values):
    grammar = Grammar(integer_terminal(bounds))
    for value in values:
        assert accepts(grammar, str(value).encode()) == bounds.holds(Decimal(value)), (bounds, value)


@pytest.mark.parametrize("text", ["01", "1.", ".5", "+1", "1e", "--1", "NaN", "", "-", "1e+", "0x1", "1_0"])
def test_what_is_no_json_number_is_refused(text):
    assert not accepts(Grammar(number_terminal(UNBOUNDED)), text.encode())
    assert not accepts(Grammar(integer_terminal(UNBOUNDED)), text.encode())


def test_caps_and_how_bounds_raise_them():
    free = Grammar(number_terminal(UNBOUNDED, (3, 2, 1)))
    assert accepts(free, b"-999.99e-9")
    for text in [b"1000", b"1.234", b"1e10"]:
        assert not accepts(free, text)
    above = Grammar(integer_terminal(Bounds(low=Decimal(12345)), (3, 2, 1)))
    assert accepts(above, b"12345")
    assert accepts(above, b"99999")
    assert not accepts(above, b"12344")
    between = Grammar(
        number_terminal(Bounds(Decimal("0.1234"), Decimal("0.1235"), low_open=True, high_open=True), (1, 2, 0))
    )
    assert accepts(between, b"0.12345")
    assert not accepts(between, b"0.1234")
    assert not accepts(between, b"0.1235")


def test_zero_may_be_negative():
    assert accepts(Grammar(integer_terminal(Bounds(low=Decimal(0)))), b"-0")
    assert accepts(Grammar(number_terminal(Bounds(low=Decimal(0)))), b"-0.0e5")
    assert not accepts(Grammar(number_terminal(Bounds(low=Decimal(0)))), b"-0.1")
    assert not accepts(Grammar(integer_terminal(Bounds(low=Decimal(0), low_open=True))), b"-0")


def test_large_and_small_bounds():
    big = Grammar(number_terminal(Bounds(low=Decimal("1e308"))))
    assert accepts(big, b"1e308")
    assert accepts(big, b"1" + b"0" * 308)
    assert not accepts(big, b"9.9e307")
    small = Grammar(number_terminal(Bounds(Decimal(0), Decimal("1e-30"), low_open=True, high_open=True)))
    assert accepts(small, b"1e-31")
    assert accepts(small, b"0." + b"0" * 30 + b"1")
    assert not accepts(small, b"1e-30")
    assert not accepts(Grammar(integer_terminal(Bounds(Decimal("0.5"), Decimal("0.6")))), b"0")


def value_of(text):
    return Decimal(text)


@settings(deadline=None)
@given(BOUNDS, st.lists(NUMBERS, max_size=30))
def test_fractions_are_numbers_that_are_no_integers(bounds, texts):
    numbers, fractions, wholes = (
        Grammar(make(bounds)) for make in (number_terminal, fraction_terminal, whole_terminal)
    )
    for text in texts:
        data = text.encode()
        is_whole = value_of(text) == value_of(text).to_integral_value()
        assert accepts(fractions, data) == (accepts(numbers, data) and not is_whole), text
        assert accepts(wholes, data) == (accepts(numbers, data) and is_whole), text


STEPS = st.sampled_from([Decimal(text) for text in ("1", "2", "3", "0.5", "1.5", "0.01", "2.5E1", "1E+2")])


@settings(deadline=None)
@given(BOUNDS, st.lists(st.tuples(STEPS, st.booleans()), min_size=1, max_size=2), st.lists(NUMBERS, max_size=30))
def test_multiples(bounds, steps, texts):
    multiples = tuple(dict(steps).items())
    base = number_terminal(bounds)
    found = Grammar(multiple_terminal(base, multiples))
    for text in texts:
        expected = "e" not in text.lower() and accepts(Grammar(base), text.encode())
        expected = expected and all(is_multiple(value_of(text), step) == sign for step, sign in multiples)
        assert accepts(found, text.encode()) == expected, text
        if expected:
            assert has_multiple(bounds, multiples)


@pytest.mark.parametrize(
    ("low", "high", "multiples", "expected"),
    [
        (1, 5, {"2": True, "4": False}, True),
        (4, 5, {"2": True, "4": False}, False),
        (1, 2, {"3": True}, False),
        (1, None, {"3": True, "1.5": False}, False),
        (0, 0, {"7": True}, True),
        (0, 0, {"7": False}, False),
        (0, 1, {"7": False}, True),
        (5, 7, {"2": True, "3": True}, True),
        (7, 11, {"2": True, "3": True}, False),
        (Decimal("0.1"), Decimal("0.4"), {"0.5": True}, False),
    ],
)
def test_whether_bounds_hold_a_multiple(low, high, multiples, expected):
    bounds = Bounds(Decimal(low), None if high is None else Decimal(high))
    assert has_multiple(bounds, tuple((Decimal(step), sign) for step, sign in multiples.items())) == expected
