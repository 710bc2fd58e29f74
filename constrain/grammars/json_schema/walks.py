"""Which items an array may have one after another, where `contains` counts some of them.

A state is how many items there are, as far as that matters, and how many of them each `contains` has counted, likewise.
An item may be counted by some of the contains; it has to be where there is a maximum. So an item that is not counted
towards a maximum is in the complement, and one not counted towards a minimum may be anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product

from constrain.deadline import check
from constrain.errors import LimitExceededError
from constrain.grammars.json_schema.array_shapes import item_at
from constrain.grammars.json_schema.shapes import FALSE, Arr, Contains, Merge

State = tuple[int, tuple[int, ...]]
Available = Callable[[int], bool]


class ArrayWalk:
    """The states of one shape's arrays."""

    def __init__(self, shape: Arr, merge: Merge) -> None:
        self.shape = shape
        self.merge = merge
        # Places from here on are alike.
        starts = [one.start for one in shape.contains]
        self.alike = max([len(shape.prefix), *starts])
        self.last = max(self.alike, shape.minimum) if shape.maximum is None else shape.maximum
        self.start: State = (0, (0,) * len(shape.contains))
        self._items: dict[tuple[int, tuple[bool, ...]], int] = {}

    def is_open(self, state: State) -> bool:
        """Return whether `contains` still asks for something."""
        pairs = zip(self.shape.contains, state[1], strict=True)
        return any(one.maximum is not None or count < one.minimum for one, count in pairs)

    def accepts(self, state: State) -> bool:
        """Return whether the array may end."""
        place, counts = state
        enough = all(count >= one.minimum for one, count in zip(self.shape.contains, counts, strict=True))
        return place >= self.shape.minimum and enough

    def steps(self, state: State) -> Iterator[tuple[int, State]]:
        """Yield the expressions of one more item, with what comes after it; the most counted ones first."""
        place, counts = state
        if self.shape.maximum is not None and place >= self.shape.maximum:
            return
        ways = [self._ways(one, count, place) for one, count in zip(self.shape.contains, counts, strict=True)]
        for way in product(*ways):
            expression = self._item(place, way)
            if expression != FALSE:
                after = tuple(
                    _counted(one, count) if hit else count
                    for one, count, hit in zip(self.shape.contains, counts, way, strict=True)
                )
                yield expression, (min(place + 1, self.last), after)

    @staticmethod
    def _ways(one: Contains, count: int, place: int) -> tuple[bool, ...]:
        if place < one.start:
            return (False,)
        if one.maximum is None:
            return (True, False) if count < one.minimum else (False,)
        return (True, False) if count < one.maximum else (False,)

    def _item(self, place: int, way: tuple[bool, ...]) -> int:
        key = min(place, self.alike), way
        found = self._items.get(key)
        if found is None:
            found = item_at(self.shape, place)
            for one, hit in zip(self.shape.contains, way, strict=True):
                if hit:
                    found = self.merge.meet(found, one.expression)
                elif one.maximum is not None and place >= one.start:
                    found = self.merge.meet(found, self.merge.not_of(one.expression))
            self._items[key] = found
        return found

    def expressions(self) -> Iterable[int]:
        """Return the expressions of all items that there may be."""
        shape = self.shape
        if not shape.contains:
            full = shape.maximum is not None and shape.maximum <= len(shape.prefix)
            return shape.prefix if full else (*shape.prefix, shape.items)
        if 2 ** len(shape.contains) * (self.alike + 1) > self.merge.limits.max_schema_nodes:
            raise LimitExceededError("max_schema_nodes", self.merge.limits.max_schema_nodes, "by contains")
        found: dict[int, None] = {}
        for place in range(self.alike + 1):
            counted = [(False,) if place < one.start else (True, False) for one in shape.contains]
            for way in product(*counted):
                found[self._item(place, way)] = None
        found.pop(FALSE, None)
        return tuple(found)

    def height(self, heights: Mapping[int, int]) -> int | None:
        """Return the least number of levels with which an array can be finished; None if it cannot.

        Args:
            heights: of the expressions that are known to have instances.
        """
        shape = self.shape
        if not shape.contains:
            needed = [heights.get(item_at(shape, place)) for place in range(min(shape.minimum, len(shape.prefix)))]
            if shape.minimum > len(shape.prefix):
                needed.append(heights.get(shape.items))
            found = [height for height in needed if height is not None]
            return None if len(found) < len(needed) else 1 + max(found) if found else 0
        if self.accepts(self.start):
            return 0
        levels = sorted({heights[one] for one in self.expressions() if one in heights})
        for level in levels:
            low = {one for one, height in heights.items() if height <= level}
            if self.is_live(self.start, low.__contains__, {}):
                return 1 + level
        return None

    def is_live(self, state: State, available: Available, known: dict[State, bool]) -> bool:
        """Return whether an array can be finished from a state with items of the available expressions.

        Args:
            state: how far it is.
            available: which expressions may be used.
            known: what was found before, for the same available ones; is added to.
        Raises:
            LimitExceededError: the search met `max_emptiness_steps`.
        """
        if state in known:
            return known[state]
        limits = self.merge.limits
        seen = {state}
        path = [(state, self.steps(state))]
        while path:
            check()
            here, steps = path[-1]
            if self.accepts(here) or known.get(here):
                known.update((passed, True) for passed, _ in path)
                return True
            for expression, after in steps:
                if after not in seen and known.get(after, True) and available(expression):
                    seen.add(after)
                    path.append((after, self.steps(after)))
                    break
            else:
                path.pop()
            if len(seen) > limits.max_emptiness_steps:
                raise LimitExceededError("max_emptiness_steps", limits.max_emptiness_steps, "by contains")
        # Everything that can be reached was looked at.
        known.update(dict.fromkeys(seen, False))
        return False


def _counted(one: Contains, count: int) -> int:
    most = one.minimum if one.maximum is None else one.maximum
    return min(count + 1, most)
