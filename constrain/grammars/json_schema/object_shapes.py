"""Shapes of objects: their conjunction, and the form in which the rules of objects are made.

The keys that a shape does not declare are parted into groups by the patterns that they match. A conjunction refines the
partitions of both sides; parts without any key are left out, so patterns that never meet cost nothing together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from constrain.deadline import check
from constrain.errors import LimitExceededError
from constrain.grammars.json_schema.patterns import filtered, finite_texts, has_text
from constrain.grammars.json_schema.shapes import (
    FALSE,
    TRUE,
    Group,
    Merge,
    Obj,
    Pattern,
    Patterns,
    Prop,
    Some,
    Str,
    both,
    conjoin_scalars,
    least,
    others,
    unmatched,
)
from constrain.limits import Limits

MOST_NAMES = 256  # keys of a finite group that are declared one by one


def conjoin_objects(a: Obj, b: Obj, merge: Merge) -> Obj | None:
    """Return the shape of the objects in both, or None if there are plainly none."""
    theirs = {prop.name: prop for prop in b.props}
    props = []
    for prop in a.props:
        other = theirs.pop(prop.name, None)
        expression = expression_at(b, prop.name, merge.limits) if other is None else other.expression
        required = prop.required or (other is not None and other.required)
        props.append(Prop(prop.name, merge.meet(prop.expression, expression), required))
    for prop in theirs.values():
        expression = expression_at(a, prop.name, merge.limits)
        props.append(Prop(prop.name, merge.meet(expression, prop.expression), prop.required))
    found = Obj(
        tuple(props),
        refined(a.groups, b.groups, merge),
        tuple(dict.fromkeys(a.some + b.some)),
        max(a.minimum, b.minimum),
        least(a.maximum, b.maximum),
        tuple(dict.fromkeys(a.implied + b.implied)),
    )
    return reduced_object(found)


def reduced_object(shape: Obj) -> Obj | None:
    """Return the shape, or None if it is plainly empty."""
    if any(prop.required and prop.expression == FALSE for prop in shape.props):
        return None
    if any(demand.expression == FALSE for demand in shape.some):
        return None
    needed = sum(prop.required for prop in shape.props)
    if shape.maximum is not None and max(shape.minimum, needed) > shape.maximum:
        return None
    return shape._replace(minimum=0) if shape.minimum <= needed else shape


def expression_at(shape: Obj, name: str, limits: Limits) -> int:
    """Return what a shape says of the value under a key that it does not declare."""
    for group in shape.groups:
        if not group.patterns or filtered((name,), group.patterns, limits):
            return group.expression
    return FALSE


def parted(patterns: Mapping[Pattern, int], rest: int, merge: Merge) -> tuple[Group, ...]:
    """Return the groups of keys by which of some patterns they match.

    Args:
        patterns: what each pattern asks of the values under the keys that match it.
        rest: what is asked under keys that match none.
        merge: combines what several patterns ask.
    """
    found: list[tuple[Patterns, int | None]] = [((), None)]
    for pattern, expression in patterns.items():
        parts = []
        for signed, old in found:
            check()
            for sign in (True, False):
                cell = both(signed, ((pattern, sign),))
                if cell is not None and has_key(cell, merge.limits):
                    new = old if not sign else expression if old is None else merge.meet(old, expression)
                    parts.append((cell, new))
        found = parts
        _check_groups(len(found), merge.limits)
    return _joined(Group(cell, rest if expression is None else expression) for cell, expression in found)


def refined(first: tuple[Group, ...], second: tuple[Group, ...], merge: Merge) -> tuple[Group, ...]:
    """Return the groups of the keys that are in a group of each side."""
    found = []
    for a in first:
        check()
        for b in second:
            patterns = both(a.patterns, b.patterns)
            if patterns is not None and (not a.patterns or not b.patterns or has_key(patterns, merge.limits)):
                found.append(Group(patterns, merge.meet(a.expression, b.expression)))
        _check_groups(len(found), merge.limits)
    return _joined(found)


def _joined(groups: Iterable[Group]) -> tuple[Group, ...]:
    """Return one group for all keys if all say the same."""
    found = tuple(groups)
    expressions = {group.expression for group in found}
    return others(expressions.pop()) if len(expressions) == 1 else found


def _check_groups(count: int, limits: Limits) -> None:
    if count > limits.max_schema_nodes:
        raise LimitExceededError("max_schema_nodes", limits.max_schema_nodes, "by groups of keys")


def has_key(patterns: Patterns, limits: Limits, names: tuple[str, ...] = ()) -> bool:
    """Return whether some key, none of `names`, matches all patterns."""
    return not patterns or has_text(Str(patterns=patterns, excluded=names), limits)


# The form in which rules are made


def settled(shape: Obj, merge: Merge) -> tuple[Obj, ...]:
    """Return shapes whose union is the shape, in which every demand is said so that any new key can meet it.

    In them groups have infinitely many keys (or more than `MOST_NAMES`) and values; the keys of each demand are those
    of a group, declared ones not among them; `implied` stands neither beside counts nor beside what is required anyway.
    """
    done: list[Obj] = []
    open_ones = [shape]
    while open_ones:
        check()
        one: Obj | None = reduced_object(open_ones.pop())
        one = None if one is None else _declared(one, merge.limits)
        one = None if one is None else _with_implied(one)
        one = None if one is None else _within_groups(one, merge)
        if one is None:
            continue
        at = next((place for place, demand in enumerate(one.some) if not _is_settled(one, demand)), None)
        if at is not None:
            rest = one._replace(some=one.some[:at] + one.some[at + 1 :])
            open_ones.extend(reversed(_ways(rest, one.some[at], merge)))
        elif one.implied and (one.minimum or one.maximum is not None):
            open_ones.extend(_split(one, *one.implied[0]))
        elif one.maximum is not None and len(one.some) > 1:
            apart = _one_for_two(one, merge)
            done.append(one)
            open_ones.extend(apart)
        else:
            done.append(one)
        if len(done) + len(open_ones) > merge.limits.max_schema_nodes:
            raise LimitExceededError("max_schema_nodes", merge.limits.max_schema_nodes, "by demands on members")
    return tuple(dict.fromkeys(done))


def _declared(shape: Obj, limits: Limits) -> Obj:
    """Return the shape with every name that is spoken of declared, and the keys of finite groups."""
    props = {prop.name: prop for prop in shape.props}
    names = [name for demand in shape.some for name in demand.names] + [name for pair in shape.implied for name in pair]
    for name in names:
        if name not in props:
            props[name] = Prop(name, expression_at(shape, name, limits), required=False)
    groups = []
    for group in shape.groups:
        if group.expression == FALSE:
            continue
        texts = finite_texts(group.patterns, MOST_NAMES, limits) if group.patterns else None
        if texts is None:
            groups.append(group)
            continue
        for name in texts:
            props.setdefault(name, Prop(name, group.expression, required=False))
    return shape._replace(props=tuple(props.values()), groups=tuple(groups))


def _within_groups(shape: Obj, merge: Merge) -> Obj | None:
    """Return the shape whose demands on a group also say what the group says."""
    asked = {group.patterns: group.expression for group in shape.groups}
    some = (
        demand._replace(expression=merge.meet(asked.get(demand.patterns, TRUE), demand.expression))
        for demand in shape.some
    )
    return reduced_object(shape._replace(some=tuple(dict.fromkeys(some)))) if shape.some else shape


def _with_implied(shape: Obj) -> Obj | None:
    """Return the shape with what implications settle at once: required members ask on, forbidden ones forbid back."""
    pairs = list(shape.implied)
    if not pairs:
        return shape
    props = {prop.name: prop for prop in shape.props}
    changed = True
    while changed:
        changed = False
        for first, second in pairs:
            p, q = props[first], props[second]
            if p.required and not q.required:
                props[second] = q._replace(required=True)
                changed = True
            if q.expression == FALSE and p.expression != FALSE:
                props[first] = p._replace(expression=FALSE)
                changed = True
    left = tuple(pair for pair in pairs if not props[pair[1]].required and props[pair[0]].expression != FALSE)
    return reduced_object(shape._replace(props=tuple(props.values()), implied=left))


def _split(shape: Obj, first: str, second: str) -> list[Obj]:
    """Return the shape without a member, and with it and the one that it implies."""
    rest = shape._replace(implied=shape.implied[1:])
    without = tuple(prop._replace(expression=FALSE) if prop.name == first else prop for prop in shape.props)
    having = tuple(prop._replace(required=True) if prop.name in {first, second} else prop for prop in shape.props)
    return [rest._replace(props=without), rest._replace(props=having)]


def _one_for_two(shape: Obj, merge: Merge) -> list[Obj]:
    """Return the shapes in which one member meets two demands: where members are few, not each can have its own."""
    found = []
    for place, a in enumerate(shape.some):
        for b in shape.some[place + 1 :]:
            if a.patterns == b.patterns:
                both_of_them = Some(a.patterns, a.names, merge.meet(a.expression, b.expression))
                rest = tuple(demand for demand in shape.some if demand not in {a, b})
                found.append(shape._replace(some=(*rest, both_of_them)))
    return found


def _is_settled(shape: Obj, demand: Some) -> bool:
    names = set(demand.names)
    return all(prop.name in names for prop in shape.props) and any(
        group.patterns == demand.patterns for group in shape.groups
    )


def _ways(shape: Obj, demand: Some, merge: Merge) -> list[Obj]:
    """Return the shapes in which a declared member meets a demand, or one of a group does."""
    found = []
    excluded = set(demand.names)
    for place, prop in enumerate(shape.props):
        if prop.name not in excluded and filtered((prop.name,), demand.patterns, merge.limits):
            met = Prop(prop.name, merge.meet(prop.expression, demand.expression), required=True)
            if met.expression != FALSE:
                found.append(shape._replace(props=(*shape.props[:place], met, *shape.props[place + 1 :])))
    names = tuple(dict.fromkeys((*demand.names, *(prop.name for prop in shape.props))))
    for group in shape.groups:
        patterns = both(group.patterns, demand.patterns)
        expression = merge.meet(group.expression, demand.expression)
        if patterns is None or expression == FALSE or not has_key(patterns, merge.limits, names):
            continue
        parts = [Group(patterns, group.expression), *_outside(group, demand.patterns, merge.limits)]
        groups = tuple(one for old in shape.groups for one in (parts if old is group else [old]))
        found.append(shape._replace(groups=groups, some=(*shape.some, Some(patterns, names, expression))))
    return found


def _outside(group: Group, patterns: Patterns, limits: Limits) -> Iterator[Group]:
    """Yield the parts of a group whose keys do not match all patterns."""
    for part in unmatched(patterns):
        rest = both(group.patterns, part)
        if rest is not None and has_key(rest, limits):
            yield group._replace(patterns=rest)


def key_groups(shapes: Iterable[Str], merge: Merge) -> Obj:
    """Return the objects whose every key is a string of one of some shapes."""
    shapes = tuple(shapes)
    groups = others(FALSE)
    names: dict[str, None] = {}
    for shape in shapes:
        if shape.texts is not None:
            names.update(dict.fromkeys(filtered(shape.texts, shape.patterns, merge.limits)))
            continue
        names.update(dict.fromkeys(shape.excluded))
        cell = shape.patterns
        if (shape.minimum, shape.maximum) != (0, None):
            cell = (*cell, (length_pattern(shape.minimum, shape.maximum), True))
        found = []
        for group in groups:
            inside = both(group.patterns, cell)
            if group.expression == TRUE or inside is None or not has_key(inside, merge.limits):
                found.append(group)
                continue
            found += [Group(inside, TRUE), *_outside(group, cell, merge.limits)]
        groups = _joined(found)
    props = tuple(Prop(name, TRUE if _is_key(name, shapes, merge.limits) else FALSE, required=False) for name in names)
    return Obj(props, groups)


def _is_key(name: str, shapes: tuple[Str, ...], limits: Limits) -> bool:
    alone = Str(texts=(name,))
    return any(conjoin_scalars(shape, alone) and filtered((name,), shape.patterns, limits) for shape in shapes)


def length_pattern(minimum: int, maximum: int | None) -> str:
    """Return the pattern of the texts of some lengths, in code points."""
    return rf"^[\s\S]{{{minimum},{'' if maximum is None else maximum}}}$"
