"""Acceptance 5: equal configurations are one state. Counts are pinned: a change of one is a change of the engine's
normal forms and is explained where it is made.

Bytes are the tokens here, so that every count is one of configurations after bytes; what is counted is the distinct
states that the texts of a case pass through.
"""

from itertools import pairwise

import pytest

from constrain.compiled import compile_grammar
from constrain.grammars.json_schema import json_schema
from constrain.ir import Alt, Grammar, Literal, Ref, Repeat, Seq

A, B, OPEN, CLOSE, COMMA = (Literal(text) for text in (b"a", b"b", b"[", b"]", b","))
NEST = {"$ref": "#/$defs/n", "$defs": {"n": {"type": "array", "items": {"$ref": "#/$defs/n"}}}}
TREE = {
    "$ref": "#/$defs/n",
    "$defs": {
        "n": {
            "type": "object",
            "properties": {"l": {"$ref": "#/$defs/n"}, "v": {"type": "integer"}},
            "additionalProperties": False,
        }
    },
}


def states(compiled, *texts):
    """Return the distinct states that the texts pass through; every text is read to its end."""
    seen = {compiled.start}
    for text in texts:
        state = compiled.start
        for byte in text:
            state = compiled.advance(state, byte)
            assert state != 0, text
            seen.add(state)
    return seen


def nested(depth, width=2):
    return b"[" + b",".join([nested(depth - 1, width)] * width) + b"]" if depth > 1 else b"[]"


def schema(schema, **options):
    return json_schema(schema, **{"whitespace": "compact", **options})


def rules(start, **rules):
    return Grammar(Ref(start), rules)


# A list of n items visits as many states as a short one. (grammar, short texts, long texts)
LOOPS = {
    "array of integers": (lambda: schema({"type": "array", "items": {"type": "integer"}}), b"[12,3,-4,-56,1,-2,10]", b"[" + b"12,3,-4," * 300 + b"1]"),
    "array of strings": (lambda: schema({"type": "array", "items": {"type": "string"}}), b'["ab","","c","de"]', b"[" + b'"ab","",' * 300 + b'"de"]'),
    "array of objects": (
        lambda: schema({"type": "array", "items": {"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"], "additionalProperties": False}}),
        b'[{"a":true},{"a":false},{"a":true}]',
        b"[" + b'{"a":true},{"a":false},' * 200 + b'{"a":true}]',
    ),
    "list in the IR": (lambda: Grammar(Seq((OPEN, Repeat(Seq((Ref("i"), COMMA)), 0, None), CLOSE)), {"i": Alt((A, Seq((A, B))))}), b"[a,ab,a,]", b"[" + b"a,ab," * 300 + b"]"),
    "left recursion": (lambda: rules("s", s=Alt((A, Seq((Ref("s"), COMMA, A))))), b"a,a,a", b"a" + b",a" * 500),
    "right recursion": (lambda: rules("s", s=Alt((A, Seq((A, COMMA, Ref("s")))))), b"a,a,a", b"a" + b",a" * 500),
    "mutual left recursion": (lambda: rules("s", s=Alt((A, Seq((Ref("t"), A)))), t=Seq((Ref("s"), B))), b"abaaba"[:3] + b"ba", b"a" + b"ba" * 500),
    "mutual right recursion": (lambda: rules("s", s=Alt((A, Seq((A, Ref("t"))))), t=Seq((B, Ref("s")))), b"ababa", b"a" + b"ba" * 500),
    "nullable left recursion": (lambda: rules("s", s=Alt((Literal(b""), Seq((Ref("s"), A))))), b"aaa", b"a" * 500),
}  # fmt: skip


@pytest.mark.parametrize("name", LOOPS)
def test_loops_come_back_to_the_same_states(name, bytes_vocabulary):
    make, short, long = LOOPS[name]
    compiled = compile_grammar(make(), bytes_vocabulary)
    few = states(compiled, short)
    many = states(compiled, long)
    print(f"\n{name}: {len(few)} states after the short text, {len(few | many)} after the long one")
    assert many <= few


def count_by_depth(compiled, texts):
    return [len(states(compiled, *texts[: index + 1])) for index in range(len(texts))]


@pytest.mark.parametrize("width", [1, 2, 3])
@pytest.mark.parametrize("kind", ["schema", "IR"])
def test_nested_arrays_grow_by_a_constant(kind, width, bytes_vocabulary):
    """ENGINE.md section 5: a frame is the kernel that it returns to, so depth d costs O(d) sets."""
    items = Seq((Ref("s"), Repeat(Seq((COMMA, Ref("s"))), 0, None)))
    grammar = schema(NEST) if kind == "schema" else rules("s", s=Seq((OPEN, Repeat(items, 0, 1), CLOSE)))
    compiled = compile_grammar(grammar, bytes_vocabulary)
    counts = count_by_depth(compiled, [nested(depth, width) for depth in range(1, 11)])
    print(f"\nnested arrays of {kind}, width {width}, depth 1 to 10: {counts}")
    # What a depth adds is the same for every depth.
    assert {after - before for before, after in pairwise(counts[1:])} == {2 if width == 1 else 3}


def test_ambiguity_costs_one_state_a_letter(bytes_vocabulary):
    """s = a | s s: each letter may begin a call whose caller is known by where it stands, as in any Earley parser."""
    ambiguous = compile_grammar(rules("s", s=Alt((A, Seq((Ref("s"), Ref("s")))))), bytes_vocabulary)
    assert [len(states(ambiguous, b"a" * size)) for size in (10, 40, 160)] == [11, 41, 161]
    operators = compile_grammar(rules("s", s=Alt((A, Seq((Ref("s"), COMMA, Ref("s")))))), bytes_vocabulary)
    assert [len(states(operators, b"a" + b",a" * size)) for size in (10, 40, 160)] == [22, 82, 322]


def test_nested_objects_grow_by_a_constant(bytes_vocabulary):
    compiled = compile_grammar(schema(TREE), bytes_vocabulary)
    texts = [b'{"l":' * depth + b'{"v":1}' + b',"v":1}' * depth for depth in range(10)]
    counts = count_by_depth(compiled, texts)
    print(f"\nnested objects, depth 1 to 10: {counts}")
    assert {after - before for before, after in pairwise(counts[1:])} == {15}


def test_balanced_brackets_of_the_ir(bytes_vocabulary):
    compiled = compile_grammar(rules("s", s=Alt((Seq((OPEN, Ref("s"), CLOSE)), A))), bytes_vocabulary)
    counts = count_by_depth(compiled, [b"[" * depth + b"a" + b"]" * depth for depth in range(1, 11)])
    print(f"\nbrackets, depth 1 to 10: {counts}")
    assert {after - before for before, after in pairwise(counts)} == {2}


def test_both_keys_in_both_orders_meet(bytes_vocabulary):
    compiled = compile_grammar(
        schema(
            {"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 1}}, "additionalProperties": False},
            property_order="any",
        ),
        bytes_vocabulary,
    )
    ends = {compiled.advance_bytes(compiled.start, text) for text in (b'{"a":1,"b":1', b'{"b":1,"a":1')}
    assert len(ends) == 1


def test_a_long_array_stays_bounded(llama_vocabulary):
    """100,000 tokens of an array: the number of states does not grow after the first hundreds."""
    shape = {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "n": {"type": "integer"}, "ok": {"type": "boolean"}},
            "required": ["name", "n", "ok"],
            "additionalProperties": False,
        },
    }
    compiled = compile_grammar(json_schema(shape), llama_vocabulary)
    item = [
        token
        for piece in (b'{"name": "', b"a b", b'", "n": ', b"12", b', "ok": ', b"true", b"}, ")
        for token in llama_vocabulary.fewest_tokens(piece)
    ]
    state = compiled.advance_bytes(compiled.start, b"[")
    counts = []
    while len(counts) * len(item) < 100_000:
        for token_id in item:
            state = compiled.advance(state, token_id)
            assert state != 0
        counts.append(compiled.num_states)
    print(f"\nstates after 10 items {counts[10]}, after {len(counts) * len(item)} tokens {counts[-1]}")
    assert counts[-1] == counts[10]
