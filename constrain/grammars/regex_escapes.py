r"""Escapes and character classes of both dialects.

`read_escape` reads `\...` outside a class, `read_class` reads `[...]`. ECMA patterns follow flag `u`, but an escaped
character that is neither letter nor digit stands for itself also where `u` would refuse it (`\-`, `\"`, `\_`): every
schema in the wild relies on that.
"""

from __future__ import annotations

import re
import unicodedata

from constrain.errors import GrammarSyntaxError, UnsupportedFeatureError
from constrain.grammars import char_classes as cc
from constrain.grammars import regex_dialects as dialects
from constrain.grammars.char_classes import Ranges
from constrain.grammars.regex_dialects import Flags

_SIMPLE = {"f": 0x0C, "n": 0x0A, "r": 0x0D, "t": 0x09, "v": 0x0B}
_PROPERTY = re.compile(r"\\[pP]\{([A-Za-z0-9_]+(?:=[A-Za-z0-9_]+)?)\}")
_PAIR = re.compile(r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_BRACED = re.compile(r"\\u\{([0-9a-fA-F]+)\}")
_OCTAL = re.compile(r"\\(0[0-7]{0,2}|[0-3][0-7]{2})")
_TOO_LARGE = re.compile(r"\\[4-7][0-7]{2}")
_CLASS_OCTAL = re.compile(r"\\([0-3]?[0-7]{1,2})")
_NAMED = re.compile(r"\\N\{([^{}]+)\}")


class Scanner:
    """A pattern, a position in it, and its dialect."""

    __slots__ = ("ecma", "position", "text")

    def __init__(self, text: str, *, ecma: bool) -> None:
        self.text = text
        self.position = 0
        self.ecma = ecma

    def error(self, reason: str, position: int) -> GrammarSyntaxError:
        return GrammarSyntaxError(reason, self.text, position)


def read_escape(scan: Scanner, flags: Flags) -> Ranges | str:
    r"""Read one escape outside a class: a set of characters, or the letter of an assertion (`b`, `B`, `A`, `Z`)."""
    start = scan.position
    letter = scan.text[start + 1 : start + 2]
    if letter and letter in ("bB" if scan.ecma else "bBAZ"):
        scan.position += 2
        return letter
    if not scan.ecma and _TOO_LARGE.match(scan.text, start):
        raise scan.error("an octal escape above \\377", start)
    octal = not scan.ecma and _OCTAL.match(scan.text, start) is not None
    if (letter in "123456789" and letter and not octal) or (scan.ecma and letter == "k"):
        raise UnsupportedFeatureError(
            "\\" + letter,
            f"position {start} of the pattern",
            "a back-reference is no regular language",
            "Write out what the group may hold.",
        )
    return _class_escape(scan, flags)


def _class_escape(scan: Scanner, flags: Flags) -> Ranges:
    """Read an escape that means the same inside and outside a class."""
    start = scan.position
    letter = scan.text[start + 1 : start + 2]
    if not letter:
        raise scan.error("a backslash at the end", start)
    if letter in "dDwWsS":
        scan.position += 2
        return dialects.shorthand(letter, flags, ecma=scan.ecma)
    if letter in "pP" and scan.ecma:
        return _property(scan, start, negative=letter == "P")
    code = _ecma_code(scan, start, letter) if scan.ecma else _python_code(scan, start, letter)
    return ((code, code),) if not 0xD800 <= code <= 0xDFFF else ()


def _property(scan: Scanner, start: int, *, negative: bool) -> Ranges:
    found = _PROPERTY.match(scan.text, start)
    if found is None:
        raise scan.error(r"expected \p{...}", start)
    scan.position = found.end()
    ranges = cc.unicode_property(found.group(1))
    if ranges is None:
        raise UnsupportedFeatureError(
            found.group(),
            f"position {start} of the pattern",
            "only general categories, Any, ASCII, Assigned, Uppercase, Lowercase and ASCII_Hex_Digit are known",
            "Write the ranges of the script, for example [\\u0370-\\u03FF].",
        )
    return cc.complement(ranges) if negative else ranges


def _hex(scan: Scanner, start: int, count: int) -> int:
    digits = scan.text[start + 2 : start + 2 + count]
    if len(digits) != count or any(digit not in "0123456789abcdefABCDEF" for digit in digits):
        raise scan.error(f"expected {count} hexadecimal digits", start)
    scan.position = start + 2 + count
    return int(digits, 16)


def _ecma_code(scan: Scanner, start: int, letter: str) -> int:
    text = scan.text
    scan.position = start + 2
    if letter in _SIMPLE:
        return _SIMPLE[letter]
    if letter == "x":
        return _hex(scan, start, 2)
    if letter == "u":
        pair, braced = _PAIR.match(text, start), _BRACED.match(text, start)
        if pair is not None:
            scan.position = pair.end()
            return 0x10000 + ((int(pair.group(1), 16) & 0x3FF) << 10) + (int(pair.group(2), 16) & 0x3FF)
        if braced is not None:
            scan.position = braced.end()
            digits = braced.group(1).lstrip("0") or "0"
            if len(digits) > 6 or int(digits, 16) > 0x10FFFF:
                raise scan.error("a code point above U+10FFFF", start)
            return int(digits, 16)
        return _hex(scan, start, 4)
    if letter == "c" and text[start + 2 : start + 3].isalpha() and text[start + 2].isascii():
        scan.position = start + 3
        return ord(text[start + 2]) % 32
    if letter == "0" and not text[start + 2 : start + 3].isdecimal():
        return 0
    if letter.isalnum():
        hint = (
            "; the end of the text is $" if letter in "Zz" else "; the start of the text is ^" if letter == "A" else ""
        )
        raise scan.error(f"unknown escape \\{letter} in ECMA-262 syntax{hint}", start)
    return ord(letter)


def _python_code(scan: Scanner, start: int, letter: str) -> int:
    scan.position = start + 2
    if letter in _SIMPLE or letter == "a":
        return _SIMPLE.get(letter, 7)
    if letter in "xuU":
        code = _hex(scan, start, {"x": 2, "u": 4, "U": 8}[letter])
        if code > 0x10FFFF:
            raise scan.error("a code point above U+10FFFF", start)
        return code
    octal = _OCTAL.match(scan.text, start)
    if octal is not None:
        scan.position = octal.end()
        return int(octal.group(1), 8)
    named = _NAMED.match(scan.text, start)
    if named is not None:
        scan.position = named.end()
        try:
            return ord(unicodedata.lookup(named.group(1)))
        except (KeyError, TypeError):
            raise scan.error(f"undefined character name {named.group(1)!r}", start) from None
    if letter.isascii() and letter.isalnum():
        raise scan.error(f"bad escape \\{letter}", start)
    return ord(letter)


def read_class(scan: Scanner, flags: Flags) -> Ranges:
    """Read `[...]`; return its set, closed under case already if negated (then the order matters)."""
    start = scan.position
    text = scan.text
    scan.position += 1
    negative = text.startswith("^", scan.position)
    scan.position += negative
    first = True
    found: list[tuple[int, int]] = []
    while True:
        if scan.position >= len(text):
            raise scan.error("unclosed character class", start)
        if text[scan.position] == "]" and (scan.ecma or not first):
            scan.position += 1
            break
        first = False
        found += _class_item(scan, flags, start)
    ranges = cc.normalise(found)
    if negative:
        return cc.complement(dialects.closed(ranges, flags))
    return ranges


def _class_item(scan: Scanner, flags: Flags, start: int) -> Ranges:
    """Read one member or range `a-b` of a class."""
    text = scan.text
    at = scan.position
    low, low_code = _class_atom(scan, flags, start)
    if not text.startswith("-", scan.position) or text[scan.position + 1 : scan.position + 2] in {"]", ""}:
        return low
    dash = scan.position
    scan.position += 1
    high, high_code = _class_atom(scan, flags, start)
    if low_code is None or high_code is None:
        if not scan.ecma:
            raise scan.error(f"bad character range {text[at : scan.position]}", at)
        # Without flag u a shorthand cannot be an end of a range: the dash is then itself a member (ECMA-262 B.1.2).
        return (*low, (ord("-"), ord("-")), *high)
    if high_code < low_code:
        raise scan.error(f"bad character range {text[at : scan.position]}", dash)
    return ((low_code, high_code),)


def _class_atom(scan: Scanner, flags: Flags, start: int) -> tuple[Ranges, int | None]:
    """Read one member; return its set, and its code point if it is a single character."""
    text = scan.text
    if scan.position >= len(text):
        raise scan.error("unclosed character class", start)
    char = text[scan.position]
    if char != "\\":
        scan.position += 1
        return ((ord(char), ord(char)),), ord(char)
    letter = text[scan.position + 1 : scan.position + 2]
    if letter == "b":
        scan.position += 2
        return ((8, 8),), 8
    if letter and letter in "dDwWsSpP" and not (letter in "pP" and not scan.ecma):
        return _class_escape(scan, flags), None
    before = scan.position
    if not letter:
        raise scan.error("unclosed character class", start)
    octal = None if scan.ecma else _CLASS_OCTAL.match(text, before)
    if octal is not None:
        scan.position = octal.end()
        return ((int(octal.group(1), 8),) * 2,), int(octal.group(1), 8)
    code = _ecma_code(scan, before, letter) if scan.ecma else _python_code(scan, before, letter)
    return ((code, code),), code
