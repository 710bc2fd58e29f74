"""From expressions to IR: one rule per container shape, terminals for everything else, all made on demand.

Rule names are ("value", shape number, depth) and ("union", expression, depth); depth counts
only where whitespace is laid out by indent.
"""

from __future__ import annotations

from collections.abc import Hashable

from constrain.grammars.choice import one_of
from constrain.grammars.json_numbers import integer_terminal, number_terminal
from constrain.grammars.json_schema.algebra import Algebra
from constrain.grammars.json_schema.layout import Layout, layout_for
from constrain.grammars.json_schema.objects import object_node
from constrain.grammars.json_schema.options import Options
from constrain.grammars.json_schema.patterns import has_text, patterned_string
from constrain.grammars.json_schema.shapes import Arr, Bool, Null, Num, Obj, Shape, Str
from constrain.grammars.json_text import (
    any_spelling,
    any_spelling_of,
    plain,
    quoted,
    string_between,
)
from constrain.ir import Lexeme, Literal, Node, Ref, Repeat, alt, optional, seq

_NULL = Lexeme(Literal(b"null"))
_BOOLEANS = {
    (True, False): Lexeme(one_of((b"true", b"false"))),
    (True,): Lexeme(Literal(b"true")),
    (False,): Lexeme(Literal(b"false")),
}
_INLINE_PARTS = 4
MAX_INDENT_DEPTH = 32


class Nodes:
    """Makes the rules of one schema; `expand` is the callback of its grammar."""

    def __init__(self, algebra: Algebra, options: Options) -> None:
        self.algebra = algebra
        self.options = options
        self.shapes: list[Shape] = []
        self._numbers: dict[Shape, int] = {}
        self._nodes: dict[tuple[int, int], Node] = {}
        self._unions: dict[Hashable, Node] = {}
        self._terminals: dict[Shape, Node] = {}
        self._deepest: int | None = None

    def value(self, expression: int, depth: int = 0) -> Node | None:
        """Return the node of an expression's values, or None if it has none."""
        key = (expression, depth)
        found = self._nodes.get(key)
        if found is None:
            if not self.algebra.productive(expression):
                return None
            if self._deepest is None:  # the root
                self._deepest = max(MAX_INDENT_DEPTH, self.algebra.height_of(expression))
            parts = []
            for shape in self.algebra.unfold(expression):
                kept = self.algebra.allowed(shape)
                # Laid out by indent every depth has rules of its own, which must not go on for ever.
                if kept is not None and (not depth or depth + self.algebra.height(kept) <= self._deepest):
                    parts.append(self._shape(kept, depth))
            if not parts:
                return None
            if len(parts) > _INLINE_PARTS:
                found = Ref(("union", expression, depth))
                self._unions[key] = alt(parts)
            else:
                found = alt(parts)
            self._nodes[key] = found
        return found

    def expand(self, name: Hashable) -> Node:
        """Return the node of a rule."""
        assert isinstance(name, tuple)
        if name[0] == "union":
            return self._unions[name[1:]]
        _, number, depth = name
        shape = self.shapes[number]
        layout = layout_for(self.options, depth)
        inner = depth + 1 if self.options.indent is not None else 0
        if isinstance(shape, Arr):
            return self._array(shape, layout, inner)
        assert isinstance(shape, Obj)
        return object_node(self, shape, layout, inner)

    def _shape(self, shape: Shape, depth: int) -> Node:
        if isinstance(shape, (Arr, Obj)):
            number = self._numbers.get(shape)
            if number is None:
                number = self._numbers[shape] = len(self.shapes)
                self.shapes.append(shape)
            return Ref(("value", number, depth))
        found = self._terminals.get(shape)
        if found is None:
            found = self._terminals[shape] = self._terminal(shape)
        return found

    # Arrays

    def _array(self, shape: Arr, layout: Layout, depth: int) -> Node:
        count = len(shape.prefix)
        rest = None
        if shape.maximum is None or shape.maximum > count:
            rest = self.value(shape.items, depth)
        tail: Node | None = None
        if rest is not None:
            low = max(shape.minimum - max(count, 1), 0)
            high = None if shape.maximum is None else shape.maximum - max(count, 1)
            tail = Repeat(seq((layout.comma, rest)), low, high) if high != 0 else None
        places: list[Node] = []
        for part in shape.prefix:
            node = self.value(part, depth)
            if node is None:  # too deep
                tail = rest = None
                break
            places.append(node)
        if not places:
            if rest is None:
                return layout.array(None, may_be_empty=True)
            places = [rest]
        for place in range(len(places) - 1, -1, -1):
            body = places[place] if place == 0 else seq((layout.comma, places[place]))
            body = body if tail is None else seq((body, tail))
            tail = optional(body) if place > 0 and place >= shape.minimum else body
        return layout.array(tail, may_be_empty=shape.minimum == 0)

    # Terminals

    def _terminal(self, shape: Shape) -> Node:
        if isinstance(shape, Null):
            return _NULL
        if isinstance(shape, Bool):
            return _BOOLEANS[shape.allowed]
        if isinstance(shape, Num):
            return self._number(shape)
        assert isinstance(shape, Str)
        return self._string(shape)

    def _number(self, shape: Num) -> Node:
        if shape.values is None:
            make = integer_terminal if shape.integer else number_terminal
            return make(shape.bounds, self.options.max_digits)
        plain_only = shape.integer
        texts = [text for _, spellings in shape.values for text in (spellings[:1] if plain_only else spellings)]
        return Lexeme(one_of(dict.fromkeys(text.encode() for text in texts)))

    def _string(self, shape: Str) -> Node:
        if shape.texts is not None:
            return self.literal(shape.texts)
        maximum = shape.maximum
        cap = self.options.max_string
        if maximum is None and cap is not None:
            maximum = max(cap, shape.minimum)
            if not has_text(shape._replace(maximum=maximum), self.options.limits):
                maximum = None  # the pattern needs more than the cap
        if not shape.patterns:
            return string_between(shape.minimum, maximum)
        plainly = self.options.string_spelling == "plain"
        return patterned_string(shape._replace(maximum=maximum), self.options.limits, plainly=plainly)

    def literal(self, texts: tuple[str, ...]) -> Node:
        """Return the terminal of some constant strings in the spelling that was asked for."""
        if self.options.string_spelling == "plain":
            return Lexeme(one_of([plain(text) for text in texts]) if len(texts) > 1 else Literal(plain(texts[0])))
        return Lexeme(quoted(any_spelling(texts[0]) if len(texts) == 1 else any_spelling_of(texts)))
