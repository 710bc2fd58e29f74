"""Every error this package raises on purpose. Import-free leaf.

    ConstrainError
    ├── GrammarError (also ValueError)     the constraint itself is at fault
    │   ├── GrammarSyntaxError             a text cannot be read (line and column, or offset)
    │   ├── UnsupportedFeatureError        a construct that is not enforced (pointer or position, way out)
    │   └── EmptyLanguageError             nothing can satisfy the constraint (names the rule)
    ├── LimitExceededError                 a named limit of `constrain.Limits` was met
    ├── VocabularyError (also ValueError)  a tokenizer cannot be read, or does not fit the model or the grammar
    ├── TokenRejectedError                 `accept_token` was given a token the constraint forbids
    └── BudgetError (also ValueError)      no completion that the engine knows fits into `max_tokens`

Fields are attributes; the message is made from them. Errors can be copied and pickled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


class ConstrainError(Exception):
    """Root of all errors of this package."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Exception's own would call the class with the message as its first field.
        return _restored, (type(self), self.args), vars(self)


def _restored(kind: type[ConstrainError], args: tuple[Any, ...]) -> ConstrainError:
    """Return an error with this message; its fields follow as its state."""
    return kind.__new__(kind, *args)


class GrammarError(ConstrainError, ValueError):
    """The constraint is at fault, not the text that is checked against it."""


class GrammarSyntaxError(GrammarError):
    """A pattern, schema or grammar text cannot be read.

    Attributes:
        reason: what is wrong, without the position.
        text: the text being read, or None where it is not a text.
        position: offset into `text` in characters, or None.
    """

    def __init__(self, reason: str, text: str | None = None, position: int | None = None) -> None:
        self.reason = reason
        self.text = text
        self.position = position
        super().__init__(reason + caret(text, position))


class UnsupportedFeatureError(GrammarError):
    """A construct is understood but not enforced, so it is refused.

    Attributes:
        feature: the keyword or construct.
        where: JSON pointer (`#/properties/a`) or position.
        reason: why it is refused.
        remedy: what the caller can do instead.
    """

    def __init__(self, feature: str, where: str, reason: str, remedy: str = "") -> None:
        self.feature = feature
        self.where = where
        self.reason = reason
        self.remedy = remedy
        super().__init__(f"{feature!r} at {where}: {reason}" + (f"\n{remedy}" if remedy else ""))


class EmptyLanguageError(GrammarError):
    """No text at all satisfies the constraint.

    Attributes:
        rule: the rule, pointer or pattern that has no member.
        reason: why, where it is known.
    """

    def __init__(self, rule: str, reason: str = "") -> None:
        self.rule = rule
        self.reason = reason
        super().__init__(f"nothing satisfies {rule}" + (f": {reason}" if reason else ""))


class LimitExceededError(ConstrainError):
    """A named limit was met.

    Attributes:
        limit: the field of `constrain.Limits`.
        value: its value when it was met.
        where: what was being built.
    """

    def __init__(self, limit: str, value: float, where: str = "") -> None:
        self.limit = limit
        self.value = value
        self.where = where
        at = f" {where}" if where else ""
        super().__init__(
            f"limit {limit}={value} reached{at}; raise it with limits=constrain.Limits({limit}=...)"
            " or simplify the constraint"
        )


class VocabularyError(ConstrainError, ValueError):
    """A tokenizer cannot be read, or does not fit the model or the constraint."""


class TokenRejectedError(ConstrainError):
    """A token was accepted that the constraint forbids.

    Attributes:
        token_id: the token.
        token_bytes: its bytes, None for a special token.
        expected: what could have come instead, in words.
    """

    def __init__(self, token_id: int, token_bytes: bytes | None, expected: str) -> None:
        self.token_id = token_id
        self.token_bytes = token_bytes
        self.expected = expected
        shown = "a special token" if token_bytes is None else repr(token_bytes)
        super().__init__(f"token {token_id} ({shown}) is not allowed here; expected {expected}")


class BudgetError(ConstrainError, ValueError):
    """No completion that the engine knows fits into the token budget.

    Attributes:
        needed: tokens that are known to suffice, the end token counted.
        max_tokens: what was asked for.
        where: the prompt of a batch whose constraint it is, as `prompts[2]`; "" for a single one.
    """

    def __init__(self, needed: int, max_tokens: int, where: str = "") -> None:
        self.needed = needed
        self.max_tokens = max_tokens
        self.where = where
        super().__init__(
            f"{where and f'{where}: '}max_tokens={max_tokens} is too small for this constraint: the shortest known "
            f"answer needs {needed} tokens, the end token counted; raise max_tokens or loosen the constraint"
        )


def caret(text: str | None, position: int | None) -> str:
    """Return the line of `text` at `position` with a caret under it, ready to append to a message."""
    if text is None or position is None:
        return "" if position is None else f" at position {position}"
    # What is missing at the end is shown behind the last word, not on an empty line.
    position = min(position, len(text.rstrip()))
    start = text.rfind("\n", 0, position) + 1
    stop = text.find("\n", position)
    line = text[start : len(text) if stop < 0 else stop]
    row, column = text.count("\n", 0, position) + 1, position - start + 1
    # A window keeps the message readable when one line holds a whole grammar.
    left = max(0, column - 61)
    shown = line[left : left + 100].replace("\t", " ")
    if not shown.strip():
        return f" at line {row}, column {column}" + ("" if text.strip() else ": there is no text")
    return f" at line {row}, column {column}\n    {shown}\n    {' ' * (column - 1 - left)}^"
