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
from constrain.grammars.json_schema.assertions import Assertions, wrong
from constrain.grammars.json_schema.disjoint import are_disjoint, told_apart
from constrain.grammars.json_schema.options import Options
from constrain.grammars.json_schema.references import References, below, escaped
from constrain.grammars.json_schema.shapes import FALSE, TRUE
from constrain.grammars.json_values import brief
from constrain.ir import ReportItem

_LISTS = ("prefixItems", "anyOf", "allOf", "oneOf")
_SINGLE = ("additionalProperties", "items", "additionalItems")


class Document:
    """One schema document while it is read."""

    def __init__(self, root: Any, options: Options) -> None:
        self.options = options
        self.draft = vocabulary.draft_of(root)
        ids = ("$id", "id") if self.draft == 4 else ("$id",)
        self.references = References(root, id_keywords=ids)
        self.algebra = Algebra(options.limits)
        self.report: list[ReportItem] = []
        self.schemas: list[dict[str, Any]] = []
        self.pointers: list[str] = []
        self._bases: list[str] = []
        self._depths: list[int] = []
        self._places: dict[int, int] = {}
        self._targets: dict[int, int] = {}  # location of a schema with $ref -> location it names, or a bool schema
        self._exclusive: list[tuple[str, list[int]]] = []
        self._assertions = Assertions(self)

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
        for pointer, parts in self._exclusive:
            self._check_exclusive(pointer, parts)
        return self.expression_of(root)

    # Finding subschemas

    def _place(self, schema: Any, pointer: str, base: str, depth: int) -> None:
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
        self._places[id(schema)] = len(self.schemas)
        self.schemas.append(schema)
        self.pointers.append(pointer)
        self._bases.append(base)
        self._depths.append(depth)
        self.algebra.targets.append(None)

    def _discover(self, at: int) -> None:
        """Check the keywords of one schema and give locations to its subschemas."""
        schema, pointer, depth = self.schemas[at], self.pointers[at], self._depths[at] + 1
        base = self._bases[at] = self.references.base_of(schema, self._bases[at])
        if "$ref" in schema:
            target, where, uri = self.references.resolve(schema["$ref"], pointer, base)
            self._place(target, where, uri if uri != base else base, 0)
            self._targets[at] = self._places.get(id(target), -1 if target is True else -2)
            self._note(pointer, "$ref", "exact")
            if self.draft <= 7:
                for keyword in schema.keys() - {"$ref"} - vocabulary.CONTAINERS:
                    self._note(pointer, keyword, "annotation", f"draft {self.draft} ignores what stands beside $ref")
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
                self._subschemas(keyword, value, pointer, base, depth)
            elif keyword == "format":
                self._format(value, schema, pointer)
            elif keyword in vocabulary.REFUSED:
                self._refuse(keyword, value, schema, pointer)
            elif keyword not in vocabulary.CONTAINERS:
                known = keyword in vocabulary.ANNOTATIONS
                self._note(pointer, keyword, "annotation", "" if known else "not a keyword of JSON Schema")

    def _subschemas(self, keyword: str, value: Any, pointer: str, base: str, depth: int) -> None:
        if keyword != "$ref":
            self._assertions.check(keyword, value, f"{pointer}/{keyword}")
            self._note(pointer, keyword, "exact")
        if keyword == "properties":
            if not isinstance(value, dict):
                raise wrong(f"{pointer}/properties", "must be an object", value)
            inside = below(pointer, "properties")
            for name, part in value.items():
                if not isinstance(name, str):
                    raise wrong(inside, "must have strings as keys", name)
                self._place(part, below(inside, escaped(name)), base, depth)
        elif keyword in _LISTS or (keyword == "items" and isinstance(value, list)):
            if not isinstance(value, list) or (not value and keyword not in {"items", "prefixItems"}):
                raise wrong(f"{pointer}/{keyword}", "must be a non-empty array of schemas", value)
            inside = below(pointer, keyword)
            for place, part in enumerate(value):
                self._place(part, below(inside, str(place)), base, depth)
        elif keyword in _SINGLE:
            self._place(value, below(pointer, keyword), base, depth)

    def _note(self, pointer: str, keyword: str, status: str, note: str = "") -> None:
        self.report.append(ReportItem(pointer, keyword, status, note))

    def _refuse(self, keyword: str, value: Any, schema: dict[str, Any], pointer: str) -> None:
        """Refuse a keyword unless it says nothing where it stands."""
        types = schema.get("type")
        about = vocabulary.SPEAKS_OF.get(keyword)
        if any(
            value == vacuous and type(value) is type(vacuous) for vacuous in vocabulary.VACUOUS.get(keyword, ())
        ) or (about is not None and not _allows(types, about)):
            self._note(pointer, keyword, "exact", "says nothing here")
            return
        if keyword in {"then", "else"} and "if" not in schema:
            self._note(pointer, keyword, "exact", "says nothing without if")
            return
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
        parts = []
        target = self._targets.get(at)
        if target is not None:
            parts.append(self.algebra.reference(target) if target >= 0 else TRUE if target == -1 else FALSE)
            if self.draft <= 7:
                return parts[0]
        parts.extend(self._assertions.of(schema, pointer))
        if "allOf" in schema:
            parts.extend(self.expression_of(part) for part in schema["allOf"])
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                branches = [self.expression_of(part) for part in schema[keyword]]
                parts.append(self.algebra.any_of(branches))
                if keyword == "oneOf" and len(branches) > 1:
                    self._exclusive.append((f"{pointer}/oneOf", branches))
        return parts[0] if len(parts) == 1 else self.algebra.conjunction(parts)

    def why_empty(self, root: Any) -> tuple[str, str]:
        """Return the place and the reason for which the document has no instance, as far as it is plain to see."""
        if root is False:
            return "#", "the schema is false"
        algebra, guilty = self.algebra, "#"
        for at, schema in enumerate(self.schemas):
            if algebra.productive(self.expression_of(schema)):
                continue
            pointer = self.pointers[at]
            if schema.get("enum") == []:
                return f"{pointer}/enum", "the list of values is empty"
            if "$ref" not in schema:
                guilty = pointer
            parts = [part for part in self._parts(schema, pointer) if part is not False]
            if all(algebra.productive(self.expression_of(part)) for part in parts):
                return pointer, "its keywords contradict each other"
        return guilty, "it comes back to itself, so that no finite value satisfies it"

    def _parts(self, schema: dict[str, Any], pointer: str) -> list[Any]:
        """Return the subschemas whose emptiness could explain that of a schema."""
        found = [part for keyword in ("allOf", "anyOf", "oneOf", "prefixItems") for part in schema.get(keyword, [])]
        declared = schema.get("properties", {})
        found += [declared[name] for name in schema.get("required", []) if name in declared]
        if "$ref" in schema:
            found.append(self.references.resolve(schema["$ref"], pointer, self._bases[self._places[id(schema)]])[0])
        if isinstance(schema.get("items"), dict):
            found.append(schema["items"])
        return found

    def _check_exclusive(self, pointer: str, parts: list[int]) -> None:
        """Refuse a `oneOf` unless no value can be in two of its branches: it is then an `anyOf`."""
        if told_apart(self.algebra, parts):
            return
        pairs = len(parts) * (len(parts) - 1) // 2
        if pairs > self.options.limits.max_schema_nodes:
            raise LimitExceededError(
                "max_schema_nodes", self.options.limits.max_schema_nodes, f"by pairs of branches at {pointer}"
            )
        for place, first in enumerate(parts):
            for later in range(place + 1, len(parts)):
                if not are_disjoint(self.algebra, first, parts[later]):
                    raise UnsupportedFeatureError(
                        "oneOf",
                        pointer,
                        f"branches {place} and {later} may overlap, and values in both are not excluded yet",
                        "Use anyOf, or tell the branches apart by type or by a required property with const or enum.",
                    )


def _allows(types: object, about: str) -> bool:
    if isinstance(types, str):
        return types == about or (about == "number" and types == "integer")
    if isinstance(types, list):
        return about in types or (about == "number" and "integer" in types)
    return True
