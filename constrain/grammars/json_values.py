"""JSON texts and values as schemas need them: exact numbers, no duplicate keys, any depth without recursion."""

from __future__ import annotations

import json
import math
import re
import reprlib
from decimal import Decimal, InvalidOperation
from typing import Any

from constrain.errors import GrammarSyntaxError, LimitExceededError
from constrain.limits import Limits

_BLANK = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WORDS = {"true": True, "false": False, "null": None}
_INT_DIGITS = 4000  # Python reads 4,300
_PLAIN_DIGITS = 40


class DuplicateKeyError(ValueError):
    """An object of a JSON text has a key twice."""


def read_json(text: str | bytes, limits: Limits) -> Any:
    """Return the value of a JSON text; numbers with a point or exponent are Decimal.

    Raises:
        GrammarSyntaxError: not JSON, NaN or Infinity, a key twice in one object, not UTF-8.
        LimitExceededError: deeper than `max_nesting`.
    """
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise GrammarSyntaxError(f"the schema is not UTF-8 at byte {error.start}") from None
    try:
        return json.loads(
            text, parse_float=_decimal, parse_int=_integer, parse_constant=_refuse, object_pairs_hook=_object
        )
    except RecursionError:
        return _Reader(text, limits).read()
    except json.JSONDecodeError as error:
        raise GrammarSyntaxError(f"the schema is not JSON: {error.msg}", text, error.pos) from None
    except DuplicateKeyError as error:
        raise GrammarSyntaxError(f"the schema has the key {brief(error.args[0])} twice in one object") from None
    except ValueError as error:
        raise GrammarSyntaxError(f"the schema is not JSON: {error}") from None


def _refuse(word: str) -> object:
    raise ValueError(f"{word} is no JSON number")


def _integer(text: str) -> int | Decimal:
    """Return an integer; as Decimal where Python would refuse to read so many digits."""
    return int(text) if len(text) <= _INT_DIGITS else Decimal(text)


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError(f"the exponent of {brief(text)} is out of range") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise DuplicateKeyError(key)
            seen.add(key)
    return found


class _Reader:
    """Reads what is too deep for `json.loads`: one loop, a stack of open containers."""

    def __init__(self, text: str, limits: Limits) -> None:
        self.text = text
        self.limits = limits
        self.position = 0

    def read(self) -> Any:
        stack: list[list[Any] | dict[str, Any]] = []
        keys: list[str | None] = []
        while True:
            value = self._open_or_scalar()
            if isinstance(value, (list, dict)) and not self._closes(value):
                if len(stack) >= self.limits.max_nesting:
                    raise LimitExceededError("max_nesting", self.limits.max_nesting, "in the schema's text")
                stack.append(value)
                keys.append(self._key(value))
                continue
            while stack:
                self._store(stack[-1], keys[-1], value)
                if self._next(stack[-1]):
                    keys[-1] = self._key(stack[-1])
                    break
                value = stack.pop()
                keys.pop()
            else:
                if self._peek():
                    raise self._error("extra text after the value")
                return value

    def _peek(self) -> str:
        found = _BLANK.match(self.text, self.position)
        assert found is not None
        self.position = found.end()
        return self.text[self.position : self.position + 1]

    def _error(self, reason: str) -> GrammarSyntaxError:
        return GrammarSyntaxError(f"the schema is not JSON: {reason}", self.text, self.position)

    def _open_or_scalar(self) -> Any:
        char = self._peek()
        if char in {"{", "["}:
            self.position += 1
            return {} if char == "{" else []
        if char == '"':
            return self._string()
        for word, value in _WORDS.items():
            if self.text.startswith(word, self.position):
                self.position += len(word)
                return value
        found = _NUMBER.match(self.text, self.position)
        if found is None:
            raise self._error("expected a value")
        self.position = found.end()
        try:
            return _decimal(found.group()) if found.group(1) or found.group(2) else _integer(found.group())
        except ValueError as error:
            raise self._error(str(error)) from None

    def _string(self) -> str:
        try:
            value, self.position = json.decoder.scanstring(self.text, self.position + 1, True)  # type: ignore[attr-defined]
        except json.JSONDecodeError as error:
            raise self._error(error.msg) from None
        assert isinstance(value, str)
        return value

    def _closes(self, value: list[Any] | dict[str, Any]) -> bool:
        if self._peek() != ("}" if isinstance(value, dict) else "]"):
            return False
        self.position += 1
        return True

    def _key(self, value: list[Any] | dict[str, Any]) -> str | None:
        if isinstance(value, list):
            return None
        if self._peek() != '"':
            raise self._error("expected a key")
        key = self._string()
        if self._peek() != ":":
            raise self._error("expected ':'")
        self.position += 1
        if key in value:
            raise GrammarSyntaxError(f"the schema has the key {brief(key)} twice in one object")
        return key

    def _store(self, into: list[Any] | dict[str, Any], key: str | None, value: Any) -> None:
        if isinstance(into, list):
            into.append(value)
        else:
            assert key is not None
            into[key] = value

    def _next(self, value: list[Any] | dict[str, Any]) -> bool:
        """Return whether another member follows."""
        if self._closes(value):
            return False
        if self._peek() != ",":
            raise self._error("expected ',' or the end of the container")
        self.position += 1
        return True


def is_number(value: object) -> bool:
    """Return whether a Python value is a JSON number (bool is not)."""
    return isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)


def exact(value: int | float | Decimal) -> Decimal:  # noqa: PYI041
    """Return a number exactly as it is written: a float by its shortest repr.

    Raises:
        ValueError: NaN or an infinity.
    """
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise ValueError(f"{value} is no JSON number")
        return value
    if isinstance(value, int):
        return Decimal(int(value))
    if not math.isfinite(value):
        raise ValueError(f"{value} is no JSON number")
    return Decimal(float.__repr__(value))


def number_spellings(value: int | float | Decimal) -> tuple[str, ...]:  # noqa: PYI041
    """Return how a constant may be written: plainly (`1`, `1.5`), as the schema writes it (`1.0`), as floats print."""
    number = exact(value)
    written = float.__repr__(value) if isinstance(value, float) else str(number).replace("E", "e")
    if isinstance(value, int):
        return (written,)
    found = []
    if number.is_zero():
        found.append("0")
    elif abs(number.adjusted()) < _PLAIN_DIGITS:
        text = f"{number:f}"
        found.append(text.rstrip("0").removesuffix(".") if "." in text else text)
    found += exponent_spellings(written)
    printed = repr(float(number))
    if printed not in {"inf", "-inf"} and Decimal(printed) == number:
        found += exponent_spellings(printed)
    return tuple(dict.fromkeys(found))


def exponent_spellings(text: str) -> list[str]:
    """Return a number as it is and, where it has an exponent, with `e` or `E`, its plus or none, no zeros in front."""
    mantissa, e, exponent = text.partition("e")
    if not e:
        return [text]
    power = int(exponent)
    written = dict.fromkeys((exponent, str(power), f"{power:+}"))
    return [f"{mantissa}{letter}{one}" for one in written for letter in "eE"]


class _Brief(reprlib.Repr):
    """Shows any value in a few words: no depth, length or number of digits is too much."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxstring, self.maxother = 3, 60, 60

    def repr_int(self, x: int, _level: int) -> str:
        return repr(x) if x.bit_length() < 128 else f"an integer of {x.bit_length()} bits"


def brief(value: object) -> str:
    """Return `repr(value)` shortened to a few words, for messages."""
    try:
        shown = _Brief().repr(value)
    except Exception:  # noqa: BLE001
        return f"a {type(value).__name__}"  # whatever a foreign __repr__ does
    return shown if len(shown) <= 160 else f"{shown[:157]}..."


def count_of(given: object) -> int | None:
    """Return a count, 10^18 for all that are larger; None if it is none."""
    if not is_number(given):
        return None
    assert isinstance(given, (int, float, Decimal))
    try:
        number = exact(given)
    except ValueError:
        return None
    if number < 0 or number != number.to_integral_value():
        return None
    return int(number) if number.is_zero() or number.adjusted() < 18 else 10**18
