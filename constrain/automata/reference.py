"""What a machine means, in readable Python: the oracle for `kernels.machine`, used by tests only.

A state is a frozenset of *threads*. A thread stands in a rule's graph, or inside a terminal that was begun there:

    Place(rule, node, back, registers)   `back`: the place to return to, or None; registers: (set, three counters)
    Inside(expression, text, place)      `text`: bytes of the key being read, or None; `place`: where to go on after it

Nothing is merged, interned or numbered; every set of readings is written out. Slow, and exponential on very ambiguous
grammars, but each function is its own definition.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from constrain import ir
from constrain.automata import graph as graphs
from constrain.automata.lexicon import Lexicon
from constrain.automata.operations import FRESH, Registers, apply
from constrain.limits import DEFAULT_LIMITS
from constrain.vocabulary import Vocabulary


class Place(NamedTuple):
    """A position in the graph of a rule."""

    rule: Hashable
    node: int
    back: Place | None
    registers: Registers


class Inside(NamedTuple):
    """A position inside a terminal."""

    expression: int
    text: bytes | None
    place: Place


State = frozenset["Place | Inside"]


class ReferenceMachine:
    """Same methods as `machine.Machine`, states are frozensets."""

    def __init__(self, grammar: ir.Grammar, vocabulary: Vocabulary) -> None:
        self.grammar = grammar
        self.vocabulary = vocabulary
        self._lexicon = Lexicon(vocabulary)
        self._table = self._lexicon.table
        builder = graphs.GraphBuilder(self._emptiness, DEFAULT_LIMITS)
        self._rules = graphs.RuleSet(grammar, builder, all_rules=not vocabulary.spells_everything)
        self._steps: dict[tuple[State, int], State] = {}
        start = Place(graphs.START, self._graph(graphs.START).start, None, FRESH)
        self.start: State = frozenset((start,))

    def _expression(self, label: object) -> int:
        node = label.pattern if isinstance(label, (ir.Key, ir.Lexeme)) else label
        assert isinstance(node, ir.Node)
        return self._lexicon.expression_of(node)

    def _emptiness(self, node: ir.Node) -> tuple[bool, bool]:
        expression = self._expression(node)
        has_text = any(self._table.is_live(target) for _, target in self._table.row(expression))
        return self._table.nullable[expression] and not isinstance(node, ir.Key), has_text

    def _graph(self, rule: Hashable) -> graphs.RuleGraph:
        if rule not in self._rules.graphs:
            assert self.grammar.expand is not None
            self._rules.graphs.update(self._rules.later(rule, self.grammar.expand(rule)))
        return self._rules.graphs[rule]

    def _closure(self, state: State) -> Iterator[Place]:
        """Yield every place that can be reached without reading."""
        seen: set[Place] = set()
        stack = [thread for thread in state if isinstance(thread, Place)]
        while stack:
            place = stack.pop()
            if place in seen:
                continue
            seen.add(place)
            yield place
            rule, node, back, registers = place
            graph = self._graph(rule)
            if node in graph.finals and back is not None:
                stack.append(back)
            for edge in graph.edges[node]:
                here = Place(rule, edge.target, back, registers)
                if edge.kind == graphs.EMPTY:
                    stack.append(here)
                elif edge.kind == graphs.CALL:
                    stack.append(Place(edge.label, self._graph(edge.label).start, here, FRESH))
                elif edge.kind == graphs.OP:
                    assert isinstance(edge.label, ir.Op)
                    after = apply(edge.label, registers)
                    if after is not None:
                        stack.append(here._replace(registers=after))

    def _inside(self, state: State) -> Iterator[Inside]:
        """Yield every terminal being read, those that could begin here included."""
        yield from (thread for thread in state if isinstance(thread, Inside))
        for place in self._closure(state):
            for edge in self._graph(place.rule).edges[place.node]:
                if edge.kind == graphs.TERMINAL:
                    text = b"" if isinstance(edge.label, ir.Key) else None
                    yield Inside(self._expression(edge.label), text, place._replace(node=edge.target))

    def step(self, state: State, byte: int) -> State:
        """Return the state after a byte; the empty set if there is none."""
        found = self._steps.get((state, byte))
        if found is None:
            threads: set[Place | Inside] = set()
            for inside in self._inside(state):
                threads.update(self._read(inside, byte))
            found = self._steps[state, byte] = frozenset(threads)
        return found

    def _read(self, inside: Inside, byte: int) -> Iterator[Place | Inside]:
        row = self._table.row(inside.expression)
        target = next((after for mask, after in row if mask >> byte & 1 and self._table.is_live(after)), None)
        if target is None:
            return
        text = None if inside.text is None else inside.text + bytes((byte,))
        if any(self._table.is_live(after) for _, after in self._table.row(target)):
            yield Inside(target, text, inside.place)
        if self._table.nullable[target]:
            place = inside.place
            if text is None:
                yield place
            else:
                marks, *counters = place.registers
                key = json.loads(text)
                if key not in marks:
                    yield place._replace(registers=(marks | {key}, counters[0], counters[1], counters[2]))

    def advance(self, state: State, data: bytes) -> State:
        """Return the state after some bytes."""
        for byte in data:
            state = self.step(state, byte)
        return state

    def is_accepting(self, state: State) -> bool:
        """Return whether the text may end here."""
        return any(
            place.back is None and place.node in self._graph(place.rule).finals for place in self._closure(state)
        )

    def next_bytes(self, state: State) -> frozenset[int]:
        """Return the bytes that may come next."""
        return frozenset(byte for byte in range(256) if self.step(state, byte))

    def bitmask(self, state: State) -> npt.NDArray[np.int32]:
        """Return int32[ceil(vocab_size / 32)]: bit i says that token i leads somewhere, or may end the text."""
        words = np.zeros(-(-self.vocabulary.vocab_size // 32) * 32, dtype=np.uint8)
        nodes, order = self._lexicon.tokens.nodes, self._lexicon.tokens.order
        path = [state]
        node, last = 1, len(nodes) - 1
        while node < last:
            byte, depth, end, first = nodes[node].tolist()
            after = self.step(path[depth - 1], byte)
            if not after:
                node = end
                continue
            words[order[first : int(nodes[node + 1, 3])]] = 1
            path[depth:] = [after]
            node += 1
        if self.is_accepting(state):
            words[list(self.vocabulary.eos_token_ids)] = 1
        return np.packbits(words, bitorder="little").view(np.int32)
