"""From a schema document to expressions.

First every subschema that the root reaches (references followed) is found and its keywords are checked, in one loop;
then each gets its expression, the inner ones first. What is recursive stays a reference that the algebra follows.
"""

from __future__ import annotations

from typing import Any

from constrain.errors import LimitExceededError, UnsupportedFeatureError
from constrain.grammars.formats.table import FORMATS, STATUS
from constrain.grammars.json_schema import vocabulary
from constrain.grammars.json_schema.algebra import Algebra
from constrain.grammars.json_schema.assertions import Assertions, check_text, wrong
from constrain.grammars.json_schema.disjoint import are_disjoint, told_apart
from constrain.grammars.json_schema.instances import Instances
from constrain.grammars.json_schema.object_shapes import key_groups
from constrain.grammars.json_schema.options import Options
from constrain.grammars.json_schema.references import References, below, escaped
from constrain.grammars.json_schema.shapes import FALSE, NO_OBJECTS, TRUE, Obj, Prop, Str
from constrain.grammars.json_schema.unevaluated import KEYWORDS, Unevaluated
from constrain.grammars.json_values import brief
from constrain.ir import ReportItem

_LISTS = ("prefixItems", "anyOf", "allOf", "oneOf")
_MAPS = ("properties", "patternProperties", "dependentSchemas", "dependencies")
# What stands here does not describe the answer itself, so extra="forbid" does not reach into it.
_TESTS = ("not", "if", "contains", "propertyNames", "dependentSchemas", "dependencies")
_SINGLE = (
    "additionalProperties",
    "items",
    "additionalItems",
    "then",
    "else",
    "not",
    "if",
    "contains",
    "propertyNames",
    *KEYWORDS,
)


class Document:
    """One schema document while it is read."""

    def __init__(self, root: Any, options: Options) -> None:
        self.options = options
        self.draft = vocabulary.draft_of(root)
        self.references = References(root, draft=self.draft, registry=options.registry)
        self.algebra = Algebra(options.limits)
        self.report: list[ReportItem] = []
        self.schemas: list[dict[str, Any]] = []
        self.pointers = self.algebra.pointers
        self._bases: list[str] = []
        self._depths: list[int] = []
        self._places: dict[int, int] = {}
        self._targets: dict[int, list[Any]] = {}  # location of a schema with references -> the schemas they name
        self._tests: set[int] = set()  # locations below one of `_TESTS`
        self._exclusive: list[tuple[str, int, list[int]]] = []  # pointer, location, branches
        self._named: list[tuple[str, int, int]] = []  # pointer, location, what the names of members must be
        self._alone: dict[int, list[int]] = {}
        self._assertions = Assertions(self)
        self._unevaluated = Unevaluated(self)

    def read(self, root: Any) -> int:
        """Return the expression of the whole document.

        Raises:
            GrammarSyntaxError, UnsupportedFeatureError, LimitExceededError: with the JSON pointer.
        """
        self._place(root, "#", "", 0)
        at = 0
        while at < len(self.schemas):
            self._discover(at)
            at += 1
        targets = self.algebra.targets
        for place in range(len(self.schemas) - 1, -1, -1):
            targets[place] = self._expression(place)
        self._settle()
        return self.expression_of(root)

    # Finding subschemas

    def _place(self, schema: Any, pointer: str, base: str, depth: int, *, test: bool = False) -> None:
        """Give a schema a location, once."""
        if isinstance(schema, bool):
            return
        if not isinstance(schema, dict):
            raise wrong(pointer, "a schema must be an object or a boolean", schema)
        if id(schema) in self._places:
            return
        limits = self.options.limits
        if len(self.schemas) >= limits.max_schema_nodes:
            raise LimitExceededError("max_schema_nodes", limits.max_schema_nodes, "in one schema")
        if depth > limits.max_nesting:
            raise LimitExceededError("max_nesting", limits.max_nesting, "in the schema")
        if test:
            self._tests.add(len(self.schemas))
        self._places[id(schema)] = len(self.schemas)
        self.schemas.append(schema)
        self.pointers.append(pointer)
        self._bases.append(base)
        self._depths.append(depth)
        self.algebra.targets.append(None)

    def _discover(self, at: int) -> None:
        """Check the keywords of one schema and give locations to its subschemas."""
        schema, pointer = self.schemas[at], self.pointers[at]
        base = self._bases[at] = self.references.base_of(schema, self._bases[at])
        for keyword in vocabulary.REFERENCES:
            if keyword not in schema:
                continue
            target, where, uri = self.references.resolve(keyword, schema[keyword], pointer, base)
            self._place(target, where, uri if uri != base else base, 0, test=at in self._tests)
            self._targets.setdefault(at, []).append(target)
            self._note(pointer, keyword, "exact")
            if keyword == "$ref" and self.draft <= 7:
                for other in schema.keys() - {"$ref"} - vocabulary.CONTAINERS:
                    self._note(pointer, other, "annotation", f"draft {self.draft} ignores what stands beside $ref")
                return
        for keyword, value in schema.items():
            if not isinstance(keyword, str):
                raise wrong(pointer, "must have strings as keys", keyword)
            if keyword in vocabulary.STRINGS and not isinstance(value, str):
                raise wrong(f"{pointer}/{keyword}", "must be a string", value)
            if keyword in vocabulary.CONTAINERS and not isinstance(value, dict):
                raise wrong(f"{pointer}/{keyword}", "must be an object", value)
            if keyword == "items" and isinstance(value, list) and "prefixItems" in schema:
                raise wrong(f"{pointer}/items", "must be one schema, for the items after prefixItems", value)
            if keyword in vocabulary.ENFORCED:
                self._subschemas(keyword, at, base, test=at in self._tests or keyword in _TESTS)
            elif keyword == "format":
                self._format(value, schema, pointer)
            elif keyword in vocabulary.REFUSED:
                self._refuse(keyword, pointer)
            elif keyword not in vocabulary.CONTAINERS:
                known = keyword in vocabulary.ANNOTATIONS
                self._note(pointer, keyword, "annotation", "" if known else "not a keyword of JSON Schema")

    def _subschemas(self, keyword: str, at: int, base: str, *, test: bool) -> None:
        schema, pointer, depth = self.schemas[at], self.pointers[at], self._depths[at] + 1
        value, inside = schema[keyword], below(pointer, keyword)
        if keyword not in vocabulary.REFERENCES:
            self._assertions.check(keyword, value, inside)
            alone = {"then": "if", "else": "if", "minContains": "contains", "maxContains": "contains"}.get(keyword)
            unsaid = alone is not None and alone not in schema
            note = f"says nothing without {alone}" if unsaid else ""
            if keyword in vocabulary.CAPPED:
                self._note(pointer, keyword, "cap", vocabulary.CAPPED[keyword])
            else:
                self._note(pointer, keyword, "exact", note)
        if keyword in _MAPS:
            if not isinstance(value, dict):
                raise wrong(inside, "must be an object", value)
            for name, part in value.items():
                if not isinstance(name, str):
                    raise wrong(inside, "must have strings as keys", name)
                if keyword != "dependencies" or not isinstance(part, list):
                    self._place(part, below(inside, escaped(name)), base, depth, test=test)
        elif keyword in _LISTS or (keyword == "items" and isinstance(value, list)):
            if not isinstance(value, list) or (not value and keyword not in {"items", "prefixItems"}):
                raise wrong(inside, "must be a non-empty array of schemas", value)
            for place, part in enumerate(value):
                self._place(part, below(inside, str(place)), base, depth, test=test)
        elif keyword in _SINGLE:
            self._place(value, inside, base, depth, test=test)

    def _note(self, pointer: str, keyword: str, status: str, note: str = "") -> None:
        self.report.append(ReportItem(pointer, keyword, status, note))

    def _refuse(self, keyword: str, pointer: str) -> None:
        raise UnsupportedFeatureError(
            keyword, f"{pointer}/{escaped(keyword)}", "the keyword is not enforced yet", vocabulary.REFUSED[keyword]
        )

    def _format(self, value: str, schema: dict[str, Any], pointer: str) -> None:
        """Note whether a format is asserted; refuse one that is not known if that was asked for."""
        if not _allows(schema.get("type"), "string"):
            self._note(pointer, "format", "exact" if value in FORMATS else "annotation", "says nothing here")
        elif self.options.formats == "annotate":
            self._note(pointer, "format", "annotation", "not asserted")
        elif value in FORMATS:
            self._note(pointer, "format", *STATUS.get(value, ("exact", "")))
        elif self.options.unknown_formats == "annotate":
            self._note(pointer, "format", "annotation", f"{brief(value)} is no format of JSON Schema: not asserted")
        else:
            remedy = "Pass unknown_formats='annotate' to leave it unchecked, or describe it with pattern."
            raise UnsupportedFeatureError("format", f"{pointer}/format", f"{brief(value)} is not known", remedy)

    # Expressions

    def expression_of(self, schema: Any) -> int:
        """Return the expression of a subschema that was found."""
        if isinstance(schema, bool):
            return TRUE if schema else FALSE
        return self.algebra.reference(self._places[id(schema)])

    def _expression(self, at: int) -> int:
        schema, pointer = self.schemas[at], self.pointers[at]
        ignores_others = "$ref" in schema and self.draft <= 7
        if not ignores_others and any(keyword in schema for keyword in KEYWORDS):
            return self._unevaluated.expression(at)
        parts = [self.expression_of(target) for target in self.targets_of(at)]
        if ignores_others:
            return parts[0]
        parts.extend(self.alone(at))
        parts.extend(self._branches(schema, pointer))
        return parts[0] if len(parts) == 1 else self.algebra.conjunction(parts)

    def alone(self, at: int) -> list[int]:
        """Return the expressions of the keywords of a schema that have no branches."""
        found = self._alone.get(at)
        if found is None:
            schema, pointer = self.schemas[at], self.pointers[at]
            extra = self.options.extra == "schema" or at in self._tests
            found = list(self._assertions.of(schema, pointer, extra=extra))
            if "not" in schema:
                found.append(self.algebra.not_of(self.expression_of(schema["not"])))
            if "propertyNames" in schema:
                names = self.expression_of(schema["propertyNames"])
                found.append(self._later(self._named, pointer, "propertyNames", names))
            self._alone[at] = found
        return found

    def location_of(self, schema: Any) -> int | None:
        """Return the location of a schema that was found; None for true and false."""
        return None if isinstance(schema, bool) else self._places[id(schema)]

    def targets_of(self, at: int) -> list[Any]:
        """Return the schemas that the references in a schema lead to."""
        return self._targets.get(at, [])

    def with_and_without(self, name: str) -> tuple[int, int]:
        """Return the expressions of the values without a member, and of the objects that have it."""
        without = (*NO_OBJECTS, Obj((Prop(name, FALSE, required=False),)))
        having = (Obj((Prop(name, TRUE, required=True),)),)
        return self.algebra.union(without), self.algebra.union(having)

    def _branches(self, schema: dict[str, Any], pointer: str) -> list[int]:
        """Return the expressions of the keywords that combine other schemas."""
        algebra, expression_of = self.algebra, self.expression_of
        parts = [expression_of(part) for part in schema.get("allOf", ())]
        if "anyOf" in schema:
            parts.append(algebra.any_of([expression_of(part) for part in schema["anyOf"]]))
        if "oneOf" in schema:
            branches = [expression_of(part) for part in schema["oneOf"]]
            parts.append(
                branches[0] if len(branches) == 1 else self._later(self._exclusive, pointer, "oneOf", branches)
            )
        if "if" in schema and ("then" in schema or "else" in schema):
            test = expression_of(schema["if"])
            met = algebra.all_of((test, expression_of(schema.get("then", True))))
            parts.append(
                algebra.any_of((met, algebra.all_of((algebra.not_of(test), expression_of(schema.get("else", True))))))
            )
        for keyword in ("dependentSchemas", "dependencies"):
            for name, part in schema.get(keyword, {}).items():
                if not isinstance(part, list):
                    without, having = self.with_and_without(check_text(name, pointer))
                    parts.append(algebra.any_of((without, algebra.all_of((having, expression_of(part))))))
        return parts

    # What is known only when every schema has its expression

    def _later(self, waiting: list[Any], pointer: str, keyword: str, about: Any) -> int:
        """Return a reference whose target `_settle` finds; an empty schema stands at its location."""
        location = len(self.algebra.targets)
        self.algebra.targets.append(None)
        waiting.append((f"{pointer}/{keyword}", location, about))
        return self.algebra.reference(location)

    def _settle(self) -> None:
        """Give `oneOf` and `propertyNames` their targets; first ones that allow more, by which overlaps are found."""
        algebra, targets = self.algebra, self.algebra.targets
        algebra.provisional = True
        for _, location, branches in self._exclusive:
            targets[location] = algebra.any_of(branches)
        for _, location, _ in self._named:
            targets[location] = TRUE
        exact = [self._exactly_one(pointer, branches) for pointer, _, branches in self._exclusive]
        algebra.provisional = False
        for (_, location, _), expression in zip(self._exclusive, exact, strict=True):
            targets[location] = expression
        algebra.forget()
        for _, location, names in self._named:
            shapes = [shape for shape in algebra.unfold(names) if isinstance(shape, Str)]
            targets[location] = algebra.union((*NO_OBJECTS, key_groups(shapes, algebra)))
        algebra.forget()

    def _exactly_one(self, pointer: str, parts: list[int]) -> int:
        """Return the expression of the values in just one of some expressions."""
        algebra = self.algebra
        if told_apart(algebra, parts):
            return algebra.any_of(parts)
        pairs = len(parts) * (len(parts) - 1) // 2
        if pairs > self.options.limits.max_schema_nodes:
            raise LimitExceededError(
                "max_schema_nodes", self.options.limits.max_schema_nodes, f"by pairs of branches at {pointer}"
            )
        rivals: dict[int, list[int]] = {place: [] for place in range(len(parts))}
        for place, first in enumerate(parts):
            for later in range(place + 1, len(parts)):
                if first == parts[later] or not are_disjoint(algebra, first, parts[later]):
                    rivals[place].append(later)
                    rivals[later].append(place)
        ways = []
        for place, part in enumerate(parts):
            ways.append(algebra.all_of((part, *(algebra.not_of(parts[other]) for other in rivals[place]))))
        return algebra.any_of(ways)

    def why_empty(self, root: Any, instances: Instances) -> tuple[str, str]:
        """Return the place and the reason for which the document has no instance, as far as it is plain to see."""
        if root is False:
            return "#", "the schema is false"
        guilty = "#"
        for at, schema in enumerate(self.schemas):
            if instances.productive(self.expression_of(schema)):
                continue
            pointer = self.pointers[at]
            if schema.get("enum") == []:
                return f"{pointer}/enum", "the list of values is empty"
            if "$ref" not in schema:
                guilty = pointer
            parts = [part for part in self._parts(schema) if part is not False]
            if all(instances.productive(self.expression_of(part)) for part in parts):
                return pointer, "its keywords contradict each other"
        return guilty, "it comes back to itself, so that no finite value satisfies it"

    def _parts(self, schema: dict[str, Any]) -> list[Any]:
        """Return the subschemas whose emptiness could explain that of a schema."""
        found = [part for keyword in ("allOf", "anyOf", "oneOf", "prefixItems") for part in schema.get(keyword, [])]
        declared = schema.get("properties", {})
        found += [declared[name] for name in schema.get("required", []) if name in declared]
        found += self.targets_of(self._places[id(schema)])
        if isinstance(schema.get("items"), dict):
            found.append(schema["items"])
        return found


def _allows(types: object, about: str) -> bool:
    if isinstance(types, str):
        return types == about or (about == "number" and types == "integer")
    if isinstance(types, list):
        return about in types or (about == "number" and "integer" in types)
    return True
