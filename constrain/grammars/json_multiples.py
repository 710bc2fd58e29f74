"""JSON numbers that are multiples of others, or no integers, as regular nodes."""

from __future__ import annotations

from decimal import MAX_PREC, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, gcd, lcm

from constrain.grammars.json_numbers import (
    DEFAULT_DIGITS,
    DIGIT,
    MINUS,
    NONZERO,
    PLUS,
    POINT,
    SIGN,
    ZERO,
    Bounds,
    Digits,
    E,
    natural,
    number_terminal,
)
from constrain.grammars.regex_tree import join, union
from constrain.ir import And, ByteClass, Lexeme, Literal, Multiple, Node, Not, Repeat, optional

Multiples = tuple[tuple[Decimal, bool], ...]
"""Positive numbers, each with whether a value is to be a multiple of it."""

_NO_EXPONENT = ByteClass(sum(1 << byte for byte in b"-.0123456789"))
_EXACT = Context(prec=MAX_PREC)
_MOST_TRIED = 100_000


@lru_cache(maxsize=1024)
def multiple_terminal(base: Lexeme, multiples: Multiples) -> Lexeme:
    """Return the terminal of the numbers of another that are multiples (True) or not; without exponents."""
    parts = [base.pattern, Repeat(_NO_EXPONENT, 1, None)]
    for step, wanted in multiples:
        numerator, places = scaled(step)
        node = join((optional(MINUS), Multiple(numerator, places)))
        parts.append(node if wanted else Not(node))
    return Lexeme(And(tuple(parts)))


def scaled(step: Decimal) -> tuple[int, int]:
    """Return a positive number as a whole one and how many places its point has to go left."""
    _, digits, exponent = step.normalize(_EXACT).as_tuple()
    assert isinstance(exponent, int)
    whole = int("".join(map(str, digits)))
    return (whole * 10**exponent, 0) if exponent >= 0 else (whole, -exponent)


def digits_for(multiples: Multiples, digits: Digits) -> Digits:
    """Return the caps on digits, raised as far as multiples need."""
    units = [scaled(step) for step, _ in multiples]
    whole = max([digits[0], *(len(str(numerator)) + 1 for numerator, _ in units)])
    return whole, max([digits[1], *(places for _, places in units)]), digits[2]


def is_multiple(value: Decimal, step: Decimal) -> bool:
    """Return whether a number is a whole multiple of another."""
    return (Fraction(value) / Fraction(step)).denominator == 1


def fits(value: Decimal, multiples: Multiples) -> bool:
    """Return whether a number is a multiple of all that it must be and of none that it must not."""
    return all(is_multiple(value, step) == sign for step, sign in multiples)


def has_multiple(bounds: Bounds, multiples: Multiples) -> bool:
    """Return whether a number inside the bounds is a multiple of all that it must be and of none that it must not."""
    wanted = [Fraction(step) for step, sign in multiples if sign]
    unwanted = [Fraction(step) for step, sign in multiples if not sign]
    if not wanted:
        if bounds.low is None or bounds.low != bounds.high:
            return True
        return fits(bounds.low, multiples)
    step = Fraction(lcm(*(one.numerator for one in wanted)), gcd(*(one.denominator for one in wanted)))
    periods = [(step / one).denominator for one in unwanted]
    if 1 in periods:
        return False
    first = None if bounds.low is None else ceil(Fraction(bounds.low) / step)
    last = None if bounds.high is None else floor(Fraction(bounds.high) / step)
    if first is not None and bounds.low_open and first * step == Fraction(bounds.low or 0):
        first += 1
    if last is not None and bounds.high_open and last * step == Fraction(bounds.high or 0):
        last -= 1
    if first is None or last is None:
        return True
    places = range(first, min(last, first + lcm(*periods, 1), first + _MOST_TRIED) + 1)
    return any(all(place % period for period in periods) for place in places)


@lru_cache(maxsize=1024)
def fraction_terminal(bounds: Bounds, digits: Digits = DEFAULT_DIGITS) -> Lexeme:
    """Return the terminal of the numbers inside the bounds that are no integers in any spelling, so not 1.0 or 1e2."""
    return Lexeme(And((number_terminal(bounds, digits).pattern, _fractions(bounds, digits))))


def _fractions(bounds: Bounds, digits: Digits) -> Node:
    """Return numbers that are no integers, at least those inside the bounds: a digit remains right of the point."""
    longest, places = _sizes(bounds, digits)
    some, zeros = Repeat(DIGIT, 0, None), Repeat(ZERO, 0, None)
    nonzero = join((some, NONZERO, some))
    no_shift = union((join((E, optional(SIGN), Repeat(ZERO, 1, None))), join((E, MINUS, Repeat(DIGIT, 1, None)))))
    parts = [join((Repeat(DIGIT, 1, None), POINT, nonzero, optional(no_shift)))]
    for shift in range(1, places):  # digits that the exponent moves left of the point
        exponent = join((E, PLUS, zeros, Literal(str(shift).encode())))
        parts.append(join((Repeat(DIGIT, 1, None), POINT, Repeat(DIGIT, shift, shift), nonzero, exponent)))
    no_places = optional(join((POINT, Repeat(ZERO, 1, None))))
    for count in range(longest):  # zeros at the end of the whole part
        less = join((E, MINUS, zeros, natural(count + 1, max(digits[2], 5))))
        parts.append(join((some, NONZERO, Literal(b"0" * count), no_places, less)))
    return join((optional(MINUS), union(parts)))


@lru_cache(maxsize=1024)
def whole_terminal(bounds: Bounds, digits: Digits = DEFAULT_DIGITS) -> Lexeme:
    """Return the terminal of the integers inside the bounds in every spelling of numbers: 1, 1.0, 10e-1."""
    return Lexeme(And((number_terminal(bounds, digits).pattern, _wholes(bounds, digits))))


def _wholes(bounds: Bounds, digits: Digits) -> Node:
    """Return numbers that are integers, at least those inside the bounds: the exponent takes every place away."""
    longest, places = _sizes(bounds, digits)
    zeros = Repeat(ZERO, 0, None)
    whole = join((NONZERO, Repeat(DIGIT, 0, None)))
    no_places = optional(join((POINT, Repeat(ZERO, 1, None))))
    exponent = join((E, PLUS, Repeat(DIGIT, 1, None)))
    nothing = join((E, MINUS, Repeat(ZERO, 1, None)))
    parts = [join((ZERO, no_places, optional(join((E, optional(SIGN), Repeat(DIGIT, 1, None))))))]
    parts.append(join((whole, no_places, optional(union((exponent, nothing))))))
    for count in range(1, places + 1):
        fraction = join((POINT, Repeat(DIGIT, count - 1, count - 1), NONZERO, zeros))
        enough = join((E, PLUS, zeros, natural(count, max(digits[2], 5))))
        parts.append(join((union((ZERO, whole)), fraction, enough)))
    for count in range(1, longest):
        less = join((E, MINUS, zeros, Literal(str(count).encode())))
        parts.append(join((whole, Repeat(ZERO, count, count), no_places, less)))
    return join((optional(MINUS), union(parts)))


def _sizes(bounds: Bounds, digits: Digits) -> tuple[int, int]:
    """Return how many digits numbers inside the bounds have at most before the point, and after it."""
    limits = [one for one in (bounds.low, bounds.high) if one is not None]
    longest = max([digits[0], *(abs(one.adjusted()) + 2 for one in limits)])
    return longest, max([digits[1], *(len(one.as_tuple().digits) + abs(one.adjusted()) for one in limits)])
