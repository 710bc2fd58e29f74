"""JSON numbers that are multiples of others, or no integers, as regular nodes."""

from __future__ import annotations

from decimal import MAX_PREC, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, gcd, lcm

from constrain.grammars.json_numbers import DEFAULT_DIGITS, Bounds, Digits, natural, number_terminal
from constrain.grammars.regex_tree import join, union
from constrain.ir import And, ByteClass, Lexeme, Literal, Multiple, Node, Not, Repeat, optional

Multiples = tuple[tuple[Decimal, bool], ...]
"""Positive numbers, each with whether a value is to be a multiple of it."""

_DIGIT = ByteClass(sum(1 << byte for byte in b"0123456789"))
_NONZERO = ByteClass(sum(1 << byte for byte in b"123456789"))
_NO_EXPONENT = ByteClass(sum(1 << byte for byte in b"-.0123456789"))
_SIGN = ByteClass(1 << ord("+") | 1 << ord("-"))
_E = ByteClass(1 << ord("e") | 1 << ord("E"))
_ZERO, _MINUS, _POINT, _PLUS = Literal(b"0"), Literal(b"-"), Literal(b"."), optional(Literal(b"+"))
_EXACT = Context(prec=MAX_PREC)
_MOST_TRIED = 100_000


@lru_cache(maxsize=1024)
def multiple_terminal(base: Lexeme, multiples: Multiples) -> Lexeme:
    """Return the terminal of the numbers of another that are multiples (True) or not; without exponents."""
    parts = [base.pattern, Repeat(_NO_EXPONENT, 1, None)]
    for step, wanted in multiples:
        numerator, places = scaled(step)
        node = join((optional(_MINUS), Multiple(numerator, places)))
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


def has_multiple(bounds: Bounds, multiples: Multiples) -> bool:
    """Return whether a number inside the bounds is a multiple of all that it must be and of none that it must not."""
    wanted = [Fraction(step) for step, sign in multiples if sign]
    unwanted = [Fraction(step) for step, sign in multiples if not sign]
    if not wanted:
        if bounds.low is None or bounds.low != bounds.high:
            return True
        return all((Fraction(bounds.low) / step).denominator != 1 for step in unwanted)
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
    some, zeros = Repeat(_DIGIT, 0, None), Repeat(_ZERO, 0, None)
    nonzero = join((some, _NONZERO, some))
    no_shift = union((join((_E, optional(_SIGN), Repeat(_ZERO, 1, None))), join((_E, _MINUS, Repeat(_DIGIT, 1, None)))))
    parts = [join((Repeat(_DIGIT, 1, None), _POINT, nonzero, optional(no_shift)))]
    for shift in range(1, places):  # digits that the exponent moves left of the point
        exponent = join((_E, _PLUS, zeros, Literal(str(shift).encode())))
        parts.append(join((Repeat(_DIGIT, 1, None), _POINT, Repeat(_DIGIT, shift, shift), nonzero, exponent)))
    no_places = optional(join((_POINT, Repeat(_ZERO, 1, None))))
    for count in range(longest):  # zeros at the end of the whole part
        less = join((_E, _MINUS, zeros, natural(count + 1, max(digits[2], 5))))
        parts.append(join((some, _NONZERO, Literal(b"0" * count), no_places, less)))
    return join((optional(_MINUS), union(parts)))


@lru_cache(maxsize=1024)
def whole_terminal(bounds: Bounds, digits: Digits = DEFAULT_DIGITS) -> Lexeme:
    """Return the terminal of the integers inside the bounds in every spelling of numbers: 1, 1.0, 10e-1."""
    return Lexeme(And((number_terminal(bounds, digits).pattern, _wholes(bounds, digits))))


def _wholes(bounds: Bounds, digits: Digits) -> Node:
    """Return numbers that are integers, at least those inside the bounds: the exponent takes every place away."""
    longest, places = _sizes(bounds, digits)
    zeros = Repeat(_ZERO, 0, None)
    whole = join((_NONZERO, Repeat(_DIGIT, 0, None)))
    no_places = optional(join((_POINT, Repeat(_ZERO, 1, None))))
    exponent = join((_E, _PLUS, Repeat(_DIGIT, 1, None)))
    nothing = join((_E, _MINUS, Repeat(_ZERO, 1, None)))
    parts = [join((_ZERO, no_places, optional(join((_E, optional(_SIGN), Repeat(_DIGIT, 1, None))))))]
    parts.append(join((whole, no_places, optional(union((exponent, nothing))))))
    for count in range(1, places + 1):
        fraction = join((_POINT, Repeat(_DIGIT, count - 1, count - 1), _NONZERO, zeros))
        enough = join((_E, _PLUS, zeros, natural(count, max(digits[2], 5))))
        parts.append(join((union((_ZERO, whole)), fraction, enough)))
    for count in range(1, longest):
        less = join((_E, _MINUS, zeros, Literal(str(count).encode())))
        parts.append(join((whole, Repeat(_ZERO, count, count), no_places, less)))
    return join((optional(_MINUS), union(parts)))


def _sizes(bounds: Bounds, digits: Digits) -> tuple[int, int]:
    """Return how many digits numbers inside the bounds have at most before the point, and after it."""
    limits = [one for one in (bounds.low, bounds.high) if one is not None]
    longest = max([digits[0], *(abs(one.adjusted()) + 2 for one in limits)])
    return longest, max([digits[1], *(len(one.as_tuple().digits) + abs(one.adjusted()) for one in limits)])
