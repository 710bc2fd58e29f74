"""Which character a vocabulary lacks, for the message about a constraint that it cannot meet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from constrain.automata.machine import Machine
from constrain.errors import ConstrainError
from constrain.vocabularies.units import is_spelled
from constrain.vocabulary import Vocabulary

if TYPE_CHECKING:
    from constrain import ir
    from constrain.limits import Limits

_TRIED = 8


def missing_character(grammar: ir.Grammar, vocabulary: Vocabulary, limits: Limits) -> str | None:
    """Return, in words, what a shortest text needs and the vocabulary lacks; None if characters are not to blame.

    Of several, the first with which alone there would be a text.
    """
    if vocabulary.spells_everything:
        return None
    try:
        if not vocabulary.is_closed and _has_text(grammar, _bytes(vocabulary.spellable), limits):
            return None
        machine = Machine(grammar, _bytes((1 << 256) - 1), limits)
        text = machine.completer.text(machine.start).decode("utf-8", errors="surrogateescape")
    except ConstrainError:
        return None
    pieces = {char: char.encode("utf-8", errors="surrogateescape") for char in text}
    lacking = [char for char, piece in pieces.items() if not is_spelled(piece, vocabulary)]
    for char in lacking[:_TRIED] if len(lacking) > 1 else ():
        more = vocabulary.spellable
        for byte in pieces[char]:
            more |= 1 << byte
        if _has_text(grammar, _bytes(more), limits):
            lacking = [char]
            break
    return _named(lacking[0], pieces[lacking[0]]) if lacking else None


def _named(char: str, piece: bytes) -> str:
    return f"{char!r} (bytes {piece.hex(' ')})" if char.isprintable() else f"the bytes {piece.hex(' ')}"


def _has_text(grammar: ir.Grammar, vocabulary: Vocabulary, limits: Limits) -> bool:
    try:
        machine = Machine(grammar, vocabulary, limits)
    except ConstrainError:
        return False
    return machine.is_accepting(machine.start) or bool(machine.next_bytes(machine.start).any())


def _bytes(mask: int) -> Vocabulary:
    """Return a vocabulary of the bytes of a 256-bit set, each token the id of its byte."""
    table = [bytes((byte,)) if mask >> byte & 1 else None for byte in range(256)]
    return Vocabulary.from_tokens([*table, None], eos_token_ids=[256])
