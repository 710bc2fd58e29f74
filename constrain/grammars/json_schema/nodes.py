"""From expressions to IR: one rule per container shape, terminals for everything else, all made on demand.

Rule names are ("value", shape number, depth), ("union", expression, depth) and ("items", shape number, depth, state):
more items of an array that has come to a state of its walk. Depth counts only where whitespace is laid out by
indent.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from constrain.grammars.choice import one_of
from constrain.grammars.json_multiples import digits_for, fraction_terminal, multiple_terminal, whole_terminal
from constrain.grammars.json_numbers import Bounds, integer_terminal, number_terminal
from constrain.grammars.json_schema.instances import Instances
from constrain.grammars.json_schema.layout import Layout, layout_for
from constrain.grammars.json_schema.objects import object_node
from constrain.grammars.json_schema.options import Options
from constrain.grammars.json_schema.patterns import has_text, patterned_string
from constrain.grammars.json_schema.shapes import Arr, Bool, Null, Num, Obj, Shape, Str
from constrain.grammars.json_schema.unique_items import unique_array
from constrain.grammars.json_schema.walks import ArrayWalk, State
from constrain.grammars.json_text import (
    any_spelling,
    any_spelling_of,
    plain,
    quoted,
    string_between,
)
from constrain.ir import EPSILON, NOTHING, Lexeme, Literal, Node, Ref, Repeat, alt, optional, seq

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

    def __init__(self, instances: Instances, options: Options) -> None:
        self.instances = instances
        self.options = options
        self.shapes: list[Shape] = []
        self._numbers: dict[Shape, int] = {}
        self._nodes: dict[tuple[int, int], Node] = {}
        self._unions: dict[Hashable, Node] = {}
        self._terminals: dict[Shape, Node] = {}
        self._deepest: int | None = None
        self._live: dict[tuple[int, int], dict[State, bool]] = {}

    def value(self, expression: int, depth: int = 0) -> Node | None:
        """Return the node of an expression's values, or None if it has none."""
        key = (expression, depth)
        found = self._nodes.get(key)
        if found is None:
            if not self.instances.productive(expression):
                return None
            if self._deepest is None:  # the root
                self._deepest = max(MAX_INDENT_DEPTH, self.instances.height_of(expression))
            parts = []
            for shape in self.instances.shapes(expression):
                kept = self.instances.allowed(shape)
                height = None if kept is None else self.instances.height(kept)
                # Laid out by indent every depth has rules of its own, which must not go on for ever.
                if kept is not None and height is not None and (not depth or depth + height <= self._deepest):
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
        number, depth = name[1:3]
        shape = self.shapes[number]
        layout = layout_for(self.options, depth)
        inner = depth + 1 if self.options.indent is not None else 0
        if name[0] == "items":
            return alt([seq((layout.comma, way)) for way in self._items(number, depth, name[3], layout, inner)])
        if isinstance(shape, Arr):
            if shape.unique:
                return unique_array(self, shape, self.instances.shapes(shape.items), layout, self.options.limits)
            return self._walked(number, depth, layout, inner) if shape.contains else self._array(shape, layout, inner)
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

    def _walked(self, number: int, depth: int, layout: Layout, inner: int) -> Node:
        """Return an array whose items `contains` counts."""
        walk = self._walk(number)
        ways = self._items(number, depth, walk.start, layout, inner)
        may_be_empty = walk.accepts(walk.start)
        if not ways and not may_be_empty:
            return NOTHING
        return layout.array(alt(ways) if ways else None, may_be_empty=may_be_empty)

    def _walk(self, number: int) -> ArrayWalk:
        shape = self.shapes[number]
        assert isinstance(shape, Arr)
        return self.instances.walk(shape)

    def _items(self, number: int, depth: int, state: State, layout: Layout, inner: int) -> list[Node]:
        """Return one more item and what may follow it, for each state that it may lead to."""
        found: dict[State, list[Node]] = {}
        for node, after in self._steps(number, depth, state, inner):
            found.setdefault(after, []).append(node)
        return [seq((alt(nodes), self._after(number, depth, after, layout, inner))) for after, nodes in found.items()]

    def _steps(self, number: int, depth: int, state: State, inner: int) -> Iterator[tuple[Node, State]]:
        """Yield the nodes of items from which the array can be finished."""
        walk = self._walk(number)
        known = self._live.setdefault((number, depth), {})
        for expression, after in walk.steps(state):
            node = self.value(expression, inner)
            if node is not None and walk.is_live(after, lambda one: self.value(one, inner) is not None, known):
                yield node, after

    def _after(self, number: int, depth: int, state: State, layout: Layout, inner: int) -> Node:
        """Return what may follow in an array that has come to a state; a rule of its own, which is never empty."""
        walk = self._walk(number)
        shape, place = walk.shape, state[0]
        if not walk.is_open(state) and place >= walk.alike:
            node = self.value(shape.items, inner)
            if node is None or shape.maximum == place:
                return EPSILON
            high = None if shape.maximum is None else shape.maximum - place
            return Repeat(seq((layout.comma, node)), max(shape.minimum - place, 0), high)
        if next(self._steps(number, depth, state, inner), None) is None:
            return EPSILON
        more = Ref(("items", number, depth, state))
        return optional(more) if walk.accepts(state) else more

    # Terminals

    def _terminal(self, shape: Shape) -> Node:
        if isinstance(shape, Null):
            return _NULL
        if isinstance(shape, Bool):
            return _BOOLEANS[shape.allowed]
        if isinstance(shape, Num):
            return self._number(shape)
        assert isinstance(shape, Str)
        return self.string(shape)

    def _number(self, shape: Num) -> Node:
        any_spelling_of_integers = self.options.integer_spelling == "any"
        if shape.values is None:
            whole = whole_terminal if any_spelling_of_integers else integer_terminal
            make = whole if shape.integer else fraction_terminal if shape.fraction else number_terminal
            if not shape.multiples:
                return make(shape.bounds, self.options.max_digits)
            base = make(shape.bounds, digits_for(shape.multiples, self.options.max_digits))
            return multiple_terminal(base, shape.multiples)
        if any_spelling_of_integers:
            return alt([number_terminal(Bounds(value, value), self.options.max_digits) for value, _ in shape.values])
        plain_only = shape.integer
        texts = [text for _, spellings in shape.values for text in (spellings[:1] if plain_only else spellings)]
        return Lexeme(one_of(dict.fromkeys(text.encode() for text in texts)))

    def string(self, shape: Str) -> Lexeme:
        """Return the terminal of the strings of a shape."""
        if shape.texts is not None:
            return self.literal(shape.texts)
        maximum = shape.maximum
        cap = self.options.max_string
        if maximum is None and cap is not None:
            maximum = max(cap, shape.minimum)
            if not has_text(shape._replace(maximum=maximum), self.options.limits):
                maximum = None  # the pattern needs more than the cap
        if not shape.patterns and not shape.excluded:
            return string_between(shape.minimum, maximum)
        plainly = self.options.string_spelling == "plain"
        return patterned_string(shape._replace(maximum=maximum), self.options.limits, plainly=plainly)

    def literal(self, texts: tuple[str, ...]) -> Lexeme:
        """Return the terminal of some constant strings in the spelling that was asked for."""
        if self.options.string_spelling == "plain":
            return Lexeme(one_of([plain(text) for text in texts]) if len(texts) > 1 else Literal(plain(texts[0])))
        return Lexeme(quoted(any_spelling(texts[0]) if len(texts) == 1 else any_spelling_of(texts)))
