"""Hash-consed expressions and their rows: against interegular's automata (exactly) and `re` (word by word)."""

import itertools
import re
from fractions import Fraction

import interegular
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constrain.automata import byte_sets
from constrain.automata import regex as tables
from constrain.automata.regex import ALL_BYTES, EPSILON, NOTHING, UNBOUNDED, RegexTable
from constrain.errors import LimitExceededError
from constrain.limits import Limits

LETTERS = "abc"
WORDS = [bytes(word) for size in range(5) for word in itertools.product(LETTERS.encode(), repeat=size)]
ALPHABET = sum(1 << ord(letter) for letter in LETTERS)

# A tree is a class of letters (a str), or (kind, parts...); patterns and expressions are made from the same tree.
TREES = st.recursive(
    st.sampled_from(["a", "b", "ab", "bc", "abc", ""]),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["cat", "alt"]), inner, inner),
        st.tuples(st.just("rep"), inner, st.integers(0, 3), st.none() | st.integers(0, 3)),
    ),
    max_leaves=7,
)


def pattern(tree):
    """Return the tree in the syntax of `re` and interegular; the empty class is the empty text."""
    if isinstance(tree, str):
        return f"[{tree}]" if tree else "(?:)"
    kind, first, *rest = tree
    if kind == "rep":
        low, more = rest
        return f"(?:{pattern(first)}){{{low},{'' if more is None else low + more}}}"
    middle = "" if kind == "cat" else "|"
    return f"(?:{pattern(first)}{middle}{pattern(rest[0])})"


def expression(table, tree):
    if isinstance(tree, str):
        return table.byte_class(sum(1 << ord(letter) for letter in tree)) if tree else EPSILON
    kind, first, *rest = tree
    if kind == "rep":
        low, more = rest
        return table.repeat(expression(table, first), low, UNBOUNDED if more is None else low + more)
    parts = expression(table, first), expression(table, rest[0])
    return table.concat(*parts) if kind == "cat" else table.alternate(parts)


def test_of_nested_counts_only_the_largest_stay():
    table = RegexTable()
    letter, other = (table.byte_class(1 << byte) for byte in b"ab")
    root = state = table.repeat(table.concat(table.repeat(letter, 1, 50), table.repeat(other, 0, 1)), 1, 50)
    for _ in range(120):
        state = step(table, state, ord("a"))
        assert len(table.args[state]) <= 3
        assert table.nullable[state]
    assert len(table) < 5_000
    for size in (50 * 50, 50 * 50 + 1):
        state = root
        for _ in range(size):
            state = step(table, state, ord("a")) if state else state
        assert bool(state and table.nullable[state]) == (size == 2_500)


def fsm(tree):
    return interegular.parse_pattern(pattern(tree).replace("(?:)", "")).to_fsm()


def step(table, state, byte):
    """Return the expression after a byte; the row must be disjoint and lead somewhere."""
    found = NOTHING
    union = 0
    for mask, target in table.row(state):
        assert mask
        assert target != NOTHING
        assert not union & mask
        assert not mask & ~table.alphabet
        union |= mask
        if mask >> byte & 1:
            found = target
    return found


def matches(table, root, word):
    for byte in word:
        root = step(table, root, byte)
    return table.nullable[root]


def assert_same_language(table, root, machine):
    """Walk both automata side by side through every pair of states that can be reached."""
    pairs = [(root, machine.initial)]
    seen = set(pairs)
    for state, other in pairs:
        assert table.nullable[state] == (other in machine.finals)
        assert table.is_live(state) == (other is not None and machine.islive(other))
        for letter in LETTERS:
            after = machine.map.get(other, {}).get(machine.alphabet[letter])
            pair = (step(table, state, ord(letter)), after)
            if pair not in seen and pair != (NOTHING, None):
                seen.add(pair)
                pairs.append(pair)


def shortest(machine):
    front, seen, size = {machine.initial}, set(), 0
    while front and not front & machine.finals:
        seen |= front
        front = {after for state in front for after in machine.map.get(state, {}).values()} - seen
        size += 1
    return size if front else None


@settings(max_examples=200)
@given(TREES)
def test_expressions_agree_with_re_and_interegular(tree):
    table = RegexTable(ALPHABET)
    root = expression(table, tree)
    python = re.compile(pattern(tree).encode())
    assert [word for word in WORDS if matches(table, root, word)] == [w for w in WORDS if python.fullmatch(w)]
    machine = fsm(tree)
    assert_same_language(table, root, machine)
    assert table.least_length(root) == shortest(machine)


@settings(max_examples=250)
@given(TREES, TREES, st.sampled_from(["and", "minus", "neither"]), st.sampled_from([1, 2, 4, 8]))
def test_intersection_difference_and_complement(first, second, kind, large):
    # With a small threshold the counts of small trees are left out too where emptiness is asked.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "_LARGE", large)
        assert_products(first, second, kind)


def assert_products(first, second, kind):
    table = RegexTable(ALPHABET)
    a, b = expression(table, first), expression(table, second)
    if kind == "and":
        root, keep = table.intersect((a, b)), lambda x, y: x and y
        machine = fsm(first) & fsm(second)
    elif kind == "minus":
        root, keep = table.intersect((a, table.complement(b))), lambda x, y: x and not y
        machine = fsm(first).difference(fsm(second))
    else:
        root, keep = table.complement(table.alternate((a, b))), lambda x, y: not x and not y
        machine = None
    one, two = (re.compile(pattern(tree).encode()).fullmatch for tree in (first, second))
    assert [word for word in WORDS if matches(table, root, word)] == [w for w in WORDS if keep(one(w), two(w))]
    if machine is not None:
        assert_same_language(table, root, machine)
        least = shortest(machine)
        assert table.is_live(root) == (least is not None)
        assert least is None or table.least_length(root) <= least
    loose = table._uncounted(root)
    assert all(matches(table, loose, word) for word in WORDS if keep(one(word), two(word)))


@settings(max_examples=100)
@given(TREES, TREES, TREES)
def test_laws_that_the_constructors_apply_give_the_same_integer(x, y, z):
    table = RegexTable(ALPHABET)
    a, b, c = (expression(table, tree) for tree in (x, y, z))
    assert table.alternate((a, table.alternate((b, c)))) == table.alternate((c, b, a, b))
    assert table.concat(a, table.concat(b, c)) == table.concat(table.concat(a, b), c)
    assert table.intersect((a, table.intersect((b, c)))) == table.intersect((c, a, b, a))
    assert table.complement(table.complement(a)) == a
    assert table.intersect((a, table.complement(a))) == NOTHING
    assert table.intersect((a, table.everything)) == a
    assert table.alternate((a, NOTHING)) == table.concat(a, EPSILON) == table.repeat(a, 1, 1) == a
    assert table.concat(a, NOTHING) == NOTHING


@given(st.lists(st.tuples(st.integers(1, 2**12 - 1), st.integers(2, 9)), max_size=12))
def test_both_ways_to_split_agree(entries):
    def by_bit(parts):
        found = {}
        for mask, targets in parts:
            for bit in range(12):
                if mask >> bit & 1:
                    assert bit not in found
                    found[bit] = sorted(targets)
        return found

    assert by_bit(byte_sets.split(entries)) == by_bit(byte_sets.split_by_byte(entries))


def test_many_parts_are_split_by_byte():
    table = RegexTable()
    words = [bytes((65 + i % 26, 97 + i % 25)) for i in range(200)]
    root = table.alternate(table.literal(word) for word in words)
    assert {(a << 8 | b).to_bytes(2, "big") for a in range(256) for b in range(256) if matches(table, root, bytes((a, b)))} == set(words)  # fmt: skip


def test_a_reduced_alphabet_takes_bytes_away():
    table = RegexTable(ALPHABET)
    assert table.literal(b"ad") == NOTHING
    assert table.byte_class(1 << ord("d")) == NOTHING
    root = table.complement(table.literal(b"a"))
    assert step(table, root, ord("d")) == NOTHING
    assert matches(table, root, b"ab")
    assert not matches(table, root, b"a")


def test_bounded_repeats_are_one_node_and_count_down():
    table = RegexTable()
    body = table.byte_class(1 << ord("a"))
    before = len(table)
    root = table.repeat(body, 3, 1_000_000)
    assert len(table) == before + 1
    assert step(table, root, ord("a")) == table.repeat(body, 2, 999_999)
    assert table.least_length(root) == 3


def test_adjacent_and_overlapping_counts_are_one_node():
    table = RegexTable()
    body = table.byte_class(1 << ord("a"))
    assert table.concat(table.repeat(body, 2, 5), body) == table.repeat(body, 3, 6)
    touching = table.alternate((table.repeat(body, 2, 3), table.repeat(body, 4, 9)))
    assert touching == table.repeat(body, 2, 9)
    apart = table.alternate((table.repeat(body, 2, 3), table.repeat(body, 5, 9)))
    assert table.kinds[apart] == tables.ALTERNATE


def test_deep_expressions_need_no_recursion():
    table = RegexTable()
    root = EPSILON
    for _ in range(20_000):
        root = table.repeat(table.concat(table.byte_class(1 << ord("a")), root), 0, 1)
    assert table.least_length(root) == 0
    assert table.is_live(root)
    assert step(table, root, ord("a")) != NOTHING


def test_an_intersection_without_a_member_is_dead():
    table = RegexTable(ALL_BYTES)
    any_ab = table.byte_class(1 << 97 | 1 << 98)
    ends_a = table.concat(table.repeat(any_ab, 0, UNBOUNDED), table.literal(b"a"))
    ends_b = table.concat(table.repeat(any_ab, 0, UNBOUNDED), table.literal(b"b"))
    root = table.intersect((ends_a, ends_b))
    assert root != NOTHING
    assert not table.is_live(root)
    assert not table.is_live(table.concat(table.literal(b"x"), root))
    assert table.is_live(table.intersect((ends_a, table.complement(ends_b))))


def test_counts_do_not_multiply_dead_ends():
    # Dead whatever is counted, but each pair of counts that is left is another state.
    table = RegexTable(limits=Limits(max_emptiness_steps=100))
    any_ab, letter_a = table.byte_class(1 << 97 | 1 << 98), table.literal(b"a")
    groups = table.repeat(table.concat(table.repeat(any_ab, 1, 60), letter_a), 1, 50)
    short = table.repeat(any_ab, 1, 200)
    only_b = table.repeat(table.literal(b"b"), 0, UNBOUNDED)
    assert not table.is_live(table.intersect((groups, short, table.concat(only_b, table.literal(b"b")))))
    # Alive, but far from what a search that goes astray looks at.
    assert table.is_live(table.intersect((groups, short, table.concat(table.repeat(any_ab, 0, UNBOUNDED), letter_a))))


def test_what_is_searched_without_counts_is_found_with_them():
    table = RegexTable()
    any_ab = table.byte_class(1 << 97 | 1 << 98)
    # Without counts both have texts, with them none is in both.
    assert not table.is_live(table.intersect((table.repeat(any_ab, 0, 20), table.repeat(any_ab, 21, 40))))
    assert table.is_live(table.intersect((table.repeat(any_ab, 0, 21), table.repeat(any_ab, 21, 40))))
    outside = table.complement(table.repeat(any_ab, 0, 20))
    assert not table.is_live(table.intersect((table.repeat(any_ab, 3, 20), outside)))
    assert table.is_live(table.intersect((table.repeat(any_ab, 3, 21), outside)))


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 60), st.integers(0, 2), st.lists(st.text("0123456789.", max_size=6), max_size=30))
def test_multiples(number, places, texts):
    table = RegexTable()
    root = table.multiple(number, places)
    unit = Fraction(number, 10**places)
    for text in texts:
        if re.fullmatch(r"[0-9]+(\.[0-9]*)?", text):
            assert matches(table, root, text.encode()) == ((Fraction(text.rstrip(".")) / unit).denominator == 1), text
        elif text.count(".") > 1:
            assert not matches(table, root, text.encode())
    reached = [root]
    for state in reached:
        reached.extend({target for _, target in table.row(state)} - set(reached))
    least = {state: 0 for state in reached if table.nullable[state]}
    for _ in range(places + 8):
        for state in reached:
            ways = [least[target] + 1 for _, target in table.row(state) if target in least]
            if ways:
                least[state] = min([*ways, least.get(state, min(ways))])
    for state in reached:
        assert table.is_live(state) == (state in least)
        assert table.least_length(state) <= least.get(state, 1 << 40)


def test_multiples_without_some_digits():
    table = RegexTable(alphabet=sum(1 << ord(digit) for digit in "13"))
    root = table.multiple(2, 0)
    assert table.nullable[root]
    assert not table.is_live(step(table, root, ord("1")))


def test_limits_are_named():
    table = RegexTable(limits=Limits(max_emptiness_steps=20))
    any_ab = table.byte_class(1 << 97 | 1 << 98)
    root = table.intersect((table.repeat(any_ab, 60, 60), table.repeat(any_ab, 70, UNBOUNDED)))
    with pytest.raises(LimitExceededError) as caught:
        table.is_live(root)
    assert caught.value.limit == "max_emptiness_steps"
    table = RegexTable(limits=Limits(max_count_sets=3))
    any_ab = table.byte_class(1 << 97 | 1 << 98)
    with pytest.raises(LimitExceededError) as caught:
        table.alternate(table.repeat(any_ab, 3 * i, 3 * i) for i in range(1, 6))
    assert caught.value.limit == "max_count_sets"
