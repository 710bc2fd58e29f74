"""Arrays on disk under a content hash: one file an entry, checksummed, written atomically.

Nothing here ever fails: what cannot be read is absent, what cannot be written is not kept. A file is

    magic[8]  crc32[4]  header length[4]  header (JSON)  arrays, each at a multiple of 64

little-endian, the checksum over all that follows it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import struct
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import orjson

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Arrays = Mapping[str, npt.NDArray[Any]]

_MAGIC = b"CNSTRN01"
_HEAD = struct.Struct("<8sII")
_ALIGN = 64
_MAX_FILES = 64  # of one kind; the oldest go first


def folder() -> Path | None:
    """Return the folder of the cache, None if there is none.

    `CONSTRAIN_CACHE_DIR` names it (set but empty: no cache), else it is `constrain` in the platform's user cache.
    """
    named = os.environ.get("CONSTRAIN_CACHE_DIR")
    if named is not None:
        return Path(named) if named else None
    try:
        if sys.platform == "win32":
            base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
        elif sys.platform == "darwin":
            base = Path.home() / "Library" / "Caches"
        else:
            base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # no home
        return None
    return base / "constrain"


def key(*parts: bytes) -> str:
    """Return a hash of the parts; equal keys mean equal parts in equal order."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()[:40]


def load(kind: str, name: str) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]] | None:
    """Return (meta, arrays) of an entry, None if it is absent, damaged or of another format.

    The arrays share one buffer of their own and may be written to.
    """
    root = folder()
    if root is None:
        return None
    try:
        with (root / kind / f"{name}.bin").open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            buffer = np.empty(size, dtype=np.uint8)
            if file.readinto(buffer.data) != size:
                return None
        return _unpack(buffer, name)
    # Whatever is wrong with the file, the entry is made again.
    except (OSError, ValueError, KeyError, TypeError, struct.error, AttributeError):
        return None


def store(kind: str, name: str, meta: Mapping[str, Any], arrays: Arrays) -> None:
    """Keep an entry, if that is possible; readers see the old file or the whole new one."""
    root = folder()
    if root is None:
        return
    import tempfile  # a tenth of a load from the cache, needed for none

    temporary = None
    try:
        place = root / kind
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, path = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=place)
        temporary = Path(path)
        with os.fdopen(handle, "wb") as file:
            file.writelines(_pack(name, meta, arrays))
        temporary.replace(place / f"{name}.bin")
        temporary = None
        _prune(place)
    except OSError:
        pass
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                temporary.unlink()


def _pack(name: str, meta: Mapping[str, Any], arrays: Arrays) -> list[bytes]:
    table: dict[str, Any] = {}
    body: list[bytes] = []
    offset = 0
    for label, array in arrays.items():
        raw = array.astype(array.dtype.newbyteorder("<"), order="C", copy=False).tobytes()
        table[label] = [array.dtype.newbyteorder("<").str, array.shape, offset]
        padding = -len(raw) % _ALIGN
        body.append(raw + bytes(padding))
        offset += len(raw) + padding
    header = orjson.dumps({"key": name, "meta": meta, "arrays": table, "size": offset})
    header += b" " * (-(_HEAD.size + len(header)) % _ALIGN)
    checksum = _checksum([len(header).to_bytes(4, "little"), header, *body])
    return [_HEAD.pack(_MAGIC, checksum, len(header)), header, *body]


def _unpack(buffer: npt.NDArray[np.uint8], name: str) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]] | None:
    magic, checksum, length = _HEAD.unpack(buffer[: _HEAD.size].tobytes())
    if magic != _MAGIC or checksum != _checksum([buffer[12:].data]):
        return None
    start = _HEAD.size + length
    header = orjson.loads(buffer[_HEAD.size : start].tobytes())
    if header["key"] != name or start + header["size"] != len(buffer):
        return None
    arrays = {}
    for label, (dtype, shape, offset) in header["arrays"].items():
        count = int(np.prod(shape, dtype=np.int64))
        flat = np.frombuffer(buffer, dtype=np.dtype(dtype), count=count, offset=start + offset)
        arrays[label] = flat.astype(flat.dtype.newbyteorder("="), copy=False).reshape(shape)
    return header["meta"], arrays


def _checksum(parts: Iterable[bytes | memoryview]) -> int:
    value = 0
    for part in parts:
        value = zlib.crc32(part, value)
    return value


def _prune(place: Path) -> None:
    """Remove the oldest entries beyond the limit, and what interrupted writers left an hour ago."""
    entries = sorted((entry for entry in os.scandir(place) if entry.is_file()), key=lambda e: e.stat().st_mtime)
    complete = [entry for entry in entries if entry.name.endswith(".bin")]
    if not entries:
        return
    newest = entries[-1].stat().st_mtime
    stale = [entry for entry in entries if entry.name.endswith(".tmp") and entry.stat().st_mtime < newest - 3600]
    for entry in (*complete[:-_MAX_FILES], *stale):
        with contextlib.suppress(OSError):
            Path(entry.path).unlink()
