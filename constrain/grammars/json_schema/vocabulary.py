"""The keywords of JSON Schema: what is enforced, what says nothing about instances, what is refused and the way out."""

from __future__ import annotations

ENFORCED = frozenset(
    {
        "$ref",
        "$dynamicRef",
        "$recursiveRef",
        "type",
        "enum",
        "const",
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "if",
        "then",
        "else",
        "properties",
        "required",
        "additionalProperties",
        "patternProperties",
        "propertyNames",
        "minProperties",
        "maxProperties",
        "dependentRequired",
        "dependentSchemas",
        "dependencies",
        "prefixItems",
        "items",
        "additionalItems",
        "contains",
        "minContains",
        "maxContains",
        "uniqueItems",
        "unevaluatedItems",
        "unevaluatedProperties",
        "minItems",
        "maxItems",
        "minLength",
        "maxLength",
        "pattern",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "divisibleBy",
    }
)

# Enforced, but not every spelling of a value is offered.
CAPPED = dict.fromkeys(("multipleOf", "divisibleBy"), "numbers are written without an exponent")

# Say nothing about an instance by themselves.
ANNOTATIONS = frozenset(
    {
        "title",
        "description",
        "default",
        "examples",
        "$schema",
        "$id",
        "id",
        "$anchor",
        "$dynamicAnchor",
        "$recursiveAnchor",
        "$comment",
        "deprecated",
        "readOnly",
        "writeOnly",
        "contentEncoding",
        "contentMediaType",
        "contentSchema",
    }
)
# Name the document or its parts, or say how it is to be read.
STRINGS = frozenset({"$schema", "$id", "$anchor", "$dynamicAnchor", "format"})
REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
CONTAINERS = frozenset({"$defs", "definitions"})

REFUSED = {
    "$vocabulary": "Use a standard meta-schema.",
    "extends": "Use allOf.",
    "disallow": "List the allowed types in type.",
}
TYPES = ("null", "boolean", "number", "integer", "string", "array", "object")


def draft_of(root: object) -> int:
    """Return the draft that `$schema` names as a number (4, 6, 7, 2019, 2020); 2020 without one."""
    name = root.get("$schema") if isinstance(root, dict) else None
    if isinstance(name, str):
        for text, draft in (("draft-03", 4), ("draft-04", 4), ("draft-06", 6), ("draft-07", 7), ("2019-09", 2019)):
            if text in name:
                return draft
    return 2020
