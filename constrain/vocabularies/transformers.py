"""Tokenizer objects of transformers, fast and slow. Imports no library: the object brings what is needed.

Fast tokenizers carry a `tokenizers.Tokenizer`; its parts are read as the `tokenizer.json` they would be saved to.
Slow ones are read by what they have: a SentencePiece model, a byte alphabet, word pieces, or tiktoken's ranks.
"""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import orjson

from constrain.arguments import shown
from constrain.errors import VocabularyError
from constrain.vocabularies import _cache, _sidecars, _spelling, sentencepiece, tokenizer_json
from constrain.vocabularies._draft import VERSION, Draft, built, keep, reading, restore

if TYPE_CHECKING:
    from constrain.vocabulary import Vocabulary

_WHERE = "a transformers tokenizer"
_NO_FILES: dict[str, dict[str, Any]] = {name: {} for name in _sidecars.FILES}


def load(tokenizer: Any, generation_config: Any = None) -> Vocabulary:
    """Read a tokenizer; end ids come from it and from `generation_config` (an object, a dict or None).

    Raises:
        VocabularyError: a kind of tokenizer that is not known here.
    """
    if not hasattr(tokenizer, "get_vocab") and not hasattr(tokenizer, "added_tokens_decoder"):
        hint = ": a path is read by from_tokenizer_json" if isinstance(tokenizer, (str, PathLike)) else ""
        raise VocabularyError(f"tokenizer={shown(tokenizer)}; expected a tokenizer of transformers{hint}")
    kind = type(tokenizer).__name__
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        vocabulary = built(kind, _WHERE, lambda: _with_names(_slow(tokenizer), tokenizer, generation_config))
    else:
        vocabulary = _fast(kind, backend, tokenizer, generation_config)
    return replace(vocabulary, name=str(getattr(tokenizer, "name_or_path", "") or kind))


def _fast(kind: str, backend: Any, tokenizer: Any, generation_config: Any) -> Vocabulary:
    """Return the vocabulary of a fast tokenizer, from the cache if one that says the same was read before.

    Cost: 0.2 s for 128,000 tokens, asking the tokenizer and hashing; 0.3 s the first time.
    """
    names: list[Draft] = []
    document: list[dict[str, Any]] = []

    def key() -> str:
        names.append(_with_names(Draft(), tokenizer, generation_config))
        document.append(_document(backend))
        parts = (document[0], sorted(names[0].special), sorted(names[0].ends))
        return _cache.key(VERSION, b"transformers", orjson.dumps(parts, option=orjson.OPT_SORT_KEYS))

    def draft() -> Draft:
        found = tokenizer_json.draft(document[0], _NO_FILES)
        return replace(found, special=found.special | names[0].special, ends=names[0].ends)

    name = reading(kind, _WHERE, key)
    vocabulary = restore(name)
    if vocabulary is None:
        vocabulary = built(kind, _WHERE, draft)
        keep(name, vocabulary)
    return vocabulary


def _with_names(found: Draft, tokenizer: Any, config: Any) -> Draft:
    """Add to a draft which tokens are special and which end an answer, and a slow tokenizer's added tokens."""
    slow = getattr(tokenizer, "backend_tokenizer", None) is None
    added = getattr(tokenizer, "added_tokens_decoder", None) or {}
    named = set(getattr(tokenizer, "all_special_ids", None) or ())
    for token_id, token in added.items():
        # A named special token that is an ordinary token (say, "!" as padding) goes on matching text.
        if token.special or token_id in named:
            found.special.add(int(token_id))
        elif slow:
            found.tokens[int(token_id)] = token.content.encode()
    found.special |= _sidecars.id_set(getattr(tokenizer, "unk_token_id", None)) if _has_unknown(tokenizer) else set()
    found.ends = _sidecars.id_set(getattr(tokenizer, "eos_token_id", None))
    found.ends |= _sidecars.id_set(config.get("eos_token_id") if isinstance(config, dict) else _eos(config))
    return found


def _eos(config: Any) -> Any:
    return getattr(config, "eos_token_id", None)


def _has_unknown(tokenizer: Any) -> bool:
    """Return whether the tokenizer has an unknown token; asking for its id without one may warn."""
    return getattr(tokenizer, "unk_token", None) is not None


def _document(backend: Any) -> dict[str, Any]:
    """Return the parts of a `tokenizers.Tokenizer` as the document it would be saved to, without its merges."""
    model = backend.model
    parts = {name: _state(getattr(backend, name)) for name in ("decoder", "normalizer", "pre_tokenizer")}
    options = ("unk_token", "byte_fallback", "continuing_subword_prefix", "end_of_word_suffix")
    added = backend.get_added_tokens_decoder().items()
    return {
        **parts,
        "model": {
            "type": type(model).__name__,
            "vocab": backend.get_vocab(with_added_tokens=False),
            **{name: getattr(model, name, None) for name in options},
        },
        "added_tokens": [{"id": i, "content": token.content, "special": token.special} for i, token in added],
    }


def _state(part: Any) -> Any:
    """Return the JSON state of a part of a tokenizer, None if it has none."""
    return None if part is None else orjson.loads(part.__getstate__())


def _slow(tokenizer: Any) -> Draft:
    """Return the draft of a tokenizer written in Python, without its added tokens."""
    model = getattr(tokenizer, "sp_model", None)
    if model is not None:
        return _pieces(tokenizer, model)
    ranks = _ranks(tokenizer)
    if ranks is not None:
        return Draft({int(i): bytes(token) for token, i in ranks.items()})
    vocab: dict[str, int] = tokenizer.get_vocab()
    names, ids = list(vocab), list(vocab.values())
    if getattr(tokenizer, "byte_decoder", None):
        return Draft(dict(zip(ids, _spelling.byte_level(names), strict=True)))
    if hasattr(tokenizer, "wordpiece_tokenizer"):
        spelled = _spelling.word_pieces(names, "##")
        return Draft(dict(zip(ids, spelled, strict=True)), normalizer="BERT: cleaned, whitespace is lost")
    raise VocabularyError("a slow tokenizer of this kind is not known; load the fast one (use_fast=True)")


def _ranks(tokenizer: Any) -> dict[bytes, int] | None:
    """Return bytes -> id of a tokenizer around tiktoken; remote code keeps the encoding under one of these names."""
    for holder in (tokenizer, getattr(tokenizer, "tokenizer", None), getattr(tokenizer, "model", None)):
        for name in ("mergeable_ranks", "_mergeable_ranks"):
            ranks = getattr(holder, name, None)
            if isinstance(ranks, dict) and ranks:
                return ranks
    return None


def _pieces(tokenizer: Any, model: Any) -> Draft:
    """Return the draft of a SentencePiece model whose pieces may have other ids in the tokenizer."""
    read, texts = sentencepiece.read(model.serialized_model_proto())
    place = {text: i for i, text in enumerate(texts)}
    found = Draft(prefix_space=read.prefix_space, normalizer=read.normalizer)
    for text, token_id in tokenizer.get_vocab().items():
        i = place.get(text)
        if i is None:
            continue
        found.tokens[token_id] = read.tokens[i]
        if i in read.special:
            found.special.add(token_id)
    if getattr(tokenizer, "legacy", None) is False:
        # Such tokenizers take the prefix out of the model and write it themselves.
        found.prefix_space = bool(getattr(tokenizer, "add_prefix_space", True))
    return found
