"""Numerals that are a multiple of `step / 10**places`, digit by digit: the remainder so far is all that matters.

A state is (step, places, remainder, read): the digits so far, as one whole number, leave `remainder` when divided by
`step`, and `read` of them stand after the point, -1 for no point yet. After `places` of those only zeros may follow.
"""

from __future__ import annotations

from math import gcd

State = tuple[int, ...]


def start(step: int, places: int) -> State:
    """Return the state before the first digit."""
    return step, places, 0, -1


def accepts(state: State) -> bool:
    """Return whether what was read is a multiple."""
    step, places, remainder, read = state
    return bool(remainder * 10 ** (places - max(read, 0)) % step == 0)


def moves(state: State) -> list[tuple[int, State]]:
    """Return (set of bytes as a 256-bit int, next state) for every byte that may be read."""
    step, places, remainder, read = state
    if read == places:
        return [(1 << ord("0"), state)]
    after = read if read < 0 else read + 1
    found: dict[State, int] = {}
    for digit in range(10):
        target = step, places, (10 * remainder + digit) % step, after
        found[target] = found.get(target, 0) | 1 << ord("0") + digit
    if read < 0:
        found[step, places, remainder, 0] = 1 << ord(".")
    return [(mask, target) for target, mask in found.items()]


def least_length(state: State) -> int:
    """Return how many more bytes the shortest way to a multiple has, at least: without a point where there is none."""
    step, places, remainder, read = state
    count = 0
    while True:
        # Of `count` more digits the least that would do is what is missing to a multiple.
        left = places - max(read, 0) - (count if read >= 0 else 0)
        if left < 0:
            return count
        power = 10**left
        whole = step // gcd(step, power)
        if -remainder * 10**count % whole < 10**count:
            return count
        count += 1
        if read < 0 and places and count > 1:
            return count  # a point and a digit may do
