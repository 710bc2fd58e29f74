"""The shortest way to the end of a terminal that is being read, as bytes to read at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from constrain.automata import lexicon as lex
from constrain.automata.demands import FAR

if TYPE_CHECKING:
    from constrain.automata.machine import Machine

_PREFERRED = b'aeiou0123456789bcdfghjklmnpqrstvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"]}),.:;[{( -_'
_RANK = np.full(256, 255, dtype=np.int64)
_RANK[np.frombuffer(_PREFERRED, dtype=np.uint8)] = np.arange(len(_PREFERRED))
_ORDER = np.argsort(_RANK, kind="stable")
_CHUNK = 256


class Rests:
    """What is left of the terminals of one machine; remembered."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._lexicon = machine.lexicon
        self._costs: dict[int, int] = {}
        self._rests: dict[int, bytes | None] = {}

    def cost(self, lexer: int) -> int:
        """Return the least number of bytes, at least one, from a lexer state to the end of its terminal."""
        found = self._costs.get(lexer)
        if found is None:
            found = self._costs[lexer] = self._measure(lexer)
        return found

    def _measure(self, lexer: int) -> int:
        if lex.KEY <= lexer < lex.COUNT:
            return self.cost(self._machine.key_parts(lexer - lex.KEY)[0])
        lexer, count = self._machine.uncounted(lexer)
        if lexer >= lex.TRIE:
            return self._nearest_member(lexer - lex.TRIE)[1]
        if lexer >= lex.LITERAL:
            return len(self._literal(lexer))
        return 0 if lexer <= lex.LEX_END else self._lexicon.least_bytes(lexer, count)

    def _literal(self, lexer: int) -> bytes:
        literals = self._lexicon.arena["literals"]
        start = lexer - lex.LITERAL
        size = _CHUNK
        while True:
            part = literals[start : start + size]
            ends = np.flatnonzero(part < 0)
            if len(ends):
                return part[: ends[0]].astype(np.uint8).tobytes()
            size *= 4

    def _nearest_member(self, node: int) -> tuple[int, int]:
        """Return the place of the nearest string that ends below a node of the tries, and how much deeper it is."""
        trie = self._lexicon.arena["trie"].reshape(-1, 4)
        end = int(trie[node, 2])
        inside = trie[node + 1 : end + 1]
        members = np.flatnonzero(inside[1:, 3] > inside[:-1, 3])
        if not len(members):
            return node, FAR
        nearest = int(members[np.argmin(inside[members, 1])])
        return node + 1 + nearest, int(inside[nearest, 1] - trie[node, 1])

    def rest(self, lexer: int) -> bytes | None:
        """Return a shortest text to the end of a terminal, or towards it where it counts; None for what is not known.

        A key is not, nor is an intersection whose least length is not exact.
        """
        if lexer not in self._rests:
            self._rests[lexer] = self._find(lexer)
        return self._rests[lexer]

    def _find(self, lexer: int) -> bytes | None:
        if lexer >= lex.COUNT:
            return self._laps(*self._machine.uncounted(lexer)) or None
        if lexer >= lex.KEY or lexer <= lex.LEX_END:
            return None
        if lexer >= lex.TRIE:
            return self._path(lexer - lex.TRIE)
        return self._literal(lexer) if lexer >= lex.LITERAL else self._through_rows(lexer)

    def _path(self, node: int) -> bytes:
        trie = self._lexicon.arena["trie"].reshape(-1, 4)
        member, _ = self._nearest_member(node)
        out = bytearray()
        while node != member:
            node += 1
            while trie[node, 2] <= member:
                node = int(trie[node, 2])
            out.append(int(trie[node, 0]))
        return bytes(out)

    def _through_rows(self, lexer: int) -> bytes | None:
        lexicon = self._lexicon
        out = bytearray()
        for left in range(self.cost(lexer), 0, -1):
            row = lexicon.transitions(lexer)
            for byte in one_of_each(row):
                lexer = int(row[byte])
                if lexer >= lex.LINK:  # what is left counts
                    shape, count = lexicon.counted(lexer)
                    return bytes((*out, byte)) if lexicon.least_bytes(shape, count) < left else None
                if lexicon.states[lexer, lex.FLAGS] & lex.ACCEPTS:
                    return bytes((*out, byte))
                if self.cost(lexer) < left:
                    break
            else:
                return None
            out.append(byte)
        return None

    def _laps(self, shape: int, count: int) -> bytes:
        """Return bytes that lead from a shape nearer to the end, round a loop of shapes as often as that helps."""
        lexicon = self._lexicon
        out = bytearray()
        here, left, cost = shape, count, lexicon.least_bytes(shape, count)
        met = {here: (0, left, cost)}
        while len(out) < _CHUNK:
            step = self._nearer(here, left, cost)
            if step is None:
                break
            byte, here, left, cost = step
            out.append(byte)
            if here in met:
                start, before, cost_before = met[here]
                lap, used = bytes(out[start:]), before - left
                if used > 0 and cost_before - cost == len(lap):
                    room = (left - int(lexicon.states[here, lex.FLOOR])) // used
                    out += lap * max(0, min(room, (cost - 1) // len(lap)))
                break
            met[here] = len(out), left, cost
        return bytes(out)

    def _nearer(self, shape: int, count: int, cost: int) -> tuple[int, int, int, int] | None:
        """Return a byte that leads nearer to the end, with the shape, the count and the cost after it."""
        lexicon = self._lexicon
        row = lexicon.transitions(shape)
        for byte in one_of_each(row):
            following = lexicon.followed(int(row[byte]), count)
            if following is not None:
                after = lexicon.least_bytes(*following)
                if after < cost:
                    return byte, *following, after
        return None


def one_of_each(row: np.ndarray[tuple[int, ...], np.dtype[np.int32]], most: int = 1) -> list[int]:
    """Return up to `most` bytes for each state that a row leads to, digits and letters before others."""
    taken: dict[int, int] = {}
    found = []
    for byte, target in zip(_ORDER.tolist(), row[_ORDER].tolist(), strict=True):
        if target and taken.get(target, 0) < most:
            taken[target] = taken.get(target, 0) + 1
            found.append(byte)
    return found
