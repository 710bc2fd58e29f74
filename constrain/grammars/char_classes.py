"""Sets of code points as sorted, disjoint, inclusive ranges, and the named sets of the two pattern dialects.

Set algebra first, then Python's and ECMA-262's shorthand classes, general categories, and case closure.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterable
from functools import cache

from constrain.ir import MAX_CODEPOINT, SURROGATES

Ranges = tuple[tuple[int, int], ...]

ALL: Ranges = ((0, SURROGATES[0] - 1), (SURROGATES[1] + 1, MAX_CODEPOINT))
DIGITS: Ranges = ((0x30, 0x39),)
ASCII_WORD: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
ASCII_SPACE: Ranges = ((0x09, 0x0D), (0x20, 0x20))
NEWLINE: Ranges = ((0x0A, 0x0A),)
# ECMA-262 WhiteSpace and LineTerminator (12.2, 12.3); Zs is spelled out because it has not changed for a decade.
ECMA_SPACE: Ranges = (
    (0x09, 0x0D),
    (0x20, 0x20),
    (0xA0, 0xA0),
    (0x1680, 0x1680),
    (0x2000, 0x200A),
    (0x2028, 0x2029),
    (0x202F, 0x202F),
    (0x205F, 0x205F),
    (0x3000, 0x3000),
    (0xFEFF, 0xFEFF),
)
ECMA_LINE_ENDS: Ranges = ((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029))

# Planes above these hold no assigned character but private use (Co) in 15 and 16.
_SCANNED = (range(0x40000), range(0xE0000, 0xE1000))


def normalise(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Return the same set sorted, with overlapping and touching ranges joined and surrogates removed."""
    out: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if out and low <= out[-1][1] + 1:
            if high > out[-1][1]:
                out[-1] = (out[-1][0], high)
        else:
            out.append((low, high))
    if any(low <= SURROGATES[1] and high >= SURROGATES[0] for low, high in out):
        return intersect(tuple(out), ALL)
    return tuple(out)


def intersect(first: Ranges, second: Ranges) -> Ranges:
    """Return the code points in both sets."""
    out = []
    i = j = 0
    while i < len(first) and j < len(second):
        low, high = max(first[i][0], second[j][0]), min(first[i][1], second[j][1])
        if low <= high:
            out.append((low, high))
        if first[i][1] < second[j][1]:
            i += 1
        else:
            j += 1
    return tuple(out)


def complement(ranges: Ranges) -> Ranges:
    """Return the code points (no surrogates) outside the set."""
    out = []
    start = 0
    for low, high in ranges:
        if low > start:
            out.append((start, low - 1))
        start = high + 1
    if start <= MAX_CODEPOINT:
        out.append((start, MAX_CODEPOINT))
    return intersect(tuple(out), ALL)


def subtract(first: Ranges, second: Ranges) -> Ranges:
    """Return the code points of `first` outside `second`."""
    return intersect(first, complement(second))


def contains(ranges: Ranges, code: int) -> bool:
    """Return whether a code point is in the set."""
    return any(low <= code <= high for low, high in ranges)


@cache
def _scanned_text() -> str:
    return "".join(chr(code) for part in _SCANNED for code in part if not SURROGATES[0] <= code <= SURROGATES[1])


@cache
def python_class(letter: str) -> Ranges:
    r"""Return what Python's `\d`, `\w` or `\s` matches on str; taken from `re` itself, about 10 ms on first use."""
    # No run spans the surrogates or the gap between the planes: their neighbours are in none of the three classes.
    text = _scanned_text()
    spans = (match.span() for match in re.finditer(rf"\{letter}+", text))
    return normalise((ord(text[start]), ord(text[stop - 1])) for start, stop in spans)


@cache
def _categories() -> dict[str, Ranges]:
    """Return the ranges of every two-letter general category."""
    found: dict[str, list[tuple[int, int]]] = {"Co": [(0xF0000, 0xFFFFD), (0x100000, 0x10FFFD)]}
    category = unicodedata.category
    for part in _SCANNED:
        start, current = part.start, category(chr(part.start))
        for code in part:
            name = category(chr(code))
            if name != current:
                found.setdefault(current, []).append((start, code - 1))
                start, current = code, name
        found.setdefault(current, []).append((start, part.stop - 1))
    out = {name: normalise(ranges) for name, ranges in found.items() if name not in {"Cn", "Cs"}}
    out["Cn"] = complement(normalise(one for ranges in out.values() for one in ranges))
    out["Cs"] = ()
    return out


# General category names of ECMA-262 table 67 (PropertyValueAliases.txt), long form to short form.
_LONG_NAMES = {
    "Cased_Letter": "LC",
    "Close_Punctuation": "Pe",
    "Connector_Punctuation": "Pc",
    "Control": "Cc",
    "cntrl": "Cc",
    "Currency_Symbol": "Sc",
    "Dash_Punctuation": "Pd",
    "Decimal_Number": "Nd",
    "digit": "Nd",
    "Enclosing_Mark": "Me",
    "Final_Punctuation": "Pf",
    "Format": "Cf",
    "Initial_Punctuation": "Pi",
    "Letter": "L",
    "Letter_Number": "Nl",
    "Line_Separator": "Zl",
    "Lowercase_Letter": "Ll",
    "Mark": "M",
    "Combining_Mark": "M",
    "Math_Symbol": "Sm",
    "Modifier_Letter": "Lm",
    "Modifier_Symbol": "Sk",
    "Nonspacing_Mark": "Mn",
    "Number": "N",
    "Open_Punctuation": "Ps",
    "Other": "C",
    "Other_Letter": "Lo",
    "Other_Number": "No",
    "Other_Punctuation": "Po",
    "Other_Symbol": "So",
    "Paragraph_Separator": "Zp",
    "Private_Use": "Co",
    "Punctuation": "P",
    "punct": "P",
    "Separator": "Z",
    "Space_Separator": "Zs",
    "Spacing_Mark": "Mc",
    "Surrogate": "Cs",
    "Symbol": "S",
    "Titlecase_Letter": "Lt",
    "Unassigned": "Cn",
    "Uppercase_Letter": "Lu",
}

GENERAL_CATEGORIES = tuple(_LONG_NAMES)


@cache
def unicode_property(text: str) -> Ranges | None:
    r"""Return the set that `\p{text}` names, or None where `unicodedata` does not know it (scripts)."""
    name, equals, value = text.partition("=")
    if equals:
        if name not in {"General_Category", "gc"}:
            return None
        name = value
    elif name in {"Any", "ASCII", "Assigned", "Lowercase", "Uppercase", "Lower", "Upper", "ASCII_Hex_Digit", "AHex"}:
        return _binary_property(name)
    short = _LONG_NAMES.get(name, name)
    table = _categories()
    if short == "LC":
        return normalise(one for key in ("Lu", "Ll", "Lt") for one in table[key])
    if short in table:
        return table[short]
    if len(short) == 1 and any(key[0] == short for key in table):
        return normalise(one for key, ranges in table.items() if key[0] == short for one in ranges)
    return None


def _binary_property(name: str) -> Ranges:
    if name == "Any":
        return ALL
    if name == "ASCII":
        return ((0, 0x7F),)
    if name == "Assigned":
        return complement(_categories()["Cn"])
    if name in {"ASCII_Hex_Digit", "AHex"}:
        return ((0x30, 0x39), (0x41, 0x46), (0x61, 0x66))
    # str.islower and str.isupper on one character are the derived properties Lowercase and Uppercase.
    test = str.islower if name.startswith("Lower") else str.isupper
    return normalise((ord(char), ord(char)) for char in _scanned_text() if test(char))


@cache
def _case_orbits() -> dict[int, tuple[int, ...]]:
    """Return, for every code point with a partner that differs only by case, all of its partners and itself.

    As in `re`: characters are the same when they share a simple lower case, and lower case letters when they share
    an upper case.
    """
    by_lower: dict[int, list[int]] = {}
    for char in _scanned_text():
        lower = _lower(char)
        if lower != ord(char) or char != char.upper():
            by_lower.setdefault(lower, []).append(ord(char))
    by_upper: dict[str, set[int]] = {}
    for lower in by_lower:
        by_upper.setdefault(chr(lower).upper(), set()).add(lower)
    orbits = {}
    for lowers in by_upper.values():
        orbit = tuple(sorted({code for lower in lowers for code in (lower, *by_lower[lower])}))
        if len(orbit) > 1:
            orbits.update(dict.fromkeys(orbit, orbit))
    return orbits


def _lower(char: str) -> int:
    lower = char.lower()
    return ord(lower) if len(lower) == 1 else ord("i")  # only U+0130 has a lower case of two characters


def ignore_case(ranges: Ranges, *, ascii_only: bool = False) -> Ranges:
    """Return the set closed under case, as `re.IGNORECASE` does it."""
    found = list(ranges)
    for low, high in ranges:
        if low <= 0x7A and high >= 0x41:
            for shift, first, last in ((32, 0x41, 0x5A), (-32, 0x61, 0x7A)):
                if max(low, first) <= min(high, last):
                    found.append((max(low, first) + shift, min(high, last) + shift))
    if not ascii_only:
        orbits = _case_orbits()
        if sum(high - low for low, high in ranges) < len(orbits):
            codes = [code for low, high in ranges for code in range(low, high + 1) if code in orbits]
        else:
            codes = [code for code in orbits if contains(ranges, code)]
        found += [(other, other) for code in codes for other in orbits[code]]
    return normalise(found)


assert sys.maxunicode == MAX_CODEPOINT
