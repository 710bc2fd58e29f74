"""Where a text leaves a constraint, and what could have come there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from constrain.cli.describe import describe_bytes, show

if TYPE_CHECKING:
    from constrain.compiled import CompiledGrammar

DEAD = 0
WINDOW = 60  # characters of a line shown on each side of the caret


@dataclass(frozen=True, slots=True)
class Refusal:
    """The first point from which no member of the language can be reached any more.

    Attributes:
        data: the whole text.
        offset: byte that is refused; `len(data)` where the text only ends too early.
        state: the last good state, before that byte.
    """

    data: bytes
    offset: int
    state: int

    @property
    def line(self) -> int:
        """Line of the refused byte, from 1."""
        return self.data.count(b"\n", 0, self.offset) + 1

    @property
    def column(self) -> int:
        """Column in characters, from 1; a byte inside a character counts as that character."""
        before = self.data[self.data.rfind(b"\n", 0, self.offset) + 1 : self.offset]
        return len(before.decode("utf-8", "ignore")) + 1

    def excerpt(self) -> str:
        """Return the line with a caret under the refused character."""
        start = self.data.rfind(b"\n", 0, self.offset) + 1
        stop = self.data.find(b"\n", self.offset)
        line = self.data[start : len(self.data) if stop < 0 else stop]
        at = _first_byte(self.data, self.offset) - start
        before = _fitting(reversed(line[:at].decode("utf-8", "surrogateescape")))[::-1]
        after = _fitting(line[at:].decode("utf-8", "surrogateescape"))
        margin = f"{self.line} | "
        shown = "".join((*before, *after))
        return f"{margin}{shown}\n{' ' * (len(margin) - 2)}| {' ' * len(''.join(before))}^"


def follow(compiled: CompiledGrammar, data: bytes) -> tuple[int, int]:
    """Return (bytes read, state) of the longest prefix of `data` that some member of the language begins with."""
    state = compiled.start
    whole = compiled.advance_bytes(state, data)
    if whole != DEAD:
        return len(data), whole
    for offset in range(len(data)):
        after = compiled.advance_bytes(state, data[offset : offset + 1])
        if after == DEAD:
            return offset, state
        state = after
    return len(data), state


def find_refusal(compiled: CompiledGrammar, data: bytes) -> Refusal | None:
    """Return where `data` is refused, or None if it is a member of the language."""
    offset, state = follow(compiled, data)
    if offset == len(data) and compiled.is_accepting(state):
        return None
    return Refusal(data, offset, state)


def describe_refusal(compiled: CompiledGrammar, refusal: Refusal, name: str) -> list[str]:
    """Return the lines that tell a person where and why."""
    where = f"{name}, line {refusal.line}, column {refusal.column} (byte {refusal.offset})"
    if refusal.offset < len(refusal.data):
        found = _character_at(refusal.data, refusal.offset)
        problem = f"{found} cannot come here"
    else:
        problem = "the text ends too early"
    lines = [f"refused: {where}: {problem}", *("  " + line for line in refusal.excerpt().splitlines())]
    return [*lines, f"expected: {expected(compiled, refusal.state)}"]


def expected(compiled: CompiledGrammar, state: int) -> str:
    """Say in words what may come at `state`."""
    forced = compiled.forced_bytes(state)
    end = "the end of the text" if compiled.is_accepting(state) else ""
    following = compiled.next_bytes(state)
    if len(forced) > 1 and not end:
        return f"{show(forced)}, nothing else"
    parts = ([describe_bytes(following)] if following else []) + ([end] if end else [])
    return ", or ".join(parts) or "nothing"


def _fitting(characters: Iterable[str]) -> list[str]:
    """Return how characters are shown, up to a window's width; what a terminal would not show is escaped."""
    pieces: list[str] = []
    width = 0
    for character in characters:
        piece = " " if character in "\t\r" else character if character.isprintable() else _escaped(character)
        width += len(piece)
        if width > WINDOW:
            break
        pieces.append(piece)
    return pieces


def _escaped(character: str) -> str:
    return ascii(character.encode("utf-8", "surrogateescape"))[2:-1]


def _first_byte(data: bytes, offset: int) -> int:
    """Return where the character begins that holds the byte at `offset`."""
    start = offset
    while start > 0 and offset - start < 3 and start < len(data) and 0x80 <= data[start] < 0xC0:
        start -= 1
    return start


def _character_at(data: bytes, offset: int) -> str:
    """Quote the character that holds the byte at `offset`."""
    start = _first_byte(data, offset)
    for length in range(1, 5):
        try:
            return repr(data[start : start + length].decode())
        except UnicodeDecodeError:
            continue
    return f"byte 0x{data[offset]:02x}"
