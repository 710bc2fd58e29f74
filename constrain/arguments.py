"""Checks of what callers pass, in one wording: `name=value; expected ...`. Import-free leaf."""

from __future__ import annotations

import numbers
import operator
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

T = TypeVar("T")
_SHOWN = 80


def is_whole(value: object) -> bool:
    """Return whether a value is a whole number of Python or NumPy; True and False are not."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def whole(name: str, value: Any, least: int | None = None, below: int | None = None) -> int:
    """Return a whole number as an int.

    Raises:
        TypeError: it is none.
        ValueError: it is not within `least` <= value < `below`.
    """
    if not is_whole(value):
        refuse(name, value, ", ".join(part for part in ("a whole number", _range(name, least, below)) if part))
    number = operator.index(value)
    if (least is not None and number < least) or (below is not None and number >= below):
        raise ValueError(f"{name}={shown(number)}; expected {_range(name, least, below)}")
    return number


def _range(name: str, least: int | None, below: int | None) -> str:
    if below is not None:
        return f"{0 if least is None else least} <= {name} < {below}"
    return "" if least is None else f"{name} >= {least}"


def within(name: str, value: Any, holds: Callable[[float], bool], expected: str) -> None:
    """Raise unless a number holds.

    Raises:
        TypeError: it is no number.
        ValueError: it does not hold.
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        refuse(name, value, expected)
    if not holds(float(value)):
        raise ValueError(f"{name}={shown(value)}; expected {expected}")


def refuse(name: str, value: object, expected: str) -> NoReturn:
    """Raise the TypeError for an argument of a wrong kind."""
    raise TypeError(f"{name}={shown(value)}, of type {type(value).__name__}; expected {expected}")


def shown(value: object) -> str:
    """Return `repr(value)`, cut when long; never fails."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 whatever a foreign __repr__ does
        return f"<{type(value).__name__}>"
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def instance(name: str, value: Any, kind: type[T], expected: str) -> T:
    """Return a value of some type, as it is.

    Raises:
        TypeError: it is of another.
    """
    return value if isinstance(value, kind) else refuse(name, value, expected)


def octets(name: str, value: Any) -> bytes:
    """Return what a bytes-like object holds.

    Raises:
        TypeError: it is none.
    """
    return bytes(value) if isinstance(value, (bytes, bytearray, memoryview)) else refuse(name, value, "bytes")


def items(name: str, value: Any, expected: str) -> list[Any]:
    """Return what an iterable holds; a single text is none.

    Raises:
        TypeError: it cannot be iterated over.
    """
    if isinstance(value, (str, bytes, bytearray)) or not hasattr(type(value), "__iter__"):
        refuse(name, value, expected)
    return list(value)
