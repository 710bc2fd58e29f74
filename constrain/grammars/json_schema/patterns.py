"""Patterns of one process: parsed once, and once tested for what they leave of strings."""

from __future__ import annotations

from functools import lru_cache

from constrain.grammars.emptiness import is_empty
from constrain.grammars.json_schema.shapes import Str
from constrain.grammars.json_text import json_chars
from constrain.grammars.membership import matches
from constrain.grammars.regex import parse
from constrain.grammars.regex_tree import ANY_CHAR
from constrain.ir import And, ByteClass, Node, Not, Repeat, walk
from constrain.limits import Limits


@lru_cache(maxsize=1024)
def pattern_node(pattern: str, limits: Limits) -> Node:
    """Return the decoded texts in which a `pattern` is found."""
    return parse(pattern, dialect="ecma", search=True, limits=limits)


@lru_cache(maxsize=1024)
def spelled_pattern(pattern: str, limits: Limits) -> Node:
    """Return the same as spellings inside a JSON string."""
    return json_chars(pattern_node(pattern, limits))


@lru_cache(maxsize=1024)
def has_text(shape: Str, limits: Limits) -> bool:
    """Return whether some string has the shape; a search where patterns and lengths meet.

    Raises:
        LimitExceededError: the search met `max_emptiness_steps`.
    """
    if not shape.patterns:
        return True
    nodes = [pattern_node(pattern, limits) for pattern, _ in shape.patterns]
    parts: list[Node] = [node if sign else Not(node) for node, (_, sign) in zip(nodes, shape.patterns, strict=True)]
    if (shape.minimum, shape.maximum) != (0, None):
        parts.append(Repeat(ANY_CHAR, shape.minimum, shape.maximum))
    if len(parts) == 1 and not any(isinstance(node, (And, Not, ByteClass)) for node in walk(parts[0])):
        return True
    return not is_empty(And(tuple(parts)), limits)


def filtered(texts: tuple[str, ...], patterns: tuple[tuple[str, bool], ...], limits: Limits) -> tuple[str, ...]:
    """Return the texts that match every pattern with sign True and none with sign False."""
    for pattern, sign in patterns:
        node = pattern_node(pattern, limits)
        texts = tuple(text for text in texts if matches(node, text) == sign)
    return texts
