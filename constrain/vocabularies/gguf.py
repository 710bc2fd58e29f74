"""The tokenizer in the metadata of a GGUF model, read without the gguf library.

Source: the GGUF specification (ggml, docs/gguf.md): a header, then keys with typed values, little-endian.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from constrain.errors import VocabularyError
from constrain.vocabularies import _spelling, sentencepiece
from constrain.vocabularies._draft import Draft, file_path, remembered

if TYPE_CHECKING:
    import os

    from constrain.vocabulary import Vocabulary

_KEY = "tokenizer.ggml."
_ENDS = ("eos_token_id", "eot_token_id", "eom_token_id")
# Types of values: code -> struct format. 8 is a string, 9 an array.
_SCALARS = dict(enumerate("BbHhIif?")) | {10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_PART = 16 << 20  # bytes read at first; the metadata of a 262,000 token model is about 15 MB


class _Reader:
    """A position in a GGUF file's metadata."""

    def __init__(self, data: Any) -> None:
        self.data = data
        self.at = 0

    def number(self, form: str) -> Any:
        (value,) = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return value

    def string(self) -> bytes:
        size = self.number("Q")
        start, self.at = self.at, self.at + size
        if self.at > len(self.data):
            raise EOFError(f"it ends within a string of {size} bytes")
        return bytes(self.data[start : self.at])

    def strings(self, count: int) -> list[bytes]:
        """Read `count` strings; this loop is most of the time of a load."""
        found = []
        data, at, unpack, size = self.data, self.at, struct.Struct("<Q").unpack_from, len(self.data)
        for _ in range(count):
            start = at + 8
            at = start + unpack(data, at)[0]
            if at > size:
                raise EOFError("it ends within a list of strings")
            found.append(data[start:at])
        self.at = at
        return found

    def value(self, kind: int) -> Any:
        if kind in _SCALARS:
            return self.number(_SCALARS[kind])
        if kind == _STRING:
            return self.string()
        if kind != _ARRAY:
            raise VocabularyError(f"value type {kind} at byte {self.at} is unknown")
        inner, count = self.number("I"), self.number("Q")
        if inner == _STRING:
            return self.strings(count)
        if inner not in _SCALARS:
            raise VocabularyError(f"an array of type {inner} at byte {self.at} is not supported")
        form = f"<{count}{_SCALARS[inner]}"
        values = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return values


def load(path: str | os.PathLike[str]) -> Vocabulary:
    """Read the vocabulary of a GGUF file.

    Only its beginning is read, in growing parts until the metadata is whole; the cache knows it by the hash of that.

    Raises:
        VocabularyError: it is no such file, or its kind of tokenizer is not known here.
        OSError: it cannot be read.
    """
    file = file_path(path, "model.gguf")
    size = _PART
    while True:
        with file.open("rb") as handle:
            raw = handle.read(size)
        try:
            return remembered(file, "gguf", (raw,), lambda: draft(metadata(raw)))  # noqa: B023, called at once
        except VocabularyError as error:
            if len(raw) < size or not isinstance(error.__cause__, (struct.error, EOFError)):
                raise
        size *= 8


def metadata(raw: bytes) -> dict[str, Any]:
    """Return the metadata by key.

    Raises:
        EOFError, struct.error: `raw` ends before the metadata does.
    """
    reader = _Reader(raw)
    magic, version = reader.number("I"), reader.number("I")
    if magic != int.from_bytes(b"GGUF", "little") or version not in {2, 3}:
        raise VocabularyError(f"it begins with {raw[:8]!r}; expected GGUF, version 2 or 3, little-endian")
    reader.number("Q")
    found = {}
    for _ in range(reader.number("Q")):
        key = reader.string().decode()
        found[key] = reader.value(reader.number("I"))
    return found


def draft(values: dict[str, Any]) -> Draft:
    """Return what the metadata says of the tokenizer."""
    model = bytes(values[_KEY + "model"]).decode()
    raw = values[_KEY + "tokens"]
    texts = [token.decode("utf-8", "replace") for token in raw]
    types = list(values.get(_KEY + "token_type") or [sentencepiece.NORMAL] * len(texts))
    if model in {"llama", "t5"}:
        found = sentencepiece.typed(texts, types)
        found.prefix_space = bool(values.get(_KEY + "add_space_prefix", True))
    elif model in {"gpt2", "bert"}:
        found = _texts(model, texts, types)
        found.prefix_space = bool(values.get(_KEY + "add_space_prefix", False)) and model == "gpt2"
    else:
        raise VocabularyError(f"{_KEY}model={model!r} is not supported; expected gpt2, llama, t5 or bert")
    found.ends = {int(values[_KEY + end]) for end in _ENDS if _KEY + end in values}
    return found


def _texts(model: str, texts: list[str], types: list[int]) -> Draft:
    """Return the draft of byte-level (gpt2) or WordPiece (bert) tokens with SentencePiece types."""
    if model == "gpt2":
        spelled = _spelling.byte_level(texts)
    else:
        # llama.cpp marks the first piece of a word instead of the later ones.
        spelled = _spelling.utf8([text.removeprefix(_spelling.SPACE) for text in texts])
    found = Draft(dict(enumerate(spelled)))
    for i, kind in enumerate(types):
        if kind == sentencepiece.USER_DEFINED:
            found.tokens[i] = texts[i].encode()
        elif kind != sentencepiece.NORMAL:
            found.special.add(i)
    if model == "bert":
        found.normalizer = "BERT: cleaned, lower case, no accents, whitespace is lost"
    return found
