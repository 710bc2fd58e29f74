r"""Internationalized host names (IDNA2008: RFC 5890 to 5893), as far as a small automaton reads them.

Every accepted name is valid. Names of ASCII labels are those of `hosts.hostname` without `--` as third and fourth
character of a label. Other names hold at most four labels, each of them

- of ASCII: at most 30 letters, digits and single hyphens, a letter first; or
- of characters that RFC 5892 allows (PVALID), all below U+0800 and at most 16, or all in `_BLOCKS` and at most 11:
  however they are chosen, its A-label (RFC 3492) has at most 62 octets and the name at most 253; or
- the same from right to left (RFC 5893): a letter of Hebrew, Arabic and the like first, digits of one kind.

Refused though they may be valid: longer labels and names; labels `xn--...`; digits first; two hyphens in a row;
characters outside of `_BLOCKS`, unknown to this Python's Unicode database, or neutral in direction; characters that may
compose with one before them (NFC_Quick_Check=Maybe: U+0301, U+093C, U+3099, ...) and marks out of the order of
`_LEVELS` or two of one level, for which NFC is left open; contextual characters (RFC 5892 appendix A) other than
`l\u00B7l`, a keraia or katakana middle dot inside a label before a letter of its scripts, geresh and gershayim after a
Hebrew letter, and joiners between a virama and a letter.

Read in this order: `_Sets`, `_label`, `idn_hostname`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import cache

from constrain.grammars.char_classes import Ranges, intersect, normalise, subtract
from constrain.grammars.formats.hosts import LDH_LABEL
from constrain.grammars.regex import parse
from constrain.grammars.regex_tree import ANY_CHAR, char_class
from constrain.ir import EPSILON, Alt, And, Literal, Node, Not, Repeat, Seq

NARROW, NARROW_CHARS = 0x7FF, 16
WIDE, WIDE_CHARS = 0xFFFF, 11
MOST_LABELS, ASCII_CHARS = 4, 30
# Greatest canonical combining classes of two levels: vowels and others, then tone marks and accents.
_LEVELS = (106, 255)
_VIRAMA = 9
# Han and Hangul: letters from left to right, none composes.
_UNIFORM: Ranges = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3))
# What is offered of the Basic Multilingual Plane: below U+0800, and blocks of scripts in everyday use (Devanagari to
# Myanmar, Georgian, Ethiopic, Khmer, more Latin and Greek, kana, Bopomofo, Han, Hangul); each block costs states.
_BLOCKS: Ranges = (
    (0x61, NARROW),
    (0x900, 0x109F),
    (0x10D0, 0x10FF),
    (0x1200, 0x137F),
    (0x1780, 0x17FF),
    (0x1E00, 0x1FFF),
    (0x3005, 0x312F),
    *_UNIFORM,
)
_HYPHEN = Literal(b"-")
_SEPARATOR = r"[.\u3002\uFF0E\uFF61]"  # RFC 3490 section 3.1
_DIGITS: Ranges = ((0x30, 0x39),)
_ARABIC_DIGITS: Ranges = ((0x660, 0x669),)
_EXTENDED_ARABIC_DIGITS: Ranges = ((0x6F0, 0x6F9),)


def _decoded(ranges: Iterable[int]) -> Ranges:
    """Return ranges as `idna` writes them in the form of ours."""
    return normalise((one >> 32, (one & 0xFFFFFFFF) - 1) for one in ranges)


def _seconds() -> set[int]:
    """Return the code points with which another composes; Hangul jamo, which do too, are not allowed anyway."""
    found = set()
    for low, high in ((0xA0, 0x33FF), (0xF900, 0xFB4F)):
        for code in range(low, high + 1):
            first, _, second = unicodedata.decomposition(chr(code)).partition(" ")
            if second and first[0] != "<" and " " not in second:
                found.add(int(second, 16))
    return found


class _Sets:
    """The allowed characters of the Basic Multilingual Plane by what may come before and after them."""

    def __init__(self) -> None:
        from idna import idnadata

        pvalid = intersect(_decoded(idnadata.codepoint_classes["PVALID"]), _BLOCKS)
        found: dict[str, list[tuple[int, int]]] = {name: [] for name in ("L", "inner", "R", "virama", "0", "1", "NSM")}
        found["L"] += intersect(pvalid, _UNIFORM)
        seconds = _seconds()
        for low, high in subtract(pvalid, _UNIFORM):
            for code in range(low, high + 1):
                if code not in seconds:
                    found.get(self._kind(chr(code)), []).append((code, code))
        sets = {name: normalise(ranges) for name, ranges in found.items()}
        self.left, self.right, self.virama, self.nonspacing = sets["L"], sets["R"], sets["virama"], sets["NSM"]
        self.inner = sets["inner"]
        self.levels = tuple(sets[str(level)] for level in range(len(_LEVELS)))
        scripts = {
            name: _decoded(idnadata.scripts[name]) for name in ("Greek", "Hebrew", "Hiragana", "Katakana", "Han")
        }
        self.greek = intersect(self.left, scripts["Greek"])
        self.hebrew = intersect(self.right, scripts["Hebrew"])
        self.east_asian = intersect(
            self.left, normalise(one for name in ("Hiragana", "Katakana", "Han") for one in scripts[name])
        )

    @staticmethod
    def _kind(char: str) -> str:
        """Return the set of an allowed character: by class of marks, else by direction."""
        rank, direction = unicodedata.combining(char), unicodedata.bidirectional(char)
        if rank == _VIRAMA:
            return "virama"
        if rank:
            # Marks are almost all NSM; the others are left out.
            level = next(level for level, top in enumerate(_LEVELS) if rank <= top)
            return str(level) if direction == "NSM" else ""
        if direction == "NSM":
            return "NSM"
        mark = unicodedata.category(char)[0] == "M"
        if direction == "L":
            return "inner" if mark else "L"
        return "R" if direction in {"R", "AL"} and not mark else ""


@cache
def _sets() -> _Sets:
    return _Sets()


_Texts = list[tuple[Node, int]]
"""Texts and how many characters each has."""


def _label(most: int, top: int, first: Ranges, more: Ranges, texts: _Texts, inner: _Texts) -> Node:
    """Return labels of at most `most` characters up to `top`, written out by the number of characters that are left.

    Args:
        first: what may come first.
        more: what may come after it and after a hyphen.
        texts: what else may come first or anywhere.
        inner: what else may come anywhere but first.
    """
    sets = _sets()
    begin, letter = (char_class(intersect(part, ((0, top),))) for part in (first, more))
    # A mark that takes part in no ordering may follow anything but a hyphen.
    bound = char_class(intersect(normalise([*sets.nonspacing, *sets.inner]), ((0, top),)))
    joined = Seq((char_class(intersect(sets.virama, ((0, top),))), char_class(((0x200C, 0x200D),)), letter))
    levels = [
        char_class(intersect(normalise([*level, *sets.virama]) if not number else level, ((0, top),)))
        for number, level in enumerate(sets.levels)
    ]
    # after[n][l]: what may follow with n characters left where marks of the first l levels are used up.
    after: list[list[Node]] = [[EPSILON] * (len(levels) + 1)]
    for left in range(1, most):
        ways = [(letter, 1), (bound, 1), (Seq((_HYPHEN, letter)), 2), *texts, *inner]
        always = [Seq((node, after[left - size][0])) for node, size in ways if size <= left]
        marks: list[Node] = [Seq((node, after[left - 1][level + 1])) for level, node in enumerate(levels)]
        after.append([Alt((EPSILON, *always, *marks[used:])) for used in range(len(levels) + 1)])
        if left >= 3:  # the virama is a mark of the first level
            after[left][0] = Alt((after[left][0], Seq((joined, after[left - 3][0]))))
    starts = [Seq((node, after[most - size][0])) for node, size in texts]
    return Alt((Seq((begin, after[most - 1][0])), *starts))


def _ascii_label() -> Node:
    letter, more = parse("[A-Za-z]", dialect="ecma"), parse("[A-Za-z0-9]", dialect="ecma")
    after: list[Node] = [EPSILON]
    for left in range(1, ASCII_CHARS):
        hyphen = [Seq((_HYPHEN, more, after[left - 2]))] if left > 1 else []
        after.append(Alt((EPSILON, Seq((more, after[left - 1])), *hyphen)))
    return Seq((letter, after[ASCII_CHARS - 1]))


@cache
def _labels() -> Node:
    """Return the labels that may stand beside each other in any name."""
    sets = _sets()
    left = normalise([*sets.left, *_DIGITS])
    dotted: _Texts = [(Literal("l\u00b7l".encode()), 3)]
    greek = (Seq((Literal("\u0375".encode()), char_class(sets.greek))), 2)
    east_asian = (Seq((Literal("\u30fb".encode()), char_class(sets.east_asian))), 2)
    quoted: _Texts = [(Seq((char_class(sets.hebrew), char_class(((0x5F3, 0x5F4),)))), 2)]
    right = [
        _label(NARROW_CHARS, NARROW, sets.right, normalise([*sets.right, *digits]), quoted, [])
        for digits in (normalise([*_DIGITS, *_EXTENDED_ARABIC_DIGITS]), _ARABIC_DIGITS)
    ]
    return Alt(
        (
            _ascii_label(),
            _label(NARROW_CHARS, NARROW, sets.left, left, dotted, [greek]),
            _label(WIDE_CHARS, WIDE, sets.left, left, dotted, [greek, east_asian]),
            *right,
        )
    )


@cache
def idn_hostname() -> Node:
    """Return the names that the module's text describes."""
    return Alt((international(_SEPARATOR), _ascii_name()))


@cache
def international(separator: str = r"\.") -> Node:
    """Return names of at most `MOST_LABELS` labels, of ASCII or not."""
    more = Seq((parse(separator, dialect="ecma"), _labels()))
    return Seq((_labels(), Repeat(more, 0, MOST_LABELS - 1)))


def _ascii_name() -> Node:
    hyphens = r"(?:[^.]{0,3}|[^.]{2}(?:[^.\-][^.]*|-[^.\-][^.]*))".replace("[^.", r"[^.\u3002\uFF0E\uFF61")
    names = [
        rf"{LDH_LABEL}(?:{_SEPARATOR}{LDH_LABEL})*",
        f"{hyphens}(?:{_SEPARATOR}{hyphens})*",
        rf"[\-0-9A-Za-z]{{1,63}}(?:{_SEPARATOR}[\-0-9A-Za-z]{{1,63}})*",
    ]
    parts = [parse(name, dialect="ecma") for name in names]
    dotted_decimal = parse(rf"\d+(?:{_SEPARATOR}\d+){{3}}", dialect="ecma")
    return And((*parts, Repeat(ANY_CHAR, 1, 253), Not(dotted_decimal)))
