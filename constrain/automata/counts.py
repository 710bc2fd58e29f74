"""Bounds of repeats: plain ints, UNBOUNDED, and symbols that stand for a large count which is not written down.

A symbol is SYMBOL plus an offset, so taking one away works as for any int. All symbols of one expression stand for the
same count plus their offsets. Whoever puts symbols in sees to it that what one stands for is never below SURELY_LESS.
"""

from __future__ import annotations

UNBOUNDED = -1
SYMBOL = 1 << 40
SURELY_LESS = 24
_MOST = 1 << 30
"""Counts stand in tables of int32."""


def is_symbol(bound: int) -> bool:
    """Return whether a bound stands for a count that is not written down."""
    return bound > SYMBOL >> 1


def merged(counts: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Unite intervals (low, high) that overlap or touch, as far as that is known whatever symbols stand for."""
    counts = sorted(counts)
    out = [counts[0]]
    for low, high in counts[1:]:
        before_low, before_high = out[-1]
        touching = _comparable(low, before_low) and (
            before_high == UNBOUNDED or (_comparable(low, before_high) and low <= before_high + 1)
        )
        if touching and UNBOUNDED in (high, before_high):
            out[-1] = (before_low, UNBOUNDED)
        elif touching and _comparable(high, before_high):
            out[-1] = (before_low, max(high, before_high))
        else:
            out.append((low, high))
    return out


def contains(outer: tuple[int, int], inner: tuple[int, int]) -> bool:
    """Return whether an interval is surely within another, whatever symbols stand for."""
    (low, high), (least, most) = outer, inner
    if not (_comparable(low, least) and low <= least):
        return False
    return high == UNBOUNDED or (most != UNBOUNDED and _comparable(high, most) and most <= high)


def product(inner: tuple[int, int], outer: tuple[int, int]) -> tuple[int, int] | None:
    """Return the counts of a repeat of a repeat, x{inner}{outer}; None where they are no interval, or not known.

    No greatest count is 0.
    """
    (low, high), (least, most) = inner, outer
    if any(map(is_symbol, (low, high, least, most))) or max(high, low) * max(most, least) > _MOST:
        return None
    # From k copies to k + 1 no count is left out if (k + 1) * low <= k * high + 1; that is hardest for the fewest.
    fewest = max(least, 1)
    if most != least and high != UNBOUNDED and (fewest + 1) * low > fewest * high + 1:
        return None
    if least == 0 and low > 1:
        return None
    return least * low, UNBOUNDED if UNBOUNDED in (high, most) else most * high


def _comparable(first: int, second: int) -> bool:
    return is_symbol(first) == is_symbol(second) or min(first, second) < SURELY_LESS
