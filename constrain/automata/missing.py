"""Which character a vocabulary lacks, for the message about a constraint that it cannot meet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from constrain.automata.machine import Machine
from constrain.errors import ConstrainError, EmptyLanguageError
from constrain.vocabularies.units import is_spelled

if TYPE_CHECKING:
    from constrain import ir
    from constrain.limits import Limits
    from constrain.vocabulary import Vocabulary


def missing_character(grammar: ir.Grammar, vocabulary: Vocabulary, limits: Limits) -> str | None:
    """Return, in words, what a shortest text needs and the vocabulary lacks; None if characters are not to blame."""
    if vocabulary.spells_everything:
        return None
    try:
        if not vocabulary.is_closed and _has_text(grammar, _bytes(type(vocabulary), vocabulary.spellable), limits):
            return None
        machine = Machine(grammar, _bytes(type(vocabulary), (1 << 256) - 1), limits)
        text = machine.completer.text(machine.start).decode("utf-8", errors="surrogateescape")
    except ConstrainError:
        return None
    for char in text:
        piece = char.encode("utf-8", errors="surrogateescape")
        if not is_spelled(piece, vocabulary):
            return f"{char!r} (bytes {piece.hex(' ')})" if char.isprintable() else f"the bytes {piece.hex(' ')}"
    return None


def _has_text(grammar: ir.Grammar, vocabulary: Vocabulary, limits: Limits) -> bool:
    try:
        machine = Machine(grammar, vocabulary, limits)
    except EmptyLanguageError:
        return False
    return machine.is_accepting(machine.start) or bool(machine.next_bytes(machine.start).any())


def _bytes(vocabulary: type[Vocabulary], mask: int) -> Vocabulary:
    """Return a vocabulary of the bytes of a 256-bit set, each token the id of its byte."""
    table = [bytes((byte,)) if mask >> byte & 1 else None for byte in range(256)]
    return vocabulary.from_tokens([*table, None], eos_token_ids=[256])
