"""What a token id stands for: exact bytes, or nothing that is text.

`Vocabulary` is the only thing the rest of the package knows of a tokenizer. The loaders behind its `from_...`
constructors are in `constrain/vocabularies`, one file each; docs/vocabulary.md says what each makes of its format.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from constrain.arguments import instance, items, refuse, whole
from constrain.errors import VocabularyError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence


_IDS = "a list of token ids"


@dataclass(frozen=True, eq=False, repr=False)
class Vocabulary:
    """Token id to bytes; frozen, checked once. Compare `fingerprint`s, not objects.

    A token matches text exactly if it has bytes. Special, control and unused tokens, holes in the id range and padded
    logits have none, end tokens neither; several ids may have the same bytes.

    The array is not flagged read-only, for numba would compile everything a second time for such arrays.

    Attributes:
        data: the bytes of all tokens, in the order of their ids.
        offsets: int64[vocab_size + 1]; token i is `data[offsets[i]:offsets[i + 1]]`.
        eos_token_ids: ids that end an answer, sorted.
        name: where it came from, for messages; not part of the fingerprint.
        prefix_space: the tokenizer writes a space before the text it encodes; decoding drops it again.
        normalizer: what else the tokenizer does to a text before it encodes it, in words; empty if nothing.
    """

    data: bytes
    offsets: npt.NDArray[np.int64]
    eos_token_ids: tuple[int, ...] = ()
    name: str = ""
    prefix_space: bool = False
    normalizer: str = ""

    def __post_init__(self) -> None:
        instance("data", self.data, bytes, "bytes")
        offsets = instance("offsets", self.offsets, np.ndarray, "an array int64[vocab_size + 1]")
        for name in ("name", "normalizer"):
            instance(name, getattr(self, name), str, "a str")
        instance("prefix_space", self.prefix_space, bool, "True or False")
        _token_ids("eos_token_ids", self.eos_token_ids)
        if offsets.dtype != np.int64 or offsets.ndim != 1 or len(offsets) < 2 or not offsets.flags.c_contiguous:
            raise VocabularyError(f"offsets are {offsets.dtype}{list(offsets.shape)}; expected int64[vocab_size + 1]")
        if offsets[0] != 0 or offsets[-1] != len(self.data) or (np.diff(offsets) < 0).any():
            raise VocabularyError(f"offsets do not rise from 0 to len(data)={len(self.data)}")
        if list(self.eos_token_ids) != sorted(set(self.eos_token_ids)):
            raise VocabularyError(f"eos_token_ids={self.eos_token_ids!r}; expected sorted, distinct ids")
        for token_id in self.eos_token_ids:
            if self.token_bytes(token_id) is not None:
                raise VocabularyError(f"eos_token_ids={self.eos_token_ids!r}: {token_id} has bytes; an end has none")

    def __repr__(self) -> str:
        name = f" {self.name}" if self.name else ""
        return f"<Vocabulary{name}: {self.vocab_size} ids, end {list(self.eos_token_ids)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        # Fields only: what is cached on the object can be made again.
        fields = (self.data, self.offsets, self.eos_token_ids, self.name, self.prefix_space, self.normalizer)
        return Vocabulary, fields

    # What it holds

    @property
    def vocab_size(self) -> int:
        """Number of ids, holes included; logits have at least this width."""
        return len(self.offsets) - 1

    @cached_property
    def special_ids(self) -> frozenset[int]:
        """Ids that never match text: special, control and unused tokens, ends, holes, empty tokens."""
        return frozenset(np.flatnonzero(np.diff(self.offsets) == 0).tolist())

    @cached_property
    def text_fingerprint(self) -> str:
        """Hash of which bytes each id has; the same for vocabularies that differ only in their end ids or name."""
        digest = hashlib.blake2b(b"vocabulary 1", digest_size=16)
        digest.update(len(self.data).to_bytes(8, "little") + self.data)
        digest.update(self.offsets.astype("<i8", copy=False).data)
        return digest.hexdigest()

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the bytes of every id, the end ids and how text is normalised."""
        parts = f"{self.text_fingerprint} {self.eos_token_ids} {self.prefix_space} {self.normalizer}"
        return hashlib.blake2b(parts.encode(), digest_size=16).hexdigest()

    @cached_property
    def spellable(self) -> int:
        """256-bit int: bit b is set if some token contains byte b."""
        return _byte_mask(np.frombuffer(self.data, dtype=np.uint8))

    @cached_property
    def single_bytes(self) -> int:
        """256-bit int: bit b is set if some token is byte b alone."""
        starts = self.offsets[:-1][np.diff(self.offsets) == 1]
        return _byte_mask(np.frombuffer(self.data, dtype=np.uint8)[starts])

    @cached_property
    def _closing(self) -> tuple[bool, tuple[tuple[int, int], ...] | None]:
        from constrain.vocabularies.units import closing

        return closing(self)

    @property
    def is_closed(self) -> bool:
        """Whether each token is a concatenation of bytes and characters that are tokens, as nearly everywhere."""
        return self._closing[0]

    @property
    def characters(self) -> tuple[tuple[int, int], ...] | None:
        """Ranges of the characters of several bytes that close the vocabulary; None where bytes do, or nothing does."""
        return self._closing[1]

    @cached_property
    def spells_everything(self) -> bool:
        """Whether every byte is a token."""
        return self.single_bytes == (1 << 256) - 1

    def token_bytes(self, token_id: int) -> bytes | None:
        """Return the bytes of a token, None if it never matches text.

        Raises:
            VocabularyError: there is no such id.
            TypeError: it is no whole number.
        """
        if type(token_id) is not int:
            token_id = whole("token_id", token_id)
        if not 0 <= token_id < self.vocab_size:
            raise VocabularyError(
                f"token id {token_id} is outside the vocabulary; expected 0 <= id < {self.vocab_size}"
            )
        start, stop = self.offsets[token_id], self.offsets[token_id + 1]
        return self.data[start:stop] if start < stop else None

    def decode(self, token_ids: Iterable[int]) -> bytes:
        """Return the bytes of tokens one after another; ids that never match text add nothing."""
        return b"".join(self.token_bytes(i) or b"" for i in items("token_ids", token_ids, _IDS))

    def tokens(self) -> list[bytes | None]:
        """Return `token_bytes` of every id."""
        bounds = self.offsets.tolist()
        return [self.data[a:b] or None for a, b in pairwise(bounds)]

    # The same with something changed

    def with_eos(self, eos_token_ids: Iterable[int]) -> Vocabulary:
        """Return this vocabulary with other end ids. A text token that becomes an end no longer matches text."""
        ends = tuple(sorted(set(_token_ids("eos_token_ids", eos_token_ids))))
        return replace(self.with_special(ends), eos_token_ids=ends)

    def with_special(self, token_ids: Iterable[int]) -> Vocabulary:
        """Return this vocabulary where these ids match no text either (say, a model's fill-in-the-middle marks)."""
        given = sorted(set(_token_ids("token_ids", token_ids)))
        drop = [token_id for token_id in given if self.token_bytes(token_id) is not None]
        if not drop:
            return self
        lengths = np.diff(self.offsets)
        keep = np.ones(len(lengths), dtype=bool)
        keep[drop] = False
        data = np.frombuffer(self.data, dtype=np.uint8)[np.repeat(keep, lengths)].tobytes()
        return replace(self, data=data, offsets=_offsets(np.where(keep, lengths, 0)))

    def with_size(self, vocab_size: int) -> Vocabulary:
        """Return this vocabulary for logits of width `vocab_size`.

        Wider: the added ids never match text. Narrower: only ids that never match text may fall away.

        Raises:
            VocabularyError: a token with bytes or an end token would fall away.
        """
        more = whole("vocab_size", vocab_size) - self.vocab_size
        if more >= 0:
            tail = np.full(more, len(self.data), dtype=np.int64)
            return replace(self, offsets=np.concatenate([self.offsets, tail])) if more else self
        kept = vocab_size > 0 and self.offsets[vocab_size] == len(self.data)
        if not kept or any(token_id >= vocab_size for token_id in self.eos_token_ids):
            raise VocabularyError(
                f"vocab_size={vocab_size} cuts off tokens of {self!r}; the model has fewer logits than its tokenizer "
                "has tokens: use the tokenizer that belongs to the model"
            )
        return replace(self, offsets=self.offsets[: vocab_size + 1].copy())

    # Spelling

    @cached_property
    def _ids(self) -> dict[bytes, int]:
        """The lowest id of each byte string."""
        tokens = self.tokens()
        return {token: i for i, token in zip(range(len(tokens) - 1, -1, -1), reversed(tokens), strict=True) if token}

    @cached_property
    def _lengths(self) -> dict[int, list[int]]:
        """Lengths of the tokens of at least two bytes, by their first two bytes."""
        lengths = np.diff(self.offsets)
        starts, lengths = self.offsets[:-1][lengths > 1], lengths[lengths > 1]
        data = np.frombuffer(self.data, dtype=np.uint8).astype(np.int64)
        pairs = np.unique((data[starts] << 8 | data[starts + 1]) << 32 | lengths)
        found: dict[int, list[int]] = {}
        for pair, length in zip((pairs >> 32).tolist(), (pairs & 0xFFFFFFFF).tolist(), strict=True):
            found.setdefault(pair, []).append(length)
        return found

    def fewest_tokens(self, data: bytes) -> list[int] | None:
        """Return a shortest list of tokens that spells `data`, None if there is none.

        Of several tokens with the same bytes the lowest id is taken; of several shortest lists one whose last tokens
        are long.

        Cost: about 1 us a byte; the first call builds a table of the tokens (about 0.1 s for 128,000).
        """
        from constrain.vocabularies.shortest import fewest

        return fewest(self._ids, self._lengths, instance("data", data, bytes, "bytes"))

    # Constructors. `eos_token_ids` always replaces what the tokenizer says; `vocab_size` is the width of the logits.

    @classmethod
    def from_tokens(
        cls,
        tokens: Sequence[bytes | None],
        eos_token_ids: Iterable[int] = (),
        special_token_ids: Iterable[int] = (),
        *,
        name: str = "",
        prefix_space: bool = False,
        normalizer: str = "",
    ) -> Vocabulary:
        """Return the vocabulary of a table: token i has the bytes `tokens[i]`, None or empty for none.

        End and special ids match no text, whatever bytes the table gives them.

        Raises:
            VocabularyError: there are no tokens, or an id is outside the table.
            TypeError: a token is neither bytes nor None, or an id no whole number.
        """
        table = _table(tokens)
        ends = tuple(sorted(set(_token_ids("eos_token_ids", eos_token_ids))))
        for token_id in (*ends, *_token_ids("special_token_ids", special_token_ids)):
            if not 0 <= token_id < len(table):
                raise VocabularyError(f"token id {token_id} is outside the table of {len(table)} tokens")
            table[token_id] = None
        lengths = np.fromiter((len(token) if token else 0 for token in table), dtype=np.int64, count=len(table))
        data = b"".join(token for token in table if token)
        return cls(data, _offsets(lengths), ends, name, prefix_space, normalizer)

    @classmethod
    def from_tokenizer_json(
        cls,
        path: str | os.PathLike[str],
        *,
        eos_token_ids: Iterable[int] | None = None,
        vocab_size: int | None = None,
    ) -> Vocabulary:
        """Read a `tokenizer.json` (or the folder it is in) and the configuration files beside it.

        Raises:
            VocabularyError: it is no such file, of a kind that is not known, or does not fit `vocab_size`.
            OSError: it cannot be read.
        """
        from constrain.vocabularies import tokenizer_json

        return _adjusted(tokenizer_json.load(path), eos_token_ids, vocab_size)

    @classmethod
    def from_transformers(
        cls,
        tokenizer: Any,
        generation_config: Any = None,
        vocab_size: int | None = None,
        *,
        eos_token_ids: Iterable[int] | None = None,
    ) -> Vocabulary:
        """Read a tokenizer object of transformers, fast or slow; end ids come from it and the generation config.

        Raises:
            VocabularyError: it is no tokenizer, of a kind that is not known, or does not fit `vocab_size`.
        """
        from constrain.vocabularies import transformers

        return _adjusted(transformers.load(tokenizer, generation_config), eos_token_ids, vocab_size)

    @classmethod
    def from_sentencepiece(
        cls,
        path: str | os.PathLike[str],
        *,
        eos_token_ids: Iterable[int] | None = None,
        vocab_size: int | None = None,
    ) -> Vocabulary:
        """Read a SentencePiece `.model` file and the configuration files beside it.

        Raises VocabularyError and OSError as `from_tokenizer_json`.
        """
        from constrain.vocabularies import sentencepiece

        return _adjusted(sentencepiece.load(path), eos_token_ids, vocab_size)

    @classmethod
    def from_tiktoken(
        cls,
        path: str | os.PathLike[str],
        special_tokens: Mapping[str, int] | None = None,
        eos: str | Sequence[str] = (),
        *,
        eos_token_ids: Iterable[int] | None = None,
        vocab_size: int | None = None,
    ) -> Vocabulary:
        """Read a tiktoken file; it holds no special tokens, so they are given, and which of them end an answer.

        Raises VocabularyError and OSError as `from_tokenizer_json`.
        """
        from constrain.vocabularies import tiktoken

        names = (eos,) if isinstance(eos, str) else tuple(eos)
        return _adjusted(tiktoken.load(path, special_tokens or {}, names), eos_token_ids, vocab_size)

    @classmethod
    def from_tekken(
        cls,
        path: str | os.PathLike[str],
        *,
        eos_token_ids: Iterable[int] | None = None,
        vocab_size: int | None = None,
    ) -> Vocabulary:
        """Read Mistral's `tekken.json`.

        Raises VocabularyError and OSError as `from_tokenizer_json`.
        """
        from constrain.vocabularies import tekken

        return _adjusted(tekken.load(path), eos_token_ids, vocab_size)

    @classmethod
    def from_gguf(
        cls,
        path: str | os.PathLike[str],
        *,
        eos_token_ids: Iterable[int] | None = None,
        vocab_size: int | None = None,
    ) -> Vocabulary:
        """Read the tokenizer in the metadata of a GGUF model.

        Raises VocabularyError and OSError as `from_tokenizer_json`.
        """
        from constrain.vocabularies import gguf

        return _adjusted(gguf.load(path), eos_token_ids, vocab_size)


def _adjusted(vocabulary: Vocabulary, eos_token_ids: Iterable[int] | None, vocab_size: int | None) -> Vocabulary:
    """Apply the options that every constructor has."""
    if vocab_size is not None and whole("vocab_size", vocab_size) > vocabulary.vocab_size:
        vocabulary = vocabulary.with_size(vocab_size)
    if eos_token_ids is not None:
        vocabulary = vocabulary.with_eos(eos_token_ids)
    return vocabulary if vocab_size is None else vocabulary.with_size(vocab_size)


def _token_ids(name: str, token_ids: Any) -> list[int]:
    return [whole(f"{name}[{at}]", token_id) for at, token_id in enumerate(items(name, token_ids, _IDS))]


def _table(tokens: Any) -> list[bytes | None]:
    table: list[Any] = items("tokens", tokens, "a list of bytes, None for ids without")
    if not table:
        raise VocabularyError("tokens=[]; expected at least one token")
    for kind in set(map(type, table)) - {bytes, type(None)}:
        if not issubclass(kind, (bytes, bytearray)):
            at = next(at for at, token in enumerate(table) if type(token) is kind)
            refuse(f"tokens[{at}]", table[at], "bytes, or None for an id without")
    return table


def _offsets(lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def _byte_mask(data: npt.NDArray[np.uint8]) -> int:
    return sum(1 << byte for byte in np.flatnonzero(np.bincount(data, minlength=256)).tolist())
