"""Punctuation and whitespace: the few terminals that all objects and arrays share, for one whitespace option."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from constrain.grammars.json_schema.options import Options
from constrain.grammars.json_text import blanks
from constrain.grammars.regex_tree import join
from constrain.ir import Lexeme, Literal, Node, alt, seq


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """The punctuation at one nesting depth.

    Whitespace belongs to the terminal beside it, so no position takes two runs. `end_empty_*` closes a container
    right after its opening; it is None where `{}` is not written with the same opening as `{"a": 1}`.
    """

    open_object: Node
    close_object: Node
    end_empty_object: Node | None
    empty_object: Node
    open_array: Node
    close_array: Node
    end_empty_array: Node | None
    empty_array: Node
    colon: Node
    comma: Node

    def object(self, body: Node | None, *, may_be_empty: bool) -> Node:
        """Return an object with `body` between the braces, or with nothing."""
        return _bracket(
            self.open_object, body, self.close_object, self.end_empty_object, self.empty_object, may_be_empty
        )

    def array(self, body: Node | None, *, may_be_empty: bool) -> Node:
        """Return an array with `body` between the brackets, or with nothing."""
        return _bracket(self.open_array, body, self.close_array, self.end_empty_array, self.empty_array, may_be_empty)


def _bracket(
    opening: Node, body: Node | None, closing: Node, end_empty: Node | None, empty: Node, may_be_empty: bool
) -> Node:
    if body is None:
        return empty
    if not may_be_empty:
        return seq((opening, body, closing))
    if end_empty is None:
        return alt((empty, seq((opening, body, closing))))
    return seq((opening, alt((end_empty, seq((body, closing))))))


def layout_for(options: Options, depth: int) -> Layout:
    """Return the punctuation of a container that is `depth` levels deep (0 for the root)."""
    indent = options.indent
    if indent is not None:
        return _indented(indent, depth)
    return _flexible(0 if options.whitespace == "compact" else options.max_whitespace)


@lru_cache(maxsize=16)
def _flexible(maximum: int) -> Layout:
    """Return punctuation with a run of up to `maximum` blanks wherever RFC 8259 allows one inside a container."""
    run = blanks(maximum) if maximum else Literal(b"")

    def after(text: bytes) -> Node:
        return Lexeme(join((Literal(text), run)))

    def before(text: bytes) -> Node:
        return Lexeme(join((run, Literal(text))))

    def around(text: bytes) -> Node:
        return Lexeme(join((run, Literal(text), run)))

    def empty(start: bytes, stop: bytes) -> Node:
        return Lexeme(join((Literal(start), run, Literal(stop))))

    return Layout(
        open_object=after(b"{"),
        close_object=before(b"}"),
        end_empty_object=Lexeme(Literal(b"}")),
        empty_object=empty(b"{", b"}"),
        open_array=after(b"["),
        close_array=before(b"]"),
        end_empty_array=Lexeme(Literal(b"]")),
        empty_array=empty(b"[", b"]"),
        colon=around(b":"),
        comma=around(b","),
    )


@lru_cache(maxsize=256)
def _indented(indent: int, depth: int) -> Layout:
    """Return punctuation exactly as `json.dumps(indent=indent)` writes it."""
    inner = b"\n" + b" " * (indent * (depth + 1))
    outer = b"\n" + b" " * (indent * depth)

    def word(text: bytes) -> Node:
        return Lexeme(Literal(text))

    return Layout(
        open_object=word(b"{" + inner),
        close_object=word(outer + b"}"),
        end_empty_object=None,
        empty_object=word(b"{}"),
        open_array=word(b"[" + inner),
        close_array=word(outer + b"]"),
        end_empty_array=None,
        empty_array=word(b"[]"),
        colon=word(b": "),
        comma=word(b"," + inner),
    )
