"""Wrong kinds and odd values of arguments: each ends in an error that says `name=value; expected ...`."""

import copy
import gc
import math
import pickle
import threading

import numpy as np
import pytest

import constrain
from constrain import ir
from constrain.automata.tables import Tables
from constrain.decoding.generate import Request
from constrain.decoding.table_model import TableModel
from constrain.errors import EmptyLanguageError, GrammarSyntaxError, LimitExceededError, VocabularyError
from constrain.kernels import token_bitmask
from constrain.limits import Limits
from constrain.vocabulary import Vocabulary
from tests.byte_tokens import BYTES
from tests.raising import raises_exactly

GRAMMAR = constrain.regex("[a-c]+d?")
COMPILED = constrain.compile(GRAMMAR, BYTES)
MODEL = TableModel(BYTES, seed=1)
BITMASK = np.zeros((2, 9), dtype=np.int32)
READ_ONLY = BITMASK.copy()
READ_ONLY.flags.writeable = False
LOGITS = np.zeros((2, 257), dtype=np.float32)
SURROGATE = "\ud800"


def generate(**keywords):
    return constrain.generate(MODEL, "a", **{"regex": "a", **keywords})


def schema(document, **options):
    return constrain.json_schema(document, **options)


def tokens(*args, **keywords):
    return Vocabulary.from_tokens(*args, **keywords)


START = COMPILED.start
ROWS = [
    # Front ends
    (ValueError, "flags='q'; expected letters", lambda: constrain.regex("a", flags="q")),
    (TypeError, "flags=3, of type int", lambda: constrain.regex("a", flags=3)),
    (TypeError, "search='x', of type str", lambda: constrain.regex("a", search="x")),
    (TypeError, "pattern=b'a', of type bytes", lambda: constrain.regex(b"a")),
    (ValueError, "unknown dialect=3", lambda: constrain.regex("a", dialect=3)),
    (TypeError, "limits={}, of type dict", lambda: constrain.regex("a", limits={})),
    (TypeError, "limits=0, of type int", lambda: constrain.choice(["a"], limits=0)),
    (TypeError, "limits=.., of type list", lambda: schema({}, limits=[])),
    (TypeError, "texts='a', of type str", lambda: constrain.choice("a")),
    (TypeError, "texts=None, of type NoneType", lambda: constrain.choice(None)),
    (TypeError, "texts.1.=1, of type int", lambda: constrain.choice(["a", 1])),
    (ValueError, "max_states=-1; expected max_states >= 0", lambda: Limits(max_states=-1)),
    (TypeError, "max_states='x', of type str", lambda: Limits(max_states="x")),
    (TypeError, "max_states=nan, of type float", lambda: Limits(max_states=math.nan)),
    (TypeError, "max_repeat=True, of type bool", lambda: Limits(max_repeat=True)),
    (ValueError, "max_compile_seconds=nan", lambda: Limits(max_compile_seconds=math.nan)),
    (TypeError, "max_compile_seconds='1'", lambda: Limits(max_compile_seconds="1")),
    (GrammarSyntaxError, "# must have strings as keys, got 1", lambda: schema({1: 2})),
    (GrammarSyntaxError, "#/.id must be a string, got 5", lambda: schema({"$id": 5})),
    (GrammarSyntaxError, "#/.schema must be a string, got 5", lambda: schema({"$schema": 5})),
    (GrammarSyntaxError, "#/items/.anchor must be a string", lambda: schema({"items": {"$anchor": []}})),
    (GrammarSyntaxError, "#/.defs must be an object", lambda: schema({"$defs": 5})),
    (GrammarSyntaxError, "is no reference", lambda: schema({"$id": "http://[::1", "$ref": "a"})),
    (TypeError, "whitespace=True; expected 'flexible', 'compact', or 0 to 64", lambda: schema({}, whitespace=True)),
    (TypeError, "max_digits=5; expected three numbers", lambda: schema({}, max_digits=5)),
    (ValueError, "max_digits=.1, 2.; expected three numbers", lambda: schema({}, max_digits=(1, 2))),
    (TypeError, "max_string=True, of type bool", lambda: schema({}, max_string=True)),
    (TypeError, "formats=1, of type int; expected", lambda: schema({}, formats=1)),
    (TypeError, "max_whitespace='a'", lambda: schema({}, max_whitespace="a")),
    # Compiling
    (TypeError, "grammar='a', of type str; expected a Grammar", lambda: constrain.compile("a", BYTES)),
    (TypeError, "vocabulary=None, of type NoneType", lambda: constrain.compile(GRAMMAR, None)),
    (TypeError, "vocabulary=None, of type NoneType", lambda: constrain.CompiledGrammar(GRAMMAR, None, Limits())),
    (TypeError, "limits={}, of type dict", lambda: constrain.compile(GRAMMAR, BYTES, limits={})),
    (ValueError, "str: is no node", lambda: constrain.compile(constrain.Grammar("a"), BYTES)),
    (TypeError, "compiled=None, of type NoneType", lambda: constrain.Matcher(None)),
    # States and bytes
    (TypeError, "state=None, of type NoneType", lambda: COMPILED.advance(None, 97)),
    (TypeError, "state=.., of type list", lambda: COMPILED.advance([], 97)),
    (ValueError, "state=-7; expected `start`", lambda: COMPILED.advance(-7, 97)),
    (ValueError, "state=1000000; expected `start`", lambda: COMPILED.bitmask(10**6)),
    (ValueError, "state=3; expected `start`", lambda: COMPILED.is_accepting(3)),
    (ValueError, "state=[0-9]+; expected `start`", lambda: COMPILED.next_bytes(10**30)),
    (TypeError, "state=True, of type bool", lambda: COMPILED.bitmask(True)),
    (TypeError, "state=1.0, of type float", lambda: COMPILED.fill_bitmask(1.0, BITMASK)),
    (TypeError, "state=True, of type bool", lambda: COMPILED.advance(True, 97)),
    (TypeError, "state=None", lambda: COMPILED.distance(None)),
    (TypeError, "data='a', of type str; expected bytes", lambda: COMPILED.accepts("a")),
    (TypeError, "data=5, of type int; expected bytes", lambda: COMPILED.advance_bytes(START, 5)),
    (TypeError, "budget=2.5, of type float", lambda: COMPILED.allowed_within(START, 2.5)),
    (ValueError, "limit=-1; expected limit >= 0", lambda: COMPILED.forced_bytes(START, -1)),
    (ValueError, "num_tokens=5; expected 0 <= num_tokens < 1", lambda: COMPILED.matcher().rollback(5)),
    (TypeError, "num_tokens=False, of type bool", lambda: COMPILED.matcher().rollback(False)),
    # Bitmasks
    (ValueError, "row=-1; expected 0 <= row < 2", lambda: COMPILED.fill_bitmask(START, BITMASK, -1)),
    (ValueError, "row=2; expected 0 <= row < 2", lambda: COMPILED.fill_bitmask(START, BITMASK, 2)),
    (TypeError, "row=True, of type bool", lambda: COMPILED.fill_bitmask(START, BITMASK, True)),
    (TypeError, "row=slice", lambda: COMPILED.fill_bitmask(START, BITMASK, slice(0, 2))),
    (ValueError, "bitmask is read-only", lambda: COMPILED.matcher().fill_next_token_bitmask(READ_ONLY)),
    (TypeError, "bitmask=None", lambda: COMPILED.fill_bitmask(START, None)),
    (TypeError, "bitmask=.*of type list", lambda: COMPILED.fill_bitmask(START, list(BITMASK))),
    (ValueError, "row=-1; expected", lambda: COMPILED.fill_bitmasks([START], BITMASK, [-1])),
    (TypeError, "states=2, of type int", lambda: COMPILED.fill_bitmasks(2, BITMASK)),
    (TypeError, "state=None", lambda: COMPILED.fill_bitmasks([None], BITMASK)),
    (ValueError, "bitmask is read-only", lambda: COMPILED.fill_bitmasks([START], READ_ONLY)),
    (TypeError, "batch_size=1.5", lambda: token_bitmask.allocate_token_bitmask(1.5, 5)),
    (ValueError, "batch_size=-1", lambda: token_bitmask.allocate_token_bitmask(-1, 5)),
    (TypeError, "logits=None", lambda: token_bitmask.apply_token_bitmask_inplace(None, BITMASK)),
    (TypeError, "bitmask=.*of type list", lambda: token_bitmask.apply_token_bitmask_inplace(LOGITS, BITMASK.tolist())),
    (TypeError, "row=True", lambda: token_bitmask.apply_token_bitmask_inplace(LOGITS, BITMASK, [True])),
    (TypeError, "rows=5", lambda: token_bitmask.apply_token_bitmask_inplace(LOGITS, BITMASK, 5)),
    (ValueError, "vocab_size=1000; expected at most 288", lambda: token_bitmask.unpack_bitmask(BITMASK[0], 1000)),
    (TypeError, "row=None", lambda: token_bitmask.unpack_bitmask(None, 5)),
    # Vocabularies
    (VocabularyError, "tokens=..; expected at least one", lambda: tokens([])),
    (TypeError, "tokens=b'ab', of type bytes", lambda: tokens(b"ab")),
    (TypeError, "tokens.1.='b', of type str; expected bytes", lambda: tokens([b"a", "b"])),
    (TypeError, "eos_token_ids=0, of type int; expected a list", lambda: tokens([b"a"], eos_token_ids=0)),
    (TypeError, "eos_token_ids.0.='x', of type str", lambda: tokens([b"a"], eos_token_ids=["x"])),
    (TypeError, "eos_token_ids.0.=False, of type bool", lambda: tokens([b"a"], eos_token_ids=[False])),
    (TypeError, "special_token_ids.0.=0.0", lambda: tokens([b"a"], special_token_ids=[0.0])),
    (TypeError, "name=5, of type int", lambda: tokens([b"a"], name=5)),
    (TypeError, "offsets=None", lambda: Vocabulary(b"a", None)),
    (TypeError, "data='a', of type str", lambda: Vocabulary("a", np.array([0, 1]))),
    (TypeError, "token_id=True, of type bool", lambda: BYTES.token_bytes(True)),
    (TypeError, "token_ids=5", lambda: BYTES.decode(5)),
    (TypeError, "eos_token_ids.0.='a'", lambda: BYTES.with_eos(["a"])),
    (TypeError, "vocab_size=300.0", lambda: BYTES.with_size(300.0)),
    (VocabularyError, "vocab_size=0 cuts off", lambda: BYTES.with_size(0)),
    (TypeError, "data='a', of type str", lambda: BYTES.fewest_tokens("a")),
    (TypeError, "path=None, of type NoneType", lambda: Vocabulary.from_tokenizer_json(None)),
    (TypeError, "path=5, of type int", lambda: Vocabulary.from_tiktoken(5)),
    (TypeError, "path=5, of type int", lambda: Vocabulary.from_gguf(5)),
    (TypeError, "special_tokens=5", lambda: Vocabulary.from_tiktoken("x", 5)),
    (FileNotFoundError, "absent", lambda: Vocabulary.from_sentencepiece("absent.model")),
    (VocabularyError, "expected a tokenizer of transformers$", lambda: Vocabulary.from_transformers(None)),
    (VocabularyError, "a path is read by from_tokenizer_json", lambda: Vocabulary.from_transformers("folder")),
    (TypeError, "a function; expected a dict", lambda: constrain.json_schema(lambda: 0)),
    (GrammarSyntaxError, "an octal escape above", lambda: constrain.regex("\\400")),
    (TypeError, "prompt.0...content..=3", lambda: constrain.generate(MODEL, [{"role": "user", "content": 3}])),
    # Decoding
    (TypeError, "model=None, of type NoneType", lambda: constrain.generate(None, "a")),
    (TypeError, "model=5, of type int", lambda: constrain.stream(5, "a")),
    (ValueError, "prompt=.. has no tokens", lambda: constrain.generate(MODEL, [])),
    (ValueError, "prompt='.ud800' holds a lone surrogate at character 0", lambda: constrain.generate(MODEL, SURROGATE)),
    (ValueError, "holds a lone surrogate", lambda: constrain.generate(MODEL, [{"role": "user", "content": SURROGATE}])),
    (ValueError, "expected a message with 'role'", lambda: constrain.generate(MODEL, [{"content": "a"}])),
    (TypeError, "prompt=.True., of type list", lambda: constrain.generate(MODEL, [True])),
    (TypeError, "prompts='abc', of type str", lambda: constrain.generate_batch(MODEL, "abc")),
    (TypeError, "prompts=None", lambda: constrain.generate_batch(MODEL, None)),
    (TypeError, "n='a', of type str", lambda: constrain.generate_batch(MODEL, [Request("a", n="a")])),
    (TypeError, "constraint='a', of type str", lambda: generate(regex=None, constraint="a")),
    (TypeError, "json_options=5", lambda: generate(regex=None, schema={}, json_options=5)),
    (TypeError, "max_tokens=None", lambda: generate(max_tokens=None)),
    (TypeError, "temperature=None, of type NoneType", lambda: generate(temperature=None)),
    (ValueError, "temperature=nan", lambda: generate(temperature=math.nan)),
    (TypeError, "top_p='a', of type str", lambda: generate(top_p="a")),
    (TypeError, "forced='no', of type str", lambda: generate(forced="no")),
    (TypeError, "stop=5, of type int", lambda: generate(stop=5)),
    (TypeError, "cancel=5, of type int", lambda: generate(cancel=5)),
    (TypeError, "on_token=5, of type int", lambda: generate(on_token=5)),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "message", "call"), ROWS, ids=range(len(ROWS)))
def test_bad_arguments(kind, message, call):
    raises_exactly(kind, message, call)


@pytest.mark.parametrize("token_id", [True, np.True_, 97.0, None, "a", [97], np.float32(97), np.array([97]), 97.5])
def test_odd_token_ids_are_refused_even_where_they_equal_a_known_one(token_id):
    matcher = COMPILED.matcher()
    COMPILED.advance(START, 1)
    COMPILED.advance(START, 97)
    for call in (matcher.accept_token, matcher.try_accept_token, lambda odd: COMPILED.advance(START, odd)):
        with pytest.raises(TypeError, match=r"^token_id=.*; expected a whole number$"):
            call(token_id)
    assert matcher.token_ids == []


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int32, np.int64, np.uint64])
def test_numpy_integers_are_token_ids(kind):
    matcher = COMPILED.matcher()
    matcher.accept_token(kind(97))
    assert matcher.token_ids == [97]
    assert type(matcher.token_ids[0]) is int
    assert type(matcher.state) is int
    assert COMPILED.advance(np.int64(START), kind(97)) == matcher.state
    assert BYTES.token_bytes(kind(97)) == b"a"
    matcher.rollback(kind(1))
    assert constrain.generate(MODEL, np.array([97, 98], dtype=kind), regex="a", max_tokens=kind(4)).text == "a"


def test_the_end_is_taken_once_and_ids_are_still_checked():
    matcher = COMPILED.matcher()
    for token_id in (97, 256):
        matcher.accept_token(token_id)
    assert not matcher.try_accept_token(256)
    with pytest.raises(ValueError, match="token_id=257; expected"):
        matcher.try_accept_token(257)


def test_compiled_grammars_cannot_be_changed():
    for name in ("grammar", "_rows", "anything"):
        with pytest.raises(AttributeError, match=f"{name}=1; a compiled grammar cannot be changed"):
            setattr(COMPILED, name, 1)
    with pytest.raises(AttributeError, match="cannot be changed"):
        del COMPILED.grammar
    assert copy.copy(COMPILED) is copy.deepcopy(COMPILED) is COMPILED


def test_matchers_are_copied_and_pickled():
    matcher = COMPILED.matcher()
    for token_id in (97, 98):
        matcher.accept_token(token_id)
    for other in (copy.copy(matcher), copy.deepcopy(matcher), pickle.loads(pickle.dumps(matcher))):
        assert other.token_ids == [97, 98]
        other.accept_token(100)
        assert not other.try_accept_token(97)
        other.rollback(2)
        assert other.try_accept_token(99)
    assert matcher.token_ids == [97, 98]
    matcher.accept_token(256)
    assert pickle.loads(pickle.dumps(matcher)).is_terminated()


def test_a_constant_with_many_digits():
    grammar = constrain.json_schema({"const": 10**5000})
    assert repr(grammar) == "<Grammar: the schema>"
    assert constrain.compile(grammar, BYTES).accepts(b"1" + b"0" * 5000)


def test_digits_may_be_a_list():
    compiled = constrain.compile(constrain.json_schema({"type": "integer"}, max_digits=[2, 1, 1]), BYTES)
    assert compiled.accepts(b"12")
    assert not compiled.accepts(b"123")


def test_dead_and_terminated_outlive_all_tables():
    compiled = constrain.compile(GRAMMAR, BYTES)
    compiled.renew()
    assert not compiled.bitmask(0).any()
    assert compiled.bitmask(1).any()
    compiled.fill_bitmasks([compiled.start, 0, 1], bitmask := np.ones((3, 9), dtype=np.int32))
    assert (bitmask == [compiled.bitmask(state) for state in (compiled.start, 0, 1)]).all()
    with pytest.raises(ValueError, match="expected `start`"):
        compiled.advance(5 << 32 | compiled.start & 0xFFFFFFFF, 97)


def test_tables_renewed_meanwhile_never_take_a_state_away():
    compiled = constrain.compile(constrain.json_schema({"type": "array", "items": {"enum": ["a", "b"]}}), BYTES)
    text = b'["a","b","a"]'
    stopped, failures = threading.Event(), []

    def renew():
        while not stopped.is_set():
            compiled.renew()

    def walk():
        try:
            for _ in range(40):
                matcher = compiled.matcher()
                for byte in text:
                    matcher.accept_token(byte)
                assert matcher.is_accepting()
                assert compiled.accepts(text)
                start, machine = compiled.begin()
                assert machine.start == start & 0xFFFFFFFF
                assert compiled.advance_bytes(start, text)
        except BaseException as error:
            failures.append(error)

    renewer = threading.Thread(target=renew)
    walkers = [threading.Thread(target=walk) for _ in range(3)]
    for thread in (renewer, *walkers):
        thread.start()
    for thread in walkers:
        thread.join()
    stopped.set()
    renewer.join()
    assert not failures


@pytest.fixture
def always_renewed(monkeypatch):
    """As if another thread renewed the tables after every look at them, and nobody else held them."""
    begin = Tables.begin

    def begin_and_lose(self):
        found = begin(self)
        self.renew()
        gc.collect()
        return found

    monkeypatch.setattr(Tables, "begin", begin_and_lose)


def test_who_begins_holds_the_tables(always_renewed):
    compiled = constrain.compile(constrain.regex("[ab]{6}"), BYTES)
    matcher = compiled.matcher()
    for byte in b"abab":
        matcher.accept_token(byte)
    matcher.reset()
    other = matcher.copy()
    del matcher
    gc.collect()
    other.accept_token(97)
    assert compiled.accepts(b"ababab")
    assert constrain.generate(MODEL, "x", constraint=compiled, max_tokens=8).text.strip("ab") == ""


def test_an_answer_under_way_keeps_its_tables():
    compiled = constrain.compile(constrain.regex("[ab]{6}"), BYTES)
    texts = []
    for event in constrain.stream(MODEL, "x", constraint=compiled, max_tokens=8):
        compiled.renew()
        gc.collect()
        texts.append(event.text)
    assert len("".join(texts)) == 6


def test_limits_and_emptiness_are_still_themselves():
    with pytest.raises(LimitExceededError, match="max_literals"):
        constrain.choice(["a", "b"], limits=Limits(max_literals=1))
    with pytest.raises(EmptyLanguageError, match="no texts"):
        constrain.choice(iter(()))
    assert ir.Grammar(ir.Literal(b"a")).name == "the constraint"
