"""Mistral's `tekken.json`: byte-level tokens by rank, after a block of special ids."""

from __future__ import annotations

from base64 import b64decode
from typing import TYPE_CHECKING, Any

import orjson

from constrain.errors import VocabularyError
from constrain.vocabularies import _sidecars
from constrain.vocabularies._draft import Draft, file_path, remembered

if TYPE_CHECKING:
    import os

    from constrain.vocabulary import Vocabulary

# Files before version 7 do not list their special tokens; the first three have always been these.
_FIRST = ("<unk>", "<s>", "</s>")


def load(path: str | os.PathLike[str]) -> Vocabulary:
    """Read a `tekken.json` (or the folder it is in) and the configuration files beside it.

    Raises:
        VocabularyError: it is no such file.
        OSError: it cannot be read.
    """
    file = file_path(path, "tekken.json")
    raw = file.read_bytes()
    sides = _sidecars.beside(file)
    return remembered(file, "tekken.json", (raw, *sides.raw), lambda: _draft(orjson.loads(raw), sides.parse()))


def _draft(document: dict[str, Any], files: dict[str, dict[str, Any]]) -> Draft:
    if not {"config", "vocab"} <= document.keys():
        raise VocabularyError("it lacks 'config' or 'vocab'; expected a tekken.json of Mistral")
    config = document["config"]
    num_special = int(config["default_num_special_tokens"])
    num_text = int(config["default_vocab_size"]) - num_special
    # The file lists more ranks than the model has rows; those beyond the size are not tokens.
    tokens = {
        num_special + int(entry["rank"]): b64decode(entry["token_bytes"])
        for entry in document["vocab"]
        if int(entry["rank"]) < num_text
    }
    listed = document.get("special_tokens")
    named = {str(t["token_str"]): int(t["rank"]) for t in listed} if listed else {n: i for i, n in enumerate(_FIRST)}
    ends = _sidecars.eos_ids(files, named.get) | ({named["</s>"]} if "</s>" in named else set())
    return Draft(tokens, set(range(num_special)), ends)
