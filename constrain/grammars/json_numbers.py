"""JSON numbers with exact bounds as regular nodes. Decimal arithmetic throughout, no floats.

A bound is compared digit by digit, so a node has about as many parts as the bound has digits. With bounds, an exponent
is offered only after one digit 1 to 9 before the point (`d.ddde+dd`, as every printer of floats writes it): its value
then lies between 10^e and 10^(e+1), and the comparison is with the exponent first. Without bounds any exponent is.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from constrain.grammars.regex_tree import join, union
from constrain.ir import EPSILON, NOTHING, And, ByteClass, Lexeme, Literal, Node, Repeat, optional

Digits = tuple[int, int, int]
DEFAULT_DIGITS: Digits = (20, 20, 3)

DIGIT = ByteClass(sum(1 << byte for byte in b"0123456789"))
NONZERO = ByteClass(sum(1 << byte for byte in b"123456789"))
ZERO = Literal(b"0")
MINUS = Literal(b"-")
POINT = Literal(b".")
E = ByteClass(1 << ord("e") | 1 << ord("E"))
PLUS = optional(Literal(b"+"))
SIGN = ByteClass(1 << ord("+") | 1 << ord("-"))


@dataclass(frozen=True, slots=True)
class Bounds:
    """An interval of numbers; None is no bound."""

    low: Decimal | None = None
    high: Decimal | None = None
    low_open: bool = False
    high_open: bool = False

    def holds(self, value: Decimal) -> bool:
        """Return whether a number is inside."""
        if self.low is not None and (value < self.low or (self.low_open and value == self.low)):
            return False
        return self.high is None or not (value > self.high or (self.high_open and value == self.high))

    def mirrored(self) -> Bounds:
        """Return the interval of the negated numbers."""
        low = None if self.high is None else self.high.copy_negate()
        high = None if self.low is None else self.low.copy_negate()
        return Bounds(low, high, self.high_open, self.low_open)

    def meet(self, other: Bounds) -> Bounds:
        """Return the intersection."""
        low, low_open = _tighter(self.low, self.low_open, other.low, other.low_open, 1)
        high, high_open = _tighter(self.high, self.high_open, other.high, other.high_open, -1)
        return Bounds(low, high, low_open, high_open)

    def is_empty(self, *, integer: bool) -> bool:
        """Return whether no number (no integer) is inside."""
        if self.low is None or self.high is None:
            return False
        if integer:
            low, high = self.integers()
            return low is not None and high is not None and low > high
        return self.low > self.high or (self.low == self.high and (self.low_open or self.high_open))

    def integers(self) -> tuple[int | None, int | None]:
        """Return the least and greatest integer inside."""
        low = high = None
        if self.low is not None:
            low = _floor(self.low.copy_negate())
            low = -low + (1 if self.low_open and self.low == -low else 0)
        if self.high is not None:
            high = _floor(self.high)
            high -= 1 if self.high_open and self.high == high else 0
        return low, high


UNBOUNDED = Bounds()


def _tighter(
    a: Decimal | None, a_open: bool, b: Decimal | None, b_open: bool, sign: int
) -> tuple[Decimal | None, bool]:
    if a is None or b is None:
        return (b, b_open) if a is None else (a, a_open)
    if a == b:
        return a, a_open or b_open
    return (a, a_open) if (a > b) == (sign > 0) else (b, b_open)


def _floor(value: Decimal) -> int:
    whole = int(value)
    return whole - 1 if value < whole else whole


@lru_cache(maxsize=4096)
def integer_terminal(bounds: Bounds, digits: Digits = DEFAULT_DIGITS) -> Lexeme:
    """Return the terminal of integers inside the bounds, written plainly; `-0` counts as 0."""
    if bounds.is_empty(integer=True):
        return Lexeme(NOTHING)
    low, high = bounds.integers()
    cap = digits[0]
    parts = []
    if high is None or high >= 0:
        parts.append(_whole(max(low or 0, 0), high, cap))
    if low is None or low <= 0:
        parts.append(
            join((MINUS, _whole(max(-high, 0) if high is not None else 0, None if low is None else -low, cap)))
        )
    return Lexeme(union(parts))


def natural(low: int, cap: int) -> Node:
    """Return the natural numbers from `low` up to `cap` digits, at least those of `low`."""
    return _whole(low, None, cap)


def _whole(low: int, high: int | None, cap: int) -> Node:
    """Return the natural numbers from `low` to `high`; without `high` up to `cap` digits, at least those of `low`."""
    if high is not None and low > high:
        return NOTHING
    low_text = str(low)
    high_text = "9" * max(cap, len(low_text)) if high is None else str(high)
    if low == 0:
        return union((ZERO, _whole(1, high, cap))) if high != 0 else ZERO
    if len(low_text) == len(high_text):
        return _same_length(low_text, high_text)
    parts = [_tail(low_text, least=True)]
    if len(high_text) - len(low_text) > 1:
        parts.append(join((NONZERO, Repeat(DIGIT, len(low_text), len(high_text) - 2))))
    parts.append(_leading(high_text))
    return union(parts)


def _between(low: int, high: int) -> Node:
    """Return one digit from `low` to `high`."""
    if low > high:
        return NOTHING
    return ByteClass(sum(1 << (48 + digit) for digit in range(low, high + 1)))


def _rest(count: int) -> Node:
    return Repeat(DIGIT, count, count) if count else EPSILON


def _tail(text: str, *, least: bool) -> Node:
    """Return the digit strings of the length of `text` that are at least (at most) `text`."""
    bound = text.rstrip("0" if least else "9")
    node: Node = join((Literal(bound[-1:].encode()), _rest(len(text) - len(bound)))) if bound else _rest(len(text))
    for at in range(len(bound) - 1, -1, -1):
        digit = int(bound[at])
        step = _between(digit + 1, 9) if least else _between(0, digit - 1)
        same = node if at == len(bound) - 1 else join((Literal(bound[at].encode()), node))
        node = union((same, join((step, _rest(len(text) - at - 1)))))
    return node


def _leading(text: str) -> Node:
    """Return the digit strings of the length of `text`, no zero in front, that are at most `text`."""
    first = int(text[0])
    return union(
        (
            join((Literal(text[:1].encode()), _tail(text[1:], least=False))),
            join((_between(1, first - 1), _rest(len(text) - 1))),
        )
    )


def _same_length(low: str, high: str) -> Node:
    """Return the digit strings from `low` to `high`, all of one length."""
    shared = 0
    while shared < len(low) and low[shared] == high[shared]:
        shared += 1
    head = Literal(low[:shared].encode())
    if shared == len(low):
        return head
    after = len(low) - shared - 1
    a, b = int(low[shared]), int(high[shared])
    return join(
        (
            head,
            union(
                (
                    join((_between(a, a), _tail(low[shared + 1 :], least=True))),
                    join((_between(a + 1, b - 1), _rest(after))),
                    join((_between(b, b), _tail(high[shared + 1 :], least=False))),
                )
            ),
        )
    )


# Numbers with fraction and exponent


@lru_cache(maxsize=4096)
def number_terminal(bounds: Bounds, digits: Digits = DEFAULT_DIGITS) -> Lexeme:
    """Return the terminal of numbers inside the bounds, in every spelling the module's description allows."""
    if bounds == UNBOUNDED:
        fraction = optional(join((POINT, Repeat(DIGIT, 1, digits[1])))) if digits[1] else EPSILON
        return Lexeme(join((optional(MINUS), _whole(0, None, digits[0]), fraction, optional(_exponent(digits)))))
    if bounds.is_empty(integer=False):
        return Lexeme(NOTHING)
    parts = [_positive(bounds, digits), join((MINUS, _positive(bounds.mirrored(), digits)))]
    if bounds.holds(Decimal(0)):
        fraction = optional(join((POINT, Repeat(ZERO, 1, digits[1])))) if digits[1] else EPSILON
        parts.append(join((optional(MINUS), ZERO, fraction, optional(_exponent(digits)))))
    return Lexeme(union(parts))


def _exponent(digits: Digits) -> Node:
    if not digits[2]:
        return NOTHING
    return join((E, optional(SIGN), Repeat(DIGIT, 1, digits[2])))


def _positive(bounds: Bounds, digits: Digits) -> Node:
    """Return the numbers above 0 inside the bounds."""
    if bounds.high is not None and bounds.high <= 0:
        return NOTHING
    if bounds.low is None or bounds.low <= 0:
        bounds = Bounds(Decimal(0), bounds.high, low_open=True, high_open=bounds.high_open)
    return union((_point_form(bounds, digits), _scientific(bounds, digits)))


def _split(value: Decimal) -> tuple[int, str]:
    """Return the whole part and the digits of the fraction, without trailing zeros."""
    text = f"{value:f}"
    whole, _, fraction = text.partition(".")
    return int(whole), fraction.rstrip("0")


def _point_form(bounds: Bounds, digits: Digits) -> Node:
    """Return the numbers above 0 inside the bounds, without an exponent."""
    bounds = _within_reach(bounds, digits)
    assert bounds.low is not None
    if _too_long(bounds.low) or (bounds.high is not None and _too_long(bounds.high)):
        return NOTHING
    low, low_fraction = _split(bounds.low)
    high, high_fraction = (low, "") if bounds.high is None else _split(bounds.high)
    # One digit more than the bounds have tells a number from an open bound.
    room = max(len(low_fraction), len(high_fraction)) + (1 if bounds.low_open or bounds.high_open else 0)
    cap = max(digits[1], room)
    least = _fraction(low_fraction, cap, least=True, is_open=bounds.low_open)
    free = optional(join((POINT, Repeat(DIGIT, 1, digits[1])))) if digits[1] else EPSILON
    if bounds.high is None:
        return union((join((_whole(low, low, 1), least)), join((_whole(low + 1, None, digits[0]), free))))
    most = _fraction(high_fraction, cap, least=False, is_open=bounds.high_open)
    if low == high:
        return join((_whole(low, low, 1), _both(least, most)))
    middle = join((_whole(low + 1, high - 1, digits[0]), free))
    return union((join((_whole(low, low, 1), least)), middle, join((_whole(high, high, 1), most))))


def _within_reach(bounds: Bounds, digits: Digits) -> Bounds:
    """Return bounds that say the same of numbers without exponent; absurdly long ones that cannot bind are left out."""
    low, high = bounds.low, bounds.high
    assert low is not None
    if high is not None and _too_long(high) and high.adjusted() >= max(digits[0], low.adjusted() + 1):
        high = None
    room = digits[1] if high is None else max(digits[1], len(_split(high)[1]) if not _too_long(high) else 0)
    if _too_long(low) and low.adjusted() < -room - 1:
        return Bounds(Decimal(0), high, low_open=True, high_open=bounds.high_open and high is not None)
    return Bounds(low, high, bounds.low_open, bounds.high_open and high is not None)


def _too_long(value: Decimal) -> bool:
    """Return whether writing a number without exponent takes absurdly many digits."""
    return abs(value.adjusted()) > 1000


def _both(first: Node, second: Node) -> Node:
    return NOTHING if first is NOTHING or second is NOTHING else And((first, second))


def _fraction(bound: str, cap: int, *, least: bool, is_open: bool) -> Node:
    """Return the fractions of up to `cap` digits (`.ddd`, or nothing for 0) that are at least (at most) 0.`bound`."""
    if not cap:
        return NOTHING if is_open else EPSILON
    room = cap - len(bound)
    if least:
        node = _more(room) if is_open else Repeat(DIGIT, 0, room)
    else:
        node = NOTHING if is_open else Repeat(ZERO, 0, room)
    for at in range(len(bound) - 1, -1, -1):
        digit = int(bound[at])
        same = join((Literal(bound[at].encode()), node))
        after = Repeat(DIGIT, 0, cap - at - 1)
        if least:
            node = union((same, join((_between(digit + 1, 9), after))))
        else:
            node = union((same, join((_between(0, digit - 1), after)), EPSILON))
    nonempty = _both(node, Repeat(DIGIT, 1, cap))
    without = EPSILON if (not bound and not is_open) or (not least and bound) else NOTHING
    return union((join((POINT, nonempty)), without))


def _more(room: int) -> Node:
    """Return up to `room` digits that are not all zero."""
    return _both(Repeat(DIGIT, 1, room), join((Repeat(ZERO, 0, room - 1), NONZERO, Repeat(DIGIT, 0, room - 1))))


def _scientific(bounds: Bounds, digits: Digits) -> Node:
    """Return the numbers above 0 inside the bounds, as one digit 1 to 9, a fraction and an exponent."""
    if not digits[2]:
        return NOTHING
    extremes = [bound for bound in (bounds.low, bounds.high) if bound]
    width = max([digits[2], *(len(str(abs(bound.adjusted()))) for bound in extremes if _too_long(bound))])
    top = 10**width - 1
    free = join((NONZERO, optional(join((POINT, Repeat(DIGIT, 1, digits[1])))) if digits[1] else EPSILON))
    assert bounds.low is not None
    first = -top if bounds.low == 0 else bounds.low.adjusted()
    last = top if bounds.high is None else bounds.high.adjusted()
    low = Bounds(None) if bounds.low == 0 else Bounds(_mantissa(bounds.low), None, low_open=bounds.low_open)
    high = Bounds(None)
    if bounds.high is not None:
        high = Bounds(None, _mantissa(bounds.high), high_open=bounds.high_open)
    if first == last:
        return join((_mantissas(low.meet(high), digits), E, _exponents(first, first, width)))
    inner_first, inner_last = first, last
    parts = []
    if low != UNBOUNDED:
        parts.append(join((_mantissas(low, digits), E, _exponents(first, first, width))))
        inner_first += 1
    if high != UNBOUNDED:
        parts.append(join((_mantissas(high, digits), E, _exponents(last, last, width))))
        inner_last -= 1
    parts.append(join((free, E, _exponents(max(inner_first, -top), min(inner_last, top), width))))
    return union(parts)


def _mantissa(value: Decimal) -> Decimal:
    """Return the number scaled to one digit before the point."""
    sign, figures, _ = value.as_tuple()
    return Decimal((sign, figures, 1 - len(figures)))


def _mantissas(bounds: Bounds, digits: Digits) -> Node:
    inside = bounds.meet(Bounds(Decimal(1), Decimal(10), high_open=True))
    return NOTHING if inside.is_empty(integer=False) else _point_form(inside, digits)


def _exponents(first: int, last: int, width: int) -> Node:
    """Return the exponents from `first` to `last`: sign, then up to `width` digits, zeros in front allowed."""
    parts = []
    for sign, low, high in ((PLUS, max(first, 0), last), (MINUS, max(-last, 0), -first)):
        if low <= high:
            numbers = _whole(low, high, width)
            padded = And((join((Repeat(ZERO, 0, width - 1), numbers)), Repeat(DIGIT, 1, width)))
            parts.append(join((sign, padded)))
    return union(parts) if first <= last else NOTHING
