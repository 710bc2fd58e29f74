"""Regular nodes of the IR as hash-consed expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from constrain import ir
from constrain.automata.byte_trie import trie_nodes
from constrain.automata.counts import UNBOUNDED
from constrain.automata.regex import EPSILON
from constrain.automata.utf8 import char_class
from constrain.deadline import check
from constrain.errors import LimitExceededError

if TYPE_CHECKING:
    from constrain.automata.regex import RegexTable


class Expressions:
    """The expressions of nodes in one table; remembered."""

    def __init__(self, table: RegexTable) -> None:
        self.table = table
        self._nodes: dict[ir.Node, int] = {}

    def of(self, root: ir.Node) -> int:
        """Return the hash-consed expression of a regular node."""
        nodes = self._nodes
        found = nodes.get(root)
        if found is None:
            for node in ir.walk(root):
                check()
                if node not in nodes:
                    nodes[node] = self._expression(node)
            found = nodes[root]
        return found

    def _expression(self, node: ir.Node) -> int:
        table, nodes = self.table, self._nodes
        if isinstance(node, ir.Literal):
            return table.literal(node.data)
        if isinstance(node, ir.ByteClass):
            return table.byte_class(node.mask)
        if isinstance(node, ir.CharClass):
            return char_class(table, node.ranges)
        if isinstance(node, ir.OneOf):
            return self._factored(node.texts)
        if isinstance(node, ir.Multiple):
            return table.multiple(node.step, node.places)
        if isinstance(node, ir.Seq):
            out = EPSILON
            for part in reversed(node.parts):
                out = table.concat(nodes[part], out)
            return out
        if isinstance(node, ir.Repeat):
            high = UNBOUNDED if node.maximum is None else node.maximum
            for bound in (node.minimum, high):
                if bound > self.table.limits.max_repeat:
                    raise LimitExceededError("max_repeat", self.table.limits.max_repeat, f"by a repeat of {bound}")
            return table.repeat(nodes[node.body], node.minimum, high)
        if isinstance(node, ir.Alt):
            return table.alternate(nodes[part] for part in node.parts)
        if isinstance(node, ir.And):
            return table.intersect(nodes[part] for part in node.parts)
        if isinstance(node, ir.Not):
            return table.complement(nodes[node.body])
        raise TypeError(f"{type(node).__name__} is not a regular node")

    def _factored(self, texts: tuple[bytes, ...]) -> int:
        """Return the expression of a set of strings, common prefixes and tails shared."""
        nodes = trie_nodes(texts)
        table = self.table
        made: dict[int, int] = {}
        for node in range(len(nodes) - 2, -1, -1):
            parts = [EPSILON] if nodes[node + 1, 3] > nodes[node, 3] else []
            child, end = node + 1, int(nodes[node, 2])
            while child < end:
                parts.append(table.concat(table.byte_class(1 << int(nodes[child, 0])), made.pop(child)))
                child = int(nodes[child, 2])
            made[node] = table.alternate(parts)
        return made[0]
