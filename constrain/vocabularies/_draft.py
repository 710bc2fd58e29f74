"""A vocabulary in the making, and how finished ones are kept on disk."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from constrain.arguments import refuse
from constrain.errors import VocabularyError
from constrain.vocabularies import _cache
from constrain.vocabulary import Vocabulary

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable

T = TypeVar("T")

# Part of every cache key: raise it when a loader's result changes.
VERSION = b"vocabulary 1"
_MAX_IDS = 1 << 24


@dataclass(slots=True)
class Draft:
    """What a loader has found so far.

    Attributes:
        tokens: bytes by id; ids that are missing are holes.
        special: ids that never match text.
        ends: end ids.
        prefix_space, normalizer: see `Vocabulary`.
    """

    tokens: dict[int, bytes] = field(default_factory=dict)
    special: set[int] = field(default_factory=set)
    ends: set[int] = field(default_factory=set)
    prefix_space: bool = False
    normalizer: str = ""

    def finish(self) -> Vocabulary:
        """Return the vocabulary; ids without bytes match no text."""
        top = max((max(ids) for ids in (self.tokens, self.special, self.ends) if ids), default=-1)
        lowest = min((min(ids) for ids in (self.tokens, self.special, self.ends) if ids), default=0)
        if not self.tokens or lowest < 0 or top >= _MAX_IDS:
            raise VocabularyError(f"token ids from {lowest} to {top}; expected some, within 0 and {_MAX_IDS - 1}")
        table: list[bytes | None] = [None] * (top + 1)
        for token_id, data in self.tokens.items():
            table[token_id] = data
        return Vocabulary.from_tokens(
            table, self.ends, self.special, prefix_space=self.prefix_space, normalizer=self.normalizer
        )


def name_of(path: Path) -> str:
    """Return how messages call what was read from `path`."""
    return path.resolve().parent.name or path.name


def remembered(path: Path, kind: str, sources: Iterable[bytes], build: Callable[[], Draft]) -> Vocabulary:
    """Return the vocabulary of `sources`, from the cache if it was read before.

    Args:
        path: the file, for the name and for messages.
        kind: the loader.
        sources: everything that the result depends on.
        build: makes the draft; may raise whatever a malformed file makes it raise.
    Raises:
        VocabularyError: the file is not what the loader reads.
    """
    key = _cache.key(VERSION, kind.encode(), *sources)
    vocabulary = restore(key)
    if vocabulary is None:
        vocabulary = built(str(path), kind, build)
        keep(key, vocabulary)
    return replace(vocabulary, name=name_of(path))


def built(where: str, kind: str, build: Callable[[], Draft]) -> Vocabulary:
    """Build a vocabulary; whatever a malformed file raises becomes a VocabularyError."""
    return reading(where, kind, lambda: build().finish())


def reading(where: str, kind: str, read: Callable[[], T]) -> T:
    """Return what `read` returns; whatever a malformed file makes it raise becomes a VocabularyError."""
    try:
        return read()
    except VocabularyError as error:
        raise VocabularyError(f"{where}: {error}") from error
    except (
        ValueError,
        KeyError,
        TypeError,
        IndexError,
        AttributeError,
        OverflowError,
        EOFError,
        struct.error,
    ) as error:
        raise VocabularyError(f"{where} cannot be read as {kind}: {type(error).__name__}: {error}") from error


def restore(key: str) -> Vocabulary | None:
    """Return a vocabulary that was kept under `key`, None if there is none that is whole."""
    entry = _cache.load("vocabulary", key)
    if entry is None:
        return None
    meta, arrays = entry
    try:
        ends = tuple(arrays["ends"].tolist())
        data = arrays["data"].tobytes()
        return Vocabulary(data, arrays["offsets"], ends, "", meta["prefix_space"], meta["normalizer"])
    except (KeyError, VocabularyError):
        return None


def keep(key: str, vocabulary: Vocabulary) -> None:
    """Keep a vocabulary under `key`."""
    arrays: dict[str, npt.NDArray[Any]] = {
        "data": np.frombuffer(vocabulary.data, dtype=np.uint8),
        "offsets": vocabulary.offsets,
        "ends": np.array(vocabulary.eos_token_ids, dtype=np.int64),
    }
    meta = {"prefix_space": vocabulary.prefix_space, "normalizer": vocabulary.normalizer}
    _cache.store("vocabulary", key, meta, arrays)


def file_path(path: str | os.PathLike[str], default: str) -> Path:
    """Return the path of a file, given itself or its folder."""
    if not isinstance(path, (str, PathLike)):
        refuse("path", path, "a str or a path")
    found = Path(path)
    return found / default if found.is_dir() else found
