"""Laws of compiled constraints, over random grammars and a few of each front end."""

import pickle
import random
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import constraint_laws as laws
from oracles import samples

from constrain.compiled import compile_grammar
from constrain.errors import EmptyLanguageError
from constrain.grammars.choice import choice
from constrain.grammars.json_schema import json_schema
from constrain.grammars.regex import regex
from constrain.ir import Alt, And, Grammar, Lexeme, Literal, Not, Repeat, Seq

FIXED = {
    "choice": lambda: choice(["ab", "abc", "b", "é€"]),
    "regex": lambda: regex("(a|bb)*c{2,4}é?"),
    "literal": lambda: regex("abcabcabc"),
    "json": lambda: json_schema({"type": "object", "properties": {"a": {"type": "array", "items": {"enum": ["a", "b"]}}}, "required": ["a"]}),
    "recursive": lambda: json_schema({"$ref": "#/$defs/t", "$defs": {"t": {"type": "array", "items": {"$ref": "#/$defs/t"}, "maxItems": 3}}}),
    "keys": lambda: json_schema({"type": "object", "additionalProperties": {"const": "a"}, "required": ["b"]}, property_order="any"),
}  # fmt: skip
JSON_BYTES = bytes(range(0x20, 0x7F)) + b"\n"


def compiled_or_none(grammar, vocabulary):
    try:
        return compile_grammar(grammar, vocabulary)
    except EmptyLanguageError:
        return None


def check_all(compiled, rng):
    states = laws.some_states(compiled, rng)
    for state in dict.fromkeys(states):
        laws.check_ends(compiled, state)
        laws.check_bytes(compiled, state)
        laws.check_distance(compiled, state)
        laws.check_budgets(compiled, state)
        laws.check_forced(compiled, state, rng)
    laws.check_rows(compiled, states)
    laws.check_matcher_laws(compiled, rng)


@pytest.mark.parametrize("name", FIXED)
def test_front_ends(name):
    rng = random.Random(name)
    check_all(compile_grammar(FIXED[name](), samples.vocabulary(rng, JSON_BYTES, samples.SPLIT, size=60)), rng)


@settings(max_examples=60)
@given(st.integers(0, 1 << 32))
def test_random_grammars(seed):
    rng = random.Random(seed)
    grammar = samples.grammar(rng) if seed % 3 else Grammar(Lexeme(samples.regular(rng, 3)))
    compiled = compiled_or_none(grammar, samples.vocabulary(rng, b"abc", samples.SPLIT))
    if compiled is not None:
        check_all(compiled, rng)


def equivalent(one, two, rng, steps=300):
    """Walk two compiled grammars in step: masks agree wherever random tokens lead."""
    if one is None or two is None:
        assert one is None
        assert two is None
        return
    pair = one.start, two.start
    for _ in range(steps):
        row = one.bitmask(pair[0])
        assert (row == two.bitmask(pair[1])).all()
        choice = laws.allowed(one, row)
        token_id = rng.choice(choice) if choice else None
        following = (one.advance(pair[0], token_id), two.advance(pair[1], token_id)) if choice else (1, 1)
        pair = (one.start, two.start) if following[0] == 1 else following


ANY = And(())
EMPTY = Alt(())
EPS = Literal(b"")
ALGEBRA = {
    "a or a": lambda a, b, c: (Alt((a, a)), a),
    "a or b": lambda a, b, c: (Alt((a, b)), Alt((b, a))),
    "distributive": lambda a, b, c: (Seq((a, Alt((b, c)))), Alt((Seq((a, b)), Seq((a, c))))),
    "de Morgan": lambda a, b, c: (bounded(Not(Alt((a, b)))), bounded(And((Not(a), Not(b))))),
    "double complement": lambda a, b, c: (a, Not(Not(a))),
    "a and not a": lambda a, b, c: (And((a, Not(a))), EMPTY),
    "a or not a": lambda a, b, c: (bounded(Alt((a, Not(a)))), bounded(ANY)),
    "a and anything": lambda a, b, c: (And((a, ANY)), a),
    "star of star": lambda a, b, c: (Repeat(Repeat(a, 0, None), 0, None), Repeat(a, 0, None)),
    "star unrolled": lambda a, b, c: (Repeat(a, 0, None), Alt((EPS, Seq((a, Repeat(a, 0, None)))))),
    "repeat as a sequence": lambda a, b, c: (Repeat(a, 2, 3), Seq((a, a, Alt((a, EPS))))),
    "repeat in parts": lambda a, b, c: (Repeat(a, 3, 5), Seq((Repeat(a, 1, 2), Repeat(a, 2, 3)))),
    "inclusion and exclusion": lambda a, b, c: (Alt((a, b)), Alt((And((a, b)), And((a, Not(b))), And((b, Not(a)))))),
    "brackets": lambda a, b, c: (Seq((Seq((a, b)), c)), Seq((a, Seq((b, c))))),
}  # fmt: skip


def bounded(node):
    """Keep a complement among short texts of the letters, so that walks end."""
    return And((Repeat(Alt(tuple(Literal(letter.encode()) for letter in "abcé")), 0, 4), node))


@pytest.mark.parametrize("law", ALGEBRA)
@settings(max_examples=12)
@given(st.integers(0, 1 << 32))
def test_regular_algebra(law, seed):
    rng = random.Random(seed)
    left, right = ALGEBRA[law](*(samples.regular(rng, 2) for _ in range(3)))
    vocabulary = samples.vocabulary(rng, b"abc", samples.SPLIT)
    one, two = (compiled_or_none(Grammar(Lexeme(node)), vocabulary) for node in (left, right))
    equivalent(one, two, rng)
    equivalent(two, one, rng)


@pytest.mark.parametrize("name", FIXED)
def test_pickled_and_compiled_again(name):
    rng = random.Random(name)
    compiled = compile_grammar(FIXED[name](), samples.vocabulary(rng, JSON_BYTES, samples.SPLIT))
    equivalent(compiled, pickle.loads(pickle.dumps(compiled)), rng)


def test_threads_see_one_automaton():
    """Eight threads meet the same cold states: same masks and the same ids as one thread alone."""
    vocabulary = samples.vocabulary(random.Random(5), JSON_BYTES, samples.SPLIT, size=200)
    shared = compile_grammar(FIXED["keys"](), vocabulary)
    alone = compile_grammar(FIXED["keys"](), vocabulary)

    def walk(seed):
        rng, state, trail = random.Random(seed), shared.start, []
        for _ in range(150):
            choice = laws.allowed(shared, shared.bitmask(state))
            token_id = rng.choice(choice)
            state = shared.advance(state, token_id)
            trail.append((token_id, state))
            state = shared.start if state == 1 else state
        return trail

    with ThreadPoolExecutor(8) as pool:
        trails = list(pool.map(walk, [seed // 2 for seed in range(16)]))
    for one, two in zip(trails[::2], trails[1::2], strict=True):
        assert one == two
    for trail in trails:
        here, there = shared.start, alone.start
        for token_id, state in trail:
            assert (shared.bitmask(here) == alone.bitmask(there)).all()
            here, there = shared.advance(here, token_id), alone.advance(there, token_id)
            assert here == state
            here, there = (shared.start, alone.start) if here == 1 else (here, there)
