"""Errors of exactly one class."""

import pytest


def raises_exactly(kind, message, call):
    """Check that a call raises this class, none below it, with a message that matches."""
    with pytest.raises(kind, match=message) as caught:
        call()
    assert type(caught.value) is kind
