"""The conjunction of two shapes."""

from __future__ import annotations

from constrain.grammars.json_schema.array_shapes import conjoin_arrays
from constrain.grammars.json_schema.object_shapes import conjoin_objects, expression_at
from constrain.grammars.json_schema.patterns import filtered
from constrain.grammars.json_schema.shapes import FREE, Arr, Merge, Obj, Shape, Str, conjoin_scalars
from constrain.limits import Limits


def conjoin(a: Shape, b: Shape, merge: Merge) -> Shape | None:
    """Return the shape of the values in both, or None if there are plainly none.

    Args:
        a, b: two shapes.
        merge: combines the expressions of members and items.
    """
    if a.kind != b.kind:
        return None
    if a == b or b == FREE[b.kind]:
        return a
    if a == FREE[a.kind]:
        return b
    if isinstance(a, Arr) and isinstance(b, Arr):
        return conjoin_arrays(a, b, merge)
    if isinstance(a, Obj) and isinstance(b, Obj):
        return conjoin_objects(a, b, merge)
    found = conjoin_scalars(a, b)
    if isinstance(found, Str) and found.texts is not None and found.patterns:
        texts = filtered(found.texts, found.patterns, merge.limits)
        return Str(texts=texts) if texts else None
    return found


def says_no_more(both: Shape, one: Shape, limits: Limits) -> bool:
    """Return True only if the conjunction of a shape with another is the shape itself: the other asks no more.

    Members that the conjunction declares beside those of the shape may be ones of which it says what is said anyway.
    """
    if both == one:
        return True
    if not isinstance(both, Obj) or not isinstance(one, Obj):
        return False
    if both._replace(props=()) != one._replace(props=()):
        return False
    names = {prop.name: prop for prop in one.props}
    more = [prop for prop in both.props if names.get(prop.name) != prop]
    return all(
        not prop.required and prop.name not in names and prop.expression == expression_at(one, prop.name, limits)
        for prop in more
    ) and len(both.props) == len(names) + len(more)
