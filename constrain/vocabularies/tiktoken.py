"""tiktoken files: a line a token, its bytes in base64 and its id."""

from __future__ import annotations

from binascii import a2b_base64
from collections.abc import Mapping
from typing import TYPE_CHECKING

import orjson

from constrain.arguments import refuse, whole
from constrain.errors import VocabularyError
from constrain.vocabularies._draft import Draft, file_path, remembered

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from constrain.vocabulary import Vocabulary


def load(path: str | os.PathLike[str], special_tokens: Mapping[str, int], eos: Sequence[str]) -> Vocabulary:
    """Read a tiktoken file.

    Args:
        path: the file.
        special_tokens: text -> id of the tokens that the file leaves out.
        eos: which of them end an answer.
    Raises:
        VocabularyError: it is no such file, or `eos` is not in `special_tokens`.
        OSError: it cannot be read.
    """
    file = file_path(path, "tiktoken.model")
    if not isinstance(special_tokens, Mapping):
        refuse("special_tokens", special_tokens, "a mapping of texts to ids")
    for text, token_id in special_tokens.items():
        whole(f"special_tokens[{text!r}]", token_id, 0)
    raw = file.read_bytes()
    for name in eos:
        if name not in special_tokens:
            raise VocabularyError(f"eos={name!r} is not among special_tokens={sorted(special_tokens)!r}")
    options = orjson.dumps([sorted(special_tokens.items()), sorted(eos)])
    return remembered(file, "tiktoken", (raw, options), lambda: _draft(raw, special_tokens, eos))


def _draft(raw: bytes, special_tokens: Mapping[str, int], eos: Sequence[str]) -> Draft:
    words = raw.split()
    if len(words) % 2:
        raise VocabularyError(f"it has {len(words)} words; expected pairs of base64 and id")
    tokens = dict(zip(map(int, words[1::2]), map(a2b_base64, words[::2]), strict=True))
    # The decoder skips what is not base64; then there are fewer bytes than the letters stand for.
    if sum(map(len, words[::2])) != sum(4 * ((len(token) + 2) // 3) for token in tokens.values()):
        raise VocabularyError("its tokens are not distinct ids in base64")
    return Draft(tokens, set(special_tokens.values()), {special_tokens[name] for name in eos})
