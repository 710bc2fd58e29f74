"""Sampling against the law it should have: by enumeration of all answers, and by formulas written another way."""

import math
from collections import Counter

import numpy as np
import pytest

from constrain.decoding.generate import generate
from constrain.decoding.options import Options
from constrain.decoding.sampling import MAX_TESTED, choose, choose_within, distribution, score
from constrain.decoding.table_model import TableModel
from tests.decoding.doubles import Texts, vocabulary

WORDS = vocabulary("a", "b", "ab", "ba", "aa", eos=2)
TEXTS = ["a", "ab", "aba", "bb", "aab", "baa"]
DRAWS = 4000


def kept(weights, top_k=0, top_p=1.0, min_p=0.0):
    """Return what truncation leaves of some weights, token by token; no two are equal."""
    best = sorted(weights, key=weights.get, reverse=True)[: top_k or None]
    total, mass, nucleus = sum(weights[i] for i in best), 0.0, []
    for i in best:
        if mass < top_p * total:
            nucleus.append(i)
        mass += weights[i]
    return [i for i in nucleus if weights[i] >= min_p * weights[nucleus[0]]]


def law(model, prompt, language, budget, temperature=1.0, **truncation):
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
        legal = kept({i: math.exp(logits[i]) for i in legal}, **truncation)
        total = np.logaddexp.reduce(logits[legal])
        for i in legal:
            walk(after[i], [*rows, i], log + logits[i] - total, (*tokens, i))

    walk(language.start, model.encode(prompt), 0.0, ())
    return found


def chi_square(counts, expected, draws=DRAWS):
    """Return the statistic and its degrees of freedom; rare outcomes are taken together."""
    common = [key for key, p in expected.items() if p * draws >= 5]
    pairs = [(counts.get(key, 0), expected[key] * draws) for key in common]
    rest = draws - sum(p for _, p in pairs)
    if rest > 1:
        pairs.append((draws - sum(c for c, _ in pairs), rest))
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


LONG = [*TEXTS, "bbbabab", "abbbbab", "aaaabbb"]


@pytest.mark.parametrize(("budget", "logprobs"), [(3, 0), (4, None), (50, 0)])
@pytest.mark.parametrize(
    "truncation",
    [
        {"top_k": 1},
        {"top_k": 2},
        {"top_p": 0.3},
        {"top_p": 0.8},
        {"top_p": 0.97},
        {"min_p": 0.4},
        {"top_k": 3, "top_p": 0.6},
        {"top_p": 0.9, "min_p": 0.2},
        {"top_k": 3, "top_p": 0.9, "min_p": 0.1},
    ],
    ids=str,
)
def test_truncation_is_over_the_mask_of_the_budget(truncation, budget, logprobs):
    model, language, draws = TableModel(WORDS, seed=2, scale=1.0), Texts(WORDS, LONG), 600
    expected = law(model, "a", language, budget, 0.8, **truncation)
    assert sum(expected.values()) == pytest.approx(1)
    keywords = {"max_tokens": budget, "temperature": 0.8, "forced": False, "logprobs": logprobs, **truncation}
    result = generate(model, "a", constraint=language, n=draws, seed=7, **keywords)
    counts = Counter(sample.token_ids for sample in result.samples)
    # What is kept is exact, and so is which answers there can be; the chi-square is about their weights.
    assert counts.keys() <= expected.keys()
    statistic, freedom = chi_square(counts, expected, draws)
    assert statistic <= freedom + 5 * math.sqrt(2 * freedom)


@pytest.mark.parametrize("seed", range(20))
def test_drawing_within_a_smaller_set_is_drawing_from_it(seed):
    rng = np.random.default_rng(seed)
    size = 3000
    logits = (rng.choice([1.0, 3.0, 8.0]) * rng.standard_normal(size)).astype(np.float32)
    allowed = np.flatnonzero(rng.random(size) < 0.9)
    # Only improbable tokens do not fit, so that what is kept can be settled.
    fitting = [i for i in allowed.tolist() if rng.random() < 0.7 or logits[i] > np.quantile(logits, 0.98)]
    for options in (
        Options(temperature=1.0, top_p=0.9),
        Options(temperature=0.7, top_p=0.5, min_p=0.01),
        Options(temperature=1.0, top_k=40, top_p=0.8),
        Options(temperature=1.5, top_k=20),
        Options(temperature=1.0, min_p=0.3),
    ):
        for draw in range(3):
            asked = []
            found = choose_within(
                logits,
                allowed,
                options,
                np.random.default_rng(draw),
                (),
                lambda i, asked=asked: asked.append(i) or i in fitting,
            )
            assert len(asked) == len(set(asked)) <= MAX_TESTED
            if found is not None:
                assert found == choose(logits, np.array(fitting), options, np.random.default_rng(draw), ())


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
