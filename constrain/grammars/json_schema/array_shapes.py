"""Shapes of arrays: their conjunction, and the form in which nothing is said twice."""

from __future__ import annotations

from constrain.grammars.json_schema.shapes import FALSE, TRUE, Arr, Contains, Merge, least


def conjoin_arrays(a: Arr, b: Arr, merge: Merge) -> Arr | None:
    """Return the shape of the arrays in both, or None if there are plainly none."""
    length = max(len(a.prefix), len(b.prefix))
    places = tuple(merge.meet(item_at(a, place), item_at(b, place)) for place in range(length))
    items, maximum = merge.meet(a.items, b.items), least(a.maximum, b.maximum)
    contains, unique = a.contains + b.contains, a.unique or b.unique
    return reduced_array(Arr(places, items, max(a.minimum, b.minimum), maximum, contains, unique), merge)


def item_at(shape: Arr, place: int) -> int:
    """Return what a shape says of the item at a place, apart from `contains`."""
    return shape.prefix[place] if place < len(shape.prefix) else shape.items


def reduced_array(shape: Arr, merge: Merge) -> Arr | None:
    """Return the shape without what says nothing or can be said by the places, or None if it is plainly empty."""
    found: dict[tuple[int, int], Contains] = {}
    for one in shape.contains:
        maximum = one.maximum
        if one.expression == TRUE:
            most = None if maximum is None else one.start + maximum
            least_size = one.start + one.minimum if one.minimum else 0
            shape = shape._replace(minimum=max(shape.minimum, least_size), maximum=least(shape.maximum, most))
        elif one.expression == FALSE or maximum == 0:
            if one.minimum:
                return None
            shape = _without(shape, one, merge)
        elif one.minimum or maximum is not None:
            key = (one.expression, one.start)
            old = found.get(key, one)
            found[key] = old._replace(minimum=max(old.minimum, one.minimum), maximum=least(old.maximum, maximum))
    contains = tuple(found.values())
    if any(one.maximum is not None and one.minimum > one.maximum for one in contains):
        return None
    if any(one.maximum == 0 for one in contains):  # one had no minimum, and another brought the maximum
        return reduced_array(shape._replace(contains=contains), merge)
    needed = max((one.start + one.minimum for one in contains if one.minimum), default=0)
    prefix, maximum = shape.prefix, shape.maximum
    if maximum is not None:
        prefix = prefix[:maximum]
    if FALSE in prefix:
        prefix = prefix[: prefix.index(FALSE)]
        maximum = len(prefix)
    elif shape.items == FALSE:
        maximum = least(maximum, len(prefix))
    minimum = max(shape.minimum, needed)
    if maximum is not None and minimum > maximum:
        return None
    unique = shape.unique and (maximum is None or maximum > 1)
    return Arr(prefix, shape.items, minimum, maximum, contains, unique)


def _without(shape: Arr, one: Contains, merge: Merge) -> Arr:
    """Return the shape where no item from a place on is in an expression."""
    if one.expression == FALSE:
        return shape
    other = merge.not_of(one.expression)
    prefix = [item_at(shape, place) for place in range(max(len(shape.prefix), one.start))]
    for place in range(one.start, len(prefix)):
        prefix[place] = merge.meet(prefix[place], other)
    return shape._replace(prefix=tuple(prefix), items=merge.meet(shape.items, other))
