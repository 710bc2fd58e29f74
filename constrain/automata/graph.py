"""Rules of a grammar as small graphs, and the passes that make them fit for the machine.

A graph's edges read a terminal, call a rule, apply a register operation, or are empty. Sequence, choice, option and
loop are edges, not recursion. Passes over the rules known at the beginning, in this order:
    1. which rules are nullable; calls of those get an empty edge beside them, and the rules lose the empty text
    2. left recursion becomes a loop (`left_recursion.py`), so closing a set of items always ends
    3. unproductive rules and dead nodes go, so nothing is offered that cannot be finished
Rules expanded later (Grammar.expand) promise to be neither nullable nor left-recursive nor unproductive.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

from constrain import ir
from constrain.automata.left_recursion import layered, reach_empty, without_left_recursion
from constrain.automata.operations import refit
from constrain.automata.rule_graph import CALL, EMPTY, NODES_PER_SIZE, OP, TERMINAL, Counted, Edge, RuleGraph, copy_name
from constrain.deadline import check
from constrain.errors import EmptyLanguageError, LimitExceededError
from constrain.limits import Limits

__all__ = ["CALL", "EMPTY", "OP", "START", "TERMINAL", "Counted", "Edge", "GraphBuilder", "RuleGraph", "RuleSet"]

UNROLL = 8
START = ("start",)
_AHEAD = 300


class GraphBuilder:
    """Turns IR nodes of rules into graphs.

    Args:
        has_empty: tells of a terminal's IR node whether it has the empty text, and whether it has any other.
    """

    def __init__(self, has_empty: Callable[[ir.Node], tuple[bool, bool]], limits: Limits) -> None:
        self._terminal = has_empty
        self.limits = limits

    def build(self, root: ir.Node) -> RuleGraph:
        """Return the graph of one rule's node; iterative, each IR node is visited once per use."""
        graph = RuleGraph()
        first, last = graph.node(), graph.node()
        graph.finals.add(last)
        regular = ir.regular_ids(root, into_terminals=False)
        work: list[tuple[ir.Node, int, int]] = [(root, first, last)]
        while work:
            check()
            node, source, target = work.pop()
            if len(graph.edges) > NODES_PER_SIZE * self.limits.max_regex_size:
                raise LimitExceededError("max_regex_size", self.limits.max_regex_size, "in a rule of the grammar")
            if id(node) in regular or isinstance(node, (ir.Lexeme, ir.Key)):
                self._add_terminal(graph, node, source, target)
            elif isinstance(node, ir.Ref):
                graph.add(source, CALL, node.name, target)
            elif isinstance(node, ir.Op):
                graph.add(source, OP, node, target)
            elif isinstance(node, ir.Seq):
                work.extend(self._chain(graph, node.parts, source, target))
            elif isinstance(node, ir.Alt):
                work.extend((part, source, target) for part in node.parts)
            elif isinstance(node, ir.Repeat):
                work.extend(self._repeat(graph, node, source, target))
            else:
                raise TypeError(f"ir: {type(node).__name__} cannot stand in a rule")
        return graph

    def _chain(
        self, graph: RuleGraph, parts: tuple[ir.Node, ...], source: int, target: int
    ) -> Iterable[tuple[ir.Node, int, int]]:
        if not parts:
            graph.add(source, EMPTY, None, target)
        for i, part in enumerate(parts):
            after = target if i == len(parts) - 1 else graph.node()
            yield part, source, after
            source = after

    def _add_terminal(self, graph: RuleGraph, node: ir.Node, source: int, target: int) -> None:
        has_empty, has_text = self._terminal(node)
        if has_empty:
            graph.add(source, EMPTY, None, target)
        if has_text:
            graph.add(source, TERMINAL, node, target)

    def _repeat(
        self, graph: RuleGraph, node: ir.Repeat, source: int, target: int
    ) -> Iterable[tuple[ir.Node, int, int]]:
        low, high = node.minimum, node.maximum
        for bound in (low, high or 0):
            if bound > self.limits.max_repeat:
                raise LimitExceededError("max_repeat", self.limits.max_repeat, f"by a repeat of {bound}")
        if max(low, high or 0) > UNROLL and not _has_registers(node.body):
            graph.add(source, CALL, Counted(node.body, low, high), target)
            return
        for _ in range(low):
            after = graph.node()
            yield node.body, source, after
            source = after
        if high is None:
            # A node of its own on both sides, so that the loop cannot be entered from elsewhere.
            loop = graph.node()
            graph.add(source, EMPTY, None, loop)
            yield node.body, loop, loop
            graph.add(loop, EMPTY, None, target)
            return
        for _ in range(high - low):
            graph.add(source, EMPTY, None, target)
            after = graph.node()
            yield node.body, source, after
            source = after
        graph.add(source, EMPTY, None, target)

    def counted(self, rule: Counted, body: Hashable, body_nullable: bool) -> RuleGraph:
        """Return the graph of a counted repeat; `body` names the rule of one copy, which has no empty text here."""
        graph = RuleGraph()
        loop, again, last = graph.node(), graph.node(), graph.node()
        graph.finals.add(last)
        source = loop
        if rule.maximum is not None:
            source = graph.node()
            graph.add(loop, OP, ir.Op(ir.LESS, 0, rule.maximum), source)
        graph.add(source, CALL, body, again)
        graph.add(again, OP, ir.Op(ir.ADD, 0, 1), loop)
        minimum = 0 if body_nullable else rule.minimum
        graph.add(loop, OP, ir.Op(ir.AT_LEAST, 0, minimum), last)
        if rule.maximum is None:
            # Without an upper bound the count matters only up to the lower one: stop counting there.
            graph.edges[again] = []
            more = graph.node()
            graph.add(again, OP, ir.Op(ir.LESS, 0, max(minimum, 1)), more)
            graph.add(more, OP, ir.Op(ir.ADD, 0, 1), loop)
            graph.add(again, OP, ir.Op(ir.AT_LEAST, 0, max(minimum, 1)), loop)
        return graph


def _has_registers(root: ir.Node) -> bool:
    return any(isinstance(node, (ir.Op, ir.Key)) for node in ir.walk(root))


class RuleSet:
    """All rule graphs known at the beginning, after the passes; and a way to add rules later.

    Attributes:
        graphs: by rule name; START is the start rule.
    """

    def __init__(self, grammar: ir.Grammar, builder: GraphBuilder, *, all_rules: bool = False) -> None:
        """Build and prune the rules that the grammar lists, or with `all_rules` those that it makes later too."""
        self._builder = builder
        self.graphs: dict[Hashable, RuleGraph] = {}
        self._counted: list[Counted] = []
        for name, node in ((START, grammar.start), *grammar.rules.items()):
            self._add(name, node)
        if all_rules and grammar.expand is not None:
            self._add_all(grammar, grammar.expand)
        nullable = self._without_empty_text(self.graphs, self._counted)
        without_left_recursion(self.graphs, builder.limits)
        self._prune(grammar, START in nullable)
        if START in nullable:
            graph = self.graphs[START]
            first = graph.node()
            graph.add(first, EMPTY, None, graph.start)
            graph.start = first
            graph.finals.add(first)
        for graph in self.graphs.values():
            graph.shorten()

    def _add_all(self, grammar: ir.Grammar, expand: Callable[[Hashable], ir.Node]) -> None:
        """Expand every rule that is called: which of them has a member depends on what the vocabulary can spell."""
        work = list(self.graphs)
        for name in work:
            for called in {edge.label for edges in self.graphs[name].edges for edge in edges if edge.kind == CALL}:
                if called in self.graphs or isinstance(called, Counted):
                    continue
                if len(work) > _AHEAD:  # indented layouts have a rule for every depth, without end
                    return
                node = expand(called)
                ir.verify_node(node, called, grammar)
                self._add(called, node)
                work += list(self.graphs)[len(work) :]

    def _add(self, name: Hashable, node: ir.Node) -> None:
        work = [(name, node)]
        while work:
            name, node = work.pop()
            graph = self._builder.build(node)
            self.graphs[name] = graph
            for edges in graph.edges:
                for edge in edges:
                    if isinstance(edge.label, Counted):
                        self._counted.append(edge.label)
                        work.append((copy_name(edge.label), edge.label.body))

    def later(self, name: Hashable, node: ir.Node) -> dict[Hashable, RuleGraph]:
        """Return the graphs of a rule expanded later, its counted repeats included."""
        before = self.graphs, self._counted
        self.graphs, self._counted = {}, []
        self._add(name, node)
        added, counted = self.graphs, self._counted
        self.graphs, self._counted = before
        self._without_empty_text(added, counted)
        for graph in added.values():
            _prune_nodes(graph, set(), set())
            while refit(graph):
                _prune_nodes(graph, set(), set())
            graph.shorten()
        return added

    def _without_empty_text(self, graphs: dict[Hashable, RuleGraph], counted: list[Counted]) -> set[Hashable]:
        """Take the empty text out of all rules, in place; return which had it."""
        nullable = _nullable_rules(graphs, counted)
        # A copy is called only by its counted repeat, which takes care of empty copies itself.
        called = nullable - {copy_name(rule) for rule in counted}
        for rule in counted:
            graphs[rule] = self._builder.counted(rule, copy_name(rule), copy_name(rule) in nullable)
        for name in list(graphs):
            graphs[name] = _without_empty(graphs[name], called, name in nullable)
        return nullable

    def _prune(self, grammar: ir.Grammar, is_nullable: bool) -> None:
        """Remove rules without a member and nodes from which no end can be reached, until operations fit."""
        known = set(self.graphs)
        self._prune_once(grammar, is_nullable, known)
        while sum(map(refit, self.graphs.values())):
            self._prune_once(grammar, is_nullable, known)

    def _prune_once(self, grammar: ir.Grammar, is_nullable: bool, known: set[Hashable]) -> None:
        productive = _closed(
            self.graphs, lambda name, found: self.graphs[name].start in _alive(self.graphs[name], found, known)
        )
        if START not in productive and is_nullable:
            self.graphs[START] = RuleGraph([[]], 0, {0})
            productive.add(START)
        if START not in productive:
            guilty = [name for name in grammar.rules if name not in productive]
            raise EmptyLanguageError(str(grammar.name if not guilty else guilty[0]), "no finite text matches it")
        for name in list(self.graphs):
            if name in productive:
                _prune_nodes(self.graphs[name], productive, known)
            else:
                del self.graphs[name]


def _closed(graphs: dict[Hashable, RuleGraph], holds: Callable[[Hashable, set[Hashable]], bool]) -> set[Hashable]:
    """Return the least set of rules with `holds(rule, set)`, which may only ask for rules that the rule calls.

    A rule is looked at again only when one that it calls has joined.
    """
    callers: dict[Hashable, list[Hashable]] = {}
    for name, graph in graphs.items():
        for called in {edge.label for edges in graph.edges for edge in edges if edge.kind == CALL}:
            callers.setdefault(called, []).append(name)
    found: set[Hashable] = set()
    work = list(graphs)
    while work:
        check()
        name = work.pop()
        if name not in found and holds(name, found):
            found.add(name)
            work.extend(callers.get(name, ()))
    return found


def _nullable_rules(graphs: dict[Hashable, RuleGraph], counted: list[Counted]) -> set[Hashable]:
    # A counted repeat has no graph yet: until it does, it stands for its body, or for the empty text.
    made = dict(graphs)
    for rule in counted:
        made[rule] = RuleGraph([[Edge(CALL, copy_name(rule), 1)], []], 0, {1} if rule.minimum else {0, 1})
    return _closed(made, lambda name, found: bool(made[name].finals & reach_empty(made[name], found)))


def _without_empty(graph: RuleGraph, nullable: set[Hashable], itself: bool) -> RuleGraph:
    """Return the graph with empty edges beside calls of nullable rules, and without the empty text if it had it."""
    out = RuleGraph([list(edges) for edges in graph.edges], graph.start, set(graph.finals))
    for edges in out.edges:
        edges.extend([Edge(EMPTY, None, e.target) for e in edges if e.kind == CALL and e.label in nullable])
    return layered(out, frozenset()) if itself else out


def _alive(graph: RuleGraph, productive: set[Hashable], known: set[Hashable]) -> set[int]:
    """Return the nodes from which an end can be reached, calling only productive (or later) rules."""
    back: list[list[int]] = [[] for _ in graph.edges]
    for node, edges in enumerate(graph.edges):
        for edge in edges:
            if edge.kind != CALL or edge.label in productive or edge.label not in known:
                back[edge.target].append(node)
    alive = set(graph.finals)
    stack = list(alive)
    while stack:
        for node in back[stack.pop()]:
            if node not in alive:
                alive.add(node)
                stack.append(node)
    return alive


def _prune_nodes(graph: RuleGraph, productive: set[Hashable], known: set[Hashable]) -> None:
    """Drop edges into dead nodes and calls of rules that have no member."""
    alive = _alive(graph, productive, known)
    for node, edges in enumerate(graph.edges):
        graph.edges[node] = [
            edge
            for edge in edges
            if edge.target in alive and (edge.kind != CALL or edge.label in productive or edge.label not in known)
        ]
