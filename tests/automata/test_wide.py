"""Objects with many members and tokens of many bytes: what grows with them, and what their ends cost."""

from __future__ import annotations

import json

import numpy as np
import pytest

from constrain.automata.arena import Workspace
from constrain.automata.machine import Machine
from constrain.compiled import CompiledGrammar, compile_grammar
from constrain.errors import LimitExceededError
from constrain.grammars.choice import choice
from constrain.grammars.json_schema import json_schema
from constrain.grammars.regex import regex
from constrain.kernels.token_bitmask import unpack_bitmask
from constrain.limits import DEFAULT_LIMITS, Limits
from constrain.vocabulary import Vocabulary

MANY = 600
PIECES = [
    b'{"',
    b'{"p',
    b'"p',
    b"p1",
    b'"p59',
    b',"p',
    b', "p3',
    b'7":',
    b'":1',
    b'1,"p1',
    b' "',
    b'"zz',
    b"1}",
    b'\n"p5',
]
BYTES = Vocabulary.from_tokens(
    [*(bytes((byte,)) for byte in range(256)), *PIECES, None], eos_token_ids=[256 + len(PIECES)]
)


def wide(count: int, *, required: int = 0, extra: bool = False) -> dict[str, object]:
    names = [f"p{i}" for i in range(count)]
    properties = {name: {"enum": [1]} for name in names}
    return {"type": "object", "properties": properties, "required": names[:required], "additionalProperties": extra}


def mask_by_steps(compiled: CompiledGrammar, state: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.array([compiled.advance(state, token) > 0 for token in range(compiled.vocabulary.vocab_size)])


@pytest.mark.parametrize("order", ["schema", "any"])
@pytest.mark.parametrize("extra", [False, True])
def test_masks_of_a_wide_object_are_what_its_tokens_do(order: str, extra: bool) -> None:
    grammar = json_schema(wide(MANY, extra=extra), property_order=order, whitespace="flexible")
    compiled = compile_grammar(grammar, BYTES)
    state = compiled.start
    for byte in b'{"p0":1, "p17":1,"p5' if order == "schema" else b'{"p599":1, "p17":1,"p5':
        mask = unpack_bitmask(compiled.bitmask(state), BYTES.vocab_size)
        np.testing.assert_array_equal(mask.astype(bool), mask_by_steps(compiled, state))
        state = compiled.advance_bytes(state, bytes((byte,)))
    assert compiled.next_bytes(state) >= set(b"0123456789")


def test_a_member_in_any_order_comes_once() -> None:
    compiled = compile_grammar(json_schema(wide(MANY), property_order="any", whitespace="compact"), BYTES)
    assert compiled.accepts(b'{"p3":1,"p599":1,"p0":1}')
    assert not compiled.accepts(b'{"p3":1,"p599":1,"p3":1}')


def test_readings_beyond_the_limit_are_refused() -> None:
    compiled = compile_grammar(json_schema(wide(MANY), whitespace="compact"), BYTES, Limits(max_readings=MANY - 1))
    with pytest.raises(LimitExceededError, match=f"max_readings={MANY - 1}"):
        compiled.advance_bytes(compiled.start, b'{"')


def test_frames_do_not_outgrow_the_memory() -> None:
    machine = Machine(regex("a"), BYTES, Limits(max_memory=1 << 20))
    workspace = Workspace(4, 8)
    before = workspace.free, workspace.arena.capacity("walk")
    machine._grow_walk(workspace)
    assert (workspace.free, workspace.arena.capacity("walk")) == (before[0], 2 * before[1])
    while 2 * workspace.arena.nbytes < 1 << 20:
        machine._grow_walk(workspace)
    with pytest.raises(LimitExceededError, match="max_memory"):
        machine._grow_walk(workspace)


def test_a_token_of_many_bytes() -> None:
    long = b"a" * 30_000
    vocabulary = Vocabulary.from_tokens([b"a", b"b", long, long[:-1] + b"b", None], eos_token_ids=[4])
    compiled = compile_grammar(choice([long.decode(), long.decode() + "b", "b"]), vocabulary)
    assert unpack_bitmask(compiled.bitmask(compiled.start), 5).tolist() == [1, 1, 1, 0, 0]
    assert Workspace(len(long), DEFAULT_LIMITS.max_readings).arena.nbytes < 1 << 20
    assert compiled.completion(compiled.start) == [1, 4]


def completed(schema: dict[str, object], order: str = "any") -> bytes:
    compiled = compile_grammar(json_schema(schema, property_order=order, whitespace="compact"), BYTES)
    data = BYTES.decode(compiled.completion(compiled.start))
    assert compiled.accepts(data)
    return data


@pytest.mark.parametrize(("count", "required"), [(200, 200), (200, 100), (200, 1), (200, 0)])
def test_what_is_required_completes_a_wide_object_and_nothing_else(count: int, required: int) -> None:
    value = json.loads(completed(wide(count, required=required)))
    assert sorted(value) == sorted(f"p{i}" for i in range(required))


def test_wide_objects_inside_a_wide_object() -> None:
    inner = wide(30, required=20)
    schema = wide(40, required=40) | {"properties": {f"p{i}": inner for i in range(40)}}
    value = json.loads(completed(schema))
    assert len(value) == 40
    assert {len(members) for members in value.values()} == {20}


def test_the_work_of_a_completion_is_a_few_transitions_a_member() -> None:
    compiled = compile_grammar(json_schema(wide(300, required=300), property_order="any", whitespace="compact"), BYTES)
    compiled.completion(compiled.start)
    assert compiled.machine.completer._work < 300 * 6


@pytest.mark.parametrize(
    ("pattern", "least"),
    [
        ("(ab){3000,9000}c", 6001),
        ("[a-z]{2000,}x?", 2000),
        ("(a|bc){1500,4000}", 1500),
        ("x(ab?){2000}(cd){700,}", 3401),
        ("a{5,90000}b", 6),
        ("(a{700,800}b){3}", 2103),
    ],
)
def test_large_counts_are_completed_in_laps(pattern: str, least: int) -> None:
    compiled = compile_grammar(regex(pattern), BYTES)
    completer = compiled.machine.completer
    text = completer.text(compiled.start)
    assert len(text) == least
    assert compiled.accepts(text)
    assert completer._work < 400
    later = compiled.advance_bytes(compiled.start, text[: least // 3])
    rest = completer.text(later)
    assert len(rest) == least - least // 3
    assert compiled.is_accepting(compiled.advance_bytes(later, rest))


def test_a_long_string_is_completed_in_laps() -> None:
    schema = {"type": "array", "items": {"type": "string", "minLength": 5_000}, "minItems": 2}
    compiled = compile_grammar(json_schema(schema, whitespace="compact"), BYTES)
    text = compiled.machine.completer.text(compiled.start)
    assert [len(item) for item in json.loads(text)] == [5_000, 5_000]
    assert compiled.machine.completer._work < 400


def test_what_is_needed_to_the_end_is_known_exactly_through_many_levels() -> None:
    schema: dict[str, object] = {"type": "object", "required": ["x", "y"], "properties": {"x": {"type": "string"}}}
    for level in range(6):
        items = {"type": "array", "minItems": 1, "items": schema}
        schema = {
            "type": "object",
            "required": ["k", "l"],
            "properties": {"k": items if level % 2 else schema, "l": {}},
        }
    compiled = compile_grammar(json_schema(schema, property_order="any", whitespace="compact"), BYTES)
    completer = compiled.machine.completer
    text = completer.text(compiled.start)
    assert completer.costs.estimate(compiled.start) == len(text)
    for at in range(0, len(text), 7):
        assert completer.costs.estimate(compiled.advance_bytes(compiled.start, text[:at])) == len(text) - at
    assert completer._work < 200
