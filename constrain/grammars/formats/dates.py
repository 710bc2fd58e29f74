"""Dates, times and durations after RFC 3339.

A leap second stands where UTC is 23:59:60 (section 5.7), at the end of a month where the date is known. With an offset
this relates hours with hours and minutes with minutes: two small languages are intersected instead of 1,440 written.
"""

from __future__ import annotations

from functools import cache

from constrain.grammars.regex import parse
from constrain.ir import Alt, And, Literal, Node, Seq

# Years of the proleptic Gregorian calendar (RFC 3339 appendix C); 0000 is one of them.
_LEAP = r"(?:\d\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)"
_COMMON = r"(?:\d\d(?:[02468][1235679]|[13579][01345789])|(?:[02468][1235679]|[13579][01345789])00)"
_DATE = (
    r"(?:\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)"
    rf"|02-(?:0[1-9]|1\d|2[0-8]))|{_LEAP}-02-29)"
)
_LAST_OF_MONTH = rf"(?:\d{{4}}-(?:(?:0[13578]|1[02])-31|(?:0[469]|11)-30)|{_LEAP}-02-29|{_COMMON}-02-28)"
_FIRST_OF_MONTH = r"\d{4}-(?:0[1-9]|1[0-2])-01"
_HOUR, _MINUTE = r"(?:[01]\d|2[0-3])", r"[0-5]\d"
_FRACTION = r"(?:\.\d+)?"
_TIME = rf"{_HOUR}:{_MINUTE}:{_MINUTE}{_FRACTION}(?:[Zz]|[+-]{_HOUR}:{_MINUTE})"
_LEAP_SECOND = rf":60{_FRACTION}"


@cache
def date() -> Node:
    """Return `full-date`."""
    return parse(_DATE, dialect="ecma")


@cache
def time() -> Node:
    """Return `full-time`."""
    return Alt((parse(_TIME, dialect="ecma"), _leap_that_day(), _leap_next_day()))


@cache
def date_time() -> Node:
    """Return `date-time`."""
    return Alt(
        (
            parse(f"{_DATE}[Tt]{_TIME}", dialect="ecma"),
            Seq((parse(f"{_LAST_OF_MONTH}[Tt]", dialect="ecma"), _leap_that_day())),
            Seq((parse(f"{_FIRST_OF_MONTH}[Tt]", dialect="ecma"), _leap_next_day())),
        )
    )


@cache
def duration() -> Node:
    """Return `duration` of appendix A: units in order without gaps, or weeks alone."""
    hours = r"\d+H(?:\d+M(?:\d+S)?)?"
    time = rf"T(?:{hours}|\d+M(?:\d+S)?|\d+S)"
    days = r"(?:\d+D|\d+M(?:\d+D)?|\d+Y(?:\d+M(?:\d+D)?)?)"
    return parse(rf"P(?:{days}(?:{time})?|{time}|\d+W)", dialect="ecma")


@cache
def _leap_that_day() -> Node:
    """Return leap seconds on the same day as in UTC: no offset, or a negative one; both add up to 23:59."""
    utc = rf"23:59{_LEAP_SECOND}(?:[Zz]|\+00:00)"
    hours = [_by_hour(hour, _minute(), f"-{23 - hour:02}") for hour in range(24)]
    minutes = [_by_minute(minute, "-", 59 - minute) for minute in range(60)]
    return Alt((parse(utc, dialect="ecma"), And((Alt(tuple(hours)), Alt(tuple(minutes))))))


@cache
def _leap_next_day() -> Node:
    """Return leap seconds on the day after UTC's: the offset, not zero, is one minute later than the time."""
    early, last = parse("[0-4][0-9]|5[0-8]", dialect="ecma"), Literal(b"59")
    hours = [_by_hour(hour, early, f"+{hour:02}") for hour in range(24)]
    hours += [_by_hour(hour, last, f"+{hour + 1:02}") for hour in range(23)]
    minutes = [_by_minute(minute, "+", (minute + 1) % 60) for minute in range(60)]
    return And((Alt(tuple(hours)), Alt(tuple(minutes))))


def _by_hour(hour: int, minute: Node, offset: str) -> Node:
    return Seq((Literal(b"%02d:" % hour), minute, _leap_second(), Literal(f"{offset}:".encode()), _minute()))


def _by_minute(minute: int, sign: str, offset: int) -> Node:
    there = Literal(b":%02d" % offset)
    return Seq((_hour(), Literal(b":%02d" % minute), _leap_second(), Literal(sign.encode()), _hour(), there))


@cache
def _hour() -> Node:
    return parse(_HOUR, dialect="ecma")


@cache
def _minute() -> Node:
    return parse(_MINUTE, dialect="ecma")


@cache
def _leap_second() -> Node:
    return parse(_LEAP_SECOND, dialect="ecma")
