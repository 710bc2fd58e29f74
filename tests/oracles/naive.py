"""A slow oracle straight from the IR: is a text in the language, and can a prefix be completed?

It shares nothing with the engine but the node classes. Read in this order:

1. *Expressions*: regular nodes as tuples, their derivatives by one byte (Brzozowski 1964), emptiness by search.
2. `Language`: rules as little graphs; membership and completability are least fixpoints over (rule, position),
   found by repeating until nothing changes. Registers are part of what is searched: a path through a rule's graph
   carries its counters, marks and keys.

`alphabet` is what a completion may be spelled with (None: every byte). A vocabulary that lacks a byte makes prefixes
dead that need it. The text given is taken as it is.

Assumed, as the IR promises: there is always a key that is not in the set yet, unless the key has begun; counters only
grow; the rules reached from a prefix are finitely many.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator
from functools import lru_cache

from constrain import ir

ALL_BYTES = frozenset(range(256))
MAX_UNROLL = 5_000
MAX_KEYS_TRIED = 20_000
MAX_RULES = 2_000

# Expressions: ("none",) ("eps",) ("class", mask) ("char", ranges, begun) ("words", texts) ("cat", a, b) ("alt", set)
# ("and", set) ("not", a) ("rep", a, m, n or None).

Expr = tuple
NONE: Expr = ("none",)
EPS: Expr = ("eps",)
ANY: Expr = ("not", NONE)


def cat(first: Expr, second: Expr) -> Expr:
    """Return the expression of one after the other, brackets to the right."""
    if NONE in (first, second):
        return NONE
    if first == EPS:
        return second
    if second == EPS:
        return first
    if first[0] == "cat":
        return cat(first[1], cat(first[2], second))
    return ("cat", first, second)


def union(parts: frozenset[Expr] | set[Expr]) -> Expr:
    """Return the expression of any of `parts`."""
    flat = {inner for part in parts for inner in (part[1] if part[0] == "alt" else (part,))} - {NONE}
    if ANY in flat:
        return ANY
    return next(iter(flat)) if len(flat) == 1 else ("alt", frozenset(flat)) if flat else NONE


def both(parts: frozenset[Expr] | set[Expr]) -> Expr:
    """Return the expression of all of `parts`."""
    flat = {inner for part in parts for inner in (part[1] if part[0] == "and" else (part,))} - {ANY}
    if NONE in flat:
        return NONE
    return next(iter(flat)) if len(flat) == 1 else ("and", frozenset(flat)) if flat else ANY


def inverse(body: Expr) -> Expr:
    """Return the expression of every text that is not in `body`."""
    return body[1] if body[0] == "not" else ("not", body)


def repeat(body: Expr, minimum: int, maximum: int | None) -> Expr:
    """Return the expression of `minimum` to `maximum` copies of `body`."""
    if maximum == 0 or body == EPS:
        return EPS
    if body == NONE:
        return NONE if minimum else EPS
    return body if (minimum, maximum) == (1, 1) else ("rep", body, minimum, maximum)


def expression(node: ir.Node) -> Expr:
    """Return the expression of a regular node."""
    if isinstance(node, ir.Literal):
        return ("words", (node.data,)) if node.data else EPS
    if isinstance(node, ir.ByteClass):
        return ("class", node.mask) if node.mask else NONE
    if isinstance(node, ir.CharClass):
        return ("char", node.ranges, b"") if node.ranges else NONE
    if isinstance(node, ir.OneOf):
        return ("words", tuple(sorted(set(node.texts)))) if node.texts else NONE
    if isinstance(node, ir.Lexeme):
        return expression(node.pattern)
    if isinstance(node, ir.Seq):
        out = EPS
        for part in reversed(node.parts):
            out = cat(expression(part), out)
        return out
    if isinstance(node, ir.Alt):
        return union({expression(part) for part in node.parts})
    if isinstance(node, ir.And):
        return both({expression(part) for part in node.parts})
    if isinstance(node, ir.Not):
        return inverse(expression(node.body))
    assert isinstance(node, ir.Repeat), node
    return repeat(expression(node.body), node.minimum, node.maximum)


@lru_cache(maxsize=200_000)
def nullable(expr: Expr) -> bool:
    """Return whether the empty text is in the expression."""
    kind = expr[0]
    if kind == "eps":
        return True
    if kind in ("none", "class", "char"):
        return False
    if kind == "words":
        return b"" in expr[1]
    if kind == "cat":
        return nullable(expr[1]) and nullable(expr[2])
    if kind == "alt":
        return any(nullable(part) for part in expr[1])
    if kind == "and":
        return all(nullable(part) for part in expr[1])
    if kind == "not":
        return not nullable(expr[1])
    return expr[2] == 0 or nullable(expr[1])


def _char_step(ranges: tuple[tuple[int, int], ...], begun: bytes) -> Expr:
    """Return what is left of a character of which the bytes `begun` have been read.

    The code points whose UTF-8 form starts with some bytes are an interval: fill up with the least and the greatest
    continuation bytes. Overlong forms and surrogates fall outside what the length allows.
    """
    first = begun[0]
    size = 1 if first < 0x80 else 2 if 0xC0 <= first < 0xE0 else 3 if 0xE0 <= first < 0xF0 else 4 if first < 0xF8 else 0
    if not size or 0x80 <= first < 0xC0 or any(not 0x80 <= byte < 0xC0 for byte in begun[1:]):
        return NONE
    value = first & (0x7F if size == 1 else (1 << (7 - size)) - 1)
    for byte in begun[1:]:
        value = value << 6 | byte & 0x3F
    missing = size - len(begun)
    low, high = value << 6 * missing, (value + 1 << 6 * missing) - 1
    low, high = max(low, (0, 0, 0x80, 0x800, 0x10000)[size]), min(high, 0x10FFFF)
    surrogate_low, surrogate_high = ir.SURROGATES
    for start, stop in ranges:
        for a, b in ((start, min(stop, surrogate_low - 1)), (max(start, surrogate_high + 1), stop)):
            if max(low, a) <= min(high, b):
                return ("char", ranges, begun) if missing else EPS
    return NONE


@lru_cache(maxsize=400_000)
def derivative(expr: Expr, byte: int) -> Expr:
    """Return the expression of what may follow `byte` in a text of `expr`."""
    kind = expr[0]
    if kind in ("none", "eps"):
        return NONE
    if kind == "class":
        return EPS if expr[1] >> byte & 1 else NONE
    if kind == "char":
        return _char_step(expr[1], expr[2] + bytes((byte,)))
    if kind == "words":
        rest = tuple(word[1:] for word in expr[1] if word[:1] == bytes((byte,)))
        return NONE if not rest else EPS if rest == (b"",) else ("words", rest)
    if kind == "cat":
        through = cat(derivative(expr[1], byte), expr[2])
        return union({through, derivative(expr[2], byte)}) if nullable(expr[1]) else through
    if kind == "alt":
        return union({derivative(part, byte) for part in expr[1]})
    if kind == "and":
        return both({derivative(part, byte) for part in expr[1]})
    if kind == "not":
        return inverse(derivative(expr[1], byte))
    _, body, minimum, maximum = expr
    rest = repeat(body, max(minimum - 1, 0), None if maximum is None else maximum - 1)
    return cat(derivative(body, byte), rest)


def after(expr: Expr, data: bytes) -> Expr:
    """Return the expression of what may follow `data`."""
    for byte in data:
        if expr == NONE:
            return NONE
        expr = derivative(expr, byte)
    return expr


@lru_cache(maxsize=100_000)
def inhabited(expr: Expr, alphabet: frozenset[int] = ALL_BYTES) -> bool:
    """Return whether the expression has a text spelled with `alphabet`: search over its derivatives."""
    if nullable(expr):
        return True
    seen = {expr}
    todo = [expr]
    while todo:
        here = todo.pop()
        for byte in alphabet:
            following = derivative(here, byte)
            if nullable(following):
                return True
            if following != NONE and following not in seen:
                seen.add(following)
                todo.append(following)
    return False


def shortest_first(expr: Expr, alphabet: frozenset[int]) -> Iterator[bytes]:
    """Yield the texts of an expression in order of length."""
    layer = [(b"", expr)]
    while layer:
        deeper = []
        for text, here in layer:
            if nullable(here):
                yield text
            for byte in sorted(alphabet):
                following = derivative(here, byte)
                if following != NONE and inhabited(following, alphabet):
                    deeper.append((text + bytes((byte,)), following))
        layer = deeper


def matches_regular(node: ir.Node, data: bytes) -> bool:
    """Return whether a regular node has the text `data`."""
    return nullable(after(expression(node), data))


# Rules as graphs. An edge is (kind, what, target): kind "free", "text" (an Expr), "key" (an Expr), "call" (a name),
# "op" (an ir.Op).


class Graph:
    """The graph of one rule's body, from node 0 to node 1."""

    def __init__(self, body: ir.Node) -> None:
        self.edges: list[list[tuple[str, object, int]]] = [[], []]
        # Every count from here on is the same to all tests of the rule, so counters stop there and the search is finite.
        self.most = 0
        self._regular = ir.regular_ids(body)
        self._add(body, 0, 1)

    def _node(self) -> int:
        self.edges.append([])
        return len(self.edges) - 1

    def _edge(self, source: int, kind: str, what: object, target: int) -> None:
        self.edges[source].append((kind, what, target))

    def _add(self, node: ir.Node, source: int, target: int) -> None:
        if id(node) in self._regular:
            self._edge(source, "text", expression(node), target)
        elif isinstance(node, ir.Lexeme):
            self._edge(source, "text", expression(node.pattern), target)
        elif isinstance(node, ir.Key):
            self._edge(source, "key", expression(node.pattern), target)
        elif isinstance(node, ir.Ref):
            self._edge(source, "call", node.name, target)
        elif isinstance(node, ir.Op):
            self.most = max(self.most, node.value)
            self._edge(source, "op", node, target)
        elif isinstance(node, ir.Alt):
            for part in node.parts:
                self._add(part, source, target)
        elif isinstance(node, ir.Seq):
            for part in node.parts:
                following = self._node()
                self._add(part, source, following)
                source = following
            self._edge(source, "free", None, target)
        else:
            assert isinstance(node, ir.Repeat), node
            self._repeat(node, source, target)

    def _repeat(self, node: ir.Repeat, source: int, target: int) -> None:
        copies = node.minimum if node.maximum is None else node.maximum
        if copies > MAX_UNROLL:
            raise ValueError(f"the naive oracle does not unroll {copies} copies")
        for index in range(copies):
            if index >= node.minimum:
                self._edge(source, "free", None, target)
            following = self._node()
            self._add(node.body, source, following)
            source = following
        if node.maximum is None:
            loop = self._node()
            self._edge(source, "free", None, loop)
            self._add(node.body, loop, loop)
            source = loop
        self._edge(source, "free", None, target)


Registers = tuple[tuple[int, int, int], frozenset[int], frozenset[str]]
FRESH: Registers = ((0, 0, 0), frozenset(), frozenset())


def apply(op: ir.Op, registers: Registers, most: int) -> Registers | None:
    """Return the registers after an operation, None if it fails."""
    counters, marks, keys = registers
    if op.code == ir.ADD:
        assert op.value >= 0, "counters only grow"
        changed = list(counters)
        changed[op.slot] = min(changed[op.slot] + op.value, most)
        return (changed[0], changed[1], changed[2]), marks, keys
    if op.code == ir.INSERT:
        return counters, marks, keys | {text.decode() for text in op.texts}
    if op.code == ir.MARK:
        return None if op.value in marks else (counters, marks | {op.value}, keys)
    holds = {
        ir.LESS: counters[op.slot] < op.value,
        ir.AT_LEAST: counters[op.slot] >= op.value,
        ir.MARKED: op.value in marks,
        ir.UNMARKED: op.value not in marks,
    }[op.code]
    return registers if holds else None


START = ("naive oracle", "start")


class Language:
    """The language of a grammar; ask `matches(data)` and `is_viable_prefix(prefix)`."""

    def __init__(self, grammar: ir.Grammar, alphabet: frozenset[int] | None = None) -> None:
        self.grammar = grammar
        self.alphabet = ALL_BYTES if alphabet is None else alphabet
        self._graphs: dict[Hashable, Graph] = {START: Graph(grammar.start)}
        self._productive: dict[Hashable, bool] = {}
        self._finish: dict[tuple[Hashable, int, Registers], bool] = {}

    def graph(self, name: Hashable) -> Graph:
        """Return a rule's graph."""
        if name not in self._graphs:
            body = self.grammar.rules.get(name)
            if body is None:
                assert self.grammar.expand is not None
                body = self.grammar.expand(name)
            self._graphs[name] = Graph(body)
        return self._graphs[name]

    def matches(self, data: bytes) -> bool:
        """Return whether `data` is a member."""
        return _Reading(self, data).matches()

    def is_viable_prefix(self, prefix: bytes) -> bool:
        """Return whether some member starts with `prefix` and goes on with bytes of the alphabet."""
        return _Reading(self, prefix).is_viable()

    def can_finish(self, rule: Hashable, node: int, registers: Registers) -> bool:
        """Return whether a rule can reach its end from a node of its graph with any text of the alphabet.

        Rules that are expanded may be endlessly many (an indented layout has one for each depth), so they are looked
        at layer by layer until the answer is yes, or all are known.
        """
        key = (rule, node, (registers[0], registers[1], frozenset()))
        layer: set[Hashable] = {rule}
        known: set[Hashable] = set()
        while key not in self._finish:
            self._settle_productive(known | layer)
            if self._search(*key):
                self._finish[key] = True
                break
            known |= layer
            layer = {name for seen in layer for name in self._called(seen)} - known
            if len(known) > MAX_RULES:
                raise ValueError(f"the naive oracle saw {len(known)} rules and none with a text")
            if not layer:
                self._finish[key] = False
        return self._finish[key]

    def _called(self, rule: Hashable) -> set[Hashable]:
        return {what for edges in self.graph(rule).edges for kind, what, _ in edges if kind == "call"}

    def _search(self, rule: Hashable, node: int, registers: Registers) -> bool:
        graph = self.graph(rule)
        seen = {(node, registers)}
        todo = [(node, registers)]
        while todo:
            here, registers = todo.pop()
            if here == 1:
                return True
            for kind, what, target in graph.edges[here]:
                then: Registers | None = registers
                if kind == "op":
                    assert isinstance(what, ir.Op)
                    then = apply(what, registers, graph.most)
                    then = then and (then[0], then[1], frozenset())
                elif kind == "call":
                    then = registers if self._productive.get(what) else None
                elif kind in ("text", "key"):
                    assert isinstance(what, tuple)
                    then = registers if inhabited(what, self.alphabet) else None
                if then is not None and (target, then) not in seen:
                    seen.add((target, then))
                    todo.append((target, then))
        return False

    def _settle_productive(self, rules: set[Hashable]) -> None:
        """Find which of `rules` have any text, those outside taken for empty: repeat until nothing changes."""
        changed = True
        while changed:
            changed = False
            for name in rules:
                if not self._productive.get(name) and self._search(name, 0, FRESH):
                    self._productive[name] = changed = True


class _Reading:
    """One text read by one language: tables over (rule, position) that grow until nothing changes."""

    def __init__(self, language: Language, data: bytes) -> None:
        self.language = language
        self.data = data
        self.ends: dict[tuple[Hashable, int], set[int]] = {(START, 0): set()}
        self.partial: dict[tuple[Hashable, int], bool] = {}
        self._text_ends: dict[tuple[Expr, int], list[int]] = {}

    def matches(self) -> bool:
        changed = True
        while changed:
            changed = False
            for key in list(self.ends):
                before, known = len(self.ends[key]), len(self.ends)
                self.ends[key] |= {at for node, at, _ in self._paths(*key) if node == 1}
                changed |= len(self.ends[key]) != before or len(self.ends) != known
        return len(self.data) in self.ends[START, 0]

    def is_viable(self) -> bool:
        self.matches()
        self.partial = dict.fromkeys(self.ends, False)
        changed = True
        while changed:
            changed = False
            for key, known in self.partial.items():
                if not known and self._is_partial(*key):
                    self.partial[key] = changed = True
        return self.partial[START, 0]

    def _paths(self, rule: Hashable, start: int) -> set[tuple[int, int, Registers]]:
        """Return every (node, position, registers) that a rule entered at `start` can be in."""
        graph = self.language.graph(rule)
        seen = {(0, start, FRESH)}
        todo = [(0, start, FRESH)]
        while todo:
            node, at, registers = todo.pop()
            for kind, what, target in graph.edges[node]:
                for end, then in self._cross(kind, what, at, registers, graph.most):
                    if (target, end, then) not in seen:
                        seen.add((target, end, then))
                        todo.append((target, end, then))
        return seen

    def _cross(self, kind: str, what: object, at: int, registers: Registers, most: int) -> list[tuple[int, Registers]]:
        """Return the (position, registers) after one edge."""
        if kind == "op":
            assert isinstance(what, ir.Op)
            then = apply(what, registers, most)
            return [] if then is None else [(at, then)]
        if kind == "call":
            assert isinstance(what, Hashable)
            return [(end, registers) for end in self.ends.setdefault((what, at), set())]
        if kind == "free":
            return [(at, registers)]
        assert isinstance(what, tuple)
        ends = self._ends_of_text(what, at)
        if kind == "text":
            return [(end, registers) for end in ends]
        counters, marks, keys = registers
        out = []
        for end in ends:
            decoded = json.loads(self.data[at:end])
            if decoded not in keys:
                out.append((end, (counters, marks, keys | {decoded})))
        return out

    def _ends_of_text(self, expr: Expr, at: int) -> list[int]:
        found = self._text_ends.get((expr, at))
        if found is None:
            found, here = [], expr
            for end in range(at, len(self.data) + 1):
                if nullable(here):
                    found.append(end)
                if here == NONE or end == len(self.data):
                    break
                here = derivative(here, self.data[end])
            self._text_ends[expr, at] = found
        return found

    def _is_partial(self, rule: Hashable, start: int) -> bool:
        """Return whether a rule entered at `start` can swallow the rest of the text and still come to its end."""
        graph, size = self.language.graph(rule), len(self.data)
        for node, at, registers in self._paths(rule, start):
            if at == size and self.language.can_finish(rule, node, registers):
                return True
            for kind, what, target in graph.edges[node]:
                inside = at < size and (
                    (kind == "call" and self.partial[what, at])
                    or (kind == "text" and self._begun(what, at))
                    or (kind == "key" and self._key_begun(what, at, registers[2]))
                )
                if inside and self.language.can_finish(rule, target, registers):
                    return True
        return False

    def _begun(self, expr: object, at: int) -> bool:
        assert isinstance(expr, tuple)
        rest = after(expr, self.data[at:])
        return rest != NONE and inhabited(rest, self.language.alphabet)

    def _key_begun(self, expr: object, at: int, keys: frozenset[str]) -> bool:
        """Return whether the key that began at `at` can still become one that is not in the set."""
        assert isinstance(expr, tuple)
        rest = after(expr, self.data[at:])
        if rest == NONE or not inhabited(rest, self.language.alphabet):
            return False
        for tried, text in enumerate(shortest_first(rest, self.language.alphabet)):
            if tried > MAX_KEYS_TRIED:
                raise ValueError("the naive oracle found no fresh key among many")
            if json.loads(self.data[at:] + text) not in keys:
                return True
        return False


def matches(grammar: ir.Grammar, data: bytes) -> bool:
    """Return whether `data` is a member of the grammar's language."""
    return Language(grammar).matches(data)


def is_viable_prefix(grammar: ir.Grammar, prefix: bytes) -> bool:
    """Return whether some member of the grammar's language starts with `prefix`."""
    return Language(grammar).is_viable_prefix(prefix)
