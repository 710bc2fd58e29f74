"""The configuration files that lie beside a tokenizer: end tokens and added tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from constrain.errors import VocabularyError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

FILES = ("tokenizer_config.json", "special_tokens_map.json", "generation_config.json", "config.json")


@dataclass(frozen=True, slots=True)
class Sidecars:
    """Contents of the configuration files beside a tokenizer, empty bytes for a missing one.

    Attributes:
        folder: where they are, for messages.
        raw: one a name in `FILES`.
    """

    folder: Path
    raw: tuple[bytes, ...]

    def parse(self) -> dict[str, dict[str, Any]]:
        """Return the objects by file name, an empty one for a missing file."""
        found = {}
        for name, raw in zip(FILES, self.raw, strict=True):
            try:
                value = orjson.loads(raw) if raw else {}
            except orjson.JSONDecodeError as error:
                raise VocabularyError(f"{self.folder / name} is not JSON: {error}") from error
            found[name] = value if isinstance(value, dict) else {}
        return found


def beside(path: Path) -> Sidecars:
    """Read the configuration files in the folder of `path`."""
    folder = path.parent
    return Sidecars(folder, tuple(_read(folder / name) for name in FILES))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def eos_ids(files: dict[str, dict[str, Any]], lookup: Callable[[str], int | None]) -> set[int]:
    """Return the end ids that the files name.

    They are `eos_token` of the tokenizer and `eos_token_id` of the generation config; where that says nothing, the
    model's config is asked, as transformers does.
    """
    found: set[int] = set()
    for name in FILES[:2]:
        text = content(files[name].get("eos_token"))
        token_id = None if text is None else lookup(text)
        if token_id is not None:
            found.add(token_id)
    model = files["config.json"]
    texts = model.get("text_config")
    generation = id_set(files["generation_config.json"].get("eos_token_id"))
    fallback = id_set(model.get("eos_token_id")) or id_set(
        texts.get("eos_token_id") if isinstance(texts, dict) else None
    )
    return found | (generation or fallback)


def id_set(value: Any) -> set[int]:
    """Return an `eos_token_id` entry (an int, a list, None) as a set."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    values: Iterable[Any] = value if isinstance(value, (list, tuple, set, frozenset)) else (value,)
    return {int(v) for v in values if isinstance(v, int) and not isinstance(v, bool) and v >= 0}


def content(token: Any) -> str | None:
    """Return the text of a token that is a string, an object with `content`, or None."""
    if isinstance(token, dict):
        token = token.get("content")
    return token if isinstance(token, str) else None


def added_tokens(config: dict[str, Any]) -> dict[int, tuple[str, bool]]:
    """Return id -> (text, special) of the tokens that a `tokenizer_config.json` adds."""
    table = config.get("added_tokens_decoder")
    if not isinstance(table, dict):
        return {}
    return {
        int(token_id): (entry["content"], bool(entry.get("special", False)))
        for token_id, entry in table.items()
        if isinstance(entry, dict) and isinstance(entry.get("content"), str)
    }


def special_names(*configs: dict[str, Any]) -> set[str]:
    """Return the texts that configurations call special tokens (`bos_token`, `additional_special_tokens`, ...)."""
    found: set[str | None] = set()
    for config in configs:
        for name, value in config.items():
            if name.endswith("_token"):
                found.add(content(value))
            elif name in {"additional_special_tokens", "extra_special_tokens"}:
                values = value.values() if isinstance(value, dict) else value
                found |= {content(token) for token in values} if isinstance(value, (list, dict)) else set()
    return {name for name in found if name is not None}
