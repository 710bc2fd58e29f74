"""The loop and its entry points, over a table model and a constraint that is a list of texts."""

import asyncio
import pickle
from itertools import pairwise

import numpy as np
import pytest

from constrain.decoding.constraint import Wanted
from constrain.decoding.generate import (
    Request,
    generate,
    generate_async,
    generate_batch,
    stream,
    stream_async,
)
from constrain.decoding.options import Options
from constrain.decoding.table_model import TableModel
from constrain.errors import BudgetError, VocabularyError
from tests.decoding.doubles import Texts, vocabulary

WORDS = vocabulary("a", "b", "c", "ab", "bc", "abc", " ", "{", "}", "é".encode()[:1], "é".encode()[1:], "x", eos=2)
EOS = WORDS.eos_token_ids
OPTIONS = ["abc", "abab", "b", "c c c", "ca", "éa"]


@pytest.fixture
def model():
    return TableModel(WORDS, seed=3)


@pytest.fixture
def texts():
    return Texts(WORDS, OPTIONS)


def token_text(ids):
    return b"".join(WORDS.token_bytes(i) or b"" for i in ids).decode(errors="replace")


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("forced", [True, False])
def test_constrained_answers_are_whole(texts, temperature, forced):
    for seed in range(20):
        model = TableModel(WORDS, seed=seed)
        result = generate(model, "ab", constraint=texts, temperature=temperature, seed=seed, forced=forced)
        assert result.text in OPTIONS
        assert result.value == result.text == token_text(result.token_ids)
        assert result.finish_reason == "end"
        assert result.token_ids[-1] in EOS
        assert len(result.logprobs) == len(result.token_ids)
        report = result.report
        assert report.sampled_tokens + report.forced_tokens == len(result.token_ids)
        assert (report.forced_tokens > 0) <= forced


def test_budget_never_cuts_an_answer(texts):
    needed = texts.distance(texts.start)
    assert needed == 2
    seen = set()
    for seed in range(60):
        model = TableModel(WORDS, seed=seed)
        for budget in range(needed, 7):
            for forced in (True, False):
                for logprobs in (None, 0):
                    keywords = {"temperature": 1.0, "seed": seed, "forced": forced, "logprobs": logprobs}
                    result = generate(model, "c", constraint=texts, max_tokens=budget, **keywords)
                    assert result.text in OPTIONS
                    assert len(result.token_ids) <= budget
                    seen.add(result.text)
    assert len(seen) > 3


def test_far_jumps_are_drawn_again():
    # "a" leads to a text of 60 tokens, but looks as near to an end as "b" does.
    language = Texts(WORDS, ["a" + "x" * 60, "b"])
    model = TableModel(WORDS, table={(): [9.0] + [0.0] * (WORDS.vocab_size - 1)}, order=0)
    assert generate(model, "c", constraint=language, max_tokens=50).text == "b"
    assert generate(model, "c", constraint=language, max_tokens=50, logprobs=None).text == "b"
    assert generate(model, "c", constraint=language, max_tokens=62).text == "a" + "x" * 60


def test_budget_error_before_the_model_runs(texts):
    class NoModel(TableModel):
        def prefill(self, prompts):
            raise AssertionError

    for max_tokens in (0, 1):
        with pytest.raises(BudgetError, match=f"max_tokens={max_tokens} .* needs 2 tokens") as error:
            generate(NoModel(WORDS), "a", constraint=texts, max_tokens=max_tokens)
        assert error.value.needed == 2
    with pytest.raises(BudgetError, match=r"^prompts\[1\]: max_tokens=1 ") as error:
        generate_batch(NoModel(WORDS), [Request("a"), Request("a", Wanted(constraint=texts))], max_tokens=1)
    assert error.value.where == "prompts[1]"


def test_free_generation_small_budgets(model):
    nothing = generate(model, "a", max_tokens=0)
    assert (nothing.text, nothing.token_ids, nothing.finish_reason) == ("", (), "length")
    one = generate(model, "a", max_tokens=1)
    assert len(one.token_ids) == 1
    assert one.finish_reason in {"length", "end"}


def test_greedy_takes_the_best_allowed_token(texts, model):
    result = generate(model, "ab", constraint=texts, forced=False)
    state, rows = texts.start, model.encode("ab")
    for token in result.token_ids:
        allowed = [i for i in range(WORDS.vocab_size) if texts.advance(state, i)]
        assert token == max(allowed, key=lambda i: model.next_logits(rows)[i])
        rows.append(token)
        state = texts.advance(state, token)


def test_forced_tokens_save_model_calls():
    language = Texts(WORDS, ["abcabcabc x", "c"])
    model = TableModel(WORDS, table={(): [9.0, 0, 0, 0, 0, 8.0] + [0.0] * 8}, order=0)
    forced = generate(model, "c", constraint=language)
    stepped = generate(model, "c", constraint=language, forced=False)
    assert forced.text == stepped.text == "abcabcabc x"
    # The first token is chosen; the rest, the end included, is forced, and so is never shown to the model.
    assert forced.report.model_calls == 1
    assert stepped.report.model_calls == len(stepped.token_ids)
    assert [entry.forced for entry in forced.logprobs] == [False] + [True] * (len(forced.token_ids) - 1)
    assert forced.logprobs[-1].raw is None
    assert forced.logprobs[-1].masked == 0.0


def test_forced_run_is_healed_at_its_border():
    # After the forced "a" the model may want "ab" as one token, so "a" alone must not be forced upon it.
    language = Texts(WORDS, ["xab", "xac"])
    table = {(): [0.0, 0, 0, 5.0] + [0.0] * 10}
    result = generate(TableModel(WORDS, table=table, order=0), "c", constraint=language)
    assert [WORDS.token_bytes(t) for t in result.token_ids[:-1]] == [b"x", b"ab"]
    assert [entry.forced for entry in result.logprobs] == [True, False, True]


def test_forced_characters_are_never_split():
    language = Texts(WORDS, ["é", "a" + "é", "aèb"])
    for seed in range(10):
        assert generate(TableModel(WORDS, seed=seed), "c", constraint=language, forced=True).text in {"é", "aé"}


def test_logprobs_add_up(texts, model):
    result = generate(model, "ab", constraint=texts, temperature=1.0, seed=1, forced=False, logprobs=3)
    for entry in result.logprobs:
        assert entry.raw == pytest.approx(entry.masked + np.log1p(-entry.removed), abs=1e-9)
        assert len(entry.top) == 3
        assert all(a[1] >= b[1] for a, b in pairwise(entry.top))
    assert generate(model, "ab", constraint=texts, logprobs=None).logprobs == ()


def test_forced_tokens_are_scored_as_the_model_scores_them():
    language = Texts(WORDS, ["abcx a", "abcx b"])
    model = TableModel(WORDS, seed=5)
    result = generate(model, "c", constraint=language)
    rows = model.encode("c")
    for entry in result.logprobs:
        logits = model.next_logits(rows).astype(float)
        if entry.raw is not None:
            assert entry.raw == pytest.approx(logits[entry.token_id] - np.logaddexp.reduce(logits))
        rows.append(entry.token_id)
    assert [entry.raw is None for entry in result.logprobs] == [False] * (len(result.logprobs) - 1) + [True]


def test_batch_rows_are_what_single_calls_give(texts, model):
    other = Texts(WORDS, ["x" * n for n in range(1, 5)])
    prompts = ["a", Request("b b", Wanted(constraint=other)), Request("c", Wanted(), Options(max_tokens=4)), "abc"]
    together = generate_batch(model, prompts, constraint=texts)
    alone = [
        generate(model, "a", constraint=texts),
        generate(model, "b b", constraint=other),
        generate(model, "c", max_tokens=4),
        generate(model, "abc", constraint=texts),
    ]
    assert [r.token_ids for r in together] == [r.token_ids for r in alone]
    assert [r.text for r in together] == [r.text for r in alone]
    assert generate_batch(model, []) == []


def test_samples(texts, model):
    first = generate(model, "a", constraint=texts, n=8, temperature=1.0, seed=2)
    again = generate(model, "a", constraint=texts, n=8, temperature=1.0, seed=2)
    assert len(first.samples) == 8
    assert first.samples[0] is first
    assert [s.token_ids for s in first.samples] == [s.token_ids for s in again.samples]
    assert len({s.text for s in first.samples}) > 1


@pytest.mark.parametrize("keywords", [{}, {"stop": ["ba", "c"]}, {"temperature": 1.0, "seed": 4}, {"stop": "é"}])
def test_streams_say_what_generate_says(texts, keywords):
    for seed in range(8):
        model = TableModel(WORDS, seed=seed, order=1)
        for shape in ({}, {"constraint": texts}):
            whole = generate(model, "a", max_tokens=12, **shape, **keywords)
            events = list(stream(model, "a", max_tokens=12, **shape, **keywords))
            assert "".join(event.text for event in events) == whole.text
            assert sum((event.token_ids for event in events), ()) == whole.token_ids
            assert [event.result is not None for event in events] == [False] * (len(events) - 1) + [True]
            assert events[-1].result.token_ids == whole.token_ids


def test_stop_texts_are_cut_off_and_never_shown(texts):
    model = TableModel(WORDS, order=1, table={(0,): [0, 9.0] + [0.0] * 12, (1,): [9.0] + [0.0] * 13})
    result = generate(model, "a", max_tokens=9, stop=["bab"])
    assert result.text == ""
    assert result.finish_reason == "stop"
    assert generate(model, "a", max_tokens=9, stop=["xx"]).text == "babababab"
    shown = [event.text for event in stream(model, "a", max_tokens=9, stop=["abb", "bb"])]
    assert "".join(shown) == "babababab"
    stopped = generate(model, "a", constraint=Texts(WORDS, ["bac", "babab"]), stop="ac", forced=False)
    assert stopped.finish_reason in {"stop", "end"}


def test_cancel(texts, model):
    calls = []

    def cancel():
        calls.append(None)
        return len(calls) > 3

    result = generate(model, "a", max_tokens=50, cancel=cancel, stop=["never"])
    if result.finish_reason == "cancelled":
        assert len(result.token_ids) == 3
    cut = generate(model, "a", constraint=Texts(WORDS, ["x" * 30]), cancel=lambda: True)
    assert (cut.text, cut.finish_reason) == ("", "cancelled")


def test_on_token_sees_every_event(texts, model):
    seen = []
    result = generate(model, "a", constraint=texts, on_token=seen.append)
    assert "".join(event.text for event in seen) == result.text
    assert seen[-1].result.text == result.text


def test_async(texts, model):
    async def both():
        result = await generate_async(model, "a", constraint=texts)
        events = [event async for event in stream_async(model, "a", constraint=texts)]
        with pytest.raises(BudgetError):
            await generate_async(model, "a", constraint=texts, max_tokens=1)
        with pytest.raises(BudgetError):
            [event async for event in stream_async(model, "a", constraint=texts, max_tokens=1)]
        return result, events

    result, events = asyncio.run(both())
    assert result.text == generate(model, "a", constraint=texts).text
    assert "".join(event.text for event in events) == result.text


def test_async_streams_can_be_left(model):
    async def leave():
        pieces = stream_async(model, "a", max_tokens=10**6, logprobs=None, constraint=Texts(WORDS, ["x" * 200]))
        async for event in pieces:
            await pieces.aclose()
            return event
        return None

    assert asyncio.run(asyncio.wait_for(leave(), 20)).token_ids


def test_chat_and_token_prompts(texts, model):
    messages = [{"role": "user", "content": "ab"}]
    assert generate(model, messages, constraint=texts).text in OPTIONS
    assert generate(model, [0, 1], constraint=texts).report.prompt_tokens == 2


@pytest.mark.parametrize(
    ("prompt", "keywords", "error", "match"),
    [
        ("", {}, ValueError, "no tokens"),
        ([], {}, ValueError, "no tokens"),
        (b"a", {}, TypeError, "prompt=b'a', of type bytes"),
        (7, {}, TypeError, "prompt=7, of type int"),
        ([999], {}, ValueError, r"prompt\[0\]=999"),
        ("a", {"max_tokens": -1}, ValueError, "max_tokens=-1"),
        ("a", {"max_tokens": 1.5}, TypeError, "max_tokens=1.5"),
        ("a", {"temperature": -1}, ValueError, "temperature=-1"),
        ("a", {"temperature": float("nan")}, ValueError, "temperature=nan"),
        ("a", {"top_p": 0}, ValueError, "top_p=0"),
        ("a", {"top_k": -3}, ValueError, "top_k=-3"),
        ("a", {"min_p": 2}, ValueError, "min_p=2"),
        ("a", {"repetition_penalty": 0}, ValueError, "repetition_penalty=0"),
        ("a", {"stop": [""]}, ValueError, "stop="),
        ("a", {"n": 0}, ValueError, "n=0"),
        ("a", {"seed": -1}, ValueError, "seed=-1"),
        ("a", {"logprobs": -1}, ValueError, "logprobs=-1"),
        ("a", {"regex": "a", "choice": ["b"]}, TypeError, "regex and choice are given"),
        ("a", {"json_options": {}}, TypeError, "json_options"),
        ("a", {"grammar": "a: b"}, TypeError, "grammar='a: b', of type str"),
        ("a", {"flavour": 1}, TypeError, "unknown keyword argument 'flavour'"),
    ],
)
def test_bad_arguments(model, prompt, keywords, error, match):
    with pytest.raises(error, match=match):
        generate(model, prompt, **keywords)


def test_bad_arguments_of_streams_raise_at_once(model):
    with pytest.raises(ValueError, match="top_p"):
        stream(model, "a", top_p=3)


def test_other_vocabulary(model):
    with pytest.raises(VocabularyError, match="another vocabulary"):
        generate(model, "a", constraint=Texts(vocabulary("a"), ["a"]))


def test_context_size(texts):
    short = TableModel(WORDS, context_size=4, order=1, table={(0,): [0.0] * 11 + [9.0, 0, 0]})
    assert len(generate(short, [0, 0, 0], max_tokens=50).token_ids) == 1
    with pytest.raises(ValueError, match="context is 4"):
        generate(short, [0] * 4)
    with pytest.raises(ValueError, match="context is 4"):
        generate(short, [0] * 3, constraint=texts)
    assert generate(short, [0] * 2, constraint=texts).text in OPTIONS


def test_nan_logits_are_an_error(texts):
    broken = TableModel(WORDS, order=0, table={(): [float("nan")] * WORDS.vocab_size})
    for keywords in ({}, {"constraint": texts}, {"temperature": 1.0}):
        with pytest.raises(ValueError, match="NaN"):
            generate(broken, "a", **keywords)


def test_allowed_tokens_of_probability_zero(texts):
    logits = [-np.inf] * WORDS.vocab_size
    logits[11] = 0.0
    only_x = TableModel(WORDS, order=0, table={(): logits})
    for temperature in (0.0, 1.0):
        assert generate(only_x, "a", constraint=texts, temperature=temperature, seed=0).text in OPTIONS


def test_results_pickle(texts, model):
    result = generate(model, "a", constraint=texts, n=2)
    again = pickle.loads(pickle.dumps(result))
    assert again == result
    assert again.value == result.value
    assert pickle.loads(pickle.dumps(Options(stop="x"))) == Options(stop=["x"])
    assert pickle.loads(pickle.dumps(model)).next_logits([1]).tolist() == model.next_logits([1]).tolist()


def test_vocabulary_without_end_tokens():
    endless = vocabulary("a", "b", eos=0)
    for forced in (True, False):
        result = generate(TableModel(endless), "a", constraint=Texts(endless, ["ab", "ba"]), forced=forced)
        assert (len(result.token_ids), result.finish_reason) == (2, "end")
    assert generate(TableModel(endless), "a", max_tokens=3).finish_reason == "length"
