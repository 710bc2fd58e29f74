"""SentencePiece `.model` files, read without the sentencepiece or protobuf libraries.

Source: sentencepiece_model.proto (Apache-2.0), the messages ModelProto, SentencePiece, TrainerSpec, NormalizerSpec;
the wire format is in the Protocol Buffers documentation, "Encoding".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from constrain.errors import VocabularyError
from constrain.vocabularies import _sidecars, _spelling
from constrain.vocabularies._draft import Draft, file_path, remembered

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from constrain.vocabulary import Vocabulary

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)  # SentencePiece.Type, the same in GGUF
_EOS_ID, _UNK_PIECE, _SUFFIX = 42, 45, 24  # fields of TrainerSpec


def load(path: str | os.PathLike[str]) -> Vocabulary:
    """Read a `.model` file (or the folder with a `tokenizer.model`) and the configuration files beside it.

    Raises:
        VocabularyError: it is no such file.
        OSError: it cannot be read.
    """
    file = file_path(path, "tokenizer.model")
    raw = file.read_bytes()
    sides = _sidecars.beside(file)
    return remembered(file, "sentencepiece", (raw, *sides.raw), lambda: _draft(raw, sides.parse()))


def _draft(raw: bytes, files: dict[str, dict[str, Any]]) -> Draft:
    found, texts = read(raw)
    by_name = {text: i for i, text in enumerate(texts)}
    for token_id, (text, special) in _sidecars.added_tokens(files["tokenizer_config.json"]).items():
        by_name[text] = token_id
        if special:
            found.special.add(token_id)
        elif token_id not in found.tokens:
            found.tokens[token_id] = text.encode()
    found.ends |= _sidecars.eos_ids(files, by_name.get)
    return found


def read(raw: bytes) -> tuple[Draft, list[str]]:
    """Return the draft of a serialized model, and its pieces as they are written."""
    texts: list[str] = []
    types: list[int] = []
    trainer: dict[int, Any] = {}
    normalizer: dict[int, Any] = {}
    for number, value in _fields(raw):
        if number == 1:
            text, kind = _piece(value)
            texts.append(text)
            types.append(kind)
        elif number == 2:
            trainer = dict(_fields(value))
        elif number == 3:
            normalizer = dict(_fields(value))
    if not texts:
        raise VocabularyError("it has no pieces")
    found = typed(texts, types)
    eos = _signed(trainer.get(_EOS_ID, 2))
    # A model trained without an end has -1; the default, 2, may be beyond a tiny model or an ordinary piece.
    if 0 <= eos < len(texts) and types[eos] == CONTROL:
        found.ends.add(eos)
    suffix = bool(trainer.get(_SUFFIX, 0))
    found.prefix_space = bool(normalizer.get(3, 1)) and not suffix
    words = [bytes(normalizer.get(1, b"")).decode() if normalizer.get(2) else ""]
    words.append("runs of spaces collapse, outer ones are dropped" if normalizer.get(4, 1) else "")
    words.append("a space is written after the text" if suffix and normalizer.get(3, 1) else "")
    found.normalizer = ", ".join(word for word in words if word)
    return found, texts


def typed(texts: list[str], types: list[int]) -> Draft:
    """Return the draft of pieces with SentencePiece types."""
    found = Draft(dict(enumerate(_spelling.pieces(texts, {_spelling.SPACE: " "}, byte_fallback=False))))
    for i, kind in enumerate(types):
        if kind == BYTE:
            value = _spelling.byte_value(texts[i])
            if value is None:
                raise VocabularyError(f"piece {i} is a byte but written {texts[i]!r}")
            found.tokens[i] = bytes([value])
        elif kind not in {NORMAL, USER_DEFINED}:
            found.special.add(i)
    return found


def _piece(raw: bytes) -> tuple[str, int]:
    """Return (text, type) of a SentencePiece message."""
    # Written by protobuf: the text (field 1), the score (field 2, four bytes), then perhaps the type (field 3).
    size = raw[1] if len(raw) > 1 else 0
    if raw[:1] == b"\x0a" and size < 0x80:
        rest = raw[2 + size :]
        if len(rest) == 5 and rest[0] == 0x15:
            return raw[2 : 2 + size].decode(), NORMAL
        if len(rest) == 7 and rest[0] == 0x15 and rest[5] == 0x18:
            return raw[2 : 2 + size].decode(), rest[6]
    message = dict(_fields(raw))
    return bytes(message.get(1, b"")).decode(), int(message.get(3, NORMAL))


def _fields(raw: bytes) -> Iterator[tuple[int, Any]]:
    """Yield (number, value) of a message's fields: an int for a varint, else bytes."""
    at, size = 0, len(raw)
    while at < size:
        tag, at = _varint(raw, at)
        wire = tag & 7
        if wire == 0:
            value, at = _varint(raw, at)
            yield tag >> 3, value
            continue
        if wire == 2:
            length, at = _varint(raw, at)
        elif wire in {1, 5}:
            length = 8 if wire == 1 else 4
        else:
            raise VocabularyError(f"wire type {wire} at byte {at}")
        if at + length > size:
            raise VocabularyError(f"it ends within a field of {length} bytes at byte {at}")
        yield tag >> 3, raw[at : at + length]
        at += length


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    """Return (value, position after it) of a varint."""
    value = shift = 0
    while True:
        byte = raw[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise VocabularyError(f"a number at byte {at} is too long")


def _signed(value: int) -> int:
    """Return a varint read as int32."""
    return value - (1 << 64) if value >> 63 else value
