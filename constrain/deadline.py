"""When the compilation under way in this thread must end; looked at in every loop of it that can be long."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from constrain.errors import LimitExceededError

if TYPE_CHECKING:
    from collections.abc import Iterator


class _Current(threading.local):
    until = float("inf")
    seconds = float("inf")


_current = _Current()


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Let `check` raise once `seconds` have passed; a deadline that is sooner stays."""
    before = _current.until, _current.seconds
    until = time.perf_counter() + seconds
    if until < _current.until:
        _current.until, _current.seconds = until, seconds
    try:
        yield
        check()
    finally:
        _current.until, _current.seconds = before


def check() -> None:
    """Raise if the compilation has taken too long (0.1 us).

    Raises:
        LimitExceededError: with `max_compile_seconds`.
    """
    if time.perf_counter() > _current.until:
        raise LimitExceededError("max_compile_seconds", _current.seconds, "while compiling")
