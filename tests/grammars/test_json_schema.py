"""JSON Schema: languages by a slow recogniser, against `jsonschema` where it has the same semantics."""

import json
import pickle
import time
from decimal import Decimal

import jsonschema
import pytest
from grammar_oracle import accepts
from hypothesis import given, settings
from hypothesis import strategies as st

from constrain import ir
from constrain.errors import EmptyLanguageError, GrammarError, GrammarSyntaxError, LimitExceededError
from constrain.grammars.json_schema import json_schema
from constrain.limits import Limits


def takes(schema, *texts, **options):
    grammar = json_schema(schema, **options)
    ir.verify(grammar)
    return [accepts(grammar, text if isinstance(text, bytes) else text.encode()) for text in texts]


OBJECT = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "string"}, "c": {"type": "null"}},
    "required": ["b"],
}
CLOSED = {**OBJECT, "additionalProperties": False}
LIST = {"$defs": {"L": {"anyOf": [{"type": "null"}, {"type": "array", "items": {"$ref": "#/$defs/L"}}]}}}

CASES = [
    # schema, valid texts, invalid texts
    ({}, ["1", '"a"', "[]", '{"a":{}}', "null", "[1,[true,{}]]"], ["", "1 2", "[1,]", '{"a":1,"a":2}', "nul"]),
    ({"type": "integer"}, ["0", "-0", "12"], ["1.0", "1e2", "01", '"1"']),
    ({"type": "number"}, ["0", "-1.50", "2E+3"], ["1.", ".5", "null"]),
    ({"type": ["integer", "null"]}, ["1", "null"], ["1.5", '""']),
    ({"type": "boolean"}, ["true", "false"], ["null", "True"]),
    ({"minLength": 2}, ["1", "null", '"ab"'], ['"a"']),
    ({"type": "integer", "minLength": 2}, ["1"], ['"ab"']),
    ({"type": "string", "minLength": 1, "maxLength": 2}, ['"a"', '"😀b"', r'"\u0061\n"'], ['""', '"abc"']),
    ({"type": "string", "pattern": "b"}, ['"abc"', r'"\u0062"'], ['"ac"', '""']),
    ({"type": "string", "pattern": "^a|b$", "maxLength": 2}, ['"ax"', '"xb"'], ['"xa"', '"axx"']),
    ({"type": "string", "pattern": "^a+$", "minLength": 2, "maxLength": 3}, ['"aa"'], ['"a"', '"aaaa"']),
    ({"type": "integer", "minimum": -5, "exclusiveMaximum": 12}, ["-5", "11", "0"], ["-6", "12"]),
    ({"minimum": 3, "exclusiveMinimum": True}, ["3.1", '"x"'], ["3", "3.0"]),
    ({"type": "number", "minimum": 0.1, "maximum": 1}, ["0.1", "1.0", "5e-1"], ["0.09", "1.01", "0"]),
    (CLOSED, ['{"b":""}', '{"a":1,"b":""}', '{"b":"","c":null}'], ["{}", '{"a":1}', '{"b":"","a":1}', '{"b":"","d":1}']),
    (OBJECT, ['{"b":"","d":[1]}', '{"b":"","x":1,"y":2}'], ['{"b":"","x":1,"x":2}', '{"b":"","c":1}', '{"d":1,"b":""}']),
    (OBJECT, [], ['{"b":"","a":"x"}', r'{"b":"","\u0061":"x"}', r'{"b":"","x":1,"\u0078":2}']),
    ({"required": ["k"]}, ['{"k":1}', '{"k":null,"x":[]}', "1"], ["{}", '{"x":1}']),
    ({"additionalProperties": {"type": "null"}, "type": "object"}, ["{}", '{"x":null}'], ['{"x":1}']),
    ({"type": "array", "items": {"type": "null"}}, ["[]", "[null]", "[null, null]"], ["[1]", "[null,]"]),
    ({"type": "array", "minItems": 2, "maxItems": 3}, ["[1,2]", "[1,2,3]"], ["[]", "[1]", "[1,2,3,4]"]),
    ({"type": "array", "maxItems": 0}, ["[]", "[ ]"], ["[1]"]),
    ({"type": "array", "prefixItems": [{"type": "null"}, {"const": 1}]}, ["[]", "[null]", "[null,1,2]"], ["[1]", "[null,2]"]),
    ({"prefixItems": [{"const": 1}], "items": False, "minItems": 1}, ["[1]", "2"], ["[]", "[1,2]"]),
    ({"prefixItems": [True, False]}, ["[]", "[1]"], ["[1,2]"]),
    ({"items": [{"const": 1}], "additionalItems": {"const": 2}}, ["[]", "[1,2,2]"], ["[2]", "[1,3]"]),
    ({"enum": [1, "a", None, [1, {"b": 2}], True]}, ["1", '"a"', "null", '[1,{"b":2}]', "true"], ["2", "false", "[1]"]),
    ({"const": {"a": 1, "b": []}}, ['{"a":1,"b":[]}', '{ "a": 1, "b": [] }'], ["{}", '{"a":1}', '{"a":1,"b":[],"c":1}']),
    ({"const": True}, ["true"], ["1"]),
    ({"const": 1.0}, ["1", "1.0"], ["true", "1.5"]),
    ({"enum": [1, 2.5, 300], "type": "integer", "maximum": 100}, ["1"], ["2.5", "300"]),
    ({"enum": ["ab", "b", "cab"], "pattern": "^.?b$", "minLength": 2}, ['"ab"'], ['"b"', '"cab"']),
    ({"anyOf": [{"type": "null"}, {"const": 3}]}, ["null", "3"], ["4"]),
    ({"anyOf": [{"required": ["a"]}, {"required": ["b"]}], "type": "object"}, ['{"a":1}', '{"b":1}', '{"a":1,"b":2}'], ["{}", "1"]),
    ({"allOf": [{"minimum": 2}, {"maximum": 3}], "type": "integer"}, ["2", "3"], ["1", "4", '"a"']),
    ({"allOf": [CLOSED, {"properties": {"a": {"minimum": 5}, "c": False}}]}, ['{"a":5,"b":""}'], ['{"a":4,"b":""}', '{"b":"","c":null}']),
    ({"oneOf": [{"type": "null"}, {"type": "integer"}]}, ["null", "1"], ["1.5"]),
    (
        {
            "oneOf": [
                {"properties": {"kind": {"const": "a"}, "x": {"type": "null"}}, "required": ["kind"], "type": "object"},
                {"properties": {"kind": {"const": "b"}, "y": {"type": "null"}}, "required": ["kind"], "type": "object"},
            ]
        },
        ['{"kind":"a","x":null}', '{"kind":"b","x":1}'],
        ['{"kind":"c"}', '{"kind":"a","x":1}', "{}"],
    ),
    ({**LIST, "$ref": "#/$defs/L"}, ["null", "[]", "[[null],[]]"], ["[1]", "1"]),
    ({**LIST, "$ref": "#/$defs/L", "type": "array"}, ["[]", "[null]"], ["null"]),
    ({"$defs": {"a/b~c": {"const": 1}}, "$ref": "#/$defs/a~1b~0c"}, ["1"], ["2"]),
    ({"$defs": {"a b": {"const": 1}}, "$ref": "#/$defs/a%20b"}, ["1"], ["2"]),
    ({"properties": {"a": {"$ref": "#/properties/b"}, "b": {"const": 1}}}, ['{"a":1}'], ['{"a":2}']),
    ({"$defs": {"x": {"$anchor": "here", "const": 1}}, "$ref": "#here"}, ["1"], ["2"]),
    ({"$id": "http://e.x/s", "$defs": {"x": {"$id": "t", "const": 1}}, "$ref": "http://e.x/t"}, ["1"], ["2"]),
    ({"$id": "http://e.x/s", "items": {"$ref": "http://e.x/s"}, "type": "array"}, ["[[],[[]]]"], ["[1]"]),
    ({"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/definitions/a", "type": "null", "definitions": {"a": {"const": 1}}}, ["1"], ["null"]),
    ({"$defs": {"A": {"anyOf": [{"$ref": "#/$defs/A"}, {"type": "string"}]}}, "$ref": "#/$defs/A"}, ['""'], ["1"]),
    ({"$defs": {"A": {"anyOf": [{"$ref": "#/$defs/B"}, {"const": 1}]}, "B": {"anyOf": [{"$ref": "#/$defs/A"}, {"const": 2}]}}, "$ref": "#/$defs/A"}, ["1", "2"], ["3"]),
    ({"properties": {"a": {"enum": []}}, "type": "object"}, ["{}", '{"b":1}'], ['{"a":1}']),
    ({"properties": {"a": {"pattern": "^a$", "minLength": 2, "type": "string"}}, "type": "object"}, ["{}"], ['{"a":"a"}']),
    ({"minProperties": 0, "uniqueItems": False, "not": False, "then": False}, ["1"], []),
]  # fmt: skip


@pytest.mark.parametrize("order", ["schema", "any"])
@pytest.mark.parametrize(("schema", "good", "bad"), CASES)
def test_languages(schema, good, bad, order):
    assert takes(schema, *good, property_order=order) == [True] * len(good)
    if order == "schema":
        assert takes(schema, *bad) == [False] * len(bad)
    else:
        # Order is what the two policies differ in: a text is then refused only if it is invalid.
        instances = [text for text in bad if not in_another_order(text, schema)]
        assert takes(schema, *instances, property_order="any") == [False] * len(instances)


def in_another_order(text, schema):
    try:
        value = json.loads(text, object_pairs_hook=unique)
    except ValueError:
        return False
    try:
        return jsonschema.Draft202012Validator(schema).is_valid(value)
    except Exception:  # a reference that leads back to itself, items as a list
        return False


def unique(pairs):
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key twice")
    return dict(pairs)


def test_property_order_any_is_every_permutation_once():
    texts = ['{"c":null,"b":"","a":1}', '{"b":"","x":0,"a":1}', '{"a":1,"b":"","a":1}', '{"c":null,"a":1}', "{}"]
    assert takes(OBJECT, *texts, property_order="any") == [True, True, False, False, False]
    assert takes(CLOSED, *texts, property_order="any") == [True, False, False, False, False]
    assert takes({**CLOSED, "required": []}, "{}", '{"c":null}', property_order="any") == [True, True]


def test_required_undeclared_names_follow_the_declared_ones():
    schema = {"type": "object", "properties": {"a": {}}, "required": ["z", "a"]}
    assert takes(schema, '{"a":1,"z":2}', '{"z":2,"a":1}', '{"a":1,"z":2,"b":3}') == [True, False, True]


# Whitespace and spelling


def test_flexible_whitespace():
    pretty = json.dumps({"b": "", "d": [1, 2]}, indent=2)
    assert takes(OBJECT, pretty, '{"b" : "" }', '{"b":' + " " * 9 + '""}', ' {"b":""}', '{"b":""} ') == [
        True,
        True,
        False,
        False,
        False,
    ]
    assert takes(OBJECT, '{"b":' + " " * 3 + '""}', max_whitespace=2) == [False]


VALUE = {"a": [], "b": {}, "c": [1, {"d": [True]}], "e": {"f": "x"}}


@pytest.mark.parametrize("indent", [0, 1, 2, 4])
def test_indent_is_that_of_json_dumps(indent):
    text = json.dumps(VALUE, indent=indent)
    compact = json.dumps(VALUE, separators=(",", ":"))
    assert takes({}, text, compact, whitespace=indent) == [True, False]
    assert takes({}, text.replace("[]", "[ ]"), whitespace=indent) == [False]


def test_compact_whitespace():
    compact = json.dumps(VALUE, separators=(",", ":"))
    assert takes({}, compact, json.dumps(VALUE), whitespace="compact") == [True, False]


def test_string_spelling():
    schema = {"properties": {"né": {"const": "x\n"}}, "required": ["né"]}
    texts = ['{"né":"x\\n"}', '{"n\\u00e9":"\\u0078\\n"}']
    assert takes(schema, *texts) == [True, False]
    assert takes(schema, *texts, string_spelling="any") == [True, True]
    assert takes(schema, r'{"né":"x\n","n\u00e9":1}', string_spelling="any") == [False]


def test_max_string_and_max_digits():
    assert takes({"type": "string"}, '"ab"', '"abc"', max_string=2) == [True, False]
    assert takes({"type": "string", "minLength": 3}, '"abc"', max_string=2) == [True]
    assert takes({"type": "string", "maxLength": 3}, '"abc"', max_string=2) == [True]
    assert takes({"type": "string", "pattern": "^a{5}$"}, '"aaaaa"', max_string=2) == [True]
    assert takes({"type": "number"}, "12", "123", "1.2", "1.23", "1e2", max_digits=(2, 1, 0)) == [
        True,
        False,
        True,
        False,
        False,
    ]


def test_extra_forbid():
    assert takes({"properties": {"a": {}}, "type": "object"}, "{}", '{"a":1}', '{"b":1}', extra="forbid") == [
        True,
        True,
        False,
    ]
    assert takes({"type": "object"}, "{}", '{"b":1}', extra="forbid") == [True, False]
    assert takes({"additionalProperties": True, "type": "object"}, '{"b":1}', extra="forbid") == [True]


def test_exponents_of_constants():
    for value in (1e25, Decimal("1e25"), Decimal("1e+25")):
        assert takes({"const": value}, "1e25", "1E25", "1e+25", "1E+25", "1e24") == [True] * 4 + [False]
    assert takes({"const": 1e-7}, "1e-07", "1E-07", "1e-7", "1e07", "1e7") == [True] * 3 + [False] * 2


BAD_OPTIONS = [
    ({"whitespace": "some"}, "whitespace='some'; expected"),
    ({"whitespace": -1}, "whitespace=-1; expected"),
    ({"property_order": "x"}, "property_order='x'; expected"),
    ({"string_spelling": "x"}, "string_spelling='x'; expected"),
    ({"integer_spelling": "x"}, "integer_spelling='x'; expected"),
    ({"formats": "x"}, "formats='x'; expected"),
    ({"formats": "refuse"}, "formats='refuse'; expected"),
    ({"unknown_formats": "x"}, "unknown_formats='x'; expected"),
    ({"extra": "x"}, "extra='x'; expected"),
    ({"max_digits": (0, 1, 1)}, "max_digits"),
    ({"max_whitespace": -1}, "max_whitespace"),
    ({"max_string": -1}, "max_string"),
]


@pytest.mark.parametrize(("options", "message"), BAD_OPTIONS)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        json_schema({}, **options)


# No dead ends


def test_what_has_no_finite_instance_is_not_offered():
    endless = {"type": "object", "required": ["b"], "properties": {"b": {"$ref": "#/properties/a"}}}
    schema = {"type": "object", "properties": {"a": endless, "c": {"type": "null"}}, "additionalProperties": False}
    grammar = json_schema(schema)
    names = {ref.name for node in (grammar.start, grammar.expand(grammar.start.name)) for ref in refs(node)}
    assert names == {grammar.start.name}
    assert takes({"type": "array", "items": {"allOf": [{"minimum": 2}, {"maximum": 1}], "type": "number"}}, "[]") == [
        True
    ]


def refs(node):
    return [part for part in ir.walk(node) if isinstance(part, ir.Ref)]


def test_rules_are_linear_in_the_number_of_properties():
    sizes = []
    for count in (100, 200):
        for order in ("schema", "any"):
            grammar = json_schema(
                {"properties": {f"p{i}": {"type": "null"} for i in range(count)}, "type": "object"},
                property_order=order,
            )
            sizes.append(sum(1 for _ in ir.walk(grammar.expand(grammar.start.name))))
    assert sizes[2] < 2.2 * sizes[0]
    assert sizes[3] < 2.2 * sizes[1]


EMPTY = [
    (False, "#", "false"),
    ({"enum": []}, "#/enum", "list of values is empty"),
    ({"type": "object", "properties": {"x": {"enum": []}}, "required": ["x"]}, "#/properties/x/enum", "is empty"),
    ({"type": "integer", "minimum": 3, "maximum": 2}, "#", "contradict"),
    ({"type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 2}, "#", "contradict"),
    ({"type": "string", "minLength": 3, "maxLength": 2}, "#", "contradict"),
    ({"type": "string", "pattern": "^a$", "minLength": 2}, "#", "contradict"),
    ({"type": "string", "allOf": [{"pattern": "^a"}, {"pattern": "^b"}]}, "#", "contradict"),
    ({"type": "string", "enum": ["a"], "pattern": "b"}, "#", "contradict"),
    ({"$ref": "#"}, "#", "comes back to itself"),
    ({"$defs": {"A": {"allOf": [{"$ref": "#/$defs/A"}, {"type": "string"}]}}, "$ref": "#/$defs/A"}, "#/$defs/A", "itself"),
    ({"$defs": {"A": {"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#/$defs/A"}}}}, "$ref": "#/$defs/A"}, "#/$defs/A", "itself"),
    ({"type": "array", "items": False, "minItems": 1}, "#", "contradict"),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "rule", "reason"), EMPTY)
def test_empty_languages(schema, rule, reason):
    with pytest.raises(EmptyLanguageError) as caught:
        json_schema(schema)
    assert caught.value.rule == rule
    assert reason in caught.value.reason


# Bad input


def nested(depth, build=lambda inner: {"items": inner}):
    value = {}
    for _ in range(depth):
        value = build(value)
    return value


MALFORMED = [
    ("{nope", "the schema is not JSON"),
    ("", "the schema is not JSON"),
    ('{"a": [1, }', "the schema is not JSON"),
    (b"\xff", "not UTF-8 at byte 0"),
    ('{"minimum": NaN}', "NaN is no JSON number"),
    ('{"type": "null", "type": "null"}', "the key 'type' twice"),
    ('{"items":' * 3000 + '{"a":1,"a":2}' + "}" * 3000, "the key 'a' twice"),
    ('{"items":' * 3000 + "{,}" + "}" * 3000, "at line 1, column 27002"),
    ("[1]", "# a schema must be an object or a boolean"),
    ({"items": 3}, "#/items a schema must be"),
    ({"minimum": float("nan")}, "#/minimum must be a finite number"),
    ({"minimum": "3"}, "#/minimum must be a number"),
    ({"minLength": -1}, "#/minLength must be a non-negative integer"),
    ({"maxItems": 1.5}, "#/maxItems must be a non-negative integer"),
    ({"type": "strin"}, "#/type must be among"),
    ({"type": []}, "#/type must be a type"),
    ({"required": True}, "#/required must be an array of strings"),
    ({"type": "string", "required": True}, "#/required must be an array of strings"),
    ({"type": "string", "minItems": "x"}, "#/minItems must be a non-negative integer"),
    ({"type": "array", "minLength": -1}, "#/minLength must be a non-negative integer"),
    ({"type": "string", "minimum": "x"}, "#/minimum must be a number"),
    ({"type": "integer", "pattern": "("}, "#/pattern: unclosed group"),
    ({"prefixItems": [{"const": 1}], "items": [{"const": 2}]}, "#/items must be one schema, for the items after"),
    ({"properties": []}, "#/properties must be an object"),
    ({"anyOf": []}, "#/anyOf must be a non-empty array"),
    ({"enum": 1}, "#/enum must be an array"),
    ({"enum": [float("inf")]}, "#/enum must hold finite numbers"),
    ({"const": {1, 2}}, "#/const must hold JSON values"),
    ({"enum": ["\ud800"]}, "lone surrogate"),
    ({"properties": {"\ud800": {}}}, "lone surrogate"),
    ({"pattern": "\ud800"}, "#/pattern: a lone surrogate"),
    ({"pattern": "(a"}, "#/pattern: unclosed group"),
    ({"pattern": 1}, "#/pattern must be a string"),
    ({"$ref": "#/$defs/x"}, "there is nothing at"),
    ({"$ref": "#nowhere"}, "no such anchor"),
    ({"$ref": "#/a~2"}, "must be written ~0"),
    ({"$ref": 1}, "$ref at # must be a string"),
]


@pytest.mark.parametrize(("schema", "message"), MALFORMED, ids=range(len(MALFORMED)))
def test_malformed_schemas(schema, message):
    with pytest.raises(GrammarSyntaxError) as caught:
        json_schema(schema)
    assert message in str(caught.value)


def test_a_registry_is_one_of_referencing():
    with pytest.raises(TypeError, match=r"expected a referencing\.Registry"):
        json_schema({}, registry={})


def test_other_documents():
    from referencing import Registry, Resource
    from referencing.jsonschema import DRAFT202012

    other = Resource(contents={"$defs": {"a": {"type": "integer"}}}, specification=DRAFT202012)
    known = Registry().with_resource("http://example.com/x", other)
    schema = {"items": {"$ref": "http://example.com/x#/$defs/a"}, "type": "array"}
    assert takes(schema, "[1]", '["a"]', registry=known) == [True, False]
    meta = {"$ref": "http://json-schema.org/draft-07/schema#/definitions/nonNegativeInteger"}
    assert takes(meta, "1", "-1") == [True, False]


def test_a_copy_knows_the_other_documents():
    import pickle

    from referencing import Registry, Resource
    from referencing.jsonschema import DRAFT202012

    other = Resource(contents={"type": "integer"}, specification=DRAFT202012)
    grammar = json_schema({"$ref": "urn:a"}, registry=Registry().with_resource("urn:a", other))
    assert pickle.loads(pickle.dumps(grammar)).report == grammar.report


UNSUPPORTED = [
    ({"properties": {"a/b": {"disallow": "string"}}}, "#/properties/a~1b/disallow", "disallow"),
    (
        {
            "items": {"$dynamicRef": "#a"},
            "$defs": {"b": {"$dynamicAnchor": "a"}, "c": {"$id": "c", "$dynamicAnchor": "a"}},
        },
        "#/items/$dynamicRef",
        "$dynamicRef",
    ),
    (
        {"unevaluatedProperties": False, "anyOf": [{"properties": {"a": {}}}, {"$ref": "#"}]},
        "#/unevaluatedProperties",
        "unevaluatedProperties",
    ),
    ({"uniqueItems": True}, "#/uniqueItems", "uniqueItems"),
    ({"items": {"uniqueItems": True, "items": {"type": "object"}}}, "#/items/uniqueItems", "uniqueItems"),
    ({"not": {"uniqueItems": True}}, "a negation", "uniqueItems"),
    ({"not": {"format": "hostname"}}, "a negation", "format"),
    ({"multipleOf": 10**70}, "#/multipleOf", "multipleOf"),
    ({"$ref": "http://example.com/x"}, "#", "$ref"),
    ({"pattern": r"(a)\1"}, "#/pattern", r"pattern \1"),
    ({"minimum": 10**3000}, "#/minimum", "minimum"),
]


@pytest.mark.parametrize(("schema", "where", "feature"), UNSUPPORTED)
def test_unsupported_keywords_name_place_and_way_out(schema, where, feature):
    from constrain.errors import UnsupportedFeatureError

    with pytest.raises(UnsupportedFeatureError) as caught:
        json_schema(schema)
    assert (caught.value.where, caught.value.feature) == (where, feature)
    assert caught.value.remedy


LIMITED = [
    (nested(100_000), "max_nesting"),
    ('{"items":' * 100_000 + "{}" + "}" * 100_000, "max_nesting"),
    ("[" * 100_000, "max_nesting"),
    ({"const": nested(20_000, lambda inner: [inner])}, "max_nesting"),
    ({"minLength": 10**12}, "max_repeat"),
    ({"allOf": [{"anyOf": [{"required": [f"{i}{j}"], "type": "object"} for j in range(8)]} for i in range(8)]}, "max_schema_nodes"),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "limit"), LIMITED, ids=range(len(LIMITED)))
def test_limits_are_named(schema, limit):
    with pytest.raises(LimitExceededError) as caught:
        json_schema(schema, limits=Limits(max_schema_nodes=20_000))
    assert caught.value.limit == limit


def test_deep_but_allowed():
    json_schema(nested(9000))
    json_schema('{"items":' * 3000 + "{}" + "}" * 3000)
    links = {f"d{i}": {"$ref": f"#/$defs/d{i + 1}"} for i in range(3000)}
    assert takes({"$defs": {**links, "d3000": {"const": 1}}, "$ref": "#/$defs/d0"}, "1") == [True]


def test_cycles_through_all_of_come_to_an_end():
    schema = {"anyOf": [{"type": "string"}, {"allOf": [{"$ref": "#/$defs/A"}, {"minLength": 2}]}]}
    assert takes({"$defs": {"A": schema}, "$ref": "#/$defs/A"}, '""', '"ab"', "1") == [True, True, False]


def test_errors_are_value_errors():
    with pytest.raises(ValueError, match="not JSON"):
        json_schema("{")
    assert issubclass(EmptyLanguageError, GrammarError)


# Report and source


def test_report():
    schema = {
        "title": "t",
        "type": "object",
        "x-note": 1,
        "properties": {"a": {"type": "string", "format": "date", "maxLength": 10**9}},
    }
    items = {(item.pointer, item.keyword): item for item in json_schema(schema, formats="annotate").report}
    assert items["#", "title"].status == "annotation"
    assert items["#", "x-note"].note == "not a keyword of JSON Schema"
    assert items["#", "type"].status == "exact"
    assert items["#/properties/a", "format"].status == "annotation"
    assert items["#", "max_digits"].status == "cap"


def test_source_rebuilds_the_grammar():
    grammar = json_schema('{"type": "number", "minimum": 0.5}', whitespace="compact")
    front_end, arguments = pickle.loads(pickle.dumps(grammar.source))
    assert front_end == "json_schema"
    again = json_schema(**arguments)
    assert accepts(again, b"0.5")
    assert not accepts(again, b"0.4")


def test_equal_schemas_share_rules():
    point = {"type": "object", "properties": {"x": {"type": "number"}}}
    grammar = json_schema({"type": "object", "properties": {"a": point, "b": dict(point)}})
    names = [ref.name for ref in refs(grammar.expand(grammar.start.name))]
    assert len({name for name in names if name[0] == "value"}) == 1


def test_speed():
    schema = {
        "type": "object",
        "properties": {
            f"p{i}": {"type": "object", "properties": {"s": {"type": "string"}, "n": {"type": ["integer", "null"]}}}
            for i in range(20)
        },
    }
    json_schema(schema)
    began = time.process_time()
    for _ in range(5):
        json_schema(schema)
    assert (time.process_time() - began) / 5 < 0.02  # 61 subschemas; about 1.5 ms on an idle machine


# Differential


SCALARS = st.sampled_from(
    [
        {},
        {"type": "integer"},
        {"type": "string", "maxLength": 1},
        {"enum": [1, "a", None]},
        {"const": {"a": 1}},
        {"minimum": 1},
        {"type": ["null", "number"]},
        {"pattern": "^a"},
        True,
        False,
        {"$ref": "#/$defs/R"},
    ]
)


def compound(inner):
    names = st.sampled_from(["a", "b", "c"])
    parts = {
        "properties": st.dictionaries(names, inner, max_size=3),
        "required": st.lists(names, max_size=2, unique=True),
        "additionalProperties": inner,
        "items": inner,
        "prefixItems": st.lists(inner, max_size=2),
        "minItems": st.integers(0, 2),
        "maxItems": st.integers(0, 3),
        "anyOf": st.lists(inner, min_size=1, max_size=3),
        "allOf": st.lists(inner, min_size=1, max_size=2),
        "type": st.sampled_from(["object", "array", ["object", "array", "integer"]]),
    }
    return st.lists(st.sampled_from(sorted(parts)), min_size=1, max_size=4, unique=True).flatmap(
        lambda keys: st.fixed_dictionaries({key: parts[key] for key in keys})
    )


SCHEMAS = st.recursive(SCALARS, compound, max_leaves=6)
INSTANCES = st.recursive(
    st.sampled_from([None, True, 0, 1, 2, -1, 1.5, "", "a", "ab", "b"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "c", "d"]), inner, max_size=3)
    ),
    max_leaves=5,
)


@settings(max_examples=150, deadline=None)
@given(SCHEMAS, SCHEMAS, st.lists(INSTANCES, min_size=4, max_size=8))
def test_agrees_with_jsonschema(schema, other, instances):
    if isinstance(schema, bool):
        schema = {"allOf": [schema]}
    schema = {**schema, "$defs": {"R": other}}
    validator = jsonschema.Draft202012Validator(schema)
    try:
        grammar = json_schema(schema, property_order="any")
    except EmptyLanguageError:
        grammar = None
    for instance in instances:
        try:
            want = validator.is_valid(instance)
        except RecursionError:
            continue  # a reference that leads back to itself: `jsonschema` does not decide it
        got = grammar is not None and accepts(grammar, json.dumps(instance).encode())
        assert got == want, (schema, instance)
