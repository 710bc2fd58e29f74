"""The keyword table of docs/json_schema.md against what the front end does with each keyword."""

import re
from pathlib import Path

import pytest

from constrain.errors import UnsupportedFeatureError
from constrain.grammars.json_schema import json_schema, vocabulary

PAGE = (Path(__file__).parents[2] / "docs" / "json_schema.md").read_text()
# A schema in which each enforced keyword says something.
EXAMPLES = {
    "$ref": {"$ref": "#/$defs/a", "$defs": {"a": {"type": "null"}}},
    "type": {"type": "string"}, "enum": {"enum": [1]}, "const": {"const": 1},
    "allOf": {"allOf": [{"type": "null"}]}, "anyOf": {"anyOf": [{"type": "null"}]},
    "oneOf": {"oneOf": [{"type": "null"}, {"type": "string"}]},
    "properties": {"properties": {"a": {"type": "null"}}}, "required": {"required": ["a"]},
    "additionalProperties": {"additionalProperties": False},
    "prefixItems": {"prefixItems": [{"type": "null"}]}, "items": {"items": {"type": "null"}},
    "additionalItems": {"items": [{}], "additionalItems": False},
    "minItems": {"minItems": 1}, "maxItems": {"maxItems": 1}, "minLength": {"minLength": 1}, "maxLength": {"maxLength": 1},
    "pattern": {"pattern": "a"}, "minimum": {"minimum": 1}, "maximum": {"maximum": 1},
    "exclusiveMinimum": {"exclusiveMinimum": 1}, "exclusiveMaximum": {"exclusiveMaximum": 1},
    "multipleOf": {"multipleOf": 2}, "divisibleBy": {"divisibleBy": 2},
    "not": {"not": {"type": "null"}}, "if": {"if": {"type": "null"}, "then": False},
    "then": {"if": {"type": "null"}, "then": False}, "else": {"if": {"type": "null"}, "else": False},
    "patternProperties": {"patternProperties": {"^a": False}}, "propertyNames": {"propertyNames": {"maxLength": 1}},
    "minProperties": {"minProperties": 1}, "maxProperties": {"maxProperties": 1},
    "dependentRequired": {"dependentRequired": {"a": ["b"]}}, "dependencies": {"dependencies": {"a": ["b"]}},
    "dependentSchemas": {"dependentSchemas": {"a": False}}, "contains": {"contains": {"type": "null"}},
    "minContains": {"contains": {}, "minContains": 2}, "maxContains": {"contains": {}, "maxContains": 2},
    "uniqueItems": {"uniqueItems": True, "items": {"type": "string"}},
    "unevaluatedItems": {"unevaluatedItems": False}, "unevaluatedProperties": {"unevaluatedProperties": False},
    "$dynamicRef": {"properties": {"a": {"$dynamicRef": "#b"}}, "$defs": {"b": {"$dynamicAnchor": "b"}}},
    "$recursiveRef": {"properties": {"a": {"$recursiveRef": "#"}}},
}  # fmt: skip


def named(part):
    return set(re.findall(r"`([$\w]+)`", part))


def test_the_table_names_every_enforced_keyword():
    table = PAGE[PAGE.index("## Keywords") : PAGE.index("## How instances")]
    cells = {word for row in re.findall(r"^\| (.*?) \|", table, re.MULTILINE) for word in named(row)}
    assert cells >= vocabulary.ENFORCED
    assert set(EXAMPLES) == vocabulary.ENFORCED


@pytest.mark.parametrize("keyword", sorted(EXAMPLES))
def test_enforced_keywords_are_reported(keyword):
    report = json_schema(EXAMPLES[keyword]).report
    status = "cap" if keyword in vocabulary.CAPPED else "exact"
    assert any(item.keyword == keyword and item.status == status for item in report)


def test_the_page_names_every_refused_keyword():
    start = PAGE.index("Refused keywords:")
    assert named(PAGE[start : PAGE.index("\n\n", start)]) == set(vocabulary.REFUSED)


@pytest.mark.parametrize("keyword", sorted(vocabulary.REFUSED))
def test_refused_keywords_name_the_place_and_a_way_out(keyword):
    with pytest.raises(UnsupportedFeatureError) as caught:
        json_schema({"items": {keyword: [1]}})
    assert caught.value.where == f"#/items/{keyword}"
    assert caught.value.feature == keyword
    assert caught.value.remedy


@pytest.mark.parametrize(
    "keyword", [*sorted(vocabulary.ANNOTATIONS - {"$id", "id", "$anchor", "$dynamicAnchor", "$schema"}), "x-unknown"]
)
def test_annotations_are_reported_as_such(keyword):
    report = json_schema({keyword: "text"}).report
    assert any(item.keyword == keyword and item.status == "annotation" for item in report)


def test_format():
    report = json_schema({"format": "date"}).report
    assert any(item.keyword == "format" and item.status == "exact" for item in report)
    report = json_schema({"format": "date"}, formats="annotate").report
    assert any(item.keyword == "format" and item.status == "annotation" for item in report)
