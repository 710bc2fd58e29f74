"""Grammar IR: what front ends produce and automata consume. A leaf: imports nothing of ours but errors and limits.

Two levels share one closed set of node classes.

*Regular nodes* denote a set of byte strings:
    Literal, ByteClass, CharClass, OneOf, Multiple, Seq, Alt, Repeat, And, Not
*Grammar nodes* may also refer to rules:
    Ref, Lexeme, Key, Op, and Seq, Alt, Repeat over grammar nodes

In a grammar-level Seq, Alt or Repeat every maximal regular subtree is one terminal. `Lexeme` forces a boundary,
so that equal pieces (a JSON string, a number) are one shared terminal wherever they occur.

Registers. Each call of a rule has registers of its own, all 0 (or the empty set) when the rule is entered:
three counters and one set of marks. `Op` nodes consume no text; they test or change registers, or fail. A `Key`
terminal reads a JSON string and, at its end, fails if the decoded text is in the set, else inserts it.
This is how uniqueness of keys, any order of properties, and large counts are said without expanding anything.

Nodes compare by identity; nothing here recurses, so nodes may be nested to any depth.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from weakref import WeakSet

MAX_CODEPOINT = 0x10FFFF
SURROGATES = (0xD800, 0xDFFF)


class Node:
    """Base of the closed set of IR nodes below; do not subclass outside this module."""

    __slots__ = ("__weakref__",)


@dataclass(frozen=True, slots=True, eq=False)
class Literal(Node):
    """Exactly these bytes; `Literal(b"")` is the empty text."""

    data: bytes


@dataclass(frozen=True, slots=True, eq=False)
class ByteClass(Node):
    """One byte b for which bit b of `mask` (a 256-bit int) is set; mask 0 is the empty language."""

    mask: int


@dataclass(frozen=True, slots=True, eq=False)
class CharClass(Node):
    """One code point, UTF-8 encoded, in the sorted, disjoint, inclusive `ranges`; surrogates never match."""

    ranges: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, eq=False)
class OneOf(Node):
    """One of finitely many byte strings, none empty; kept as a trie, so 10^5 of them are cheap."""

    texts: tuple[bytes, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Multiple(Node):
    """Digits, perhaps with a point and more digits, that are a multiple of `step / 10**places`; also none at all."""

    step: int
    places: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Seq(Node):
    """The parts one after another; no parts is the empty text."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Alt(Node):
    """Any one of the parts; no parts is the empty language."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Repeat(Node):
    """`minimum` to `maximum` (None: unbounded) copies of `body`."""

    body: Node
    minimum: int
    maximum: int | None


@dataclass(frozen=True, slots=True, eq=False)
class And(Node):
    """Texts in every part (regular only); no parts is every text."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Not(Node):
    """Byte strings not in `body` (regular only). Complement is over all byte strings: intersect with what is meant."""

    body: Node


@dataclass(frozen=True, slots=True, eq=False)
class Lexeme(Node):
    """A terminal of its own: the texts of the regular node `pattern`."""

    pattern: Node


@dataclass(frozen=True, slots=True, eq=False)
class Key(Node):
    """A terminal that reads a JSON string literal, quotes included, and enters its decoded text into the set.

    `pattern` (regular) must accept only RFC 8259 string literals without lone surrogates, in every spelling of a text
    or in one only. The terminal fails at its end when the decoded text is already in the rule's set. There must always
    be a text in `pattern` that is not in the set (an infinite language suffices).
    """

    pattern: Node


@dataclass(frozen=True, slots=True, eq=False)
class Ref(Node):
    """The texts of the rule called `name`, with fresh registers."""

    name: Hashable


# Operations. `slot` is a counter 0..2; marks are small non-negative ints chosen by the front end.
ADD = "add"  # counter[slot] += value
LESS = "less"  # fail unless counter[slot] < value
AT_LEAST = "at_least"  # fail unless counter[slot] >= value
MARK = "mark"  # fail if mark `value` is in the set, else insert it
MARKED = "marked"  # fail unless mark `value` is in the set
UNMARKED = "unmarked"  # fail if mark `value` is in the set
INSERT = "insert"  # insert the texts in `texts` (decoded keys, UTF-8) into the set


@dataclass(frozen=True, slots=True, eq=False)
class Op(Node):
    """Test or change the registers of the running rule; consumes nothing. See the constants above for `code`.

    A test that fails must not strand a text: it stands before what it forbids (LESS before the comma of one more item,
    not after it), and what AT_LEAST or MARKED demands must still be reachable wherever a text can get to. INSERT
    stands at the entry of its rule, before any MARK or Key.
    """

    code: str
    slot: int = 0
    value: int = 0
    texts: tuple[bytes, ...] = ()


REGULAR = (Literal, ByteClass, CharClass, OneOf, Multiple, And, Not)
EPSILON = Literal(b"")
NOTHING = ByteClass(0)


def children(node: Node) -> tuple[Node, ...]:
    """Return the direct children of a node (a `Ref` has none)."""
    if isinstance(node, (Seq, Alt, And)):
        return node.parts
    if isinstance(node, (Repeat, Not)):
        return (node.body,)
    if isinstance(node, (Lexeme, Key)):
        return (node.pattern,)
    return ()


def walk(root: Node, *, into_terminals: bool = True) -> Iterator[Node]:
    """Yield every distinct node below `root`, children before parents, without recursion.

    Args:
        root: the whole.
        into_terminals: whether to go below `Lexeme` and `Key`.
    """
    done: set[int] = set()
    stack: list[tuple[Node, bool]] = [(root, False)]
    while stack:
        node, expanded = stack.pop()
        if id(node) in done:
            continue
        if expanded:
            done.add(id(node))
            yield node
            continue
        stack.append((node, True))
        if into_terminals or not isinstance(node, (Lexeme, Key)):
            stack.extend((child, False) for child in children(node) if id(child) not in done)


def regular_ids(root: Node, *, into_terminals: bool = True) -> set[int]:
    """Return `id()` of every node below `root` that is regular (holds no Ref, Lexeme, Key or Op)."""
    found: set[int] = set()
    for node in walk(root, into_terminals=into_terminals):
        if not isinstance(node, (Ref, Lexeme, Key, Op)) and all(id(c) in found for c in children(node)):
            found.add(id(node))
    return found


@dataclass(frozen=True, slots=True)
class ReportItem:
    """One line of a constraint's report.

    Attributes:
        pointer: JSON pointer or position.
        keyword: the keyword or construct.
        status: "exact", "guarded", "relaxed", "annotation" or "cap".
        note: what a reader needs to know, may be empty.
    """

    pointer: str
    keyword: str
    status: str
    note: str = ""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Grammar:
    """A constraint, independent of any vocabulary.

    Attributes:
        start: grammar node that every answer must match as a whole.
        rules: rules known from the beginning, by name. They may be nullable and left-recursive.
        expand: gives the node of a rule that is not in `rules`, or None. Called at most once per name and compiled
            grammar. Such a rule must not be nullable and must reach a terminal before it calls itself again.
        report: what is enforced and how.
        source: (front end, arguments) from which the grammar can be made again elsewhere; plain picklable data.
        name: how errors call the start rule.
    """

    start: Node
    rules: Mapping[Hashable, Node] = field(default_factory=dict)
    expand: Callable[[Hashable], Node] | None = None
    report: tuple[ReportItem, ...] = ()
    source: tuple[object, ...] = ()
    name: str = "the constraint"

    def __repr__(self) -> str:
        return f"<Grammar: {self.name}>"


def seq(parts: Iterable[Node]) -> Node:
    """Return the sequence of `parts`, flattened one level, empty texts dropped."""
    flat: list[Node] = []
    for part in parts:
        if isinstance(part, Seq):
            flat.extend(part.parts)
        elif not (isinstance(part, Literal) and not part.data):
            flat.append(part)
    return flat[0] if len(flat) == 1 else Seq(tuple(flat))


def alt(parts: Iterable[Node]) -> Node:
    """Return the choice of `parts`, flattened one level."""
    flat: list[Node] = []
    for part in parts:
        if isinstance(part, Alt):
            flat.extend(part.parts)
        else:
            flat.append(part)
    return flat[0] if len(flat) == 1 else Alt(tuple(flat))


def optional(node: Node) -> Node:
    """Return `node` or the empty text."""
    return Repeat(node, 0, 1)


def verify(grammar: Grammar) -> None:
    """Raise ValueError if the grammar breaks a rule of this module (run after each pass)."""
    for name, root in [("start", grammar.start), *grammar.rules.items()]:
        verify_node(root, name, grammar)


def verify_node(root: Node, rule: Hashable, grammar: Grammar | None = None) -> None:
    """Raise ValueError if a rule's node breaks a rule of this module."""
    regular = regular_ids(root, into_terminals=False)
    for node in walk(root, into_terminals=False):
        problem = _terminal_problem(node) if isinstance(node, (Lexeme, Key)) else _problem(node, regular)
        if problem is None and isinstance(node, Ref) and grammar is not None:
            known = node.name in grammar.rules or grammar.expand is not None
            problem = None if known else f"unknown rule {node.name!r}"
        if problem is not None:
            raise ValueError(f"ir: rule {rule!r}: {type(node).__name__}: {problem}")


_sound: WeakSet[Node] = WeakSet()


def _terminal_problem(root: Lexeme | Key) -> str | None:
    """Return what is wrong with a terminal or a node below it; terminals are shared, large ones in many grammars."""
    if root in _sound:
        return None
    regular = regular_ids(root)
    for node in walk(root):
        problem = _problem(node, regular)
        if problem is not None:
            return problem if node is root else f"{type(node).__name__}: {problem}"
    _sound.add(root)
    return None


def _problem(node: object, regular: set[int]) -> str | None:
    if not isinstance(node, Node):
        return "is no node of constrain.ir"
    if isinstance(node, ByteClass) and not 0 <= node.mask < 1 << 256:
        return "mask is not a 256-bit int"
    if isinstance(node, CharClass):
        previous = -1
        for low, high in node.ranges:
            if not previous < low <= high <= MAX_CODEPOINT:
                return f"ranges are not sorted and disjoint at {low:#x}"
            previous = high
    if isinstance(node, Repeat) and not (node.minimum >= 0 and (node.maximum is None or node.maximum >= node.minimum)):
        return f"bounds {{{node.minimum},{node.maximum}}}"
    if isinstance(node, Multiple) and (node.step < 1 or node.places < 0):
        return f"step {node.step}, places {node.places}"
    if isinstance(node, OneOf) and any(not text for text in node.texts):
        return "an empty text in OneOf"
    if isinstance(node, (And, Not, Lexeme, Key)):
        for child in children(node):
            if id(child) not in regular:
                return "its operand is not regular"
    if isinstance(node, Op) and node.code not in (ADD, LESS, AT_LEAST, MARK, MARKED, UNMARKED, INSERT):
        return f"unknown operation {node.code!r}"
    return None
