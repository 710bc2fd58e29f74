"""Vocabularies that hold tokens without their parts: masks, ends and forced bytes are what sequences of tokens allow.

`CONSTRAIN_SEED` moves the seeds, `-m acceptance` runs many more of them.
"""

import os
import random

import pytest
from oracles import samples, token_texts
from oracles.constraint_laws import allowed, check_budgets, check_distance, some_states
from oracles.mask_laws import Tally, check_many, check_masks, check_matcher
from oracles.validator import Validator

from constrain import ir
from constrain.compiled import compile_grammar
from constrain.errors import EmptyLanguageError
from constrain.grammars.json_schema import json_schema
from constrain.grammars.regex import regex
from constrain.vocabulary import Vocabulary

BASE = int(os.environ.get("CONSTRAIN_SEED", "0"))
TALLY = Tally()
OPEN = [0]
CUT = ("é", "€")


@pytest.fixture(scope="module", autouse=True)
def total():
    yield
    print(f"\ntokens without their parts: {TALLY}, {OPEN[0]} compiled")
    assert TALLY.grammars < 100 or TALLY.bits >= 4_000


def against(oracle, made, vocabulary, rng, prefixes=10):
    """Check one grammar: an empty language is refused as such, everything else agrees with the oracle."""
    try:
        compiled = compile_grammar(made(), vocabulary)
    except EmptyLanguageError as error:
        assert not oracle.live(b""), "refused as empty, but it is not"
        check_reason(str(error), vocabulary)
        return
    assert oracle.live(b""), "no tokens spell a member, and it was compiled"
    OPEN[0] += not vocabulary.is_closed
    check_masks(compiled, oracle.live, oracle.member, rng, TALLY, prefixes=prefixes)
    check_matcher(compiled, oracle.live, rng)
    for state in some_states(compiled, rng, 5):
        check_distance(compiled, state)
        check_budgets(compiled, state)
        check_bytes(compiled, state)
    check_walk(compiled, oracle, rng)


def check_reason(message, vocabulary):
    """A character is named only where no token holds all of its bytes."""
    if "no tokens for" in message and not vocabulary.is_closed:
        piece = bytes.fromhex(message.split("bytes ")[1].split(",")[0].rstrip(")"))
        assert any(not vocabulary.spellable >> byte & 1 for byte in piece), message


def check_bytes(compiled, state):
    vocabulary = compiled.vocabulary
    tokens = [vocabulary.token_bytes(i) for i in allowed(compiled, compiled.bitmask(state))]
    assert compiled.next_bytes(state) == {token[0] for token in tokens if token}
    text = vocabulary.decode(compiled.completion(state)[:-1])
    forced = compiled.forced_bytes(state)
    assert text.startswith(forced)
    assert compiled.forced_bytes(state, 2) == forced[:2]
    whole = compiled.advance_bytes(state, forced)
    assert not whole or compiled.is_accepting(whole) or len(compiled.next_bytes(whole)) != 1 or text != forced


def check_walk(compiled, oracle, rng):
    """What is forced at any point of a walk is what the walk writes; distances are the oracle's where it knows."""
    for _ in range(3):
        matcher, text, forced = compiled.matcher(), b"", []
        for _ in range(6):
            forced.append(text + matcher.forced_bytes())
            tokens = matcher.copy()
            assert all(tokens.try_accept_token(token_id) for token_id in matcher.forced_tokens())
            assert compiled.accepts(text) == oracle.member(text)
            if hasattr(oracle, "least"):
                assert compiled.distance(matcher.state) == oracle.least(text) + 1
            token_id = rng.choice(allowed(compiled, compiled.bitmask(matcher.state)))
            matcher.accept_token(token_id)
            text += compiled.vocabulary.token_bytes(token_id) or b""
            if matcher.is_terminated():
                break
        else:
            text += compiled.vocabulary.decode(compiled.completion(matcher.state)[:-1])
        assert all(text.startswith(some) for some in forced)


def check_regular(seed):
    rng = random.Random(f"tokens regular {seed}")
    vocabulary = token_texts.vocabulary(rng, b"abc", CUT if rng.random() < 0.4 else ())
    node = samples.regular(rng, 3)
    against(token_texts.Regular(node, vocabulary), lambda: ir.Grammar(ir.Lexeme(node)), vocabulary, rng)


def check_pattern(seed):
    rng = random.Random(f"tokens pattern {seed}")
    vocabulary = token_texts.vocabulary(rng, b"abc", CUT if rng.random() < 0.5 else ())
    grammar = regex(samples.pattern(rng))
    against(token_texts.Regular(grammar.start, vocabulary), lambda: grammar, vocabulary, rng)


def check_grammar(seed):
    rng = random.Random(f"tokens grammar {seed}")
    vocabulary = token_texts.vocabulary(rng, b"abc")
    grammar = samples.grammar(rng)
    nodes = [node for root in (grammar.start, *grammar.rules.values()) for node in ir.walk(root)]
    if not any(isinstance(node, (ir.And, ir.Not, ir.CharClass, ir.Op)) for node in nodes):
        against(token_texts.Rules(grammar, vocabulary), lambda: grammar, vocabulary, rng, prefixes=5)


def check_schema(seed):
    """Every document there is, listed and judged by the validator; tokens are cut from documents of the schema."""
    rng = random.Random(f"tokens schema {seed}")
    schema = samples.closed_schema(rng, numbers=False)
    validator = Validator(schema)
    documents = [
        text.encode() for text in samples.universe('[]{},:"abnultrfseé', numbers=False) if validator.accepts(text)
    ]
    pieces = [b"{"]
    for document in rng.sample(documents, min(5, len(documents))):
        at = 0
        while at < len(document):
            size = rng.randint(1, 4)
            pieces.append(document[at : at + size])
            at += size
    vocabulary = Vocabulary.from_tokens([*pieces, None], eos_token_ids=[len(pieces)])
    oracle = token_texts.Listed(documents, vocabulary)
    against(
        oracle, lambda: json_schema(schema, whitespace="compact", property_order="any"), vocabulary, rng, prefixes=8
    )


CHECKS = {
    "regular": (check_regular, 80),
    "pattern": (check_pattern, 60),
    "grammar": (check_grammar, 60),
    "schema": (check_schema, 30),
}
CASES = [(kind, BASE + seed) for kind, (_, count) in CHECKS.items() for seed in range(count)]


@pytest.mark.parametrize(("kind", "seed"), CASES)
def test_tokens_without_their_parts(kind, seed):
    CHECKS[kind][0](seed)


@pytest.mark.acceptance
@pytest.mark.parametrize("kind", CHECKS)
def test_many_tokens_without_their_parts(kind):
    check, count = CHECKS[kind]
    check_many(kind, check, 20 * count)
