"""The keywords of JSON Schema: what is enforced, what says nothing about instances, what is refused and the way out."""

from __future__ import annotations

ENFORCED = frozenset(
    {
        "$ref",
        "type",
        "enum",
        "const",
        "allOf",
        "anyOf",
        "oneOf",
        "properties",
        "required",
        "additionalProperties",
        "prefixItems",
        "items",
        "additionalItems",
        "minItems",
        "maxItems",
        "minLength",
        "maxLength",
        "pattern",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
    }
)

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
STRINGS = frozenset({"$schema", "$id", "$anchor", "format"})
CONTAINERS = frozenset({"$defs", "definitions"})

_COUNT = "Count or list the allowed cases with enum or anyOf."
_MERGE = "Write the allowed cases as anyOf."
REFUSED = {
    "not": _MERGE,
    "if": _MERGE,
    "then": _MERGE,
    "else": _MERGE,
    "dependentSchemas": _MERGE,
    "dependentRequired": _MERGE,
    "dependencies": _MERGE,
    "patternProperties": "Declare the properties, or use additionalProperties with one schema.",
    "propertyNames": "Declare the properties and set additionalProperties to false.",
    "minProperties": "List what must be there in required.",
    "maxProperties": "Declare the properties and set additionalProperties to false.",
    "contains": "Give the item a place with prefixItems.",
    "minContains": "Give the items places with prefixItems.",
    "maxContains": _COUNT,
    "uniqueItems": "Remove it and check the answer, or use an object with one property for each item.",
    "multipleOf": "Use minimum and maximum with type integer, or list the values in enum.",
    "unevaluatedItems": "Use items beside prefixItems in one schema.",
    "unevaluatedProperties": "Use additionalProperties in one schema that declares all properties.",
    "$dynamicRef": "Use $ref.",
    "$dynamicAnchor": "Use $anchor and $ref.",
    "$recursiveRef": "Use $ref.",
    "$recursiveAnchor": "Use $ref.",
    "$vocabulary": "Use a standard meta-schema.",
    "extends": "Use allOf.",
    "disallow": "List the allowed types in type.",
    "divisibleBy": "Use minimum and maximum with type integer, or list the values in enum.",
}
# The type that a refused keyword speaks of; beside another `type` it says nothing.
SPEAKS_OF = {
    "patternProperties": "object",
    "propertyNames": "object",
    "minProperties": "object",
    "maxProperties": "object",
    "dependentRequired": "object",
    "dependentSchemas": "object",
    "dependencies": "object",
    "unevaluatedProperties": "object",
    "contains": "array",
    "minContains": "array",
    "maxContains": "array",
    "uniqueItems": "array",
    "unevaluatedItems": "array",
    "multipleOf": "number",
    "divisibleBy": "number",
}
# Values with which a refused keyword says nothing.
VACUOUS = {
    "minProperties": (0,),
    "uniqueItems": (False,),
    "patternProperties": ({},),
    "dependencies": ({},),
    "dependentRequired": ({},),
    "dependentSchemas": ({},),
    "propertyNames": (True, {}),
    "not": (False,),
    "unevaluatedProperties": (True, {}),
    "unevaluatedItems": (True, {}),
    "$recursiveAnchor": (False,),
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
