"""Compiled code over arrays. Importing this package makes sure that numba will find a folder for its cache."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_HERE = Path(__file__).parent


def _user_cache() -> Path | None:
    """Return the folder of numba's that is used when the package's own cannot be written."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
        return Path(base) / "numba" if base else None
    default = "~/Library/Caches" if sys.platform == "darwin" else os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    try:
        return Path(default).expanduser() / "numba"
    except RuntimeError:  # no home
        return None


def _writable(folder: Path | None) -> bool:
    """Return whether files can be made in `folder`, which is made if need be."""
    if folder is None:
        return False
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK | os.X_OK)


def _own_folder(root: Path) -> Path | None:
    """Return a folder under `root` that no other user can write, or None: what is in a cache is executed."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    folder = root / f"constrain-kernels-{user}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    safe = not hasattr(os, "getuid") or (found.st_uid == user and not found.st_mode & 0o022)
    return folder if safe and folder.is_dir() and not folder.is_symlink() else None


def place_cache() -> Path | None:
    """Where neither the package nor the home can be written, have numba keep its cache in the temporary folder.

    numba raises when it finds no folder. Returns the folder, None where numba's own choice will do.
    """
    if os.environ.get("NUMBA_CACHE_DIR"):
        return None
    if all(_writable(place / "__pycache__") for place in (_HERE / "machine", _HERE / "token_bitmask")):
        return None
    if _writable(_user_cache()):
        return None
    import tempfile

    folder = _own_folder(Path(tempfile.gettempdir()))
    if folder is None:
        folder = Path(tempfile.mkdtemp(prefix="constrain-kernels-"))
        sys.stderr.write(
            f"constrain: no folder for compiled kernels can be written, using {folder} for this process only; "
            "set NUMBA_CACHE_DIR to one that lasts\n"
        )
    os.environ["NUMBA_CACHE_DIR"] = str(folder)
    config = getattr(sys.modules.get("numba"), "config", None)
    if config is not None:
        config.CACHE_DIR = str(folder)
    return folder


place_cache()
