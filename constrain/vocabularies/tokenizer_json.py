"""`tokenizer.json`, the file of the tokenizers library: byte-level BPE, SentencePiece style, WordPiece.

What a token's bytes are follows from the file's decoder: the bytes are what decoding the token in the middle of a
text gives. Steps that work on a text as a whole (dropping its first space) are stated in `Vocabulary.prefix_space`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import orjson

from constrain.errors import VocabularyError
from constrain.vocabularies import _sidecars, _spelling
from constrain.vocabularies._draft import Draft, file_path, remembered

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from constrain.vocabulary import Vocabulary

    Spell = Callable[[Sequence[str]], list[bytes]]

_MERGES = re.compile(rb'"merges"\s*:\s*\[')
_TAIL = re.compile(rb"\]\s*\}\s*\}\s*\Z")


def load(path: str | os.PathLike[str]) -> Vocabulary:
    """Read a `tokenizer.json` (or the folder it is in) and the configuration files beside it.

    Raises:
        VocabularyError: it is no such file, or has a decoder that is not known here.
        OSError: it cannot be read.
    """
    file = file_path(path, "tokenizer.json")
    raw = file.read_bytes()
    sides = _sidecars.beside(file)
    return remembered(file, "tokenizer.json", (raw, *sides.raw), lambda: draft(parse(raw), sides.parse()))


def parse(raw: bytes) -> dict[str, Any]:
    """Return the document without its merges, which are most of it and say nothing about bytes.

    Writers put the merges last in the last object; where they are not, everything is parsed.
    """
    # A key ending in this text has an escaped quote there.
    found = [match for match in _MERGES.finditer(raw) if raw[match.start() - 1 : match.start()] != b"\\"]
    tail = _TAIL.search(raw, max(0, len(raw) - 256))
    if len(found) == 1 and tail is not None and found[0].end() <= tail.start():
        try:
            document = orjson.loads(raw[: found[0].end()] + raw[tail.start() :])
        except orjson.JSONDecodeError:
            document = None
        if isinstance(document, dict) and "vocab" in document.get("model", ()) and "added_tokens" in document:
            return document
    document = orjson.loads(raw)
    if not isinstance(document, dict) or not isinstance(document.get("model"), dict):
        raise VocabularyError('it has no object "model"')
    return document


def draft(document: dict[str, Any], files: dict[str, dict[str, Any]]) -> Draft:
    """Return what a parsed `tokenizer.json` says, with the configuration files beside it."""
    model = document["model"]
    names, ids = _vocab(model)
    spell, byte_level = spelling(document)
    found = Draft(dict(zip(ids, spell(names), strict=True)))
    by_name = dict(zip(names, ids, strict=True))
    config = files["tokenizer_config.json"]
    added = {int(t["id"]): (str(t["content"]), bool(t["special"])) for t in document.get("added_tokens") or ()}
    for token_id, (text, special) in _sidecars.added_tokens(config).items():
        # The configuration may call special what the file does not; it is what transformers acts on.
        added[token_id] = (text, special or added.get(token_id, ("", False))[1])
    marks = _sidecars.special_names(config, files["special_tokens_map.json"])
    texts = [text for text, _ in added.values()]
    plain = _spelling.utf8(texts) if byte_level else spell(texts)
    for (token_id, (text, special)), data in zip(added.items(), plain, strict=True):
        found.tokens[token_id] = data
        by_name[text] = token_id
        if special or text in marks:
            found.special.add(token_id)
    unknown = _unknown(model, by_name)
    if unknown is not None:
        found.special.add(unknown)
    found.ends = _sidecars.eos_ids(files, by_name.get)
    found.prefix_space, found.normalizer = _normalization(document)
    return found


def _vocab(model: dict[str, Any]) -> tuple[list[str], list[int]]:
    """Return the model's tokens and their ids; Unigram has a list of pairs instead of an object."""
    vocab = model["vocab"]
    if isinstance(vocab, dict):
        return list(vocab), [int(i) for i in vocab.values()]
    return [piece[0] for piece in vocab], list(range(len(vocab)))


def _unknown(model: dict[str, Any], by_name: dict[str, int]) -> int | None:
    """Return the id that stands for text without tokens, if there is one."""
    if isinstance(model.get("unk_id"), int):
        return int(model["unk_id"])
    name = model.get("unk_token")
    return by_name.get(name) if isinstance(name, str) and name else None


def spelling(document: dict[str, Any]) -> tuple[Spell, bool]:
    """Return how the model's tokens are spelled, and whether that is byte-level."""
    model = document["model"]
    if model.get("end_of_word_suffix"):
        raise VocabularyError(f"end_of_word_suffix={model['end_of_word_suffix']!r} is not supported")
    steps = _steps(document.get("decoder"), "decoders")
    if not steps:
        before = _steps(document.get("pre_tokenizer"), "pretokenizers")
        before += _steps(document.get("normalizer"), "normalizers")
        steps = [step for step in before if step["type"] in {"ByteLevel", "Metaspace"}]
        if model.get("type") == "WordPiece":
            steps = [{"type": "WordPiece", "prefix": model.get("continuing_subword_prefix") or "##"}]
    kinds = [step["type"] for step in steps]
    if "ByteLevel" in kinds:
        return _spelling.byte_level, True
    if "WordPiece" in kinds:
        prefix = str(steps[kinds.index("WordPiece")]["prefix"])
        return (lambda tokens: _spelling.word_pieces(tokens, prefix)), False
    replacements = _replacements(steps)
    fallback = bool(model.get("byte_fallback")) or "ByteFallback" in kinds
    return (lambda tokens: _spelling.pieces(tokens, replacements, byte_fallback=fallback)), False


def _replacements(steps: list[dict[str, Any]]) -> dict[str, str]:
    """Return what a SentencePiece-like decoder replaces in a token."""
    found: dict[str, str] = {}
    for step in steps:
        if step["type"] == "Metaspace":
            found[str(step.get("replacement", _spelling.SPACE))] = " "
        elif step["type"] == "Replace" and isinstance(step["pattern"].get("String"), str):
            found[step["pattern"]["String"]] = str(step["content"])
        elif step["type"] not in {"ByteFallback", "Fuse", "Strip"}:
            raise VocabularyError(f"the decoder {orjson.dumps(step).decode()} is not supported")
    return found


def _steps(step: Any, children: str) -> list[dict[str, Any]]:
    """Return the steps of a decoder, normalizer or pre-tokenizer; sequences may be nested."""
    flat: list[dict[str, Any]] = []
    stack = [step]
    while stack:
        item = stack.pop()
        if isinstance(item, dict) and item.get("type") == "Sequence":
            stack.extend(reversed(item.get(children) or ()))
        elif isinstance(item, dict):
            flat.append(item)
    return flat


def _normalization(document: dict[str, Any]) -> tuple[bool, str]:
    """Return (a space is written before the text, what else is done to it)."""
    prefix = False
    words: list[str] = []
    spaced = {_spelling.SPACE, " "}
    before = _steps(document.get("normalizer"), "normalizers")
    before += _steps(document.get("pre_tokenizer"), "pretokenizers")
    for step in before:
        kind = step["type"]
        if kind == "Prepend":
            prefix = prefix or step.get("prepend") in spaced
        elif kind == "Metaspace":
            prefix = prefix or (step.get("prepend_scheme", "always") != "never" and step.get("add_prefix_space", True))
        elif kind == "ByteLevel":
            prefix = prefix or bool(step.get("add_prefix_space"))
        elif kind == "Replace" and step.get("content") in spaced and step.get("pattern") == {"String": " "}:
            continue
        elif kind in {"NFC", "NFD", "NFKC", "NFKD", "Lowercase", "Strip", "StripAccents", "Nmt", "Replace"}:
            words.append(kind)
        elif kind in {"Precompiled", "BertNormalizer"}:
            words.append("NFKC-like table" if kind == "Precompiled" else "BERT: cleaned" + _bert(step))
    if document["model"].get("type") in {"WordPiece", "WordLevel"}:
        words.append("whitespace is lost")
    return bool(prefix), ", ".join(words)


def _bert(step: dict[str, Any]) -> str:
    strip = step.get("strip_accents")
    lower = bool(step.get("lowercase"))
    return (", lower case" if lower else "") + (", no accents" if strip or (strip is None and lower) else "")
