"""Sampling against the law it should have: by enumeration of all answers, and by formulas written another way."""

import math

import numpy as np
import pytest

from constrain.decoding.generate import generate
from constrain.decoding.options import Options
from constrain.decoding.sampling import choose, distribution, score
from constrain.decoding.table_model import TableModel
from tests.decoding.doubles import Texts, vocabulary

WORDS = vocabulary("a", "b", "ab", "ba", "aa", eos=2)
TEXTS = ["a", "ab", "aba", "bb", "aab", "baa"]
DRAWS = 4000


def law(model, prompt, language, budget, temperature=1.0):
    """Return the probability of each token sequence: the model's law, masked at each step, also by the budget."""
    found = {}

    def walk(state, rows, log, tokens):
        if state == 1:
            found[tokens] = found.get(tokens, 0.0) + math.exp(log)
            return
        logits = model.next_logits(rows).astype(float) / temperature
        left = budget - len(tokens)
        after = {i: language.advance(state, i) for i in range(WORDS.vocab_size)}
        legal = [i for i, s in after.items() if s != 0 and language.distance(s) <= left - 1]
        total = np.logaddexp.reduce(logits[legal])
        for i in legal:
            walk(after[i], [*rows, i], log + logits[i] - total, (*tokens, i))

    walk(language.start, model.encode(prompt), 0.0, ())
    return found


def chi_square(counts, expected):
    """Return the statistic and its degrees of freedom; rare outcomes are taken together."""
    common = [key for key, p in expected.items() if p * DRAWS >= 5]
    pairs = [(counts.get(key, 0), expected[key] * DRAWS) for key in common]
    rest = DRAWS - sum(p for _, p in pairs)
    if rest > 1:
        pairs.append((DRAWS - sum(c for c, _ in pairs), rest))
    return sum((c - p) ** 2 / p for c, p in pairs), len(pairs) - 1


@pytest.mark.parametrize("logprobs", [None, 0], ids=["optimistic", "masked"])
@pytest.mark.parametrize(("budget", "temperature"), [(8, 1.0), (3, 1.0), (50, 0.7)])
def test_answers_follow_the_masked_law(logprobs, budget, temperature):
    model, language = TableModel(WORDS, seed=11, scale=1.0), Texts(WORDS, TEXTS)
    expected = law(model, "a", language, budget, temperature)
    assert sum(expected.values()) == pytest.approx(1)
    keywords = {"max_tokens": budget, "temperature": temperature, "forced": False, "logprobs": logprobs}
    result = generate(model, "a", constraint=language, n=DRAWS, seed=7, **keywords)
    counts = {}
    for sample in result.samples:
        counts[sample.token_ids] = counts.get(sample.token_ids, 0) + 1
    assert counts.keys() <= expected.keys()
    statistic, freedom = chi_square(counts, expected)
    # 5 sigma of a chi-square's normal approximation; the seed is fixed, so this either holds or does not.
    assert statistic < freedom + 5 * math.sqrt(2 * freedom)


def test_reported_logprobs_are_those_of_the_law():
    model, language = TableModel(WORDS, seed=11), Texts(WORDS, TEXTS)
    expected = law(model, "a", language, 50)
    result = generate(model, "a", constraint=language, n=50, seed=1, temperature=1.0, max_tokens=50, forced=False)
    for sample in result.samples:
        assert sum(entry.masked for entry in sample.logprobs) == pytest.approx(math.log(expected[sample.token_ids]))


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        (Options(temperature=1, top_k=2), [0, 1]),
        (Options(temperature=1, top_k=50), [0, 1, 2, 3]),
        (Options(temperature=1, top_p=0.5), [0]),
        (Options(temperature=1, top_p=0.51), [0, 1]),
        (Options(temperature=1, top_p=1e-9), [0]),
        (Options(temperature=1, min_p=0.5), [0, 1]),
        (Options(temperature=1, min_p=1.0), [0]),
        (Options(temperature=1, top_k=3, top_p=0.9, min_p=0.1), [0, 1, 2]),
    ],
)
def test_truncation(options, kept):
    values = np.log(np.array([0.5, 0.25, 0.15, 0.1]))
    weights = distribution(values, options)
    assert np.flatnonzero(weights).tolist() == kept
    expected = np.exp(values[kept]) / np.exp(values[kept]).sum()
    np.testing.assert_allclose(weights[kept], expected)


def test_masks_come_before_truncation():
    logits = np.array([9.0, 8.0, 1.0, 0.9], dtype=np.float32)
    rng = np.random.default_rng(0)
    options = Options(temperature=1.0, top_k=1)
    assert choose(logits, np.array([2, 3]), options, rng, ()) == 2


def test_repetition_penalty():
    logits = np.array([2.0, 1.5, -1.0, -1.2], dtype=np.float32)
    options = Options(repetition_penalty=2.0)
    assert choose(logits, None, options, None, [0]) == 1
    assert choose(logits, np.array([2, 3]), options, None, [0, 2]) == 3
    assert choose(logits, np.array([2, 3]), options, None, [0, 0]) == 2
    assert logits.tolist() == pytest.approx([2.0, 1.5, -1.0, -1.2])


def test_draws_never_take_a_token_of_weight_zero():
    class Last:
        def random(self):
            return 1 - 2**-53

    logits = np.array([1.0, 1.0, -np.inf], dtype=np.float32)
    assert choose(logits, None, Options(temperature=1.0), Last(), ()) == 1


def test_scores_of_impossible_masks():
    logits = np.array([0.0, -np.inf, -np.inf], dtype=np.float32)
    entry = score(logits, 1, np.array([1, 2]), 0)
    assert entry.raw == -np.inf
    assert entry.masked == pytest.approx(-math.log(2))
    assert entry.removed == 1.0
