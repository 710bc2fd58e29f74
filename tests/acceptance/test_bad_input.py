"""Acceptance 8: hostile input gives a clear typed error or the right answer, within time and memory; nothing hangs.

One table: a name, what is done, and what may come of it: error classes, or OK where it must work. Each row runs in a
forked process of its own, with a wall-clock limit and a limit on memory, so that a row that hangs, eats memory or
crashes the interpreter fails alone.
"""

import multiprocessing
import os
import resource
import time

import pytest
from oracles.validator import Validator

from constrain.compiled import compile_grammar
from constrain.decoding.generate import generate
from constrain.decoding.table_model import TableModel
from constrain.errors import (
    BudgetError,
    ConstrainError,
    EmptyLanguageError,
    GrammarError,
    GrammarSyntaxError,
    LimitExceededError,
    TokenRejectedError,
    UnsupportedFeatureError,
    VocabularyError,
)
from constrain.grammars.choice import choice
from constrain.grammars.json_schema import json_schema
from constrain.grammars.regex import regex
from constrain.limits import Limits
from constrain.vocabulary import Vocabulary

SECONDS = 60
MEMORY = 6 << 30
OK = "ok"
DEEP = 100_000

BYTES = Vocabulary.from_tokens(
    [*(bytes((byte,)) for byte in range(256)), b"ab", b"aaaa", b"    ", b'":', b"</s>", None],
    eos_token_ids=[260], special_token_ids=[261], name="bytes",
)  # fmt: skip


def schema(value, *members, refused=(), **options):
    """Compile a schema; try texts."""
    compiled = compile_grammar(json_schema(value, **options), BYTES)
    check(compiled, members, refused)


def pattern(text, *members, refused=()):
    check(compile_grammar(regex(text), BYTES), members, refused)


def check(compiled, members, refused):
    for text in members:
        assert compiled.accepts(text.encode()), f"{text[:60]!r} is refused"
    for text in refused:
        assert not compiled.accepts(text.encode()), f"{text[:60]!r} is accepted"
    row = compiled.bitmask(compiled.start)
    assert row.any()
    assert compiled.completion(compiled.start)[-1] in BYTES.eos_token_ids


def fed(value, text):
    """Read a long text with a compiled schema: whether it is accepted."""
    return compile_grammar(json_schema(value), BYTES).accepts(text.encode())


def truth(claim):
    assert claim


def nest(depth, inner="true", key="items"):
    return f'{{"{key}":' * depth + inner + "}" * depth


def answer(prompt="hi", vocabulary=BYTES, **keywords):
    return generate(TableModel(vocabulary, seed=1), prompt, **keywords)


def ref_chain(size):
    return {
        "$defs": {f"d{i}": {"$ref": f"#/$defs/d{i + 1}"} for i in range(size)} | {f"d{size}": {"type": "null"}},
        "$ref": "#/$defs/d0",
    }


A_IS_A_OR_STRING = {"$defs": {"A": {"anyOf": [{"$ref": "#/$defs/A"}, {"type": "string"}]}}, "$ref": "#/$defs/A"}
ANY_JSON = {}
SYNTAX, EMPTY, LIMIT, UNSUPPORTED = GrammarSyntaxError, EmptyLanguageError, LimitExceededError, UnsupportedFeatureError

# name: (call, what may come of it)
TABLE = {
    # Not JSON, not a schema
    "schema text: empty": (lambda: schema(""), (SYNTAX,)),
    "schema text: not JSON": (lambda: schema("{type: string}"), (SYNTAX,)),
    "schema text: half": (lambda: schema('{"type":"object","properties":{'), (SYNTAX,)),
    "schema text: two documents": (lambda: schema("{} {}"), (SYNTAX,)),
    "schema text: a list": (lambda: schema("[1]"), (SYNTAX, TypeError)),
    "schema text: NaN": (lambda: schema('{"maximum": NaN}'), (SYNTAX,)),
    "schema text: key twice": (lambda: schema('{"type":"string","type":"null"}'), (SYNTAX,)),
    "schema text: lone surrogate": (lambda: schema('{"const":"\\ud800"}'), (SYNTAX, EMPTY)),
    "schema text: invalid UTF-8": (lambda: schema(b'{"const":"\xff"}'), (SYNTAX, TypeError)),
    "schema: number": (lambda: schema(5), (SYNTAX, TypeError)),
    "schema: NaN": (lambda: schema({"const": float("nan")}), (SYNTAX,)),
    "schema: infinite bound": (lambda: schema({"type": "number", "maximum": float("inf")}), (SYNTAX,)),
    "schema: lone surrogate in const": (lambda: schema({"const": "\ud800"}), (SYNTAX, EMPTY)),
    "schema: lone surrogate in a key": (lambda: schema({"properties": {"\ud800": {}}, "required": ["\ud800"], "type": "object"}), (SYNTAX, EMPTY)),
    "schema: type unknown": (lambda: schema({"type": "strnig"}), (SYNTAX, UNSUPPORTED)),
    "schema: type is a number": (lambda: schema({"type": 3}), (SYNTAX,)),
    "schema: properties is a list": (lambda: schema({"properties": []}), (SYNTAX,)),
    "schema: required is a string": (lambda: schema({"required": "a"}), (SYNTAX,)),
    "schema: negative maxLength": (lambda: schema({"maxLength": -1}), (SYNTAX,)),
    "schema: maxLength is a half": (lambda: schema({"maxLength": 0.5}), (SYNTAX,)),
    "schema: minimum is a string": (lambda: schema({"minimum": "1"}), (SYNTAX,)),
    "schema: enum is no list": (lambda: schema({"enum": "abc"}), (SYNTAX,)),
    "schema: unknown keyword": (lambda: schema({"typ": "string"}, '"a"'), (OK, UNSUPPORTED)),
    "schema: contains itself": (lambda: schema(cyclic(), "[[],[[]]]", refused=["1", "[1]"]), (OK, SYNTAX, LIMIT)),
    # Depth
    "schema text 100,000 deep": (lambda: schema(nest(DEEP), "[]"), (LIMIT, SYNTAX, OK)),
    "schema text of 100,000 brackets": (lambda: schema("[" * DEEP), (LIMIT, SYNTAX)),
    "schema 5,000 deep": (lambda: schema(nest(5_000), "[]", "[[[[]]]]"), (OK, LIMIT)),
    "schema dict 20,000 deep": (lambda: schema(deep_dict(20_000)), (LIMIT, OK)),
    "anyOf 5,000 deep": (lambda: schema(deep_anyof(5_000), "null"), (OK, LIMIT)),
    "const 5,000 deep": (lambda: schema('{"const":' + "[" * 5_000 + "]" * 5_000 + "}", "[" * 5_000 + "]" * 5_000, whitespace="compact"), (OK, LIMIT)),
    "text of 100,000 brackets": (lambda: truth(fed(ANY_JSON, "[" * DEEP + "]" * DEEP)), (OK, LIMIT)),
    "text of 100,000 open brackets": (lambda: truth(not fed(ANY_JSON, "[" * DEEP)), (OK, LIMIT)),
    "text of 20,000 nested objects": (lambda: truth(fed(ANY_JSON, '{"a":' * 20_000 + "1" + "}" * 20_000)), (OK, LIMIT)),
    # Size
    "enum of 100,000": (lambda: schema({"enum": [f"value {i}" for i in range(100_000)]}, '"value 99999"', refused=['"value 100000"']), (OK,)),
    "enum of 100,000 objects": (lambda: schema({"enum": [{"a": i} for i in range(100_000)]}, '{"a":99999}', whitespace="compact"), (OK, LIMIT)),
    "enum of one text of 10 MB": (lambda: schema({"const": "a" * 10_000_000}), (OK, LIMIT)),
    "20,000 properties": (lambda: schema({"type": "object", "properties": {f"p{i}": {"type": "integer"} for i in range(20_000)}}, '{"p19999":1}'), (OK, LIMIT)),
    "2,000 required properties in any order": (lambda: schema({"type": "object", "required": [f"p{i}" for i in range(2_000)]}, property_order="any"), (OK, LIMIT)),
    "20 overlapping shapes": (lambda: schema({"anyOf": [{"type": "object", "properties": {f"k{(i * j) % 13}": {"type": "integer", "minimum": i} for j in range(10)}} for i in range(20)]}, '{"k0":25}'), (OK, LIMIT, UNSUPPORTED)),
    "allOf of 30 anyOfs": (lambda: schema({"allOf": [{"anyOf": [{"minimum": i}, {"maximum": -i}, {"type": "string"}]} for i in range(30)]}), (OK, LIMIT, UNSUPPORTED)),
    "choice of 300,000": (lambda: check(compile_grammar(choice([f"item {i}" for i in range(300_000)]), BYTES), ["item 299999"], ["item 300000"]), (OK,)),
    "maxItems 10^9": (lambda: schema({"type": "array", "maxItems": 10**9}, "[]", "[1]"), (OK, LIMIT)),
    "minItems 10^6": (lambda: schema({"type": "array", "items": {"type": "null"}, "minItems": 10**6}), (OK, LIMIT)),
    "maxLength 10^6": (lambda: schema({"type": "string", "maxLength": 10**6}, '"a"'), (OK, LIMIT)),
    "minLength 10^9": (lambda: schema({"type": "string", "minLength": 10**9}), (LIMIT,)),
    "a bound of 10,000 digits": (lambda: schema('{"type":"integer","minimum":' + "9" * 10_000 + "}"), (OK, LIMIT, UNSUPPORTED, SYNTAX)),
    "a bound of 1e400": (lambda: schema('{"type":"number","minimum":1e400}'), (OK, LIMIT, UNSUPPORTED, SYNTAX, EMPTY)),
    "a bound of 1e1000000000": (lambda: schema('{"type":"number","maximum":1e1000000000}'), (OK, LIMIT, UNSUPPORTED, SYNTAX)),
    # References
    "unresolvable $ref": (lambda: schema({"$ref": "#/$defs/no"}), (SYNTAX,)),
    "$ref to elsewhere": (lambda: schema({"$ref": "https://example.org/s.json"}), (SYNTAX, UNSUPPORTED)),
    "$ref is a number": (lambda: schema({"$ref": 5}), (SYNTAX,)),
    "$ref bad pointer": (lambda: schema({"$ref": "#/%zz/~3"}), (SYNTAX,)),
    "$ref to itself": (lambda: schema({"$ref": "#"}), (EMPTY, SYNTAX)),
    "$ref in a ring": (lambda: schema({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}), (EMPTY, SYNTAX)),
    "$ref to itself, optional": (lambda: schema({"type": "object", "properties": {"a": {"$ref": "#/properties/a"}, "b": {}}}, '{"b":1}'), (OK, EMPTY, SYNTAX)),
    "A = anyOf[A, string]": (lambda: schema(A_IS_A_OR_STRING, '"a"', refused=["1"]), (OK, SYNTAX)),
    "A = allOf[A]": (lambda: schema({"$defs": {"A": {"allOf": [{"$ref": "#/$defs/A"}]}}, "$ref": "#/$defs/A"}), (EMPTY, SYNTAX, UNSUPPORTED)),
    "A = not A": (lambda: schema({"$defs": {"A": {"not": {"$ref": "#/$defs/A"}}}, "$ref": "#/$defs/A"}), (SYNTAX, UNSUPPORTED, EMPTY)),
    "A = oneOf[A, A]": (lambda: schema({"$defs": {"A": {"oneOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/A"}]}}, "$ref": "#/$defs/A"}), (SYNTAX, UNSUPPORTED, EMPTY)),
    "an infinite document only": (lambda: schema({"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]}), (EMPTY,)),
    "an infinite array only": (lambda: schema({"type": "array", "items": {"$ref": "#"}, "minItems": 1}), (EMPTY,)),
    "a chain of 5,000 $refs": (lambda: schema(ref_chain(5_000), "null", refused=["1"]), (OK, LIMIT)),
    # Contradictions
    "enum: []": (lambda: schema({"enum": []}), (EMPTY, SYNTAX)),
    "false": (lambda: schema(False), (EMPTY,)),
    "type: []": (lambda: schema({"type": []}), (EMPTY, SYNTAX)),
    "anyOf: []": (lambda: schema({"anyOf": []}), (EMPTY, SYNTAX)),
    "minimum over maximum": (lambda: schema({"type": "integer", "minimum": 5, "maximum": 4}), (EMPTY,)),
    "no integer between": (lambda: schema({"type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 2}), (EMPTY,)),
    "minLength over maxLength": (lambda: schema({"type": "string", "minLength": 2, "maxLength": 1}), (EMPTY,)),
    "minItems over maxItems": (lambda: schema({"type": "array", "minItems": 2, "maxItems": 1}), (EMPTY,)),
    "contradiction in a required property": (lambda: schema({"type": "object", "required": ["a"], "properties": {"a": {"enum": []}}}), (EMPTY, SYNTAX)),
    "contradiction in an optional property": (lambda: schema({"type": "object", "properties": {"a": {"type": "integer", "minimum": 5, "maximum": 4}}}, "{}", refused=['{"a":4}', '{"a":5}']), (OK,)),
    "required but not allowed": (lambda: schema({"type": "object", "required": ["a"], "additionalProperties": False}), (EMPTY,)),
    "const against type": (lambda: schema({"const": 5, "type": "string"}), (EMPTY,)),
    "pattern against maxLength": (lambda: schema({"type": "string", "pattern": "^a{5}$", "maxLength": 4}), (EMPTY,)),
    "two patterns apart": (lambda: schema({"allOf": [{"pattern": "^a"}, {"pattern": "^b"}], "type": "string"}), (EMPTY, UNSUPPORTED)),
    "NaN as an instance": (lambda: schema({"type": "number"}, "1", refused=["NaN", "Infinity", "-Infinity"]), (OK,)),
    "a lone surrogate as an instance": (lambda: schema({"type": "string"}, '"\\ud83d\\ude00"', refused=['"\\ud83d"', '"\\ude00\\ud83d"']), (OK,)),
    # Patterns
    "(a*)*b": (lambda: pattern("(a*)*b", "a" * 50_000 + "b", refused=["a" * 50_000]), (OK,)),
    "(a|a)*b": (lambda: pattern("(a|a)*b", "a" * 50_000 + "b", refused=["a" * 50_000]), (OK,)),
    "(a?){5000}a{5000}": (lambda: pattern("(a?){5000}a{5000}", "a" * 5_000, "a" * 10_000, refused=["a" * 4_999, "a" * 10_001]), (OK, LIMIT)),
    ".{1,100000}x": (lambda: pattern(".{1,100000}x", "yx", "y" * 3_000 + "x", refused=["x", "y"]), (OK, LIMIT)),
    "(.{1,100000}x)*": (lambda: pattern("(.{1,100000}x)*", "yx" * 500, refused=["y"]), (OK, LIMIT)),
    "(a{1,1000}){1,1000}": (lambda: pattern("(a{1,1000}){1,1000}", "a", "a" * 3_000), (OK, LIMIT)),
    "((a{1,100}){1,100}){1,100}b": (lambda: pattern("((a{1,100}){1,100}){1,100}b", "ab"), (OK, LIMIT)),
    "[ab]*a[ab]{16}": (lambda: pattern("[ab]*a[ab]{16}", "a" * 17, refused=["b" * 17]), (OK,)),
    "[ab]*a[ab]{300}c": (lambda: pattern("[ab]*a[ab]{300}c", "a" * 301 + "c", refused=["b" * 301 + "c"]), (OK, LIMIT)),
    "a{10000000000}": (lambda: pattern("a{10000000000}"), (LIMIT, SYNTAX)),
    "a{2,1}": (lambda: pattern("a{2,1}"), (SYNTAX, EMPTY)),
    "100,000 open brackets": (lambda: pattern("(" * DEEP), (SYNTAX, LIMIT)),
    "100,000 nested groups": (lambda: pattern("(" * DEEP + "a" + ")" * DEEP, "a"), (OK, LIMIT)),
    "100,000 alternatives": (lambda: pattern("|".join(f"w{i}" for i in range(DEEP)), "w99999", refused=["w100000"]), (OK, LIMIT)),
    "a text of 1 MB as a pattern": (lambda: pattern("a" * 1_000_000), (OK, LIMIT)),
    "empty pattern": (lambda: pattern("", "", refused=["a"]), (OK,)),
    "[]": (lambda: pattern("[]"), (SYNTAX, EMPTY)),
    "a lone backslash": (lambda: pattern("\\"), (SYNTAX,)),
    "back-reference": (lambda: pattern(r"(a)\1"), (UNSUPPORTED, SYNTAX)),
    "(?!)": (lambda: pattern("(?!)"), (EMPTY, UNSUPPORTED)),
    "a(?=b)": (lambda: pattern("a(?=b)"), (EMPTY, UNSUPPORTED)),
    "lone surrogate in a pattern": (lambda: pattern("\ud800"), (SYNTAX, EMPTY, UNSUPPORTED)),
    "a bad pattern in a schema": (lambda: schema({"type": "string", "pattern": "("}), (SYNTAX,)),
    "(a*)*b in a schema": (lambda: schema({"type": "string", "pattern": "^(a*)*b$"}, '"' + "a" * 10_000 + 'b"'), (OK,)),
    "pattern and maxLength in a schema": (lambda: schema({"type": "string", "pattern": "^(ab|a)*$", "maxLength": 5_000}, '"' + "ab" * 2_500 + '"', refused=['"' + "ab" * 2_501 + '"']), (OK, LIMIT)),
    # Choices
    "choice of nothing": (lambda: compile_grammar(choice([]), BYTES), (EMPTY,)),
    "choice of the empty text": (lambda: check(compile_grammar(choice([""]), BYTES), [""], ["a"]), (OK,)),
    "choice of a text": (lambda: choice("abc"), (TypeError,)),
    "choice with a lone surrogate": (lambda: choice(["\ud800"]), (SYNTAX,)),
    # Limits
    "a limit of 0 seconds": (lambda: compile_grammar(json_schema({}), BYTES, Limits(max_compile_seconds=0)), (LIMIT,)),
    "a tiny limit of literals": (lambda: choice(["a", "b"], limits=Limits(max_literals=1)), (LIMIT,)),
    # Vocabularies
    "vocabulary that cannot spell it": (lambda: compile_grammar(regex("b"), Vocabulary.from_tokens([b"a", None], [1])), (EMPTY, VocabularyError)),
    "vocabulary without an end": (lambda: compile_grammar(regex("a*"), Vocabulary.from_tokens([b"a"])).matcher().fill_next_token_bitmask(zeros(1, 1)), (OK, VocabularyError)),
    "vocabulary of nothing": (lambda: Vocabulary.from_tokens([]), (VocabularyError,)),
    "an end outside the vocabulary": (lambda: Vocabulary.from_tokens([b"a"], [7]), (VocabularyError,)),
    "mask narrower than the vocabulary": (lambda: compile_grammar(regex("a"), BYTES).matcher().fill_next_token_bitmask(zeros(1, 3)), (ValueError,)),
    "mask of the wrong type": (lambda: compile_grammar(regex("a"), BYTES).matcher().fill_next_token_bitmask(zeros(1, 9).astype("int64")), (ValueError,)),
    "token id outside the vocabulary": (lambda: compile_grammar(regex("a"), BYTES).matcher().try_accept_token(10**6), (ValueError, IndexError, OK)),
    "a forbidden token": (lambda: compile_grammar(regex("a"), BYTES).matcher().accept_token(98), (TokenRejectedError,)),
    "special token as text": (lambda: refuse_special(), (OK,)),
    "constraint of another vocabulary": (lambda: answer(constraint=compile_grammar(regex("a"), Vocabulary.from_tokens([b"a", None], [1]))), (VocabularyError, ValueError)),
    # Generation
    "max_tokens 0": (lambda: answer(regex="a+", max_tokens=0), (BudgetError, ValueError)),
    "max_tokens 1, too few": (lambda: answer(regex="a+", max_tokens=1), (BudgetError,)),
    "max_tokens 1, enough": (lambda: truth(answer(regex="a*", max_tokens=1).text == ""), (OK,)),
    "max_tokens 2": (lambda: truth(answer(regex="a{1,4}", max_tokens=2).text in ("a", "aaaa")), (OK,)),
    "max_tokens -1": (lambda: answer(regex="a+", max_tokens=-1), (ValueError,)),
    "max_tokens for a schema": (lambda: valid_answer({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}, 14), (OK,)),
    "empty prompt": (lambda: answer("", regex="ab"), (OK, ValueError)),
    "prompt with special-token text": (lambda: truth(answer("</s> hi </s>", regex="ab+").text.startswith("ab")), (OK,)),
    "prompt with a lone surrogate": (lambda: answer("\ud800", regex="ab"), (ValueError,)),
    "prompt is a number": (lambda: answer(5, regex="ab"), (TypeError, ValueError)),
    "two constraints": (lambda: answer(regex="ab", choice=["a"]), (ValueError, TypeError)),
    "temperature -1": (lambda: answer(regex="ab", temperature=-1.0), (ValueError,)),
    "temperature NaN": (lambda: answer(regex="ab", temperature=float("nan")), (ValueError,)),
}  # fmt: skip


# Rows that take seconds; in the default run the others show the same.
SLOW = {
    "(a?){5000}a{5000}", "(a{1,1000}){1,1000}", "((a{1,100}){1,100}){1,100}b", "100,000 alternatives", "20,000 properties",
    "const 5,000 deep", "minItems 10^6", "pattern and maxLength in a schema", "2,000 required properties in any order",
    "a text of 1 MB as a pattern", "enum of one text of 10 MB", "enum of 100,000 objects",
}  # fmt: skip


def zeros(rows, words):
    import numpy as np

    return np.zeros((rows, words), dtype=np.int32)


def cyclic():
    value = {"type": "array"}
    value["items"] = value
    return value


def deep_dict(depth):
    value = True
    for _ in range(depth):
        value = {"items": value}
    return value


def deep_anyof(depth):
    value = {"type": "null"}
    for _ in range(depth):
        value = {"anyOf": [value]}
    return value


def refuse_special():
    compiled = compile_grammar(regex(".*"), BYTES)
    row = compiled.bitmask(compiled.start)
    for token_id in (261,):
        assert not row[token_id // 32] >> token_id % 32 & 1
        assert not compiled.matcher().try_accept_token(token_id)


def valid_answer(value, max_tokens):
    text = answer(schema=value, max_tokens=max_tokens).text
    assert Validator(value).accepts(text), text


def child(name, pipe):
    """Run one row and say what came of it."""
    with open("/proc/self/statm", encoding="ascii") as stream:
        used = int(stream.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    began = time.perf_counter()
    call, expected = TABLE[name]
    try:
        call()
        said, fits = OK, OK in expected
    except BaseException as error:
        classes = tuple(kind for kind in expected if kind != OK)
        message = " ".join(str(error).split())
        said = f"{type(error).__name__}: {message[:160]}"
        fits = isinstance(error, classes) and bool(message) and len(str(error)) < 5_000
    pipe.send((said, fits, time.perf_counter() - began))
    pipe.close()


def run_row(name):
    """Return (what came of it, whether that is allowed, seconds)."""
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=child, args=(name, send))
    process.start()
    send.close()
    try:
        result = receive.recv() if receive.poll(SECONDS) else ("hangs", False, float(SECONDS))
    except EOFError:
        process.join(10)
        result = (f"the process ended with {process.exitcode}", False, 0.0)
    process.kill()
    process.join()
    return result


@pytest.fixture(scope="module", autouse=True)
def warm():
    """Compile the kernels before the first fork; print the table at the end."""
    compile_grammar(regex("ab?"), BYTES).accepts(b"a")
    rows = []
    yield rows
    print()
    for name, (said, fits, seconds) in rows:
        print(f"{'  ' if fits else '! '}{name[:44]:44} {seconds:6.2f} s  {said}"[:220])


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.acceptance) if n in SLOW else n for n in TABLE])
def test_bad_input(name, warm):
    result = run_row(name)
    warm.append((name, result))
    said, fits, _ = result
    assert fits, f"{name}: {said}; expected one of {[getattr(kind, '__name__', kind) for kind in TABLE[name][1]]}"


def test_the_table_covers_the_errors():
    used = {kind for _, expected in TABLE.values() for kind in expected}
    for kind in (
        GrammarSyntaxError,
        UnsupportedFeatureError,
        EmptyLanguageError,
        LimitExceededError,
        VocabularyError,
        BudgetError,
        TokenRejectedError,
    ):
        assert kind in used
        assert issubclass(kind, ConstrainError)
    assert issubclass(EmptyLanguageError, GrammarError)
