"""Patterns and formats of one process: made once, and once tested for what they leave of strings."""

from __future__ import annotations

from functools import cache, lru_cache

from constrain.grammars.emptiness import Reader, is_empty
from constrain.grammars.formats.table import FORMATS
from constrain.grammars.json_schema.shapes import Format, Pattern, Str
from constrain.grammars.json_text import chars_between, json_chars, quoted
from constrain.grammars.membership import matches
from constrain.grammars.regex import parse
from constrain.grammars.regex_tree import ANY_CHAR
from constrain.ir import And, ByteClass, Lexeme, Node, Not, Repeat, walk
from constrain.limits import Limits


@lru_cache(maxsize=1024)
def pattern_node(pattern: Pattern, limits: Limits) -> Node:
    """Return the decoded texts in which a `pattern` is found, or that are of a format."""
    if isinstance(pattern, Format):
        return FORMATS[pattern.name]()
    return parse(pattern, dialect="ecma", search=True, limits=limits)


@lru_cache(maxsize=1024)
def spelled_pattern(pattern: Pattern, limits: Limits, *, plainly: bool = False) -> Node:
    """Return the same as spellings inside a JSON string; `plainly`, one spelling of each text."""
    return json_chars(pattern_node(pattern, limits), plainly=plainly)


@lru_cache(maxsize=1024)
def patterned_string(shape: Str, limits: Limits, *, plainly: bool) -> Lexeme:
    """Return the terminal of the strings of a shape with patterns; one object, so that the lexer knows it again.

    Args:
        plainly: strings of a format have their plain spelling only.
    """
    parts = []
    for pattern, wanted in shape.patterns:
        # What must not be of a format must not be so in any spelling.
        node = spelled_pattern(pattern, limits, plainly=plainly and wanted and isinstance(pattern, Format))
        parts.append(node if wanted else Not(node))
    if (shape.minimum, shape.maximum) != (0, None) or not shape.patterns[0][1]:
        parts.insert(0, chars_between(shape.minimum, shape.maximum))
    return Lexeme(quoted(parts[0] if len(parts) == 1 else And(tuple(parts))))


@lru_cache(maxsize=1024)
def has_text(shape: Str, limits: Limits) -> bool:
    """Return whether some string has the shape; a search where patterns and lengths meet.

    Raises:
        LimitExceededError: the search met `max_emptiness_steps`.
    """
    free = (shape.minimum, shape.maximum) == (0, None)
    if not shape.patterns or (free and len(shape.patterns) == 1 and _is_format(*shape.patterns[0])):
        return True
    nodes = [pattern_node(pattern, limits) for pattern, _ in shape.patterns]
    parts: list[Node] = [node if sign else Not(node) for node, (_, sign) in zip(nodes, shape.patterns, strict=True)]
    if not free:
        parts.append(Repeat(ANY_CHAR, shape.minimum, shape.maximum))
    if len(parts) == 1 and not any(isinstance(node, (And, Not, ByteClass)) for node in walk(parts[0])):
        return True
    return not is_empty(And(tuple(parts)), limits)


def _is_format(pattern: Pattern, sign: bool) -> bool:
    """Return whether a signed pattern is one that is known to have texts."""
    return isinstance(pattern, Format) and sign


def filtered(texts: tuple[str, ...], patterns: tuple[tuple[Pattern, bool], ...], limits: Limits) -> tuple[str, ...]:
    """Return the texts that match every pattern with sign True and none with sign False."""
    for pattern, sign in patterns:
        if isinstance(pattern, Format):
            read = _reader(pattern.name).matches
            texts = tuple(text for text in texts if read(text) == sign)
        else:
            node = pattern_node(pattern, limits)
            texts = tuple(text for text in texts if matches(node, text) == sign)
    return texts


@cache
def _reader(name: str) -> Reader:
    return Reader(FORMATS[name]())
