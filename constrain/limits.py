"""Named limits, so that no input can hang the process or eat its memory. A leaf: imports only `arguments`."""

from __future__ import annotations

from dataclasses import dataclass, fields

from constrain.arguments import instance, whole, within


@dataclass(frozen=True, slots=True)
class Limits:
    """What one constraint may cost. Meeting a limit raises `LimitExceededError` with the field's name.

    Attributes:
        max_states: interned objects (parser sets, configurations, key sets) of one compiled grammar.
        max_lexer_states: deterministic states of the terminals of all grammars on one vocabulary; at half of it new
            grammars begin new tables.
        max_memory: bytes of tables of one compiled grammar, and of the terminals of one vocabulary.
        max_compile_seconds: wall time from `compile` to a usable object.
        max_nesting: depth of a schema, pattern or grammar text.
        max_regex_size: characters of one pattern, and nodes of its expression after expansion.
        max_repeat: largest bound in `{m,n}`, `maxLength`, `maxItems`.
        max_count_sets: counts that may be alive at once in an ambiguous bounded repeat.
        max_readings: ways to read the text so far that may be alive at once (pairs of terminal and parser state).
        max_schema_nodes: subschemas reached from one schema, references followed.
        max_emptiness_steps: states searched to decide whether an intersection or complement is empty.
        max_literals: strings in one `choice` or `enum`, and bytes of one string that stands alone.
    """

    max_states: int = 4_000_000
    max_lexer_states: int = 400_000
    max_memory: int = 2 << 30
    max_compile_seconds: float = 30.0
    max_nesting: int = 10_000
    max_regex_size: int = 200_000
    max_repeat: int = 1_000_000
    max_count_sets: int = 2_000
    max_readings: int = 65_536
    max_schema_nodes: int = 100_000
    max_emptiness_steps: int = 200_000
    max_literals: int = 2_000_000

    def __post_init__(self) -> None:
        for field in fields(self):
            if field.name != "max_compile_seconds":
                object.__setattr__(self, field.name, whole(field.name, getattr(self, field.name), 0))
        within("max_compile_seconds", self.max_compile_seconds, lambda value: value >= 0, "a number, 0 or more")


DEFAULT_LIMITS = Limits()


def checked(limits: object) -> Limits:
    """Return the limits that a caller passes, the defaults for None.

    Raises:
        TypeError: they are something else.
    """
    return DEFAULT_LIMITS if limits is None else instance("limits", limits, Limits, "constrain.Limits(...) or None")
