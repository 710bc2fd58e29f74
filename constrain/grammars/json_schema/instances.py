"""Which expressions have an instance, and how deep the flattest one is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from constrain.deadline import check
from constrain.errors import LimitExceededError
from constrain.grammars.json_schema.algebra import Algebra, Shapes
from constrain.grammars.json_schema.array_shapes import reduced_array
from constrain.grammars.json_schema.object_shapes import settled
from constrain.grammars.json_schema.patterns import has_text
from constrain.grammars.json_schema.shapes import FALSE, Arr, Obj, Shape, Str
from constrain.grammars.json_schema.unique_items import settled_unique
from constrain.grammars.json_schema.walks import ArrayWalk


class Instances:
    """What is known of the instances of an algebra's expressions."""

    def __init__(self, algebra: Algebra) -> None:
        self.algebra = algebra
        self._productive: dict[int, bool] = {}
        self._heights: dict[int, int] = {}
        self._settled: dict[int, Shapes] = {}
        self._walks: dict[Arr, ArrayWalk] = {}

    def shapes(self, expression: int) -> Shapes:
        """Return the shapes of an expression in the form in which rules are made."""
        found = self._settled.get(expression)
        if found is None:
            shapes: list[Shape] = []
            for shape in self.algebra.unfold(expression):
                if isinstance(shape, Obj):
                    shapes.extend(settled(shape, self.algebra))
                elif isinstance(shape, Arr) and shape.unique:
                    items = self.algebra.unfold(shape.items)
                    array = settled_unique(shape, items, self.algebra.unique_at, self.algebra.limits)
                    shapes.extend(() if array is None else (array,))
                else:
                    shapes.append(shape)
            found = self._settled[expression] = tuple(dict.fromkeys(shapes))
        return found

    def productive(self, expression: int) -> bool:
        """Return whether the expression has a finite instance."""
        known = self._productive.get(expression)
        if known is None:
            self._solve(expression)
            known = self._productive[expression]
        return known

    def _solve(self, root: int) -> None:
        """Find the least fixpoint over everything `root` reaches."""
        order: list[int] = []
        seen = {root}
        stack = [root]
        most = self.algebra.limits.max_schema_nodes
        while stack:
            check()
            expression = stack.pop()
            order.append(expression)
            if len(order) > most:
                raise LimitExceededError("max_schema_nodes", most, "following references")
            for shape in self.shapes(expression):
                for part in self.members(shape):
                    if part not in seen:
                        seen.add(part)
                        if part not in self._productive:
                            stack.append(part)
        open_ones = order[::-1]
        while True:
            left = [one for one in open_ones if not self._grounded(one)]
            if len(left) == len(open_ones):
                break
            open_ones = left
        self._productive.update(dict.fromkeys(left, False))

    def _grounded(self, expression: int) -> bool:
        """Return whether some shape needs only what is known to have instances; if so, note it."""
        heights = [self.height(shape) for shape in self.shapes(expression)]
        found = [height for height in heights if height is not None]
        if not found:
            return False
        self._productive[expression] = True
        self._heights[expression] = min(found)
        return True

    def height_of(self, expression: int) -> int:
        """Return how many levels of containers are enough for an instance of an expression that has one."""
        return self._heights[expression]

    def height(self, shape: Shape) -> int | None:
        """Return how many levels of containers below it are enough for an instance; None if none is known."""
        heights = self._heights
        if isinstance(shape, Arr):
            return self.walk(shape).height(heights)
        if isinstance(shape, Obj):
            return _object_height(shape, heights)
        return 0 if not isinstance(shape, Str) or has_text(shape, self.algebra.limits) else None

    def walk(self, shape: Arr) -> ArrayWalk:
        """Return what items an array may have one after another."""
        found = self._walks.get(shape)
        if found is None:
            found = self._walks[shape] = ArrayWalk(shape, self.algebra)
        return found

    def members(self, shape: Shape) -> Iterable[int]:
        """Return the expressions of everything that may be inside a shape's values."""
        if isinstance(shape, Arr):
            return self.walk(shape).expressions()
        if isinstance(shape, Obj):
            groups = (group.expression for group in shape.groups)
            return (*(prop.expression for prop in shape.props), *groups, *(demand.expression for demand in shape.some))
        return ()

    def allowed(self, shape: Shape) -> Shape | None:
        """Return the shape without members and items that have no instance, or None if it has none itself."""
        if self.height(shape) is None:
            return None
        if not isinstance(shape, Arr) or shape.contains:
            return shape
        prefix = tuple(part if self.productive(part) else FALSE for part in shape.prefix)
        items = shape.items if shape.maximum == len(prefix) or self.productive(shape.items) else FALSE
        return reduced_array(shape._replace(prefix=prefix, items=items), self.algebra)


def _object_height(shape: Obj, heights: Mapping[int, int]) -> int | None:
    needed = [heights.get(prop.expression) for prop in shape.props if prop.required]
    needed += [heights.get(demand.expression) for demand in shape.some]
    found = [height for height in needed if height is not None]
    if len(found) < len(needed) or (shape.maximum is not None and len(needed) > shape.maximum):
        return None
    if len(needed) < shape.minimum:  # `settled` leaves no implications then
        more = [heights[prop.expression] for prop in shape.props if not prop.required and prop.expression in heights]
        lowest = min((heights[group.expression] for group in shape.groups if group.expression in heights), default=None)
        if lowest is not None:
            more += [lowest] * shape.minimum
        more.sort()
        found += more[: shape.minimum - len(needed)]
        if len(found) < shape.minimum:
            return None
    return 1 + max(found) if found else 0
