"""Random small JSON Schemas over all keywords, and values near their boundaries. Everything follows from a seed."""

from __future__ import annotations

import random
from typing import Any

KEYS = ("a", "b", "ab", "x1", "")
PATTERNS = ("^a", "b$", "^x", "a.?b", "^[ab]*$", "^$", "^(?!a)", "[0-9]")
TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")
SCALARS = (None, True, False, 0, 1, 2, 3, -1, 6, 0.5, 1.5, "", "a", "b", "ab", "abb", "x1")
_MOST = 3


def schema(rng: random.Random, depth: int = 3, names: tuple[str, ...] = ()) -> Any:
    """Return a schema of at most `depth` levels; `names` are definitions that it may refer to."""
    kind = rng.random()
    if depth == 0 or kind < 0.2:
        return _leaf(rng, names)
    out: dict[str, Any] = {}
    if kind < 0.55:
        out["type"] = rng.choice(
            ("object", "array", "object", "array", "string", "number", ["object", "array", "null"])
        )
    for _ in range(rng.randint(1, 3)):
        _add(rng, out, depth - 1, names)
    return out


def document(rng: random.Random) -> Any:
    """Return a schema with definitions, which may refer to each other below a member or item."""
    root = schema(rng, 3, ("p", "q"))
    if not isinstance(root, dict):
        return root
    root["$defs"] = {
        "p": {"type": "object", "properties": {"a": {"$ref": "#/$defs/p"}, "b": schema(rng, 1)}, "maxProperties": 2},
        "q": schema(rng, 2),
    }
    return root


def _leaf(rng: random.Random, names: tuple[str, ...]) -> Any:
    kind = rng.randrange(10)
    if kind == 0:
        return rng.random() < 0.7
    if kind < 3 and names:
        return {"$ref": f"#/$defs/{rng.choice(names)}"}
    if kind < 5:
        return {"const": rng.choice(SCALARS)}
    if kind < 6:
        return {"enum": [rng.choice((*SCALARS, [], [1], {}, {"a": 1})) for _ in range(rng.randint(1, 4))]}
    if kind < 8:
        return {"type": rng.choice(TYPES)}
    out: dict[str, Any] = {}
    _scalar(rng, out)
    return out


def _scalar(rng: random.Random, out: dict[str, Any]) -> None:
    kind = rng.randrange(7)
    if kind == 0:
        out["minimum" if rng.random() < 0.5 else "exclusiveMinimum"] = rng.choice((-1, 0, 0.5, 2))
    elif kind == 1:
        out["maximum" if rng.random() < 0.5 else "exclusiveMaximum"] = rng.choice((0, 1.5, 3))
    elif kind == 2:
        out["multipleOf"] = rng.choice((1, 2, 3, 0.5, 1.5))
    elif kind == 3:
        out["minLength"] = rng.randint(0, 2)
    elif kind == 4:
        out["maxLength"] = rng.randint(0, 2)
    else:
        out["pattern"] = rng.choice(PATTERNS)


def _add(rng: random.Random, out: dict[str, Any], depth: int, names: tuple[str, ...]) -> None:
    def inner() -> Any:
        return schema(rng, depth, names)

    def several() -> list[Any]:
        return [inner() for _ in range(rng.randint(1, _MOST))]

    keyword = rng.choice(_KEYWORDS)
    if keyword == "scalar":
        _scalar(rng, out)
    elif keyword in {"properties", "dependentSchemas"}:
        out[keyword] = {key: inner() for key in rng.sample(KEYS, rng.randint(1, 2))}
    elif keyword == "patternProperties":
        out[keyword] = {pattern: inner() for pattern in rng.sample(PATTERNS, rng.randint(1, 2))}
    elif keyword == "required":
        out[keyword] = rng.sample(KEYS, rng.randint(1, 2))
    elif keyword == "dependentRequired":
        out[keyword] = {key: rng.sample(KEYS, rng.randint(1, 2)) for key in rng.sample(KEYS, rng.randint(1, 2))}
    elif keyword in {"minProperties", "maxProperties", "minItems", "maxItems", "minContains", "maxContains"}:
        out[keyword] = rng.randint(0, _MOST)
        if "Contains" in keyword:
            out["contains"] = inner()
    elif keyword in {"allOf", "anyOf", "oneOf", "prefixItems"}:
        out[keyword] = several()
    elif keyword == "if":
        out["if"] = inner()
        for branch in ("then", "else"):
            if rng.random() < 0.7:
                out[branch] = inner()
    elif keyword == "uniqueItems":
        out[keyword] = True
        out["items"] = rng.choice(({"type": "string"}, {"enum": ["a", 1, None, True]}, {"type": ["null", "boolean"]}))
    elif keyword == "propertyNames":
        out[keyword] = rng.choice(({"pattern": rng.choice(PATTERNS)}, {"maxLength": 1}, {"enum": ["a", "ab"]}, inner()))
    else:
        out[keyword] = inner()


_KEYWORDS = (
    *("scalar", "properties", "properties", "patternProperties", "additionalProperties", "required", "propertyNames"),
    *("dependentRequired", "dependentSchemas", "minProperties", "maxProperties"),
    *("items", "prefixItems", "contains", "minContains", "maxContains", "minItems", "maxItems", "uniqueItems"),
    *("allOf", "anyOf", "oneOf", "not", "if", "unevaluatedProperties", "unevaluatedItems"),
)


def value(rng: random.Random, depth: int = 2) -> Any:
    """Return a value that schemas of this module speak of."""
    kind = rng.random()
    if depth == 0 or kind < 0.3:
        return rng.choice(SCALARS)
    if kind < 0.6:
        return [value(rng, depth - 1) for _ in range(rng.randint(0, _MOST))]
    keys = rng.sample((*KEYS, "aa", "bb"), rng.randint(0, _MOST))
    return {key: value(rng, depth - 1) for key in keys}
