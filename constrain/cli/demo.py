"""`constrain demo`: a real small model, free and constrained, side by side."""

from __future__ import annotations


def demo() -> None:
    """Ask a real small model for an instance of a pydantic model, free and constrained."""
    raise NotImplementedError
