"""The validator oracle is right where `jsonschema` alone is not, and agrees with it, the suite and MaskBench elsewhere."""

import json
import os
from decimal import Decimal

import pytest
from oracles import datasets, ecma
from oracles.validator import NotJsonError, UnsureError, Validator, accepts, identity, is_multiple, parse

BAD_TEXTS = [
    "", " ", "NaN", "Infinity", "-Infinity", "[1,]", "{,}", '{"a":1,}', '{"a" 1}', "{a:1}", "01", "1.", ".5", "+1", "-", "1e", "tru",
    "[1]]", "1 2", '"\n"', '"\t"', '"\\x"', '"\\u12"', '"', "'a'", '"\\ud800"', '"\\udc00\\ud800"', '"\\ud800\\u0061"', "\ufeff1",
    '{"a":1,"a":1}', '{"a":1,"\\u0061":2}', '[{"b":{"a":1,"a":2}}]', "[", "{", '{"a":', "/**/1", "\x0b1", "nul l", b'"\xff"', b'"\xed\xa0\x80"',
]  # fmt: skip


@pytest.mark.parametrize("text", BAD_TEXTS)
def test_texts_that_are_not_json(text):
    with pytest.raises(NotJsonError):
        parse(text)
    assert not accepts(True, text)


GOOD_TEXTS = [
    "0",
    "-0",
    " [1 , 2\n]\r\t",
    '"\\ud83d\\ude00 \\u0000\\/"',
    "{}",
    "[]",
    '{"a":[{"b":[]},{}],"":null}',
    "[[],[[]],{}]",
    "true",
    "1e5",
    "-1.25E-3",
]


@pytest.mark.parametrize("text", GOOD_TEXTS)
def test_texts_that_are_json(text):
    value = parse(text)
    assert value == json.loads(text, parse_float=Decimal)
    assert accepts(True, text)
    assert accepts(True, text.encode())


def test_numbers_are_exact():
    assert parse("12345678901234567890123456789.5") == Decimal("12345678901234567890123456789.5")
    assert parse("9" * 6000) == int(Decimal("9" * 6000))
    with pytest.raises(UnsureError):
        parse("1e99999999999999999999999")


# schema, texts that are instances, texts that are not
JUDGED = [
    ({"type": "integer"}, ["1", "1.0", "1e2", "-0", "10.50e1"], ["1.5", "1e-1", "true", '"1"']),
    ({"$schema": "http://json-schema.org/draft-04/schema#", "type": "integer"}, ["1"], ["1.0", "1.5"]),
    ({"$schema": "http://json-schema.org/draft-07/schema#", "type": "integer"}, ["1", "1.0"], ["1.5"]),
    ({"type": "number"}, ["1", "0.5", "1e400"], ["true", "null"]),
    ({"type": "boolean"}, ["true"], ["1", "0"]),
    ({"multipleOf": 0.01}, ["0.07", "19.99", "4.35", "1e400", '"x"', "0"], ["0.075", "1e-400"]),
    ({"multipleOf": 3}, ["9", "9.0", "0", "-3"], ["10", "1e400"]),
    ({"maximum": 0.1}, ["0.1", "0.10000000000000000"], ["0.1000000000000000000001"]),
    ({"minimum": 9007199254740993}, ["9007199254740993", "1e300"], ["9007199254740992"]),
    ({"exclusiveMinimum": 1}, ["1.00000000000000000001"], ["1", "1.0"]),
    ({"const": 1}, ["1", "1.0", "10e-1"], ["true", "1.1", '"1"']),
    ({"const": True}, ["true"], ["1"]),
    ({"const": [0]}, ["[0]", "[0.0]"], ["[false]", "[]"]),
    ({"enum": [{"a": 1, "b": 2}, 0.1]}, ['{"b":2,"a":1.0}', "0.1", "0.10"], ['{"a":1}', "0.1000000001"]),
    ({"uniqueItems": True}, ["[1,true,0,false]", '["1",1]'], ["[1,1.0]", '[{"a":1,"b":2},{"b":2,"a":1}]']),
    ({"pattern": r"^\d+$"}, ['"12"', "5"], ['"1a"', '"٣"', '"1\\n"']),
    ({"pattern": r"^\w$"}, ['"a"'], ['"é"']),
    ({"pattern": r"^\s$"}, ['"\\u00a0"', '"\\ufeff"'], ['"\\u001c"', '"\\u0085"']),
    ({"pattern": "^.$"}, ['"a"', '"😀"'], ['"\\n"', '"\\u2028"', '"\\r"']),
    ({"pattern": "^[^a]$"}, ['"\\n"', '"b"'], ['"a"']),
    ({"pattern": r"^\p{L}+$"}, ['"né"'], ['"1"']),
    ({"pattern": r"^\cA$"}, ['"\\u0001"'], ['"A"']),
    ({"pattern": r"^a\-b$"}, ['"a-b"'], ['"ab"']),
    ({"patternProperties": {r"^\d$": False}, "type": "object"}, ['{"a":1}', '{"٣":1}'], ['{"1":1}']),
    ({"patternProperties": {r"^\d$": {}}, "additionalProperties": False}, ['{"1":1}'], ['{"٣":1}', '{"a":1}']),
    ({"patternProperties": {r"^\d$": {}}, "unevaluatedProperties": False}, ['{"1":1}'], ['{"٣":1}']),
    ({"anyOf": [{"properties": {"a": {"const": 1}}}, {"properties": {"b": {}}}], "unevaluatedProperties": False}, ['{"a":1,"b":2}', '{"b":2}'], ['{"a":2}', '{"c":1}']),
    ({"if": {"properties": {"a": {"const": 1}}, "required": ["a"]}, "then": {"properties": {"b": {}}}, "unevaluatedProperties": False}, ['{"a":1,"b":2}'], ['{"b":2}', '{"a":2}']),
    ({"$defs": {"p": {"properties": {"a": {}}}}, "$ref": "#/$defs/p", "unevaluatedProperties": False}, ['{"a":1}'], ['{"b":1}']),
    ({"properties": {"a": {"$ref": "#"}}, "$schema": "http://json-schema.org/draft-07/schema#", "enum": [1, {"a": 1}]}, ['{"a":1}', "1"], ['{"a":true}', "true"]),
    ({"minLength": 1, "maxLength": 1}, ['"😀"', '"\\ud83d\\ude00"'], ['""', '"ab"']),
    ({"format": "ipv4"}, ['"127.0.0.1"', "7"], ['"127.0.0.256"', '"1"']),
    ({"format": "date-time"}, ['"2020-02-29T12:00:00Z"'], ['"2020-02-30T12:00:00Z"', '"x"']),
    ({"format": "uuid"}, ['"0f8fad5b-d9cb-469f-a165-70867728950e"'], ['"0f8fad5b"']),
    ({"$schema": "http://json-schema.org/draft-04/schema#", "format": "date"}, ['"2020-02-29"'], ['"2021-02-29"']),
    ({"format": "regex"}, ['"a*"', '"(?<n>a)\\\\k<n>"'], ['"("']),
    ({"properties": {"$schema": {"type": "string"}}}, ['{"$schema":"x"}'], ['{"$schema":1}']),
    ({"const": {"$schema": "x"}}, ['{"$schema":"x"}'], ["{}"]),
    ({"type": "array", "prefixItems": [{"type": "string"}], "items": False}, ['["a"]', "[]"], ['["a",1]', "[1]"]),
    ({"required": ["a"], "additionalProperties": False}, [], ["{}", '{"a":1}']),
]  # fmt: skip


@pytest.mark.parametrize("case", JUDGED, ids=lambda case: json.dumps(case[0])[:60])
def test_judgements(case):
    schema, members, others = case
    for validator in (Validator(schema), Validator(json.dumps(schema))):
        for text in members:
            assert validator.explain(text) is None, text
        for text in others:
            assert validator.explain(text) is not None, text


def test_formats_can_be_left_alone():
    assert Validator({"format": "ipv4"}, assert_formats=False).accepts('"x"')


def test_depth():
    deep = 2_000
    nested = {"$ref": "#/$defs/n", "$defs": {"n": {"type": "array", "items": {"$ref": "#/$defs/n"}}}}
    assert accepts(nested, "[" * deep + "]" * deep)
    assert not accepts(nested, "[" * deep + "1" + "]" * deep)
    assert parse("[" * 100_000 + "]" * 100_000) is not None
    with pytest.raises(UnsureError):
        accepts(nested, "[" * 100_000 + "]" * 100_000)


def test_what_cannot_be_told():
    for schema in ({"$ref": "#/nowhere"}, {"$ref": "#"}, {"pattern": "("}):
        with pytest.raises(UnsureError):
            accepts(schema, '"a"')


def test_identity():
    assert identity(1) == identity(Decimal("1.0")) == identity(1.0)
    assert identity(True) != identity(1)
    assert identity([0]) != identity([False])
    assert identity("1") != identity(1)


def test_multiples():
    assert is_multiple(Decimal("1e400"), 3) is False
    assert is_multiple(Decimal("3e400"), 3)
    assert is_multiple(Decimal("-0.30"), Decimal("0.1"))
    assert not is_multiple(Decimal("1e-400"), 1)


PATTERNS = [r"^\d+$", r"\bcat\b", r"\Bx", r"^[\w.-]+@[\w-]+$", r"^\S*$", "[^]", "[]", r"^[\s\S]$", r"^[^\W\d]$", r"[\W]", "^$", r"^\u{1F600}$",
    r"^\ud83d\ude00$", r"(?<y>\d)\k<y>", "a{2,3}?", "^(?!ab)a", "(?<=a)b", "(?<!a)b", r"[a\-z]", "[-a]", "[a-]", r"\x41", r"\t", r"[\b]",
    r"\/", r"[[]", r"[&&]", r"[a--b]", "^.$", r"^[\d-x]$"]  # fmt: skip
TEXTS = ["", "a", "b", "ab", "aab", "x", "1", "11", "٣", "é", "_", "-", "z", "A", "\t", "\b", "\n", "a\n", "\u2028", "\u0085", "\ufeff", "😀", "cat", "a cat.", "concat",
    "/", "[", "&", "a.b-c@d-e", "\x1c", " "]  # fmt: skip


@pytest.mark.skipif(not ecma.HAS_NODE, reason="needs node")
@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_translation_against_node(pattern):
    pytest.importorskip("regex", reason="needs the regex library")
    strict = not ecma.is_lenient(pattern)
    for text in TEXTS:
        try:
            expected = ecma._search_node(pattern, text)
        except ecma.PatternError:
            return
        if strict:
            assert ecma.search_translated(pattern, text) == expected, text


@pytest.mark.skipif(not ecma.HAS_NODE, reason="needs node")
def test_a_pattern_that_hangs_is_reported():
    server = ecma.Node(seconds=0.5)
    with pytest.raises(ecma.TooSlowError):
        server.ask("^(a*)*$", "a" * 40 + "b")
    assert server.ask("a", "a") == {"match": True, "lenient": False}
    server.close()


SUITE_SKIP = {
    # The oracle reads references as the schema's own draft does; these need retrieval or a vocabulary it has not got.
    "optional", "vocabulary.json",
}  # fmt: skip


@pytest.mark.parametrize("draft", ["draft4", "draft6", "draft7", "draft2019-09", "draft2020-12"])
def test_official_suite(data, draft):
    """Every required test of the official suite."""
    from referencing import Registry, Resource
    from referencing.jsonschema import DRAFT202012

    suite = data / "json-schema-test-suite"
    identifiers = {
        "draft4": "http://json-schema.org/draft-04/schema#",
        "draft6": "http://json-schema.org/draft-06/schema#",
        "draft7": "http://json-schema.org/draft-07/schema#",
        "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
        "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
    }
    from oracles.validator import _metaschemas, exact
    from referencing.jsonschema import specification_with

    default = specification_with(identifiers[draft], default=DRAFT202012)
    registry: Registry = _metaschemas()
    others = {"draft3", "draft4", "draft6", "draft7", "draft2019-09", "draft2020-12", "v1"} - {draft}
    for path in sorted((suite / "remotes").rglob("*.json")):
        if others & {*path.parts} and draft in ("draft4", "draft6", "draft7"):
            continue
        contents = json.loads(path.read_text())
        said = contents.get("$schema") if isinstance(contents, dict) else None
        specification = specification_with(said, default=default) if said else default
        uri = "http://localhost:1234/" + path.relative_to(suite / "remotes").as_posix()
        registry = registry.with_resource(uri, Resource(exact(contents), specification))
    wrong = []
    for path in sorted((suite / "tests" / draft).glob("*.json")):
        if path.name in SUITE_SKIP:
            continue
        for group in json.loads(path.read_text()):
            schema = group["schema"]
            if isinstance(schema, dict):
                schema = {"$schema": identifiers[draft], **schema}
            for case in group["tests"]:
                try:
                    validator = Validator(schema, registry=registry, assert_formats=False)
                    said = validator.accepts(json.dumps(case["data"]))
                except Exception as error:
                    said = f"{type(error).__name__}: {error}"
                if said is not case["valid"]:
                    wrong.append(f"{path.name}: {group['description']}: {case['description']}: {said}")
    print("\n".join(wrong))
    assert not wrong


def test_maskbench_labels(data):
    """The labels of MaskBench: every valid instance is one; an invalid one may be so by a format nobody checks."""
    count = int(os.environ.get("CONSTRAIN_SCHEMAS", "150"))
    counts = {"valid": 0, "invalid": 0, "invalid accepted": 0, "unsure": 0}
    wrong = []
    for row in datasets.sample_dev(data, count):
        try:
            validator = Validator(row["schema"])
            for case in row["tests"]:
                said = validator.explain(datasets.instance_text(case["data"]))
                counts["valid" if case["valid"] else "invalid"] += 1
                if case["valid"] and said is not None:
                    wrong.append((row["id"], said))
                counts["invalid accepted"] += not case["valid"] and said is None
        except UnsureError as error:
            counts["unsure"] += 1
            print(row["id"], error)
    print(counts)
    assert not wrong
