"""`unevaluatedProperties` and `unevaluatedItems`: which members and items other keywords have seen.

What a schema sees depends on which of its branches hold. So a schema with branches is parted into *ways*: for each set
of what may have been seen, the expression of the values for which that much has been seen. A branch that holds besides
only adds to what was seen, so ways need not exclude each other. The ways of branches that see the same are one way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from constrain.deadline import check
from constrain.errors import LimitExceededError, UnsupportedFeatureError
from constrain.grammars.json_schema.object_shapes import parted
from constrain.grammars.json_schema.shapes import NO_ARRAYS, NO_OBJECTS, TRUE, Arr, Obj, Prop

if TYPE_CHECKING:
    from constrain.grammars.json_schema.keywords import Document

KEYWORDS = ("unevaluatedProperties", "unevaluatedItems")


class Seen(NamedTuple):
    """Members by name or pattern, or all; items by place, by what `contains` asks, or all."""

    names: frozenset[str] = frozenset()
    patterns: frozenset[str] = frozenset()
    members: bool = False
    places: int = 0
    matching: frozenset[int] = frozenset()
    items: bool = False

    def with_(self, other: Seen) -> Seen:
        """Return what both have seen."""
        members, items = self.members or other.members, self.items or other.items
        return Seen(
            frozenset() if members else self.names | other.names,
            frozenset() if members else self.patterns | other.patterns,
            members,
            0 if items else max(self.places, other.places),
            frozenset() if items else self.matching | other.matching,
            items,
        )


NOTHING_SEEN = Seen()
Ways = dict[Seen, int]


class Unevaluated:
    """The ways of one document's schemas."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.algebra = document.algebra
        self._known: dict[int, Ways] = {}

    def expression(self, at: int) -> int:
        """Return the expression of a schema in which one of `KEYWORDS` stands."""
        stack = [at]
        entered: set[int] = set()
        while stack:
            here = stack[-1]
            missing = next((part for part in self._branches(here) if part not in self._known), None)
            if here in self._known or missing is None:
                stack.pop()
                entered.discard(here)
                if here not in self._known:
                    self._known[here] = self._ways(here)
                continue
            entered.add(here)
            if missing in entered:
                raise self._circular(at)
            stack.append(missing)
        return self.algebra.any_of(self._known[at].values())

    def _circular(self, at: int) -> UnsupportedFeatureError:
        keyword = next(one for one in KEYWORDS if one in self.document.schemas[at])
        reason = "a branch leads back to itself, so what it has seen is not known"
        remedy = "Use additionalProperties or items in each branch."
        return UnsupportedFeatureError(keyword, f"{self.document.pointers[at]}/{keyword}", reason, remedy)

    def _branches(self, at: int) -> list[int]:
        """Return the locations of the schemas that see what the value of a schema holds."""
        return [part for part in map(self.document.location_of, self._inner(at)) if part is not None]

    def _inner(self, at: int) -> list[Any]:
        schema = self.document.schemas[at]
        found = [part for keyword in ("allOf", "anyOf", "oneOf") for part in schema.get(keyword, ())]
        found += [schema[keyword] for keyword in ("if", "then", "else") if keyword in schema]
        for keyword in ("dependentSchemas", "dependencies"):
            found += [part for part in schema.get(keyword, {}).values() if not isinstance(part, list)]
        return [*found, *self.document.targets_of(at)]

    # Combining ways

    def _of(self, schema: Any) -> Ways:
        if isinstance(schema, bool):
            return {NOTHING_SEEN: TRUE} if schema else {}
        location = self.document.location_of(schema)
        assert location is not None
        return self._known[location]

    def _both(self, first: Ways, second: Ways) -> Ways:
        found: dict[Seen, list[int]] = {}
        for a, one in first.items():
            for b, other in second.items():
                found.setdefault(a.with_(b), []).append(self.algebra.conjunction([one, other]))
        return self._checked({seen: self.algebra.any_of(parts) for seen, parts in found.items()})

    def _either(self, *several: Ways) -> Ways:
        found: dict[Seen, list[int]] = {}
        for ways in several:
            for seen, one in ways.items():
                found.setdefault(seen, []).append(one)
        return {seen: self.algebra.any_of(parts) for seen, parts in found.items()}

    def _some(self, branches: list[Ways]) -> Ways:
        """Return the ways of `anyOf`: any of the branches may hold together."""
        found: Ways = {}
        for ways in branches:
            more: Ways = {}
            for a, one in found.items():
                check()
                for b, other in ways.items():
                    seen = a.with_(b)
                    if seen not in {a, b}:  # else one of them alone says as much
                        both = self.algebra.conjunction([one, other])
                        more[seen] = self.algebra.any_of([more[seen], both]) if seen in more else both
            found = self._checked(self._either(found, ways, more))
        return found

    def _checked(self, ways: Ways) -> Ways:
        most = self.algebra.limits.max_schema_nodes
        if len(ways) > most:
            raise LimitExceededError("max_schema_nodes", most, "by what unevaluated members may be")
        return ways

    def _ways(self, at: int) -> Ways:
        document, algebra = self.document, self.algebra
        schema = document.schemas[at]
        ways: Ways = {self._own(schema): algebra.conjunction(document.alone(at))}
        for part in [*schema.get("allOf", ()), *document.targets_of(at)]:
            ways = self._both(ways, self._of(part))
        if "anyOf" in schema:
            ways = self._both(ways, self._some([self._of(part) for part in schema["anyOf"]]))
        if "oneOf" in schema:
            ways = self._both(ways, self._one(schema["oneOf"]))
        if "if" in schema:
            test = document.expression_of(schema["if"])
            met = self._both(self._of(schema["if"]), self._of(schema.get("then", True)))
            missed = self._both({NOTHING_SEEN: algebra.not_of(test)}, self._of(schema.get("else", True)))
            ways = self._both(ways, self._either(met, missed))
        for keyword in ("dependentSchemas", "dependencies"):
            for name, part in schema.get(keyword, {}).items():
                if not isinstance(part, list):
                    without, having = document.with_and_without(name)
                    there = self._both({NOTHING_SEEN: having}, self._of(part))
                    ways = self._both(ways, self._either({NOTHING_SEEN: without}, there))
        return self._constrained(schema, ways)

    def _one(self, branches: list[Any]) -> Ways:
        expressions = [self.document.expression_of(part) for part in branches]
        found: list[Ways] = []
        for place, part in enumerate(branches):
            others = [self.algebra.not_of(one) for other, one in enumerate(expressions) if other != place]
            found.append(self._both(self._of(part), {NOTHING_SEEN: self.algebra.all_of(others)}))
        return self._either(*found)

    def _own(self, schema: dict[str, Any]) -> Seen:
        """Return what the keywords see that speak of members and items themselves."""
        document = self.document
        items, places = schema.get("items"), len(schema.get("prefixItems", ()))
        all_items = "items" in schema and not isinstance(items, list)
        if isinstance(items, list):
            places, all_items = len(items), "additionalItems" in schema
        matching: frozenset[int] = frozenset()
        if "contains" in schema and document.draft >= 2020:
            matching = frozenset((document.expression_of(schema["contains"]),))
        return Seen(
            frozenset(schema.get("properties", ())),
            frozenset(schema.get("patternProperties", ())),
            "additionalProperties" in schema,
            places,
            matching,
            all_items,
        ).with_(NOTHING_SEEN)

    def _constrained(self, schema: dict[str, Any], ways: Ways) -> Ways:
        algebra, expression_of = self.algebra, self.document.expression_of
        if "unevaluatedProperties" in schema:
            rest = expression_of(schema["unevaluatedProperties"])
            found: dict[Seen, list[int]] = {}
            for seen, one in ways.items():
                if not seen.members:
                    props = tuple(Prop(name, TRUE, required=False) for name in sorted(seen.names))
                    groups = parted(dict.fromkeys(sorted(seen.patterns), TRUE), rest, algebra)
                    one = algebra.conjunction([one, algebra.union((*NO_OBJECTS, Obj(props, groups)))])
                found.setdefault(seen.with_(Seen(members=True)), []).append(one)
            ways = {seen: algebra.any_of(parts) for seen, parts in found.items()}
        if "unevaluatedItems" in schema:
            rest = expression_of(schema["unevaluatedItems"])
            found = {}
            for seen, one in ways.items():
                if not seen.items:
                    array = Arr((TRUE,) * seen.places, algebra.any_of([rest, *sorted(seen.matching)]))
                    one = algebra.conjunction([one, algebra.union((*NO_ARRAYS, array))])
                found.setdefault(seen.with_(Seen(items=True)), []).append(one)
            ways = {seen: algebra.any_of(parts) for seen, parts in found.items()}
        return ways
