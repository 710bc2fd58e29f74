"""Patterns and formats of one process: made once, and once tested for what they leave of strings."""

from __future__ import annotations

from functools import cache, lru_cache

from constrain.grammars.emptiness import Reader, is_empty, texts_of
from constrain.grammars.formats.table import FORMATS
from constrain.grammars.json_schema.shapes import Format, Pattern, Patterns, Str
from constrain.grammars.json_text import any_spelling_of, chars_between, json_chars, quoted
from constrain.grammars.membership import matches
from constrain.grammars.regex import parse
from constrain.grammars.regex_tree import ANY_CHAR
from constrain.ir import And, ByteClass, Lexeme, Node, Not, OneOf, Repeat, walk
from constrain.limits import Limits


@lru_cache(maxsize=1024)
def pattern_node(pattern: Pattern, limits: Limits) -> Node:
    """Return the decoded texts in which a `pattern` is found, or that are of a format, or of a shape."""
    if isinstance(pattern, Format):
        return FORMATS[pattern.name]()
    if isinstance(pattern, Str):
        return _of_shape(pattern, limits)
    return parse(pattern, dialect="ecma", search=True, limits=limits)


@lru_cache(maxsize=1024)
def spelled_pattern(pattern: Pattern, limits: Limits, *, plainly: bool = False) -> Node:
    """Return the same as spellings inside a JSON string; `plainly`, one spelling of each text."""
    return json_chars(pattern_node(pattern, limits), plainly=plainly)


@lru_cache(maxsize=1024)
def patterned_string(shape: Str, limits: Limits, *, plainly: bool) -> Lexeme:
    """Return the terminal of the strings of a shape that asks more than lengths; one object: the lexer knows it again.

    Args:
        plainly: strings of a format have their plain spelling only.
    """
    parts = []
    for pattern, wanted in shape.patterns:
        # What must not be of a format must not be so in any spelling.
        node = spelled_pattern(pattern, limits, plainly=plainly and wanted and isinstance(pattern, Format))
        parts.append(node if wanted else Not(node))
    if shape.excluded:
        parts.append(Not(any_spelling_of(shape.excluded)))
    if (shape.minimum, shape.maximum) != (0, None) or not any(wanted for _, wanted in shape.patterns):
        parts.insert(0, chars_between(shape.minimum, shape.maximum))
    return Lexeme(quoted(parts[0] if len(parts) == 1 else And(tuple(parts))))


@lru_cache(maxsize=1024)
def has_text(shape: Str, limits: Limits) -> bool:
    """Return whether any string satisfies the shape's lengths, patterns and exclusions together.

    Raises:
        LimitExceededError: the search met `max_emptiness_steps`.
    """
    free = (shape.minimum, shape.maximum) == (0, None)
    if not shape.patterns and (free or not shape.excluded):
        return True
    if free and not shape.excluded and len(shape.patterns) == 1 and _is_format(*shape.patterns[0]):
        return True
    whole = _of_shape(shape, limits)
    return not any(isinstance(node, (And, Not, ByteClass)) for node in walk(whole)) or not is_empty(whole, limits)


def _of_shape(shape: Str, limits: Limits) -> Node:
    """Return the decoded texts of a shape that is no enumeration."""
    parts = _signed(shape.patterns, limits)
    if (shape.minimum, shape.maximum) != (0, None):
        parts.append(Repeat(ANY_CHAR, shape.minimum, shape.maximum))
    if shape.excluded:
        parts.append(Not(OneOf(tuple(sorted(text.encode() for text in shape.excluded)))))
    return parts[0] if len(parts) == 1 else And(tuple(parts))


@lru_cache(maxsize=1024)
def finite_texts(patterns: Patterns, most: int, limits: Limits) -> tuple[str, ...] | None:
    """Return the texts that match all patterns, in order, if they are at most `most`."""
    return texts_of(And(tuple(_signed(patterns, limits))), most)


def _signed(patterns: Patterns, limits: Limits) -> list[Node]:
    nodes = [(pattern_node(pattern, limits), sign) for pattern, sign in patterns]
    return [node if sign else Not(node) for node, sign in nodes]


def _is_format(pattern: Pattern, sign: bool) -> bool:
    """Return whether a signed pattern is one that is known to have texts."""
    return isinstance(pattern, Format) and sign


def filtered(texts: tuple[str, ...], patterns: Patterns, limits: Limits) -> tuple[str, ...]:
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
