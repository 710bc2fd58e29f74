"""The two pattern dialects as values: Python's `re` on str, and ECMA-262 with flag `u` (what JSON Schema means)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from constrain.grammars import char_classes as cc
from constrain.grammars.char_classes import Ranges
from constrain.grammars.regex_tree import Ahead, Behind, Cat, Or, Tree, char_class
from constrain.ir import EPSILON, NOTHING, Alt, CharClass, Literal, Repeat


@dataclass(frozen=True, slots=True)
class Flags:
    """Flags in force at a place of a pattern."""

    ignore_case: bool = False
    dot_all: bool = False
    multi_line: bool = False
    verbose: bool = False
    ascii_only: bool = False

    def changed(self, letters: str, *, on: bool) -> Flags:
        """Return the flags with those of `letters` (of "ismxau") set or cleared."""
        names = {"i": "ignore_case", "s": "dot_all", "m": "multi_line", "x": "verbose", "a": "ascii_only"}
        return replace(self, **{names[letter]: on for letter in letters if letter in names})


def shorthand(letter: str, flags: Flags, *, ecma: bool) -> Ranges:
    r"""Return the set of `\d`, `\w`, `\s` or, for a capital, its complement."""
    lower = letter.lower()
    if ecma:
        ranges = {"d": cc.DIGITS, "w": cc.ASCII_WORD, "s": cc.ECMA_SPACE}[lower]
    elif flags.ascii_only:
        ranges = {"d": cc.DIGITS, "w": cc.ASCII_WORD, "s": cc.ASCII_SPACE}[lower]
    else:
        ranges = cc.python_class(lower)
    return ranges if letter == lower else cc.complement(ranges)


def dot(flags: Flags, *, ecma: bool) -> Ranges:
    """Return what `.` matches."""
    if flags.dot_all:
        return cc.ALL
    return cc.complement(cc.ECMA_LINE_ENDS if ecma else cc.NEWLINE)


def closed(ranges: Ranges, flags: Flags) -> Ranges:
    """Return a set of characters as the case flag makes it."""
    return cc.ignore_case(ranges, ascii_only=flags.ascii_only) if flags.ignore_case else ranges


def line_start(flags: Flags) -> Tree:
    """Return `^`."""
    return Behind(cc.NEWLINE if flags.multi_line else (), start=True)


def line_end(flags: Flags, position: int, *, ecma: bool) -> Tree:
    """Return `$`; Python's also holds before a newline that ends the text."""
    if ecma:
        return text_end(position)
    newline = char_class(cc.NEWLINE)
    if flags.multi_line:
        return Or((text_end(position), Ahead(newline, position=position)))
    return Ahead(Repeat(newline, 0, 1), to_end=True, position=position)


def text_end(position: int) -> Tree:
    r"""Return `\Z`."""
    return Ahead(EPSILON, to_end=True, position=position)


def word_boundary(word: Ranges, position: int, *, negative: bool) -> Tree:
    r"""Return `\b` or `\B`: exactly one neighbour is a word character, or both or none."""
    body = char_class(word)
    after_word, after_other = Behind(word), Behind(cc.complement(word), start=True)
    before_word, before_other = Ahead(body, position=position), Ahead(body, negative=True, position=position)
    if negative:
        return Or((Cat((after_word, before_word)), Cat((after_other, before_other))))
    return Or((Cat((after_word, before_other)), Cat((after_other, before_word))))


def one_character_behind(body: Tree) -> Behind | None:
    """Return the lookbehind for a body whose alternatives are each one character or `^`; None for others."""
    ranges: list[tuple[int, int]] = []
    start = False
    for part in body.parts if isinstance(body, (Or, Alt)) else (body,):
        if isinstance(part, CharClass):
            ranges += part.ranges
        elif isinstance(part, Behind):
            ranges += part.ranges
            start = start or part.start
        elif isinstance(part, Literal) and len(part.data.decode()) == 1:
            ranges.append((ord(part.data.decode()), ord(part.data.decode())))
        elif part is not NOTHING:
            return None
    return Behind(cc.normalise(ranges), start=start)


def not_behind(found: Behind) -> Behind:
    """Return the negation of a lookbehind."""
    return Behind(cc.complement(found.ranges), start=not found.start)
