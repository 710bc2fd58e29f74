"""Arithmetic of counts: repeats of repeats against all sums."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constrain.automata.counts import SYMBOL, UNBOUNDED, product
from constrain.automata.regex import RegexTable

MANY = 40


def interval(low, more):
    return low, UNBOUNDED if more is None else low + more


BOUNDS = st.builds(interval, st.integers(0, 4), st.none() | st.integers(0, 4)).filter(lambda bounds: bounds[1] != 0)


def sums(inner, outer):
    """Return which numbers below MANY are a sum of as many terms of `inner` as `outer` allows."""
    terms = [n for n in range(MANY) if inner[0] <= n and (inner[1] == UNBOUNDED or n <= inner[1])]
    found, here = set(), {0}
    for copies in range(MANY + 1 if outer[1] == UNBOUNDED else outer[1] + 1):
        if copies >= outer[0]:
            found |= here
        here = {a + b for a in here for b in terms if a + b < MANY}
    return found


@given(BOUNDS, BOUNDS)
def test_a_repeat_of_a_repeat_is_its_sums(inner, outer):
    expected = sums(inner, outer)
    found = product(inner, outer)
    if found is None:
        assert expected != set(range(min(expected), max(expected) + 1))
    else:
        low, high = found
        assert expected == set(range(low, MANY if high == UNBOUNDED else min(high + 1, MANY)))


@pytest.mark.parametrize("bounds", [(SYMBOL, 5), (1, SYMBOL - 3), (1 << 20, 1 << 20)])
def test_counts_that_are_not_known_or_too_large_stay(bounds):
    assert product((1, bounds[0]), (1, bounds[1])) is None


def test_nested_repeats_are_one():
    table = RegexTable()
    letter = table.byte_class(1 << 97)
    nested = table.repeat(table.repeat(letter, 1, 1000), 1, 1000)
    assert nested == table.repeat(letter, 1, 1_000_000)
    assert table.repeat(table.repeat(letter, 2, 2), 1, 3) != table.repeat(letter, 2, 6)
