"""Counts beside the state: against the same expressions with every count written out, and against `re`."""

import random
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import constrain
from constrain import ir
from constrain.automata import shapes
from constrain.automata.counts import SYMBOL, UNBOUNDED, merged
from constrain.automata.lexicon import Lexicon
from constrain.automata.reference import ReferenceMachine
from constrain.automata.regex import RegexTable
from constrain.vocabulary import Vocabulary

VOCABULARY = Vocabulary.from_tokens([*(bytes((b,)) for b in range(256)), b"aa", b"ab", b"bxa", b"xxxx", None], [260])
FAR = Lexicon(VOCABULARY).far

# Bounds on both sides of the threshold from which on counts are kept beside the state.
BOUNDS = st.sampled_from([0, 1, 2, FAR - 1, FAR, FAR + 1, FAR + 7, 2 * FAR, 3 * FAR + 1])
BODIES = st.sampled_from(["a", "[ab]", "ab", "(?:a|aa)", "(?:ab|a)", "(?:a|b?x)", "(?:a{0,2}b)", "(?:[ab]|xx|xa)"])


@st.composite
def counted(draw):
    low, high = sorted((draw(BOUNDS), draw(BOUNDS)))
    upper = draw(st.sampled_from([str(max(high, 1)), ""]))
    return f"{draw(BODIES)}{{{low},{upper}}}"


PATTERNS = st.one_of(
    counted(),
    st.builds("{}{}".format, counted(), counted()),
    st.builds("{}{}".format, counted(), st.sampled_from(["a", "b", "x", "ax?", "(?:b|x)*"])),
    st.builds("{}{}".format, st.sampled_from(["a?", "(?:x|ab)", "b*"]), counted()),
    st.builds("(?:{}|{})".format, counted(), counted()),
    st.builds("(?:{}x){{0,3}}".format, counted()),
    st.builds("(?={}$)[abx]{{0,{}}}".format, st.sampled_from(["[ab]*", "(?:ab|x)*", "a*x?b*"]), BOUNDS),
    st.builds("(?=(?:[ab]*|x{})$){}".format, counted(), counted()),
)


def texts(rng, limit):
    """Yield texts that count: runs of one piece, now and then another one."""
    pieces = ["a", "b", "x", "ab", "aa", "xx"]
    for _ in range(8):
        text = ""
        while len(text) < limit:
            text += rng.choice(pieces) * rng.choice([1, 1, 2, FAR - 2, FAR, FAR + 1, 2 * FAR])
            if rng.random() < 0.3:
                break
        yield text[: rng.randrange(limit)] if rng.random() < 0.2 else text


@settings(max_examples=60, deadline=None)
@given(PATTERNS, st.integers(0, 1 << 30))
def test_counts_equal_written_out_expressions(pattern, seed):
    """At every prefix: the bytes that may come next and whether the text may end."""
    try:
        compiled = constrain.compile(constrain.regex(pattern), VOCABULARY)
    except constrain.EmptyLanguageError:
        return
    rng = random.Random(seed)
    lexicon = Lexicon(VOCABULARY)
    table = lexicon.table
    start = constrain.regex(pattern).start
    root = lexicon.expression_of(start.pattern if isinstance(start, ir.Lexeme) else start)
    for text in texts(rng, 5 * FAR):
        state, expression = compiled.start, root
        for byte in text.encode():
            row = table.row(expression)
            expected = {b for b in b"abx" if any(m >> b & 1 and table.is_live(to) for m, to in row)}
            assert compiled.next_bytes(state) & set(b"abx") == expected, (pattern, text)
            assert compiled.is_accepting(state) == table.nullable[expression], (pattern, text)
            expression = next((to for m, to in row if m >> byte & 1 and table.is_live(to)), 0)
            state = compiled.advance_bytes(state, bytes((byte,)))
            assert (state == 0) == (expression == 0), (pattern, text)
            if not state:
                break


@pytest.mark.parametrize("body", ["a", "[ab]", "ab"])
@pytest.mark.parametrize("low", [0, 2, FAR - 1, FAR, FAR + 7])
def test_membership_is_that_of_re(body, low):
    for high in (low + 1, low + FAR, 3 * FAR):
        pattern = f"(?:{body}){{{low},{high}}}b?"
        compiled = constrain.compile(constrain.regex(pattern), VOCABULARY)
        for count in {0, 1, low - 1, low, low + 1, high - 1, high, high + 1} - {-1}:
            for text in ("a" * count, "ab" * count, "ab" * count + "b", "b" * count + "a"):
                assert compiled.accepts(text.encode()) == bool(re.fullmatch(pattern, text)), (pattern, text)


@pytest.mark.parametrize("pattern", ["a{3,100}b?", "(a|aa){1,90}", "[ab]{40,}x", "(ab|x){0,77}a{50,60}"])
def test_masks_equal_the_reference(pattern):
    grammar = constrain.regex(pattern)
    compiled, reference = constrain.compile(grammar, VOCABULARY), ReferenceMachine(grammar, VOCABULARY)
    rng = random.Random(pattern)
    state, slow = compiled.start, reference.start
    for _ in range(120):
        assert np.array_equal(compiled.bitmask(state), reference.bitmask(slow))
        options = sorted(compiled.next_bytes(state))
        if not options:
            break
        byte = bytes((rng.choice(options),))
        state, slow = compiled.advance_bytes(state, byte), reference.advance(slow, byte)


def test_lexer_states_do_not_grow_with_the_text():
    compiled = constrain.compile(constrain.regex(".{1,1000000}x"), VOCABULARY)
    lexicon = compiled.machine.lexicon
    compiled.advance_bytes(compiled.start, b"y" * 1000)
    before = lexicon.num_states
    assert compiled.accepts(b"y" * 100_000 + b"x")
    assert lexicon.num_states == before


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "maxLength": 100_000},
        {"type": "string", "minLength": 1000, "maxLength": 100_000},
        {"type": "string", "pattern": "^[a-z-]+$", "maxLength": 100_000},
        {"type": "string", "pattern": "^([a-z]{3}-)*[a-z]$", "maxLength": 100_000},
    ],
)
def test_long_strings_take_few_lexer_states(schema):
    compiled = constrain.compile(constrain.json_schema(schema), VOCABULARY)
    before = compiled.machine.lexicon.num_states
    assert compiled.accepts(b'"' + b"abc-" * 10_000 + b'z"')
    assert compiled.machine.lexicon.num_states - before < 3000
    assert not compiled.accepts(b'"' + b"abc-" * 25_000 + b'z"')


def test_an_intersection_that_a_count_makes_empty_is_refused_where_it_is():
    # After a "b" only 120 more characters would do, and the count may leave fewer.
    pattern = f"(?=(?:a*|a*bx{{120}})$)[abx]{{0,{4 * FAR}}}"
    compiled = constrain.compile(constrain.regex(pattern), VOCABULARY)
    for count in (0, 10, 4 * FAR - 121, 4 * FAR - 120, 4 * FAR - 1):
        state = compiled.advance_bytes(compiled.start, b"a" * count)
        assert (ord("b") in compiled.next_bytes(state)) == (count + 121 <= 4 * FAR)


def test_shapes_of_the_docstring():
    table = RegexTable()
    x, y = table.byte_class(1 << ord("x")), table.byte_class(1 << ord("y"))
    shape, base = shapes.symbolised(table, table.concat(table.repeat(x, 5, 1000), y), 200)
    assert (shape, base) == (table.concat(table.repeat(x, 5, SYMBOL), y), 1000)
    ((_, target),) = table.row(shape)
    assert shapes.rebased(table, target) == (table.concat(table.repeat(x, 4, SYMBOL), y), -1)
    assert shapes.written_out(table, shape, 300) == table.concat(table.repeat(x, 5, 300), y)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([(0, 4), (5, 9)], [(0, 9)]),
        ([(0, 4), (6, 9)], [(0, 4), (6, 9)]),
        ([(3, UNBOUNDED), (7, 9)], [(3, UNBOUNDED)]),
        ([(0, SYMBOL - 1), (0, SYMBOL)], [(0, SYMBOL)]),
        ([(0, SYMBOL), (3, 9)], [(0, SYMBOL)]),
        ([(0, SYMBOL), (0, 500)], [(0, 500), (0, SYMBOL)]),  # which is larger depends on the symbol
        ([(500, UNBOUNDED), (SYMBOL, SYMBOL)], [(500, UNBOUNDED), (SYMBOL, SYMBOL)]),
        ([(SYMBOL - 2, SYMBOL - 1), (SYMBOL, SYMBOL + 5)], [(SYMBOL - 2, SYMBOL + 5)]),
    ],
)
def test_merged_intervals(counts, expected):
    assert merged(counts) == expected


def test_shared_parts_are_visited_once():
    # 2^60 ways to the end, 60 nodes.
    counted = node = ir.Repeat(ir.CharClass(((0x61, 0x7A),)), 0, 4 * FAR)
    for _ in range(60):
        node = ir.Alt((ir.Seq((ir.Literal(b"a"), node)), ir.Seq((ir.Literal(b"b"), ir.Literal(b"c"), node))))
    grammar = ir.Grammar(ir.Lexeme(ir.Alt((ir.Seq((counted, ir.Literal(b"!"))), node))))
    assert constrain.compile(grammar, VOCABULARY).accepts(b"a" * 59 + b"bcxyz")
