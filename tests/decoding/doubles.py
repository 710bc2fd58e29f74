"""Test doubles: a vocabulary from a list, and a constraint that is a list of texts, like the engine's."""

from dataclasses import dataclass

import numpy as np

from constrain.decoding.constraint import Constraint
from constrain.decoding.result import Reader
from constrain.ir import Grammar, Literal

DEAD, TERMINATED = 0, 1


@dataclass(frozen=True)
class ListVocabulary:
    """Tokens by id; None is a special token."""

    tokens: tuple
    eos_token_ids: tuple

    @property
    def vocab_size(self):
        return len(self.tokens)

    @property
    def fingerprint(self):
        return repr(self)

    def token_bytes(self, token_id):
        return self.tokens[token_id]


def vocabulary(*texts, eos=1):
    """Tokens of the texts, then `eos` end tokens."""
    tokens = tuple(text.encode() if isinstance(text, str) else text for text in texts)
    return ListVocabulary(tokens + (None,) * eos, tuple(range(len(tokens), len(tokens) + eos)))


class Texts:
    """Exactly these texts. States are the prefixes of them, numbered as they are met."""

    def __init__(self, vocabulary, texts):
        self.vocabulary = vocabulary
        self.grammar = Grammar(Literal(b""))
        self.texts = sorted({text.encode() if isinstance(text, str) else text for text in texts})
        self._prefixes = [None, None]
        self._ids = {}
        self._distances = {}
        self.start = self._state(b"")
        self.masks = 0

    def begin(self):
        return self.start, self

    def _state(self, prefix):
        if not any(text.startswith(prefix) for text in self.texts):
            return DEAD
        if prefix not in self._ids:
            self._ids[prefix] = len(self._prefixes)
            self._prefixes.append(prefix)
        return self._ids[prefix]

    def prefix(self, state):
        return self._prefixes[state]

    def is_accepting(self, state):
        return state > TERMINATED and self.prefix(state) in self.texts

    def advance(self, state, token_id):
        data = self.vocabulary.token_bytes(token_id)
        if token_id in self.vocabulary.eos_token_ids:
            return TERMINATED if state == TERMINATED or self.is_accepting(state) else DEAD
        if state <= TERMINATED or not data:
            return DEAD
        return self._state(self.prefix(state) + data)

    def _row(self, ids):
        bits = np.zeros(-(-self.vocabulary.vocab_size // 32) * 32, dtype=np.uint8)
        bits[ids] = 1
        return np.packbits(bits, bitorder="little").view("<i4").astype(np.int32)

    def _allowed(self, state):
        return [i for i in range(self.vocabulary.vocab_size) if self.advance(state, i) != DEAD]

    def bitmask(self, state):
        self.masks += 1
        return self._row(self._allowed(state))

    def fill_bitmask(self, state, bitmask, row=0):
        words = self.bitmask(state)
        bitmask[row] = 0
        bitmask[row, : len(words)] = words
        return True

    def allowed_within(self, state, budget):
        self.masks += 1
        return self._row([i for i in self._allowed(state) if self.distance(self.advance(state, i)) < budget])

    def distance(self, state):
        if state == TERMINATED:
            return 0
        if self.is_accepting(state):
            return 1
        if state not in self._distances:
            after = [self.advance(state, i) for i in self._allowed(state)]
            self._distances[state] = 1 + min((self.distance(s) for s in after), default=10**6)
        return self._distances[state]

    def completion(self, state):
        best = min(self._allowed(state), key=lambda i: self.distance(self.advance(state, i)))
        after = self.advance(state, best)
        return [best, *([] if after == TERMINATED else self.completion(after))]

    def next_bytes(self, state):
        prefix = self.prefix(state)
        return frozenset(t[len(prefix)] for t in self.texts if t.startswith(prefix) and len(t) > len(prefix))

    def forced_bytes(self, state, limit=4096):
        data = b""
        while len(data) < limit:
            state = self._state(self.prefix(state) + data[len(data) - 1 :]) if data else state
            after = self.next_bytes(state)
            if len(after) != 1 or self.is_accepting(state):
                break
            data += bytes(after)
        return data


def constraint(compiled, kind="text", type_=None):
    """The double as decoders get it from `resolve`."""
    return Constraint(compiled, Reader(kind, type_))
