"""The processor inside `model.generate`, in every mode that reorders, repeats or takes back rows."""

import numpy as np
import pytest
import torch
import transformers

from constrain.backends.logits_processor import LogitsProcessor
from constrain.decoding.generate import generate, generate_batch
from constrain.errors import VocabularyError
from tests.decoding.doubles import Texts, vocabulary

TEXTS = ['{"name": "Ada", "age": 36}', '{"name": "the name"}', "true", "null", "null of the name", "the the the"]


@pytest.fixture
def model(models):
    return models("llama")


@pytest.fixture
def language(model):
    return Texts(model.vocabulary, TEXTS)


def texts(model, output, start):
    """Return the answers in the rows of `generate`'s output, up to the first end token."""
    found = []
    for row in output[:, start:].tolist():
        end = row.index(1) if 1 in row else len(row)
        found.append(
            b"".join(model.vocabulary.token_bytes(token) or b"" for token in row[:end]).decode(errors="replace")
        )
    return found


def run(model, processor, prompts, **keywords):
    batch = model.tokenizer(list(prompts), return_tensors="pt", padding=True, padding_side="left")
    keywords = {"max_new_tokens": 60, "do_sample": False, "pad_token_id": 2, **keywords}
    output = model.hf_model.generate(
        batch["input_ids"], attention_mask=batch["attention_mask"], logits_processor=[processor], **keywords
    )
    return output, batch["input_ids"].shape[1]


@pytest.mark.parametrize("prompt", ["the name", "a", "true of"])
def test_greedy_equals_generate(model, language, prompt):
    output, start = run(model, LogitsProcessor(language), [prompt])
    assert list(generate(model, prompt, constraint=language, forced=False).token_ids) == output[0, start:].tolist()


@pytest.mark.parametrize(
    "keywords",
    [
        {},
        {"do_sample": True},
        {"do_sample": True, "num_return_sequences": 5, "temperature": 3.0},
        {"num_beams": 4},
        {"num_beams": 4, "num_return_sequences": 4},
        {"num_beams": 3, "do_sample": True, "temperature": 2.0},
        {"repetition_penalty": 1.3},
    ],
    ids=str,
)
def test_every_mode_gives_members_of_the_language(model, language, keywords):
    torch.manual_seed(0)
    processor = LogitsProcessor(language)
    for prompts in (["the name"], ["a", "the name of the name", "x"]):
        output, start = run(model, processor, prompts, **keywords)
        assert set(texts(model, output, start)) <= set(TEXTS)


def test_beams_are_the_best_under_the_constraint(model):
    """With as many beams as there are prefixes nothing is pruned: the best answer overall is found."""
    language = Texts(model.vocabulary, ["true", "null"])
    prompt = model.encode("the")
    best = {}

    def walk(state, ids, log):
        if state == 1:
            best[tuple(ids)] = log
            return
        logits = model.prefill([prompt + ids]).logits()[0].astype(float)
        scores = logits - np.logaddexp.reduce(logits)
        for token in language._allowed(state):
            walk(language.advance(state, token), [*ids, token], log + scores[token])

    output, start = run(model, LogitsProcessor(language), ["the"], num_beams=40, length_penalty=0.0)
    walk(language.start, [], 0.0)
    answer = max(best, key=best.get)
    assert output[0, start : start + len(answer)].tolist() == list(answer)


def test_a_constraint_for_each_prompt(model, language):
    digits = Texts(model.vocabulary, ["1", "22", "333"])
    processor = LogitsProcessor([language, None, digits])
    output, start = run(model, processor, ["the", "a", "the name"], max_new_tokens=30, num_beams=2)
    found = texts(model, output, start)
    assert found[0] in TEXTS
    assert found[2] in {"1", "22", "333"}
    free, _ = run(model, LogitsProcessor([None] * 3), ["the", "a", "the name"], max_new_tokens=30, num_beams=2)
    plain, _ = run(model, LogitsProcessor([digits, None, digits]), ["the", "a", "the name"], max_new_tokens=30)
    alone, _ = run(model, LogitsProcessor([None]), ["the", "a", "the name"], max_new_tokens=30)
    assert free.shape[0] == 3
    assert texts(model, plain, start)[1] == texts(model, alone, start)[1]
    with pytest.raises(ValueError, match="2 constraints"):
        run(model, LogitsProcessor([language, digits]), ["the", "a", "b"])


def test_batches_equal_generate_batch(model, language):
    prompts = ["the name", "a", "null and void"]
    output, start = run(model, LogitsProcessor(language), prompts)
    ours = generate_batch(model, prompts, constraint=language, forced=False)
    assert texts(model, output, start) == [result.text for result in ours]


@pytest.mark.parametrize(
    "keywords", [{"prompt_lookup_num_tokens": 4}, {"assistant": True}], ids=["lookup", "assistant"]
)
@pytest.mark.parametrize("do_sample", [False, True])
def test_assisted_generation(model, language, hf_models, keywords, do_sample):
    if "assistant" in keywords:
        torch.manual_seed(5)
        assistant = hf_models["llama"]()
        with torch.no_grad():
            for weights in assistant.parameters():
                weights.add_(0.05 * torch.randn_like(weights))
        keywords = {"assistant_model": assistant}
    plain, start = run(model, LogitsProcessor(language), ["the name of the name"])
    torch.manual_seed(1)
    processor = LogitsProcessor(language)
    for _ in range(2):
        output, start = run(model, processor, ["the name of the name"], do_sample=do_sample, **keywords)
        assert texts(model, output, start)[0] in TEXTS
        if not do_sample:
            assert texts(model, output, start) == texts(model, plain, start)


def test_reuse_is_noticed(model, language):
    processor = LogitsProcessor(language)
    first, start = run(model, processor, ["the name"])
    again, _ = run(model, processor, ["the name"])
    assert first.tolist() == again.tolist()
    for prompt in ("the name", "the name of", "t", "the name"):
        output, start = run(model, processor, [prompt])
        assert texts(model, output, start)[0] in TEXTS
    # The next turn of a conversation: what was written is now prompt.
    ids = torch.cat([first, torch.tensor([model.encode("the name ")])], dim=1)
    mask = torch.ones_like(ids)
    output = model.hf_model.generate(
        ids, attention_mask=mask, max_new_tokens=60, do_sample=False, pad_token_id=2, logits_processor=[processor]
    )
    assert texts(model, output, ids.shape[1])[0] in TEXTS


def call(processor, rows, width=64):
    """Return which tokens each row may take."""
    scores = torch.zeros((len(rows), width))
    return [np.flatnonzero(np.isfinite(row)).tolist() for row in processor(torch.tensor(rows), scores).numpy()]


LETTERS = vocabulary("a", "b", "c")
END = 3


def test_rows_are_found_by_their_tokens():
    processor = LogitsProcessor(Texts(LETTERS, ["abc", "acb", "ba"]))
    assert call(processor, [[9, 9], [8, 8]]) == [[0, 1], [0, 1]]
    assert call(processor, [[8, 8, 1], [9, 9, 0], [9, 9, 1]]) == [[0], [1, 2], [0]]
    assert call(processor, [[9, 9, 0, 2], [9, 9, 0, 1], [8, 8, 1, 0]]) == [[1], [2], [END]]
    # After the end: end tokens only, whatever pads the row.
    assert call(processor, [[8, 8, 1, 0, END], [9, 9, 0, 1, 2]]) == [[END], [END]]
    assert call(processor, [[8, 8, 1, 0, END, 7]]) == [[END]]
    # Taken back, as after a refused draft.
    assert call(processor, [[9, 9, 0]]) == [[1, 2]]
    assert call(processor, [[9, 9, 0, 1, 2]]) == [[END]]


def test_broken_drafts_leave_no_row_without_tokens():
    processor = LogitsProcessor(Texts(LETTERS, ["abc"]))
    call(processor, [[9]])
    assert call(processor, [[9, 2]]) == [[END]]
    assert call(processor, [[9, 2, 2]]) == [[END]]
    assert call(processor, [[9, 0]]) == [[1]]
    assert call(processor, [[9]]) == [[0]]
    assert call(processor, [[9, 60]]) == [[END]]


def test_prompt_length():
    processor = LogitsProcessor(Texts(LETTERS, ["abc"]), prompt_length=1)
    assert call(processor, [[9, 0, 1]]) == [[2]]
    with pytest.raises(ValueError, match="prompt_length=1"):
        call(processor, [[]])


def test_a_step_costs_one_advance_a_row():
    language = Texts(LETTERS, ["a" * 300])
    calls = []
    advance = language.advance
    processor = LogitsProcessor(language)
    row = [9]
    call(processor, [row])
    for _ in range(200):
        row = [*row, 0]
        language.advance = lambda *arguments: calls.append(arguments) or advance(*arguments)
        language.fill_bitmask = lambda state, bitmask, index: bitmask.__setitem__(index, -1)
        call(processor, [row])
    assert len(calls) == 200


def test_memory_is_bounded(monkeypatch):
    monkeypatch.setattr("constrain.backends.logits_processor.KEPT_BYTES", 1000)
    processor = LogitsProcessor(Texts(LETTERS, ["a" * 300]))
    for length in range(100):
        call(processor, [[9] + [0] * length])
    assert len(processor._known) <= 10
    assert processor._bytes == sum(len(key) for _, key in processor._known)


def test_padded_scores_and_narrow_ones():
    processor = LogitsProcessor(Texts(LETTERS, ["abc"]))
    assert call(processor, [[9]], width=200) == [[0]]
    assert call(LogitsProcessor(Texts(LETTERS, ["abc"])), [[9]], width=4) == [[0]]
    with pytest.raises(VocabularyError, match="vocab_size=4"):
        call(LogitsProcessor(Texts(LETTERS, ["abc"])), [[9]], width=3)


def test_scores_are_not_changed_in_place():
    processor = LogitsProcessor(Texts(LETTERS, ["abc"]))
    scores = torch.zeros((1, 8), dtype=torch.bfloat16)
    assert processor(torch.tensor([[9]]), scores).dtype == torch.bfloat16
    assert not scores.isinf().any()


def test_wrong_constraint():
    with pytest.raises(TypeError, match=r"compiled='a\+', of type str"):
        LogitsProcessor(["a+"])
    assert isinstance(LogitsProcessor([None]), transformers.LogitsProcessor)


def test_a_draft_that_was_refused_is_met_again(model, language):
    """transformers before 4.57 looks up the same drafts in each generation of a prompt."""
    processor, width = LogitsProcessor(language), model.vocabulary.vocab_size
    prompt = model.tokenizer.encode("the name")
    bad = next(i for i in range(width) if not language.advance(language.start, i) and model.vocabulary.token_bytes(i))
    good = next(i for i in range(width) if language.advance(language.start, i))
    rows = [prompt, [*prompt, bad], [*prompt, bad, bad], [*prompt, good]]
    scores = [
        [processor(torch.tensor([row]), torch.zeros((1, width))).isfinite().sum().item() for row in rows]
        for _ in range(3)
    ]
    assert scores[0] == scores[1] == scores[2]
    assert scores[0][1:3] == [1, 1]
    assert scores[0][3] == int(
        np.unpackbits(language.bitmask(language.advance(language.start, good)).view(np.uint8)).sum()
    )


def test_logits_far_wider_than_the_vocabulary_are_refused():
    texts = Texts(vocabulary("a", "b"), ["ab"])
    ids = torch.zeros((1, 3), dtype=torch.long)
    width = texts.vocabulary.vocab_size
    assert LogitsProcessor(texts)(ids, torch.zeros((1, width + 1000))).isfinite().any()
    with pytest.raises(VocabularyError, match=r"leaves 5000 of the model's 5003 logits .*with_size.5003"):
        LogitsProcessor(texts)(ids, torch.zeros((1, width + 5000)))
    with pytest.raises(ValueError, match=r"expected .rows, tokens. and"):
        LogitsProcessor(texts)(ids[0], torch.zeros(width))
