"""The lexer of one vocabulary: terminals as lazily built deterministic automata with integer states.

One `Lexicon` serves all grammars on a vocabulary, so equal terminals (a JSON string, a number, `{"name":`) share
states and *inside rows*: the bitmask of tokens that stay inside the terminal.

Lexer states are int32 in ranges (`kernels.machine` reads them):
    0                       dead
    1                       LEX_END: the terminal has just ended and cannot go on
    2 .. LINK-1             rows of `delta`, a state of a hash-consed expression
    LINK .. LITERAL-1       (in `delta` only) indices into `links`: a shape, and what becomes of its count (`shapes`)
    LITERAL .. TRIE-1       offsets into `literals` (the byte to come, -1 after the last)
    TRIE .. KEY-1           nodes of `trie`, for finite sets of strings
    KEY .. COUNT-1          (grammar's own) a JSON key being read: interned (expression state, text, escape)
    COUNT ..                (grammar's own) a shape with its count, interned

All growing tables are append-only; the owner of `lock` may write.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

import numpy as np

from constrain import ir
from constrain.automata import shapes
from constrain.automata.arena import Arena, Workspace
from constrain.automata.byte_sets import members
from constrain.automata.byte_trie import trie_nodes
from constrain.automata.counts import SURELY_LESS
from constrain.automata.expressions import Expressions
from constrain.automata.regex import EPSILON, NOTHING, RegexTable
from constrain.automata.token_trie import token_trie
from constrain.errors import LimitExceededError
from constrain.kernels.machine import layout as at
from constrain.limits import DEFAULT_LIMITS, Limits
from constrain.vocabularies.units import is_spelled

if TYPE_CHECKING:
    import numpy.typing as npt

    from constrain.vocabulary import Vocabulary

LEX_END = 1
LINK, LITERAL, TRIE, KEY, COUNT = (int(base) for base in (at.LINK, at.LITERAL, at.TRIE, at.KEY, at.COUNT))
ACCEPTS = 1
CONTINUES = 2
# Columns of `states`.
FLAGS, ROW, EXITS, NUM_EXITS, FIRST = range(5)
FLOOR, NEAR = int(at.S_FLOOR), int(at.S_NEAR)
_UNKNOWN = -1
STATE_WIDTH = int(at.STATE_WIDTH)
_ABSOLUTE = int(at.ABSOLUTE)


class Lexicon:
    """Terminals of one vocabulary. See the module's text.

    Attributes:
        delta: int32[capacity, 256], next state by byte; -1 where the row has not been made.
        rows: int32[capacity, words], inside rows.
        arena: int32 sections: `states` (flags, index into `rows` or -1, offset and count in `exits`, first bytes),
            `literals`, `trie` (4 ints a node, see `byte_trie`), `exits` (nodes of the vocabulary's trie at which a
            terminal may end).
    """

    def __init__(self, vocabulary: Vocabulary, limits: Limits = DEFAULT_LIMITS) -> None:
        self.vocabulary = vocabulary
        self.words = (vocabulary.vocab_size + 31) // 32
        self.tokens = token_trie(vocabulary)
        nodes, order = self.tokens.nodes, self.tokens.order
        ends = vocabulary.eos_token_ids
        tokens = Arena({"nodes": nodes.size, "order": len(order), "paths": len(self.tokens.paths), "ends": len(ends)})
        tokens["nodes"][:] = nodes.reshape(-1)
        tokens["order"][:] = order
        tokens["paths"][:] = self.tokens.paths
        tokens["ends"][:] = ends
        tokens.array[at.H_WORDS] = self.words
        self.token_array = tokens.array
        self.blob = np.array(self.tokens.blob)  # a writable copy: numba compiles read-only arrays separately
        self.lock = threading.RLock()
        self.table = RegexTable(vocabulary.spellable, limits)
        self.limits = limits
        # A count that is this large stays large within any token, and larger than what `counts` asks for.
        self.far = self.tokens.max_depth + SURELY_LESS + 8
        self.arena = Arena({"states": 64 * STATE_WIDTH, "literals": 1024, "trie": 4, "exits": 1024, "links": 64})
        self.delta = np.full((64, 256), _UNKNOWN, dtype=np.int32)
        self.delta[:2] = 0
        self.states[:] = _UNKNOWN
        self.states[:2, FLAGS] = 0, ACCEPTS
        self.states[:2, FIRST:FLOOR] = 0
        self.num_states = 2
        self.num_literals = 0
        self.num_trie_nodes = 0
        self.rows = np.zeros((4, self.words), dtype=np.int32)
        self.num_rows = 0
        self.num_exits = 0
        self.num_links = 0
        self.workspaces: dict[int, list[Workspace]] = {}  # of kernels, reused, by their size
        self._expressions: list[int] = [NOTHING, EPSILON]
        self._state_of: dict[int, int] = {NOTHING: 0, EPSILON: LEX_END}
        self._entry_of: dict[int, int] = {}
        self._links: dict[tuple[int, int], int] = {}
        self._literal_at: dict[bytes, int] = {}
        self._tries: dict[tuple[bytes, ...], int] = {}
        self.expression_of = Expressions(self.table).of
        self._terminals: dict[ir.Node, tuple[int, bool]] = {}
        # Where bytes alone do not spell everything, every terminal is made of units.
        self._units: int | None = None
        if vocabulary.characters is not None:
            unit = ir.alt([ir.ByteClass(vocabulary.single_bytes), ir.CharClass(vocabulary.characters)])
            self._units = self.expression_of(ir.Repeat(unit, 0, None))

    @property
    def states(self) -> npt.NDArray[np.int32]:
        """Return int32[capacity, STATE_WIDTH], a view of the arena."""
        return self.arena["states"].reshape(-1, STATE_WIDTH)

    @property
    def is_full(self) -> bool:
        """Whether new grammars should start another lexicon."""
        return (
            2 * self.num_states > self.limits.max_lexer_states
            or self.num_literals > LITERAL // 2
            or 2 * self.memory > self.limits.max_memory
        )

    @property
    def memory(self) -> int:
        """Return the bytes of the tables."""
        return self.rows.nbytes + self.delta.nbytes + self.arena.nbytes

    # Terminals

    def terminal(self, node: ir.Node) -> tuple[int, bool]:
        """Return the start state of a regular node (0 if it has no non-empty text) and whether it has the empty text.

        The start state's own flags say nothing: a terminal is only ever left after at least one byte.
        """
        found = self._terminals.get(node)
        if found is None:
            if isinstance(node, ir.Lexeme):
                found = self.terminal(node.pattern)
            elif isinstance(node, ir.Literal):
                found = self._literal(node.data), not node.data
            elif isinstance(node, ir.OneOf):
                found = self._one_of(node.texts), False
            else:
                expression = self.expression_of(node)
                if self._units is not None:
                    expression = self.table.intersect((expression, self._units))
                state = self.entry(expression)
                found = state if state > LEX_END else 0, self.table.nullable[expression]
            self._terminals[node] = found
        return found

    def _spellable(self, data: bytes) -> bool:
        return is_spelled(data, self.vocabulary)

    def _literal(self, data: bytes) -> int:
        if len(data) > self.limits.max_literals:
            raise LimitExceededError("max_literals", self.limits.max_literals, f"by a text of {len(data)} bytes")
        if not data or not self._spellable(data):
            return 0
        start = self._literal_at.get(data)
        if start is None:
            start, stop = self.num_literals, self.num_literals + len(data) + 1
            if stop >= TRIE - LITERAL:
                raise LimitExceededError("max_literals", self.limits.max_literals, "in the text of literals")
            self.reserve("literals", stop)
            literals = self.arena["literals"]
            literals[start : stop - 1] = np.frombuffer(data, dtype=np.uint8)
            literals[stop - 1] = _UNKNOWN
            self.num_literals = stop
            self._literal_at[data] = start
        return LITERAL + start

    def _one_of(self, texts: tuple[bytes, ...]) -> int:
        if len(texts) > self.limits.max_literals:
            raise LimitExceededError("max_literals", self.limits.max_literals, "in a set of strings")
        if not self.vocabulary.spells_everything:
            texts = tuple(text for text in texts if self._spellable(text))
        if not texts:
            return 0
        if len(texts) == 1:
            return self._literal(texts[0])
        node = self._tries.get(texts)
        if node is None:
            node = self.num_trie_nodes
            made = trie_nodes(texts)
            if node + len(made) >= KEY - TRIE:
                raise LimitExceededError("max_literals", self.limits.max_literals, "in sets of strings")
            made[:, 2] += node
            self.reserve("trie", 4 * (node + len(made)))
            self.arena["trie"][4 * node : 4 * (node + len(made))] = made.reshape(-1)
            self.num_trie_nodes = node + len(made)
            self._tries[texts] = node
        return TRIE + node

    # States of expressions

    def reserve(self, name: str, needed: int) -> None:
        """Make room in a section of the arena."""
        if self.arena.reserve(name, needed):
            # Kernels of other threads that still hold the old arena must not meet the rows of states it lacks.
            self.delta = self.delta.copy()

    def entry(self, expression: int) -> int:
        """Return what stands in `delta` for an expression: its state, or a link to its shape."""
        found = self._entry_of.get(expression)
        if found is None:
            if not self.table.is_live(expression):
                found = 0
            elif self.table.symbolic[expression]:
                found = self._link(*shapes.rebased(self.table, expression))
            else:
                counted = shapes.symbolised(self.table, expression, self.far)
                found = self._link(counted[0], _ABSOLUTE + counted[1]) if counted else self.state(expression)
            self._entry_of[expression] = found
        return found

    def _link(self, shape: int, action: int) -> int:
        key = self.state(shape), action
        found = self._links.get(key)
        if found is None:
            found = LINK + self.num_links
            if found >= LITERAL:
                raise LimitExceededError("max_lexer_states", self.limits.max_lexer_states, "in the lexer")
            self.reserve("links", 2 * self.num_links + 2)
            self.arena["links"][2 * self.num_links : 2 * self.num_links + 2] = key
            self.num_links += 1
            self._links[key] = found
        return found

    def _linked(self, link: int) -> tuple[int, int]:
        """Return the shape's state and what becomes of its count."""
        shape, action = self.arena["links"][2 * (link - LINK) : 2 * (link - LINK) + 2].tolist()
        return shape, action

    def counted(self, link: int) -> tuple[int, int]:
        """Return the shape's state and the count of a link that gives one."""
        shape, action = self._linked(link)
        return shape, action - _ABSOLUTE

    def followed(self, entry: int, count: int) -> tuple[int, int] | None:
        """Return the shape's state and the count that an entry of `delta` leads to; None where neither is left."""
        if not LINK <= entry < LITERAL:
            return None
        shape, action = self._linked(entry)
        count = action - _ABSOLUTE if action >= _ABSOLUTE else count + action
        return None if count < self.states[shape, FLOOR] else (shape, count)

    def make_near(self, state: int) -> None:
        """Find what a shape is written out as, when its count gets too low for it."""
        if self.states[state, NEAR] < 0:
            near = shapes.written_out(self.table, self._expressions[state], int(self.states[state, FLOOR]) - 1)
            self.states[state, NEAR] = self.entry(near)

    def state(self, expression: int) -> int:
        """Return the state of an expression: 0 if nothing matches it, LEX_END if only the empty text does."""
        found = self._state_of.get(expression)
        if found is None:
            if not self.table.is_live(expression):
                found = 0
            elif self.table.nullable[expression] and not self._goes_on(expression):
                found = LEX_END
            else:
                found = self._new_state(expression)
            self._state_of[expression] = found
        return found

    def _goes_on(self, expression: int) -> bool:
        return any(self.table.is_live(target) for _, target in self.table.row(expression))

    def _new_state(self, expression: int) -> int:
        state = self.num_states
        if state >= min(self.limits.max_lexer_states, LINK):
            raise LimitExceededError("max_lexer_states", self.limits.max_lexer_states, "in the lexer")
        if state == len(self.delta):
            more = len(self.delta)
            self.delta = np.concatenate((self.delta, np.full((more, 256), _UNKNOWN, dtype=np.int32)))
            self.arena.reserve("states", 2 * more * STATE_WIDTH)  # `delta` is a new array already: see `reserve`
            self.states[more:] = _UNKNOWN
        self.num_states += 1
        self._expressions.append(expression)
        accepts = ACCEPTS if self.table.nullable[expression] else 0
        self.states[state, FLAGS] = accepts | CONTINUES
        if self.table.symbolic[expression]:
            floor = shapes.floor_of(self.table, expression, self.far)
            assert floor is not None  # its margin was settled with that of the shape it comes from
            self.states[state, FLOOR] = floor
        return state

    def expand(self, state: int) -> None:
        """Fill in the row of a state (cost: 10 to 50 microseconds)."""
        row = np.zeros(256, dtype=np.int32)
        for mask, to in self.table.row(self._expressions[state]):
            row[members(mask)] = self.entry(to)
        self.states[state, FIRST:FLOOR] = np.packbits(row != 0, bitorder="little").view(np.int32)
        # Written last and at once: kernels of other threads read `delta` without the lock.
        self.delta[state] = row

    def transitions(self, state: int) -> npt.NDArray[np.int32]:
        """Return int32[256], the next state by byte."""
        with self.lock:
            if self.delta[state, 0] == _UNKNOWN:
                self.expand(state)
            row: npt.NDArray[np.int32] = self.delta[state]
            return row

    def least_bytes(self, state: int, count: int = 0) -> int:
        """Return a lower bound, exact without intersections, of the bytes (at least one) to the end of the terminal.

        Args:
            count: the count, where the state is a shape.
        """
        with self.lock:
            expression = self._expressions[state]
            if not self.table.nullable[expression]:
                return self.table.least_length(expression, count)
            return 1 + min(self.table.least_length(target, count) for _, target in self.table.row(expression))

    def expand_reachable(self, state: int, at_most: int) -> None:
        """Fill in the rows of up to `at_most` states reachable from `state`, breadth first."""
        queue, seen = [state], {state}
        for current in queue:
            if self.delta[current, 0] == _UNKNOWN:
                self.expand(current)
            for target in set(self.delta[current].tolist()):
                if target >= LINK:
                    target, _ = self._linked(target)
                if target > LEX_END and target not in seen and len(seen) < at_most:
                    seen.add(target)
                    queue.append(target)

    def reserve_row(self) -> int:
        """Return the index of a new, empty inside row."""
        if self.num_rows == len(self.rows):
            if self.memory > self.limits.max_memory:
                raise LimitExceededError("max_memory", self.limits.max_memory, "in the masks of terminals")
            self.rows = np.concatenate((self.rows, np.zeros_like(self.rows)))
        self.num_rows += 1
        return self.num_rows - 1


_OF_LEXERS = ("max_lexer_states", "max_memory", "max_repeat", "max_count_sets", "max_emptiness_steps", "max_literals")
_lexicons: OrderedDict[tuple[object, ...], Lexicon] = OrderedDict()
_lexicons_lock = threading.Lock()
_MAX_LEXICONS = 8


def lexicon_for(vocabulary: Vocabulary, limits: Limits = DEFAULT_LIMITS) -> Lexicon:
    """Return the current lexicon of a vocabulary under some limits.

    One that is getting full is replaced, and lives on with its grammars.
    """
    key = (vocabulary.fingerprint, *(getattr(limits, name) for name in _OF_LEXERS))
    with _lexicons_lock:
        found = _lexicons.get(key)
        if found is None or found.is_full:
            found = _lexicons[key] = Lexicon(vocabulary, limits)
            if len(_lexicons) > _MAX_LEXICONS:
                _lexicons.popitem(last=False)
        _lexicons.move_to_end(key)
        return found
