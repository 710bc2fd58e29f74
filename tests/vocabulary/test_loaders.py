"""Loaders on small tokenizers that are made here, and on files that are not what they should be."""

import base64
import io
import json
import struct
import unicodedata

import pytest

from constrain.errors import VocabularyError
from constrain.vocabularies import tokenizer_json
from constrain.vocabulary import Vocabulary

CORPUS = ["the cat sat on the mat", 'the dog, the cat; {"a": [1, 2]}', "été naïve Straße", "日本語 テスト"] * 20
SPACE = "\u2581"
SPECIAL = ["<unk>", "<s>", "</s>"]
BYTES = [f"<0x{b:02X}>" for b in range(256)]


@pytest.fixture
def tokenizers():
    return pytest.importorskip("tokenizers")


def save(tokenizer, folder, **files):
    tokenizer.save(str(folder / "tokenizer.json"))
    for name, value in files.items():
        (folder / f"{name}.json").write_text(json.dumps(value))
    return folder / "tokenizer.json"


def byte_level(tokenizers, prefix=False):
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=400, initial_alphabet=alphabet, special_tokens=["<end>"], show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.add_tokens(["\n\n", "<tool>", "dé"])
    tokenizer.add_special_tokens(["<mark>"])
    return tokenizer


def with_fallback(tokenizers, kind):
    """Return a SentencePiece-like tokenizer with byte fallback."""
    pieces = [*SPECIAL, *BYTES, SPACE, *"abcdehmnost", SPACE + "t", "he", SPACE + "the", "at"]
    if kind == "Unigram":
        model = tokenizers.models.Unigram([(p, -float(i)) for i, p in enumerate(pieces)], 0, byte_fallback=True)
        normalizers = [tokenizers.normalizers.NFC()]
        before = tokenizers.pre_tokenizers.Metaspace(prepend_scheme="always", split=False)
        decoders = [tokenizers.decoders.ByteFallback(), tokenizers.decoders.Metaspace()]
    else:
        merges = [(SPACE, "t"), ("h", "e"), (SPACE + "t", "he"), ("a", "t")]
        vocab = {p: i for i, p in enumerate(pieces)}
        model = tokenizers.models.BPE(vocab, merges, byte_fallback=True, fuse_unk=True, unk_token="<unk>")
        normalizers = [tokenizers.normalizers.Prepend(SPACE), tokenizers.normalizers.Replace(" ", SPACE)]
        before = None
        decoders = [
            tokenizers.decoders.Replace(SPACE, " "),
            tokenizers.decoders.ByteFallback(),
            tokenizers.decoders.Fuse(),
            tokenizers.decoders.Strip(" ", 1, 0),
        ]
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.normalizer = tokenizers.normalizers.Sequence(normalizers)
    if before is not None:
        tokenizer.pre_tokenizer = before
    tokenizer.decoder = tokenizers.decoders.Sequence(decoders)
    tokenizer.add_special_tokens(SPECIAL)
    return tokenizer


@pytest.mark.parametrize("prefix", [False, True])
def test_byte_level(tokenizers, tmp_path, texts, prefix):
    tokenizer = byte_level(tokenizers, prefix)
    vocabulary = Vocabulary.from_tokenizer_json(save(tokenizer, tmp_path, tokenizer_config={"eos_token": "<end>"}))
    assert vocabulary.prefix_space is prefix
    assert vocabulary.spellable == vocabulary.single_bytes == (1 << 256) - 1
    assert vocabulary.eos_token_ids == (tokenizer.token_to_id("<end>"),)
    assert vocabulary.special_ids == {tokenizer.token_to_id("<end>"), tokenizer.token_to_id("<mark>")}
    assert vocabulary.token_bytes(tokenizer.token_to_id("\n\n")) == b"\n\n"
    assert vocabulary.token_bytes(tokenizer.token_to_id("<tool>")) == b"<tool>"
    assert vocabulary.token_bytes(tokenizer.token_to_id("dé")) == "dé".encode()
    for text in texts(200):
        decoded = vocabulary.decode(tokenizer.encode(text, add_special_tokens=False).ids).decode()
        # Pieces of text between added tokens get the prefix, too: compare without spaces there.
        assert decoded == text if not prefix else decoded.replace(" ", "") == text.replace(" ", "")


@pytest.mark.parametrize("kind", ["BPE", "Unigram"])
def test_sentencepiece_like_with_byte_fallback(tokenizers, tmp_path, texts, kind):
    tokenizer = with_fallback(tokenizers, kind)
    vocabulary = Vocabulary.from_tokenizer_json(save(tokenizer, tmp_path, generation_config={"eos_token_id": [2, 1]}))
    assert vocabulary.prefix_space
    assert vocabulary.normalizer == ("NFC" if kind == "Unigram" else "")
    assert vocabulary.eos_token_ids == (1, 2)
    assert vocabulary.special_ids == {0, 1, 2}
    assert vocabulary.token_bytes(3 + 0xFF) == b"\xff"
    for text in texts(200, lambda c: c != SPACE):
        expected = unicodedata.normalize("NFC", text) if kind == "Unigram" else text
        expected = expected if kind == "Unigram" and expected.startswith(" ") else " " + expected
        decoded = vocabulary.decode(tokenizer.encode(text, add_special_tokens=False).ids)
        assert decoded == (expected.encode() if text else b"")


def test_wordpiece(tokenizers, tmp_path):
    words = ["[UNK]", "play", "##ing", "##", "to", "##to", "##\u00e9"]
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.WordPiece({w: i for i, w in enumerate(words)}, unk_token="[UNK]")
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    vocabulary = Vocabulary.from_tokenizer_json(save(tokenizer, tmp_path))
    assert vocabulary.tokens() == [None, b"play", b"ing", b"##", b"to", b"to", "é".encode()]
    assert vocabulary.normalizer == "whitespace is lost"
    assert vocabulary.decode(tokenizer.encode("playing to").ids) == b"playingto"


def test_configurations_beside_the_file(tokenizers, tmp_path):
    tokenizer = byte_level(tokenizers)
    size = tokenizer.get_vocab_size()
    tool = tokenizer.token_to_id("<tool>")
    path = save(
        tokenizer,
        tmp_path,
        tokenizer_config={
            "eos_token": {"content": "<end>"},
            "additional_special_tokens": ["<tool>"],
            "added_tokens_decoder": {str(size): {"content": "<more>", "special": False}},
        },
        config={"eos_token_id": 7, "text_config": {"eos_token_id": 8}},
    )
    vocabulary = Vocabulary.from_tokenizer_json(tmp_path)
    assert vocabulary.eos_token_ids == (0, 7)
    assert vocabulary.token_bytes(tool) is None
    assert vocabulary.token_bytes(size) == b"<more>"
    # A generation config is asked before the model's config.
    (tmp_path / "generation_config.json").write_text('{"eos_token_id": [3, 400000]}')
    assert Vocabulary.from_tokenizer_json(path).eos_token_ids == (0, 3, 400_000)
    assert Vocabulary.from_tokenizer_json(path).vocab_size == 400_001
    other = Vocabulary.from_tokenizer_json(path, eos_token_ids=[5], vocab_size=size + 1)
    assert other.eos_token_ids == (5,)
    assert other.vocab_size == size + 1


def test_merges_are_cut_out_only_where_that_is_safe(tokenizers):
    document = json.loads(byte_level(tokenizers).to_str())
    plain = tokenizer_json.parse(json.dumps(document).encode())
    assert plain["model"]["merges"] == []
    assert plain["model"]["vocab"] == document["model"]["vocab"]
    assert tokenizer_json.parse(json.dumps(document, indent=2, ensure_ascii=False).encode()) == plain
    # Merges before the vocabulary, a token that looks like the key, a key that ends like it.
    model = {"merges": document["model"].pop("merges"), **document["model"]}
    assert tokenizer_json.parse(json.dumps({**document, "model": model}).encode())["model"]["vocab"] == model["vocab"]
    odd = {"added_tokens": [], "model": {"vocab": {'"merges": [': 0, 'x"merges': 1, "]}}": 2}, "merges": []}}
    assert tokenizer_json.parse(json.dumps(odd).encode()) == odd
    odd = {"added_tokens": [], 'x"merges': [1, 2], "model": {"vocab": {"a": 0}, "last": [3]}}
    assert tokenizer_json.parse(json.dumps(odd).encode()) == odd


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[", "cannot be read as tokenizer.json"),
        ("[]", 'no object "model"'),
        ("{}", 'no object "model"'),
        ('{"model": {"type": "BPE"}}', "cannot be read as tokenizer.json: KeyError"),
        ('{"model": {"type": "BPE", "vocab": {}}}', "token ids from 0 to -1"),
        ('{"model": {"vocab": {"a": -1}}}', "token ids from -1"),
        ('{"model": {"vocab": {"a": 99999999}}}', "token ids from 99999999"),
        ('{"model": {"vocab": {"a": 0}}, "decoder": {"type": "CTC"}}', 'the decoder {"type":"CTC"} is not supported'),
        ('{"model": {"vocab": {"a": 0}, "end_of_word_suffix": "</w>"}}', "end_of_word_suffix='</w>' is not supported"),
    ],
)
def test_bad_tokenizer_json(tmp_path, text, message):
    path = tmp_path / "tokenizer.json"
    path.write_text(text)
    with pytest.raises(VocabularyError) as caught:
        Vocabulary.from_tokenizer_json(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        Vocabulary.from_tokenizer_json(tmp_path)


@pytest.mark.parametrize("options", [{"model_type": "bpe", "byte_fallback": True}, {"model_type": "unigram"}])
def test_sentencepiece(tmp_path, texts, options):
    library = pytest.importorskip("sentencepiece")
    out = io.BytesIO()
    library.SentencePieceTrainer.train(
        sentence_iterator=iter(CORPUS),
        model_writer=out,
        vocab_size=350 if options.get("byte_fallback") else 60,
        user_defined_symbols=["<tool>"],
        control_symbols=["<mark>"],
        minloglevel=2,
        hard_vocab_limit=False,
        **options,
    )
    path = tmp_path / "tokenizer.model"
    path.write_bytes(out.getvalue())
    processor = library.SentencePieceProcessor(model_proto=out.getvalue())
    vocabulary = Vocabulary.from_sentencepiece(tmp_path)
    assert vocabulary.vocab_size == processor.get_piece_size()
    assert vocabulary.eos_token_ids == (2,)
    assert vocabulary.token_bytes(processor.piece_to_id("<tool>")) == b"<tool>"
    assert vocabulary.token_bytes(processor.piece_to_id("<mark>")) is None
    seen = 0
    for text in [*texts(100, lambda c: c not in SPACE + "\0"), *CORPUS[:4]]:
        ids = processor.encode(text)
        if processor.unk_id() not in ids:
            assert vocabulary.decode(ids) == processor.normalize(text).replace(SPACE, " ").encode()
            seen += 1
    assert seen >= 4


def piece(text, kind, tail=b""):
    raw = text.encode()
    body = b"\x0a" + bytes([len(raw)]) + raw + b"\x15" + struct.pack("<f", -1.0)
    body += (b"" if kind == 1 else b"\x18" + bytes([kind])) + tail
    return b"\x0a" + bytes([len(body)]) + body


def test_sentencepiece_unused_pieces_and_unknown_fields(tmp_path):
    raw = piece("<unk>", 2) + piece("a", 1) + piece("</s>", 3) + piece("b", 5) + piece("c", 1, b"\x98\x06\x01")
    path = tmp_path / "m.model"
    path.write_bytes(raw)
    vocabulary = Vocabulary.from_sentencepiece(path)
    assert vocabulary.tokens() == [None, b"a", None, None, b"c"]
    assert vocabulary.eos_token_ids == (2,)


@pytest.mark.parametrize(
    "raw", [b"", b"\x0a\xff", b"\x0a\x05ab", b"\xff" * 20, b"\x0b\x01", piece("x", 6), b"{}", b"\x0a"], ids=repr
)
def test_bad_sentencepiece(tmp_path, raw):
    path = tmp_path / "m.model"
    path.write_bytes(raw)
    with pytest.raises(VocabularyError, match=r"m\.model"):
        Vocabulary.from_sentencepiece(path)


def test_tiktoken(tmp_path):
    path = tmp_path / "x.tiktoken"
    tokens = [bytes([b]) for b in range(256)] + [b"ab"]
    path.write_bytes(b"".join(base64.b64encode(t) + b" %d\n" % i for i, t in enumerate(tokens)))
    vocabulary = Vocabulary.from_tiktoken(path, {"<end>": 300, "<turn>": 301}, eos=["<end>", "<turn>"], vocab_size=320)
    assert vocabulary.tokens()[:257] == tokens
    assert vocabulary.eos_token_ids == (300, 301)
    assert vocabulary.vocab_size == 320
    assert vocabulary.special_ids == set(range(257, 320))
    assert Vocabulary.from_tiktoken(path, {"<end>": 300}, eos="<end>").eos_token_ids == (300,)
    with pytest.raises(VocabularyError, match="eos='<x>' is not among special_tokens="):
        Vocabulary.from_tiktoken(path, {"<end>": 300}, eos="<x>")


@pytest.mark.parametrize("raw", [b"YQ== 0 YQ==", b"! 0", b"YQ== x", b""])
def test_bad_tiktoken(tmp_path, raw):
    path = tmp_path / "x.tiktoken"
    path.write_bytes(raw)
    with pytest.raises(VocabularyError, match=r"x\.tiktoken"):
        Vocabulary.from_tiktoken(path)


@pytest.mark.parametrize("listed", [False, True])
def test_tekken(tmp_path, listed):
    document = {
        "config": {"default_vocab_size": 8, "default_num_special_tokens": 4},
        "vocab": [{"rank": i, "token_bytes": base64.b64encode(bytes([97 + i])).decode()} for i in range(6)],
    }
    if listed:
        document["special_tokens"] = [{"rank": 3, "token_str": "</s>", "is_control": True}]
    (tmp_path / "tekken.json").write_text(json.dumps(document))
    vocabulary = Vocabulary.from_tekken(tmp_path)
    assert vocabulary.tokens() == [None] * 4 + [b"a", b"b", b"c", b"d"]
    assert vocabulary.eos_token_ids == ((3,) if listed else (2,))


def test_bad_tekken(tmp_path):
    (tmp_path / "tekken.json").write_text("{}")
    with pytest.raises(VocabularyError, match=r"tekken.json: it lacks 'config' or 'vocab'"):
        Vocabulary.from_tekken(tmp_path)


def write_gguf(path, model, tokens, types, **more):
    gguf = pytest.importorskip("gguf")
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tokenizer_model(model)
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_merges(["a b"])
    writer.add_eos_token_id(2)
    writer.add_chat_template("{{ x }}")
    for name, value in more.items():
        getattr(writer, name)(value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    return path


@pytest.mark.parametrize(
    ("model", "tokens", "types", "expected"),
    [
        ("gpt2", ["Ġa", "Ċ", "<end>", "é é", "x"], [1, 1, 3, 4, 5], [b" a", b"\n", None, "é é".encode(), None]),
        ("llama", ["<unk>", "▁a", "</s>", "<0x0A>", "b"], [2, 1, 3, 6, 4], [None, b" a", None, b"\n", b"b"]),
        ("bert", ["[UNK]", "▁play", "[SEP]", "ing"], [2, 1, 3, 1], [None, b"play", None, b"ing"]),
    ],
)
def test_gguf(tmp_path, model, tokens, types, expected):
    path = write_gguf(tmp_path / "m.gguf", model, tokens, types, add_eot_token_id=0)
    vocabulary = Vocabulary.from_gguf(path)
    assert vocabulary.tokens() == [None, *expected[1:]]
    assert vocabulary.eos_token_ids == (0, 2)
    assert vocabulary.prefix_space is (model == "llama")


def test_gguf_with_long_metadata(tmp_path, monkeypatch):
    path = write_gguf(tmp_path / "m.gguf", "gpt2", ["a", "b", "c"], [1, 1, 3])
    expected = Vocabulary.from_gguf(path).fingerprint
    for part in (1, 30, 200):
        monkeypatch.setattr("constrain.vocabularies.gguf._PART", part)
        assert Vocabulary.from_gguf(path).fingerprint == expected


def test_bad_gguf(tmp_path):
    path = write_gguf(tmp_path / "m.gguf", "gpt2", ["a", "b", "c"], [1, 1, 3])
    whole = path.read_bytes()
    for size in (0, 3, 20, 40, 200, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(VocabularyError, match=r"m\.gguf"):
            Vocabulary.from_gguf(path)
    path.write_bytes(b"PK\x03\x04" + whole[4:])
    with pytest.raises(VocabularyError, match="expected GGUF"):
        Vocabulary.from_gguf(path)
    write_gguf(path, "rwkv", ["a", "b", "c"], [1, 1, 3])
    with pytest.raises(VocabularyError, match="model='rwkv' is not supported"):
        Vocabulary.from_gguf(path)
