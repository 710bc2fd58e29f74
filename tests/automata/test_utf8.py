"""Code point ranges as byte ranges, against Python's own encoder."""

import itertools
import math

from hypothesis import example, given, settings
from hypothesis import strategies as st

from constrain.automata.regex import ALL_BYTES, NOTHING, RegexTable
from constrain.automata.utf8 import byte_sequences, char_class

EDGES = (0, 0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xD800, 0xDFFF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF)
POINTS = st.one_of(
    st.integers(0, 0x10FFFF),
    st.tuples(st.sampled_from(EDGES), st.integers(-2, 2)).map(lambda p: min(max(p[0] + p[1], 0), 0x10FFFF)),
)
RANGES = st.tuples(POINTS, POINTS).map(sorted)


def is_scalar(point):
    return not 0xD800 <= point <= 0xDFFF


def size(low, high):
    """Return how many scalar values there are in low..high."""
    return max(high - low + 1, 0) - max(min(high, 0xDFFF) - max(low, 0xD800) + 1, 0)


def spells(sequence, data):
    return len(sequence) == len(data) and all(
        low <= byte <= high for (low, high), byte in zip(sequence, data, strict=True)
    )


@settings(max_examples=300)
@given(RANGES, st.lists(POINTS, max_size=20))
@example([0, 0x10FFFF], list(EDGES))
@example([0xD800, 0xDFFF], list(EDGES))
@example([0x7F, 0x80], list(EDGES))
def test_sequences_spell_exactly_the_range(bounds, points):
    low, high = bounds
    sequences = list(byte_sequences(low, high))
    # Sequences are disjoint and each spells only code points of the range: then equal counts mean equal sets.
    assert sum(math.prod(last - first + 1 for first, last in sequence) for sequence in sequences) == size(low, high)
    for sequence in sequences:
        first, last = (int.from_bytes(bytes(byte[i] for byte in sequence), "big") for i in (0, 1))
        ends = [bytes(byte[i] for byte in sequence).decode() for i in (0, 1)]
        assert first <= last
        assert low <= ord(ends[0]) <= ord(ends[1]) <= high
    for point in [*points, low, high, low - 1, high + 1]:
        if 0 <= point <= 0x10FFFF and is_scalar(point):
            count = sum(spells(sequence, chr(point).encode()) for sequence in sequences)
            assert count == (low <= point <= high)
    for one, two in itertools.combinations(sequences[:40], 2):
        assert len(one) != len(two) or any(a[1] < b[0] or b[1] < a[0] for a, b in zip(one, two, strict=True))


def member(table, root, data):
    for byte in data:
        root = next((target for mask, target in table.row(root) if mask >> byte & 1), NOTHING)
    return table.nullable[root]


@settings(max_examples=100)
@given(st.lists(RANGES, min_size=1, max_size=4), st.lists(POINTS, max_size=20), st.binary(max_size=4))
def test_classes_take_exactly_their_characters(ranges, points, noise):
    table = RegexTable()
    root = char_class(table, ranges)

    def expected(data):
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return False
        return len(text) == 1 and any(low <= ord(text) <= high for low, high in ranges)

    for point in [*points, *itertools.chain(*ranges)]:
        if is_scalar(point):
            data = chr(point).encode()
            assert member(table, root, data) == expected(data)
            assert not member(table, root, data + data)
            assert not member(table, root, data[:-1])
    assert member(table, root, noise) == expected(noise)


def test_surrogates_match_nothing():
    assert list(byte_sequences(0xD800, 0xDFFF)) == []
    assert char_class(RegexTable(), [(0xD800, 0xDFFF)]) == NOTHING


def test_characters_that_need_a_missing_byte_go():
    table = RegexTable(ALL_BYTES & ~(1 << 0xC3))
    root = char_class(table, [(0xE9, 0xE9), (0x20AC, 0x20AC)])
    assert not member(table, root, "é".encode())
    assert member(table, root, "€".encode())
    assert char_class(table, [(0xE9, 0xE9)]) == NOTHING


def test_all_characters_are_a_few_states():
    table = RegexTable()
    root = char_class(table, [(0, 0x10FFFF)])
    states, work = {root}, [root]
    while work:
        for _, target in table.row(work.pop()):
            if target not in states:
                states.add(target)
                work.append(target)
    assert len(states) <= 9
