"""One grammar's lazy automaton: interned states over bytes, and the masks of a vocabulary's tokens.

The work is done by `kernels.machine`; this class owns the tables, expands rules and lexer rows when a kernel asks for
them, and grows what is too small. A kernel that needs something returns NEED, and is simply called again.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from constrain import ir
from constrain.automata import graph as graphs
from constrain.automata.arena import FREE, Arena, Workspace
from constrain.automata.contents import Contents
from constrain.automata.lexicon import Lexicon, lexicon_for
from constrain.deadline import check
from constrain.errors import LimitExceededError
from constrain.kernels.machine import cpu_numba as kernel
from constrain.kernels.machine import layout as at

if TYPE_CHECKING:
    import numpy.typing as npt

    from constrain.automata.completion import Completer
    from constrain.automata.token_liveness import TokenLiveness
    from constrain.limits import Limits
    from constrain.vocabulary import Vocabulary

    Array = npt.NDArray[np.int32]
    Bytes = npt.NDArray[np.uint8]

_OPERATIONS = {
    ir.ADD: at.OP_ADD,
    ir.LESS: at.OP_LESS,
    ir.AT_LEAST: at.OP_AT_LEAST,
    ir.MARK: at.OP_MARK,
    ir.MARKED: at.OP_MARKED,
    ir.UNMARKED: at.OP_UNMARKED,
    ir.INSERT: at.OP_INSERT,
}
_EXPAND_AHEAD = 64
_NEED = int(kernel.NEED)
# Numba compiles read-only arrays separately, and what np.frombuffer makes of bytes is read-only.
_NO_DATA = np.frombuffer(b"", dtype=np.uint8)
_NO_OUT = np.zeros((1, 1), dtype=np.int32)


class Machine(Contents):
    """The lazy automaton of a grammar over a vocabulary. Safe to use from several threads.

    Attributes:
        start: the start state.
        lexicon: the vocabulary's terminals.
    """

    def __init__(self, grammar: ir.Grammar, vocabulary: Vocabulary, limits: Limits) -> None:
        kernel.link()
        self.grammar = grammar
        self.vocabulary = vocabulary
        self.limits = limits
        self.lexicon: Lexicon = lexicon_for(vocabulary, limits)
        self._lock = threading.RLock()
        self._free: list[Workspace] = self.lexicon.workspaces.setdefault(limits.max_readings, [])
        self._arena = Arena(
            {"graph": 1024, "rules": 64, "objects": 256 * at.OBJECT_WIDTH, "pool": 2048, "hash": 1024, "edges": 512},
            first=at.AT_GRAPH,
        )
        self._header[at.H_OBJECTS] = at.FIRST_OBJECT
        self._arena["graph"][0] = 1
        self._graph_top = 2
        self._blocks: list[int] = []  # where each rule's nodes begin, ascending
        self._rules: dict[Hashable, int] = {}
        self._rule_names: list[Hashable] = []
        self._refresh()
        builder = graphs.GraphBuilder(self._terminal_emptiness, limits)
        with self.lexicon.lock:
            self._rule_set = graphs.RuleSet(grammar, builder, all_rules=not vocabulary.spells_everything)
            for name, made in self._rule_set.graphs.items():
                self._place(name, made)
        self._refresh()
        first = self._intern(at.TAG_KERNEL, self._rule_start(graphs.START), int(at.TOP), 0)
        self.start = self._intern(at.TAG_CONFIG, 0, first)
        self._check_size()

    @property
    def _header(self) -> Array:
        return self._arena.array

    @cached_property
    def completer(self) -> Completer:
        """Return what finds the shortest ways to the end."""
        from constrain.automata.completion import Completer

        return Completer(self)

    @cached_property
    def liveness(self) -> TokenLiveness | None:
        """Return what decides which states tokens can finish; None where bytes decide it (a closed vocabulary)."""
        from constrain.automata.token_liveness import TokenLiveness

        return None if self.vocabulary.is_closed else TokenLiveness(self)

    @property
    def is_crowded(self) -> bool:
        """Whether new texts should begin in a new machine, so that those under way here never meet a limit."""
        return (
            2 * int(self._header[at.H_OBJECTS]) > self.limits.max_states
            or 2 * self.memory > self.limits.max_memory
            or self.lexicon.is_full
        )

    @property
    def memory(self) -> int:
        """Return the bytes of this grammar's own tables."""
        return self._arena.nbytes

    # Rules

    def _terminal_emptiness(self, node: ir.Node) -> tuple[bool, bool]:
        pattern = node.pattern if isinstance(node, ir.Key) else node
        state, has_empty = self.lexicon.terminal(pattern)
        return has_empty and not isinstance(node, ir.Key), state > 0

    def _rule(self, name: Hashable) -> int:
        index = self._rules.get(name)
        if index is None:
            index = self._rules[name] = len(self._rule_names)
            self._rule_names.append(name)
            self._arena.reserve("rules", index + 1)
            self._arena["rules"][index] = -1
        return index

    def _rule_start(self, name: Hashable) -> int:
        return int(self._arena["rules"][self._rule(name)])

    def _place(self, name: Hashable, made: graphs.RuleGraph) -> None:
        """Write a rule's graph into the flat array, leaving out nodes that cannot be reached."""
        order = made.reachable()
        where: dict[int, int] = {}
        top = self._graph_top
        for node in order:
            if node in made.finals and not made.edges[node]:
                where[node] = at.END_NODE
            else:
                where[node] = top
                top += 2 + 4 * len(made.edges[node])
        self._arena.reserve("graph", top)
        values: list[int] = []
        for node in order:
            if where[node] == at.END_NODE:
                continue
            values += (1 if node in made.finals else 0, len(made.edges[node]))
            for edge in made.edges[node]:
                values += self._edge(edge)
                values.append(where[edge.target])
        index = self._rule(name)
        self._blocks.append(self._graph_top)
        self._arena["graph"][self._graph_top : top] = values
        self._graph_top = top
        self._arena["rules"][index] = where[made.start]

    def _edge(self, edge: graphs.Edge) -> tuple[int, int, int]:
        if edge.kind == graphs.EMPTY:
            return at.EDGE_EMPTY, 0, 0
        if edge.kind == graphs.CALL:
            return at.EDGE_CALL, self._rule(edge.label), 0
        label = edge.label
        if edge.kind == graphs.TERMINAL:
            assert isinstance(label, ir.Node)
            state, _ = self.lexicon.terminal(label.pattern if isinstance(label, ir.Key) else label)
            return at.EDGE_TERMINAL, self._counted(state), int(isinstance(label, ir.Key))
        assert isinstance(label, ir.Op)
        value = label.value
        if label.code == ir.INSERT:
            value = 0
            for text in label.texts:
                value = self.call(kernel.ADD_TEXT, value, data=np.frombuffer(text, dtype=np.uint8))
        return at.EDGE_OP, _OPERATIONS[label.code] | label.slot << 8, value

    def _counted(self, state: int) -> int:
        """Return the lexer state of the start of a terminal, which may be an entry of `delta` that counts."""
        if not at.LINK <= state < at.LITERAL:
            return state
        return int(at.COUNT) + self._intern(at.TAG_COUNT, *self.lexicon.counted(state))

    def _expand_rule(self, rule: int) -> None:
        name = self._rule_names[rule]
        if self.grammar.expand is None:
            raise KeyError(f"ir: rule {name!r} is referred to but not defined")
        node = self.grammar.expand(name)
        ir.verify_node(node, name, self.grammar)
        with self.lexicon.lock:
            for made_name, made in self._rule_set.later(name, node).items():
                self._place(made_name, made)

    # Calls of kernels

    def _refresh(self) -> None:
        """Fetch the current tables, after anything has grown."""
        with self.lexicon.lock:
            self._lexicon_array = self.lexicon.arena.array
            self.delta = self.lexicon.delta
            self.rows = self.lexicon.rows

    def call(self, op: int, a: int = 0, b: int = 0, c: int = 0, *, data: Bytes = _NO_DATA, out: Array = _NO_OUT) -> int:
        """Run an operation of the kernel until it has what it needs, and return its result."""
        with self._lock:
            workspace = self._take_workspace()
            try:
                return self._run(workspace, op, a, b, c, data, out)
            finally:
                self._free.append(workspace)

    @contextmanager
    def _workspace(self) -> Iterator[Workspace]:
        workspace = self._take_workspace()
        try:
            yield workspace
        finally:
            self._free.append(workspace)

    def _take_workspace(self) -> Workspace:
        try:
            return self._free.pop()  # shared with other machines, so another thread may take the last one
        except IndexError:
            return Workspace(self.lexicon.tokens.max_depth, self.limits.max_readings)

    def _run(self, workspace: Workspace, op: int, a: int, b: int, c: int, data: Bytes, out: Array) -> int:
        run, tokens, blob = kernel.run, self.lexicon.token_array, self.lexicon.blob
        try:
            while True:
                tables = self._arena.array, workspace.arena.array, self._lexicon_array, tokens, self.delta, self.rows
                result: int = run(*tables, out, blob, data, op, a, b, c)
                if result != _NEED:
                    return int(result)
                check()
                self._provide(int(self._header[at.H_CODE]), int(self._header[at.H_ARG]), workspace)
        except BaseException:
            self._header[at.H_READ] = 0  # the text is given up
            raise

    def _intern(self, tag: int, *content: int) -> int:
        with self._lock, self._workspace() as workspace:
            where = int(workspace.arena.array[at.AT_SCRATCH])
            workspace.arena["scratch"][: len(content)] = content
            return self._run(workspace, kernel.INTERN, int(tag), where, len(content), _NO_DATA, _NO_OUT)

    def _provide(self, code: int, argument: int, workspace: Workspace) -> None:
        if code == at.NEED_RULE:
            self._expand_rule(argument)
        elif code == at.NEED_ROW:
            with self.lexicon.lock:
                if self.lexicon.delta[argument, 0] < 0:
                    self.lexicon.expand(argument)
        elif code == at.NEED_NEAR:
            with self.lexicon.lock:
                self.lexicon.make_near(argument)
        elif code == at.NEED_INSIDE:
            self._make_inside(argument, workspace)
        elif code == at.GROW_OBJECTS:
            self._grow_objects()
        elif code == at.GROW_POOL:
            self._arena.reserve("pool", self._arena.capacity("pool") + argument)
        elif code == at.GROW_EDGES:
            self._arena.reserve("edges", self._arena.capacity("edges") + argument)
        elif code == at.GROW_SCRATCH:
            workspace.arena.reserve("scratch", 2 * workspace.arena.capacity("scratch") + 10 * argument)
        elif code == at.GROW_WALK:
            self._grow_walk(workspace)
        else:
            raise LimitExceededError("max_readings", self.limits.max_readings, "in one state")
        self._check_size()
        self._refresh()

    def _check_size(self, more: int = 0) -> None:
        if self._header[at.H_OBJECTS] + more > self.limits.max_states:
            raise LimitExceededError("max_states", self.limits.max_states, "in the compiled grammar")
        if self.memory > self.limits.max_memory:
            raise LimitExceededError("max_memory", self.limits.max_memory, "in the compiled grammar")

    def _grow_walk(self, workspace: Workspace) -> None:
        workspace.arena.reserve("walk", 2 * workspace.arena.capacity("walk"))
        if workspace.arena.nbytes > self.limits.max_memory:
            raise LimitExceededError("max_memory", self.limits.max_memory, "in the readings along one token")

    def _grow_objects(self) -> None:
        self._check_size(more=1)
        arena, width = self._arena, int(at.OBJECT_WIDTH)
        arena.reserve("objects", arena.capacity("objects") + width, at_most=width * self.limits.max_states)
        arena.reserve("hash", 2 * arena.capacity("hash"))
        self.rebuild_hash()

    def rebuild_hash(self) -> None:
        """Fill the hash table anew from the objects."""
        self._arena["hash"][:] = 0
        self.call(kernel.REHASH)

    def _make_inside(self, state: int, workspace: Workspace) -> None:
        """Walk the vocabulary once from an expression's state."""
        lexicon = self.lexicon
        with lexicon.lock:
            if lexicon.states[state, 1] >= 0:
                return
            lexicon.expand_reachable(state, _EXPAND_AHEAD)
            index = lexicon.reserve_row()
            lexicon.rows[index] = 0
            header = np.zeros(at.HEADER_SIZE, dtype=np.int32)
            header[at.H_LENGTH] = at.HEADER_SIZE
            header[at.H_RESUME] = 1
            header[at.H_EXIT_COUNT] = lexicon.num_exits
            while True:
                tables = (header, workspace.arena.array, lexicon.arena.array, lexicon.token_array)
                blob, rows = lexicon.blob, lexicon.rows
                result = kernel.run(*tables, lexicon.delta, rows, rows, blob, _NO_DATA, kernel.INSIDE, state, index, 0)
                if result != kernel.NEED:
                    break
                if header[at.H_CODE] == at.NEED_ROW:
                    lexicon.expand(int(header[at.H_ARG]))
                else:
                    lexicon.reserve("exits", 2 * lexicon.arena.capacity("exits"))
            count = int(header[at.H_EXIT_COUNT])
            lexicon.states[state, 2:4] = lexicon.num_exits, count - lexicon.num_exits
            lexicon.num_exits = count
            lexicon.states[state, 1] = index

    # What the outside asks for

    def advance(self, state: int, data: Bytes, start: int, stop: int) -> int:
        """Return the state after data[start:stop], 0 if the grammar forbids it."""
        return self.call(kernel.ADVANCE, start, stop, state, data=data)

    def is_accepting(self, state: int) -> bool:
        """Return whether the text may end in this state."""
        return self.call(kernel.ACCEPTING, state) == 1

    def fill(self, states: Sequence[int], out: Array) -> None:
        """Write the masks of states, end tokens included, into the first rows of `out`: one call, without the GIL.

        State 0 (DEAD) allows nothing, state 1 (TERMINATED) end tokens only.
        """
        with self._lock, self._workspace() as workspace:
            where = workspace.free
            for first in range(0, len(states), FREE):
                part = states[first : first + FREE]
                workspace.arena.array[where : where + len(part)] = part
                self._header[at.H_RESUME] = 0
                self._run(workspace, kernel.FILL, len(part), where, 0, _NO_DATA, out[first:] if first else out)

    def next_bytes(self, state: int) -> npt.NDArray[np.uint8]:
        """Return uint8[256]: 1 for each byte that may come next."""
        with self._lock, self._workspace() as workspace:
            where = workspace.free
            self._run(workspace, kernel.NEXT_BYTES, state, where, 0, _NO_DATA, _NO_OUT)
            return workspace.arena.array[where : where + 256].astype(np.uint8)

    def first_pairs(self, identity: int) -> list[tuple[int, int]]:
        """Return the lexer states that begin when a kernel is entered, and the kernel that each one's end enters."""
        with self._lock:
            self.call(kernel.CLOSE, identity)
            base = identity * int(at.OBJECT_WIDTH)
            objects = self._arena["objects"]
            first, count = int(objects[base + at.O_A]), int(objects[base + at.O_B])
            edges = self._arena["edges"][first : first + 2 * count].tolist()
            return list(zip(edges[::2], edges[1::2], strict=True))

    def expand_all(self) -> None:
        """Expand every rule that can be reached."""
        most = self.limits.max_schema_nodes
        with self._lock:
            rule = 0
            while rule < len(self._rule_names):
                if rule >= most:
                    raise LimitExceededError("max_schema_nodes", most, "while expanding all rules")
                if self._arena["rules"][rule] < 0:
                    self._expand_rule(rule)
                rule += 1
            self._refresh()

    def successors(self, state: int, token_ids: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
        """Return the state after each of some tokens (cost: about 0.5 us a byte)."""
        data = np.frombuffer(self.vocabulary.data, dtype=np.uint8)
        offsets = self.vocabulary.offsets
        count = len(token_ids)
        lengths = offsets[token_ids + 1] - offsets[token_ids]
        ends = np.cumsum(lengths)
        chosen = np.repeat(offsets[token_ids] - (ends - lengths), lengths) + np.arange(ends[-1] if count else 0)
        text = np.frombuffer(data[chosen].tobytes(), dtype=np.uint8)
        out = np.zeros((1, 2 * count + 1), dtype=np.int32)
        out[0, count : 2 * count] = ends
        with self._lock:
            self._header[at.H_RESUME] = 0
            self.call(kernel.SUCCESSORS, state, count, data=text, out=out)
        return out[0, :count]
