"""The oracle itself, on languages small enough to know by heart, and against `re` and `lark`."""

import itertools
import re

import pytest
from oracles import naive

from constrain.ir import (
    ADD,
    AT_LEAST,
    INSERT,
    LESS,
    MARK,
    MARKED,
    NOTHING,
    Alt,
    And,
    ByteClass,
    CharClass,
    Grammar,
    Key,
    Lexeme,
    Literal,
    Not,
    OneOf,
    Op,
    Ref,
    Repeat,
    Seq,
)  # fmt: skip

A, B = Literal(b"a"), Literal(b"b")
ANYTHING = And(())


def words(alphabet, longest):
    return [bytes(word) for size in range(longest + 1) for word in itertools.product(alphabet, repeat=size)]


def check(grammar, members, alphabet=b"ab", longest=5):
    """`members` is everything up to `longest` + some: prefixes of it are viable, nothing else is."""
    language = naive.Language(grammar)
    for word in words(alphabet, longest):
        assert language.matches(word) == (word in members), word
        assert language.is_viable_prefix(word) == any(member.startswith(word) for member in members), word


REGULAR = {
    "(ab|b)*": Repeat(Alt((Literal(b"ab"), B)), 0, None),
    "a{2,3}b?": Seq((Repeat(A, 2, 3), Repeat(B, 0, 1))),
    "(a?b?){1,2}": Repeat(Seq((Repeat(A, 0, 1), Repeat(B, 0, 1))), 1, 2),
    "(?!.*bb)[ab]*": And((Repeat(ByteClass(1 << 97 | 1 << 98), 0, None), Not(Seq((ANYTHING, Literal(b"bb"), ANYTHING))))),
    "aab?|ba|b": OneOf((b"aa", b"aab", b"ba", b"b")),
    "(a*)*b": Seq((Repeat(Repeat(A, 0, None), 0, None), B)),
}  # fmt: skip


@pytest.mark.parametrize("pattern", REGULAR)
def test_regular_nodes_against_re(pattern):
    node = REGULAR[pattern]
    members = {word for word in words(b"ab", 8) if re.fullmatch(pattern, word.decode())}
    assert members
    for word in words(b"ab", 5):
        assert naive.matches_regular(node, word) == (word in members)
    check(Grammar(Lexeme(node)), members)


@pytest.mark.parametrize(
    "ranges", [((0x61, 0x7A),), ((0xE0, 0xFFF),), ((0xD000, 0xE000),), ((0xFFFE, 0x10FFFF),), ((0, 0x10FFFF),)]
)
def test_characters_are_utf8(ranges):
    node = CharClass(ranges)
    for point in (0, 0x61, 0x7F, 0x80, 0xE9, 0x7FF, 0x800, 0xFFF, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x1F600, 0x10FFFF):
        text = chr(point).encode()
        inside = any(low <= point <= high for low, high in ranges)
        assert naive.matches_regular(node, text) == inside
        if inside:
            assert all(naive.is_viable_prefix(Grammar(node), text[:size]) for size in range(len(text)))
    for wrong in (
        b"\xed\xa0\x80",
        b"\xc0\x80",
        b"\xe0\x80\x80",
        b"\xf4\x90\x80\x80",
        b"\x80",
        b"\xff",
        b"\xf8\x88\x80\x80\x80",
    ):
        assert not naive.matches_regular(node, wrong)
        assert not naive.is_viable_prefix(Grammar(node), wrong)


def balanced(longest):
    """a^n b^n."""
    return {b"a" * n + b"b" * n for n in range(longest)}


def test_recursion():
    nest = Grammar(Ref("s"), {"s": Alt((Literal(b""), Seq((A, Ref("s"), B))))})
    check(nest, balanced(6))


def test_left_recursion_and_nullable_and_ambiguity():
    anything = set(words(b"ab", 7))
    check(Grammar(Ref("s"), {"s": Alt((Literal(b""), Seq((Ref("s"), Alt((A, B))))))}), anything)
    check(Grammar(Ref("s"), {"s": Alt((Literal(b""), Seq((Ref("s"), Ref("s"))), A, B))}), anything)


def test_unproductive_branches_are_dead():
    grammar = Grammar(Alt((Seq((A, Ref("loop"))), Seq((B, A)))), {"loop": Seq((A, Ref("loop")))})
    check(grammar, {b"ba"})
    assert not naive.is_viable_prefix(Grammar(Seq((A, NOTHING))), b"")


def test_the_alphabet_decides_what_is_alive():
    language = naive.Language(Grammar(Alt((Literal(b"ab"), Literal(b"ac")))), frozenset(b"ab"))
    assert language.is_viable_prefix(b"a")
    assert not naive.Language(Grammar(Literal(b"ac")), frozenset(b"ab")).is_viable_prefix(b"a")


def test_counters():
    body = Seq((Repeat(Seq((Op(LESS, 0, 3), A, Op(ADD, 0, 1))), 0, None), Op(AT_LEAST, 0, 2)))
    check(Grammar(Ref("r"), {"r": body}), {b"aa", b"aaa"})
    # Registers are those of one call.
    check(
        Grammar(Seq((Ref("r"), B, Ref("r"))), {"r": body}),
        {x + b"b" + y for x in (b"aa", b"aaa") for y in (b"aa", b"aaa")},
        longest=7,
    )


def test_marks():
    one, two = Seq((A, Op(MARK, 0, 0))), Seq((B, Op(MARK, 0, 1)))
    check(Grammar(Seq((Repeat(Alt((one, two)), 0, None), Op(MARKED, 0, 1)))), {b"b", b"ab", b"ba"})


def test_a_dead_count_is_seen_early():
    # One a at most, two wanted: nothing.
    body = Seq((Repeat(Seq((Op(LESS, 0, 1), A, Op(ADD, 0, 1))), 0, None), Op(AT_LEAST, 0, 2)))
    assert not naive.is_viable_prefix(Grammar(body), b"")


def test_keys_are_unique():
    text = Repeat(ByteClass(1 << 97 | 1 << 98), 0, None)
    key = Key(Seq((Literal(b'"'), text, Literal(b'"'))))
    language = naive.Language(
        Grammar(Seq((Op(INSERT, texts=(b"b",)), key, Repeat(Seq((Literal(b","), key)), 0, None))))
    )
    assert language.matches(b'"a","aa",""')
    assert not language.matches(b'"a","aa","a"')
    assert not language.matches(b'"b"')
    assert language.is_viable_prefix(b'"a","a')
    assert not language.is_viable_prefix(b'"a","a"')


def test_a_key_that_cannot_become_fresh_is_dead():
    key = Key(OneOf((b'"a"', b'"\\u0061"', b'"b"')))
    language = naive.Language(Grammar(Seq((key, Literal(b","), key))))
    assert language.matches(b'"a","b"')
    assert not language.is_viable_prefix(b'"a","\\')
    assert language.is_viable_prefix(b'"b","\\')


def test_rules_that_expand():
    grammar = Grammar(Ref(2), expand=lambda depth: Seq((A, Ref(depth - 1))) if depth else B)
    check(grammar, {b"aab"})


def test_against_lark():
    lark = pytest.importorskip("lark")
    parser = lark.Lark('start: e\ne: e "a" e | "b" | "a" e', parser="earley", ambiguity="resolve", keep_all_tokens=True)
    grammar = Grammar(Ref("e"), {"e": Alt((Seq((Ref("e"), A, Ref("e"))), B, Seq((A, Ref("e")))))})
    language = naive.Language(grammar)
    for word in words(b"ab", 6):
        try:
            parser.parse(word.decode())
            expected = True
        except lark.exceptions.LarkError:
            expected = False
        assert language.matches(word) == expected, word
