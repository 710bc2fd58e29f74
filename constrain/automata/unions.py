"""Alternatives that differ only in their counts: those that overlap or touch become one, those within others go.

An ambiguous repeat keeps one alternative for each count that may be alive. Of nested repeats, x{..}y{..}, there are
pairs of counts, thousands where few matter: p x{a,b} q y{c,d} t is within p x{e,f} q y{g,h} t if both counts are.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from constrain.automata.counts import UNBOUNDED, contains, merged
from constrain.errors import LimitExceededError

if TYPE_CHECKING:
    from constrain.automata.regex import RegexTable

_PREFIX = 8
"""Parts of a sequence that are passed in search of a repeat."""
_COMPARED = 8
"""Alternatives that each is compared with: those before it, with the larger counts."""

EMPTY = 1  # the empty text, in every table

Interval = tuple[int, int]
_Counted = tuple[tuple[int, ...], int, Interval, int]
"""(parts before, body, counts, what follows) of a sequence with a repeat."""


def united(table: RegexTable, parts: Iterable[int]) -> set[int]:
    """Return alternatives with the same union.

    Raises:
        LimitExceededError: more than `max_count_sets` counts of one repeat remain.
    """
    groups: dict[tuple[tuple[int, ...], int, int], list[Interval]] = {}
    wholes: dict[tuple[tuple[int, ...], int, int], int] = {}
    out = set()
    for part in parts:
        found = _counted(table, part)
        if found is None:
            out.add(part)
            continue
        prefix, body, counts, rest = found
        groups.setdefault((prefix, body, rest), []).append(counts)
        wholes[prefix, body, rest] = part
    intervals = {key: merged(counts) if len(counts) > 1 else counts for key, counts in groups.items()}
    if len(intervals) > 1:
        _drop_contained(table, intervals)
    for key, kept in intervals.items():
        if len(kept) > table.limits.max_count_sets:
            raise LimitExceededError("max_count_sets", table.limits.max_count_sets, "in a bounded repeat")
        if kept == groups[key] and len(kept) == 1:
            out.add(wholes[key])
        else:
            out.update(_sequence(table, key, counts) for counts in kept)
    return out


def _counted(table: RegexTable, expression: int) -> _Counted | None:
    """Return an expression as a sequence with a repeat among its first parts; None if there is none."""
    prefix: list[int] = []
    while len(prefix) <= _PREFIX:
        head, rest = table.parts(expression)
        bounds = table.bounds(head)
        if bounds is not None:
            body, low, high = bounds
            return tuple(prefix), body, (low, high), rest
        if rest == EMPTY:
            return None
        prefix.append(head)
        expression = rest
    return None


def _sequence(table: RegexTable, key: tuple[tuple[int, ...], int, int], counts: Interval) -> int:
    prefix, body, rest = key
    made = table.concat(table.repeat(body, *counts), rest)
    for head in reversed(prefix):
        made = table.concat(head, made)
    return made


def _drop_contained(table: RegexTable, intervals: dict[tuple[tuple[int, ...], int, int], list[Interval]]) -> None:
    """Take out the counts that, with those of the repeat after them, are within others."""
    pairs: dict[tuple[object, ...], list[tuple[Interval, Interval, tuple[tuple[int, ...], int, int]]]] = {}
    for key, kept in intervals.items():
        prefix, body, rest = key
        found = _counted(table, rest)
        if found is not None:
            between, following, counts, last = found
            group = pairs.setdefault((prefix, body, between, following, last), [])
            group.extend((first, counts, key) for first in kept)
    for group in pairs.values():
        if len(group) < 2:
            continue
        group.sort(key=lambda pair: (_size(pair[0]), _size(pair[1])), reverse=True)
        largest: list[tuple[Interval, Interval]] = []
        for first, second, key in group:
            if any(contains(a, first) and contains(b, second) for a, b in largest[-_COMPARED:]):
                intervals[key].remove(first)
            else:
                largest.append((first, second))


def _size(counts: Interval) -> tuple[bool, int, int]:
    low, high = counts
    return high == UNBOUNDED, high, -low
