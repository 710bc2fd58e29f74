"""The options of `json_schema` as one checked record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from constrain.arguments import is_whole, refuse, shown, whole
from constrain.grammars.json_numbers import DEFAULT_DIGITS, Digits
from constrain.limits import DEFAULT_LIMITS, Limits, checked

if TYPE_CHECKING:
    from referencing import Registry

_MAX_DIGITS = 1000


@dataclass(frozen=True, slots=True)
class Options:
    """How instances are written and what is enforced; see `json_schema`."""

    whitespace: str | int = "flexible"
    max_whitespace: int = 8
    property_order: str = "schema"
    max_digits: Digits = DEFAULT_DIGITS
    max_string: int | None = None
    string_spelling: str = "plain"
    integer_spelling: str = "plain"
    formats: str = "assert"
    unknown_formats: str = "annotate"
    extra: str = "schema"
    limits: Limits = DEFAULT_LIMITS
    registry: Registry[Any] | None = None

    def __post_init__(self) -> None:
        if self.registry is not None and not hasattr(self.registry, "get_or_retrieve"):
            raise TypeError(f"registry={shown(self.registry)}; expected a referencing.Registry")
        _one_of("property_order", self.property_order, ("schema", "any"))
        _one_of("string_spelling", self.string_spelling, ("plain", "any"))
        _one_of("integer_spelling", self.integer_spelling, ("plain", "any"))
        _one_of("formats", self.formats, ("assert", "annotate"))
        _one_of("unknown_formats", self.unknown_formats, ("annotate", "refuse"))
        _one_of("extra", self.extra, ("schema", "forbid"))
        if isinstance(self.whitespace, str):
            _one_of("whitespace", self.whitespace, ("flexible", "compact"))
        elif not _is_count(self.whitespace) or self.whitespace > 64:
            kind = ValueError if is_whole(self.whitespace) else TypeError
            raise kind(f"whitespace={shown(self.whitespace)}; expected 'flexible', 'compact', or 0 to 64")
        object.__setattr__(self, "max_whitespace", whole("max_whitespace", self.max_whitespace, 0))
        digits: object = self.max_digits
        if (
            not isinstance(digits, (tuple, list))
            or len(digits) != 3
            or not all(_is_count(count) and count <= _MAX_DIGITS for count in digits)
            or digits[0] < 1
        ):
            kind = ValueError if isinstance(digits, (tuple, list)) and all(map(is_whole, digits)) else TypeError
            raise kind(
                f"max_digits={shown(digits)}; expected three numbers: digits of the integer (at least 1), of the"
                f" fraction, of the exponent, none above {_MAX_DIGITS}"
            )
        # Terminals are cached by it.
        object.__setattr__(self, "max_digits", tuple(self.max_digits))
        if self.max_string is not None:
            object.__setattr__(self, "max_string", whole("max_string", self.max_string, 0))
        checked(self.limits)

    @property
    def indent(self) -> int | None:
        """Spaces per level, or None where whitespace is not laid out."""
        return None if isinstance(self.whitespace, str) else int(self.whitespace)


def _is_count(value: Any) -> bool:
    return is_whole(value) and value >= 0


def _one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    expected = " or ".join(map(repr, allowed))
    if not isinstance(value, str):
        refuse(name, value, expected)
    if value not in allowed:
        raise ValueError(f"{name}={shown(value)}; expected {expected}")
