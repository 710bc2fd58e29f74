"""Turns a pattern's tree into one IR node: assertions become intersections and complements.

The node of a tree is made from the right: `link(tree, rest)` gives the texts that start with a match of `tree` and go
on with `rest`. A lookahead is then an intersection with `rest`. What a lookbehind may see is a *context*: nothing yet
(the start of the text), or the class of the last character; `rest` is one node per context, and a part whose end
decides the context is split by its last character. Everything is exact; what cannot be done this way is refused.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable

from constrain.errors import LimitExceededError, UnsupportedFeatureError
from constrain.grammars import char_classes as cc
from constrain.grammars.char_classes import Ranges
from constrain.grammars.regex_tree import (
    ANY_CHAR,
    ANY_TEXT,
    Ahead,
    Behind,
    Cat,
    Or,
    Rep,
    Tree,
    char_class,
    join,
    union,
)
from constrain.ir import EPSILON, NOTHING, Alt, And, ByteClass, CharClass, Literal, Node, Not, OneOf, Repeat, Seq, walk
from constrain.limits import Limits

Rest = tuple[Node, ...]
_MAX_DEPTH = 50
# Generators that are run by `_run` on a stack of our own, so that the depth of a pattern is no depth of Python.
_Step = Generator["_Step", Rest, Rest]


def link_tree(tree: Tree, limits: Limits, *, search: bool) -> Node:
    """Return the texts that the tree matches as a whole, or (`search`) in which it matches somewhere."""
    if isinstance(tree, Node):
        return join((ANY_TEXT, *_least(tree), ANY_TEXT)) if search else tree
    linker = _Linker(tree, limits)
    end = ANY_TEXT if search else EPSILON
    first = Cat((ANY_TEXT, tree)) if search else tree
    return _run(linker.link(first, (end,) * linker.num_contexts))[0]


def _least(tree: Node) -> list[Node]:
    """Return the parts of a tree between arbitrary texts: a repeat at either end needs no more than its least count."""
    parts = list(tree.parts) if isinstance(tree, Seq) else [tree]
    for end in (-1, 0):
        while parts and isinstance(one := parts[end], Repeat) and one.minimum != one.maximum:
            del parts[end]
            if one.minimum:
                least = one.body if one.minimum == 1 else Repeat(one.body, one.minimum, one.minimum)
                parts.insert(len(parts) if end else 0, least)
    return parts


def _run(step: _Step) -> Rest:
    """Run nested generators to their end."""
    stack = [step]
    value: Rest | None = None
    while True:
        try:
            stack.append(next(stack[-1]) if value is None else stack[-1].send(value))
            value = None
        except StopIteration as stop:
            stack.pop()
            value = stop.value
            assert value is not None
            if not stack:
                return value


class _Linker:
    """The contexts of one pattern, and the making of its node.

    Context 0 is the start of the text; context i > 0 says that the last character is in `cells[i - 1]`.
    """

    def __init__(self, tree: Tree, limits: Limits) -> None:
        self.limits = limits
        self.cells = _partition(_behinds(tree))
        self.num_contexts = len(self.cells) + 1
        self.budget = limits.max_regex_size
        self._nullable: dict[int, tuple[Node, bool]] = {}
        self._shared: dict[tuple[Ranges, Ranges], Node] = {}

    def link(self, tree: Tree, rest: Rest) -> _Step:
        """Return, per context, what may follow: a match of `tree`, then `rest` of the context it leaves."""
        self.budget -= self.num_contexts
        if self.budget < 0:
            raise LimitExceededError("max_regex_size", self.limits.max_regex_size, "resolving anchors and lookarounds")
        if isinstance(tree, Node) and (_uniform(rest) or not isinstance(tree, (Seq, Alt))):
            return self.link_node(tree, rest)
        if isinstance(tree, (Cat, Seq)):
            for part in reversed(tree.parts):
                rest = yield self.link(part, rest)
            return rest
        if isinstance(tree, (Or, Alt)):
            branches = []
            for part in tree.parts:
                branches.append((yield self.link(part, rest)))
            return self._either(branches)
        if isinstance(tree, Behind):
            holds = self._holds(tree)
            return tuple(node if holds[context] else NOTHING for context, node in enumerate(rest))
        if isinstance(tree, Ahead):
            body = yield self.link(tree.body, (EPSILON if tree.to_end else ANY_TEXT,) * self.num_contexts)
            return self._ahead(body, rest, negative=tree.negative)
        return (yield self._repeat(tree, rest))

    def link_node(self, node: Node, rest: Rest) -> Rest:
        """Do what `link` does for a node without assertions."""
        if _uniform(rest):
            return (join((node, rest[0])),) * self.num_contexts
        ended = union(
            join((self._ending(node, cell), after))
            for cell, after in zip(self.cells, rest[1:], strict=True)
            if after is not NOTHING
        )
        if not self.is_nullable(node):
            return (ended,) * self.num_contexts
        return tuple(union((ended, after)) for after in rest)

    def _ending(self, node: Node, cell: Ranges) -> Node:
        """Return the texts of `node` whose last character is in `cell`."""
        if isinstance(node, CharClass):
            key = (node.ranges, cell)
            if key not in self._shared:
                self._shared[key] = char_class(cc.intersect(*key))
            return self._shared[key]
        if isinstance(node, Literal):
            last = node.data.decode()[-1:]
            return node if last and cc.contains(cell, ord(last)) else NOTHING
        if isinstance(node, Repeat) and isinstance(node.body, CharClass):
            high = None if node.maximum is None else node.maximum - 1
            last_one = char_class(cc.intersect(node.body.ranges, cell))
            return join((Repeat(node.body, max(node.minimum - 1, 0), high), last_one))
        return self._meet(node, join((ANY_TEXT, char_class(cell))))

    def _repeat(self, tree: Rep, rest: Rest) -> _Step:
        last = tree.minimum if tree.maximum is None else tree.maximum
        if tree.maximum is None:
            rest = yield self._star(tree, rest)
        again = rest
        for count in range(last, 0, -1):
            again = yield self.link(tree.body, again)
            if count > tree.minimum:
                again = self._either([again, rest])
        return again

    def _star(self, tree: Rep, rest: Rest) -> _Step:
        """Repeat a body that looks around without end: exact for `((?!x)c)*` before the end of the text."""
        parts = tree.body.parts if isinstance(tree.body, Cat) else (tree.body,)
        looks = [part for part in parts if isinstance(part, Ahead)]
        if all(isinstance(part, (Ahead, Behind)) for part in parts):
            return rest  # repeating a condition adds nothing to having none
        if all(node is ANY_TEXT for node in rest):
            return rest
        if self._is_local(tree.body, followed=False):
            return (yield self._closure(tree.body, rest))
        body = parts[-1]
        simple = looks and len(parts) == len(looks) + 1 and isinstance(body, CharClass)
        if not (simple and _uniform(rest) and rest[0] is EPSILON):
            position = looks[0].position if looks else tree.position
            raise UnsupportedFeatureError(
                "an unbounded repeat over an anchor or lookaround",
                f"position {position} of the pattern",
                "only a lookahead before one character, repeated up to the end of the text, is supported",
                "Move the assertion out of the repeat, or bound the repeat.",
            )
        assert isinstance(body, Node)
        run = Repeat(body, 0, None)
        allowed: list[Node] = [run]
        for look in looks:
            found = yield self.link(look.body, (EPSILON if look.to_end else ANY_TEXT,) * self.num_contexts)
            if not _uniform(found):
                raise UnsupportedFeatureError(
                    "a lookbehind in a lookahead in a repeat",
                    f"position {look.position} of the pattern",
                    "what it may see differs from one repetition to the next",
                )
            one_or_more = join((ANY_CHAR, ANY_TEXT))
            wrong = self._meet(one_or_more, found[0] if look.negative else Not(found[0]))
            allowed.append(Not(join((ANY_TEXT, wrong))))
        return (And(tuple(allowed)),) * self.num_contexts

    def _closure(self, body: Tree, rest: Rest) -> _Step:
        """Repeat a body that looks at nothing after it.

        Solves x[s] = rest[s] | union over t of step[s][t] x[t] by eliminating the last t first.
        """
        size = self.num_contexts
        columns = []
        for context in range(size):
            columns.append((yield self.link(body, tuple(EPSILON if i == context else NOTHING for i in range(size)))))
        step = [[columns[t][s] for t in range(size)] for s in range(size)]
        known = list(rest)
        for last in range(size - 1, -1, -1):
            loop = Repeat(step[last][last], 0, None) if step[last][last] not in {NOTHING, EPSILON} else EPSILON
            step[last] = [join((loop, node)) for node in step[last]]
            known[last] = join((loop, known[last]))
            for row in range(last):
                over = step[row][last]
                known[row] = union((known[row], join((over, known[last]))))
                step[row] = [union((step[row][t], join((over, step[last][t])))) for t in range(last)] + [NOTHING] * (
                    size - last
                )
        for row in range(1, size):
            known[row] = union([known[row], *(join((step[row][t], known[t])) for t in range(row))])
        return tuple(known)

    def _is_local(self, tree: Tree, *, followed: bool, depth: int = 0) -> bool:
        """Return whether no lookahead of a repeated body sees past the body: each is for one character, then text.

        Args:
            tree: the body or a part of it.
            followed: whether at least one character of the same copy comes after the part.
            depth: levels above; deep bodies are not looked into.
        """
        if isinstance(tree, (Node, Behind)):
            return True
        if isinstance(tree, Ahead):
            one = tree.body is EPSILON if tree.to_end else isinstance(tree.body, CharClass)
            return followed and (one or (isinstance(tree.body, Literal) and len(tree.body.data.decode()) == 1))
        if depth > _MAX_DEPTH:
            return False
        if isinstance(tree, Rep):
            return self._is_local(tree.body, followed=followed, depth=depth + 1)
        for part in reversed(tree.parts):
            if not self._is_local(part, followed=followed, depth=depth + 1):
                return False
            if isinstance(tree, Cat) and isinstance(part, Node) and not self.is_nullable(part):
                followed = True
        return True

    # Contexts

    def _holds(self, tree: Behind) -> list[bool]:
        inside = [cc.intersect(cell, tree.ranges) == cell for cell in self.cells]
        return [tree.start, *inside]

    def _either(self, branches: list[Rest]) -> Rest:
        if all(_uniform(branch) for branch in branches):
            return (union(branch[0] for branch in branches),) * self.num_contexts
        return tuple(union(column) for column in zip(*branches, strict=True))

    def _ahead(self, body: Rest, rest: Rest, *, negative: bool) -> Rest:
        made: dict[tuple[int, int], Node] = {}
        out = []
        for look, after in zip(body, rest, strict=True):
            key = (id(look), id(after))
            if key not in made:
                made[key] = self._without(after, look) if negative else self._meet(after, look)
            out.append(made[key])
        return tuple(out)

    # Simplifying intersections

    def is_nullable(self, root: Node) -> bool:
        """Return whether a regular node matches the empty text."""
        known = self._nullable
        if id(root) not in known:
            for node in walk(root):
                if id(node) not in known:
                    known[id(node)] = (node, _matches_empty(node, known))
        return known[id(root)][1]

    def _meet(self, first: Node, second: Node) -> Node:
        if first is NOTHING or second is NOTHING:
            return NOTHING
        if first is ANY_TEXT or first is second:
            return second
        if second is ANY_TEXT:
            return first
        if first is EPSILON:
            return EPSILON if self.is_nullable(second) else NOTHING
        if second is EPSILON:
            return EPSILON if self.is_nullable(first) else NOTHING
        return And((first, second))

    def _without(self, first: Node, second: Node) -> Node:
        if second is NOTHING:
            return first
        if first is NOTHING or second is ANY_TEXT or first is second:
            return NOTHING
        if first is EPSILON:
            return NOTHING if self.is_nullable(second) else EPSILON
        return And((first, Not(second)))


def _matches_empty(node: Node, known: dict[int, tuple[Node, bool]]) -> bool:
    if isinstance(node, Literal):
        return not node.data
    if isinstance(node, (Seq, And)):
        return all(known[id(part)][1] for part in node.parts)
    if isinstance(node, Alt):
        return any(known[id(part)][1] for part in node.parts)
    if isinstance(node, Repeat):
        return node.minimum == 0 or known[id(node.body)][1]
    if isinstance(node, Not):
        return not known[id(node.body)][1]
    assert isinstance(node, (CharClass, ByteClass, OneOf))
    return False


def _uniform(rest: Rest) -> bool:
    return all(node is rest[0] for node in rest)


def _behinds(root: Tree) -> list[Ranges]:
    """Return every class that a lookbehind of the tree asks for."""
    found = []
    stack = [root]
    while stack:
        tree = stack.pop()
        if isinstance(tree, Behind):
            found.append(tree.ranges)
        elif isinstance(tree, (Cat, Or)):
            stack.extend(tree.parts)
        elif isinstance(tree, (Rep, Ahead)):
            stack.append(tree.body)
    return found


def _partition(classes: Iterable[Ranges]) -> list[Ranges]:
    """Return the cells of code points that no class tells apart."""
    cells = [cc.ALL]
    for ranges in set(classes):
        split = [part for cell in cells for part in (cc.intersect(cell, ranges), cc.subtract(cell, ranges))]
        cells = [cell for cell in split if cell]
    return cells
