"""Tokenizer objects of transformers: the library's fast ones, and slow ones by what they carry."""

import base64
from types import SimpleNamespace

import pytest

from constrain.errors import VocabularyError
from constrain.vocabularies import _spelling
from constrain.vocabulary import Vocabulary

SPACE = "\u2581"


@pytest.fixture(scope="module")
def transformers():
    return pytest.importorskip("transformers")


def fast(transformers, tokenizers, **special):
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(["the cat sat on the mat"] * 5, trainer)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)


def test_fast(transformers, texts):
    tokenizer = fast(transformers, pytest.importorskip("tokenizers"), eos_token="<end>", pad_token="<pad>")
    tokenizer.add_tokens(["<tool>"])
    end, size = tokenizer.eos_token_id, len(tokenizer)
    vocabulary = Vocabulary.from_transformers(tokenizer)
    assert vocabulary.vocab_size == size
    assert vocabulary.eos_token_ids == (end,)
    assert vocabulary.special_ids == {end, tokenizer.pad_token_id}
    assert vocabulary.token_bytes(tokenizer.convert_tokens_to_ids("<tool>")) == b"<tool>"
    for text in texts(100):
        assert vocabulary.decode(tokenizer.encode(text, add_special_tokens=False)) == text.encode()


def test_ends_of_the_generation_config(transformers):
    tokenizer = fast(transformers, pytest.importorskip("tokenizers"), eos_token="<end>")
    end = tokenizer.eos_token_id
    config = transformers.GenerationConfig(eos_token_id=[end + 1, 3])
    assert Vocabulary.from_transformers(tokenizer, config).eos_token_ids == (3, end, end + 1)
    assert Vocabulary.from_transformers(tokenizer, {"eos_token_id": 5}).eos_token_ids == (5, end)
    padded = Vocabulary.from_transformers(tokenizer, config, vocab_size=512)
    assert padded.vocab_size == 512
    assert Vocabulary.from_transformers(tokenizer, config, 512, eos_token_ids=[500]).eos_token_ids == (500,)


@pytest.mark.parametrize("name", ["smollm2", "llama2", "bert_wordpiece", "qwen3"])
def test_fast_equals_its_file(transformers, name, tokenizer_file):
    path = tokenizer_file(f"{name}/tokenizer.json")
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(path.parent))
    except ValueError:  # transformers 4 does not know every class that 5 writes
        tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(str(path.parent))
    vocabulary, file = Vocabulary.from_transformers(tokenizer), Vocabulary.from_tokenizer_json(path)
    assert vocabulary.tokens() == file.tokens()
    assert vocabulary.eos_token_ids == file.eos_token_ids
    assert vocabulary.prefix_space == file.prefix_space


def test_slow_sentencepiece_with_shifted_ids(tokenizer_file, texts):
    library = pytest.importorskip("sentencepiece")
    model = library.SentencePieceProcessor(model_file=str(tokenizer_file("mistral_sp_v3/tokenizer.model")))
    # As in tokenizers whose first ids are not the model's: everything one further, then an added token.
    vocab = {model.id_to_piece(i): i + 1 for i in range(model.get_piece_size())}
    size = len(vocab)
    added = {
        size + 1: SimpleNamespace(content="<tool>", special=False),
        3: SimpleNamespace(content="</s>", special=True),
    }
    tokenizer = SimpleNamespace(
        sp_model=model, get_vocab=lambda: vocab, added_tokens_decoder=added, all_special_ids=[3], eos_token_id=3
    )
    vocabulary = Vocabulary.from_transformers(tokenizer)
    file = Vocabulary.from_sentencepiece(tokenizer_file("mistral_sp_v3/tokenizer.model"))
    assert vocabulary.tokens() == [None, *file.tokens(), b"<tool>"]
    assert vocabulary.eos_token_ids == (3,)
    assert vocabulary.prefix_space


def slow(**parts):
    return SimpleNamespace(eos_token_id=None, **parts)


def test_slow_byte_level():
    names = {"Ġthe": 0, "Ċ": 1, "a": 3}
    tokenizer = slow(byte_decoder={"a": 97}, get_vocab=lambda: names, unk_token="a", unk_token_id=3)
    assert Vocabulary.from_transformers(tokenizer).tokens() == [b" the", b"\n", None, None]


def test_slow_wordpiece():
    tokenizer = slow(wordpiece_tokenizer=object(), get_vocab=lambda: {"play": 0, "##ing": 1})
    assert Vocabulary.from_transformers(tokenizer).tokens() == [b"play", b"ing"]


def test_slow_tiktoken():
    tiktoken = pytest.importorskip("tiktoken")
    ranks = {bytes([b]): b for b in range(256)}
    special = {256: SimpleNamespace(content="<end>", special=True)}
    encoding = tiktoken.Encoding("t", pat_str=".", mergeable_ranks=ranks, special_tokens={"<end>": 256})
    for parts in ({"model": encoding}, {"tokenizer": encoding}, {"mergeable_ranks": ranks}):
        tokenizer = SimpleNamespace(added_tokens_decoder=special, eos_token_id=256, name_or_path="x", **parts)
        vocabulary = Vocabulary.from_transformers(tokenizer)
        assert vocabulary.tokens() == [*ranks, None]
        assert (vocabulary.eos_token_ids, vocabulary.name) == ((256,), "x")


def test_slow_of_an_unknown_kind():
    with pytest.raises(VocabularyError, match="load the fast one"):
        Vocabulary.from_transformers(slow(get_vocab=lambda: {"a": 0}))
    with pytest.raises(VocabularyError, match="expected a tokenizer of transformers"):
        Vocabulary.from_transformers(object())


def test_byte_alphabet_equals_the_library():
    tokenizers = pytest.importorskip("tokenizers")
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    assert sorted(_spelling.byte_level(alphabet)) == [bytes([b]) for b in range(256)]
    assert _spelling.byte_level([]) == []
    assert _spelling.byte_level(["", "Ġ ", "日"]) == [b"", b"\xc4\xa0 ", "日".encode()]
    assert base64.b64encode(_spelling.byte_level(["Ā"])[0]) == b"AA=="


def test_what_was_read_is_kept_and_a_changed_tokenizer_is_read_anew(transformers, tmp_path, monkeypatch):
    monkeypatch.setenv("CONSTRAIN_CACHE_DIR", str(tmp_path))
    tokenizers = pytest.importorskip("tokenizers")

    def read():
        return Vocabulary.from_transformers(fast(transformers, tokenizers, eos_token="<end>", pad_token="<pad>"))

    first = read()
    kept = list(tmp_path.glob("vocabulary/*.bin"))
    assert len(kept) == 1
    monkeypatch.setattr("constrain.vocabularies.tokenizer_json.draft", None)
    assert read().fingerprint == first.fingerprint
    monkeypatch.undo()
    monkeypatch.setenv("CONSTRAIN_CACHE_DIR", str(tmp_path))
    tokenizer = fast(transformers, tokenizers, eos_token="<end>", pad_token="<pad>")
    tokenizer.add_tokens(["quite new"])
    changed = Vocabulary.from_transformers(tokenizer)
    assert changed.token_bytes(len(tokenizer) - 1) == b"quite new"
    other_end = Vocabulary.from_transformers(tokenizer, {"eos_token_id": 0})
    assert 0 in other_end.eos_token_ids
    assert 0 not in changed.eos_token_ids
