"""Does any text belong to a regular node over code points? A search over derivatives.

Front ends promise the engine that what they offer can be finished, so a string that must match several patterns, a
lookahead or a length is tested before it is offered. Expressions are interned, so equal residues are one state.

Source: Brzozowski 1964 (derivatives of regular expressions).
"""

from __future__ import annotations

from collections.abc import Iterable

from constrain.deadline import check
from constrain.errors import LimitExceededError
from constrain.grammars.char_classes import ALL, Ranges, complement, contains, intersect, normalise, subtract
from constrain.ir import Alt, And, CharClass, Literal, Node, Not, OneOf, Repeat, Seq, children, walk
from constrain.limits import Limits

_CHAR, _CAT, _OR, _REPEAT, _AND, _NOT = range(6)
_NONE, _EMPTY = 0, 1
_Key = tuple[int, tuple[object, ...]]
_Row = list[tuple[Ranges, int]]


def is_empty(root: Node, limits: Limits) -> bool:
    """Return whether a regular node over `CharClass` and `Literal` matches no text at all.

    Raises:
        LimitExceededError: `max_emptiness_steps` residues were searched without an answer; one with many operands
            counts as many.
    """
    table = _Table(_alphabet(root))
    start = table.convert(root)
    seen = {start}
    stack = [start]
    steps = 0
    while stack:
        state = stack.pop()
        if table.nullable[state]:
            return False
        steps += table.operands(state)
        if steps > limits.max_emptiness_steps:
            raise LimitExceededError(
                "max_emptiness_steps", limits.max_emptiness_steps, "looking for a string that fits"
            )
        for _, target in table.row(state):
            if target not in seen:
                seen.add(target)
                stack.append(target)
    return True


def texts_of(root: Node, most: int) -> tuple[str, ...] | None:
    """Return the texts that a regular node matches if they are at most `most`, else None; in alphabetical order."""
    table = _Table()
    start = table.convert(root)
    rows: dict[int, _Row] = {}
    stack = [start]
    while stack:
        state = stack.pop()
        if state not in rows:
            if len(rows) > 4 * most:
                return None
            rows[state] = table.row(state)
            # One step ahead is enough to see that most infinite languages are infinite.
            if any(target == state for _, target in rows[state]) and (
                table.nullable[state] or any(table.nullable[target] for _, target in rows[state])
            ):
                return None
            stack.extend(target for _, target in rows[state])
    live = {state for state in rows if table.nullable[state]}
    while grown := {state for state, row in rows.items() if state not in live and any(to in live for _, to in row)}:
        live |= grown
    found: list[str] = []
    todo = [("", start)] if start in live else []
    while todo:
        text, state = todo.pop()
        if len(text) > len(rows):  # a way through more states than there are comes round to itself
            return None
        if table.nullable[state]:
            found.append(text)
        for ranges, target in rows[state]:
            if target in live:
                if len(found) + len(todo) + sum(high - low + 1 for low, high in ranges) > most + len(rows):
                    return None
                todo.extend((text + chr(code), target) for low, high in ranges for code in range(low, high + 1))
    return tuple(sorted(found)) if len(found) <= most else None


class Reader:
    """Reads many texts by one regular node; what they have in common is worked out once."""

    def __init__(self, root: Node) -> None:
        self._table = _Table()
        self._start = self._table.convert(root)

    def matches(self, text: str) -> bool:
        """Return whether the node matches the whole text."""
        state = self._start
        for code in map(ord, text):
            state = next((target for ranges, target in self._table.row(state) if contains(ranges, code)), _NONE)
            if state == _NONE:
                return False
        return self._table.nullable[state]


def _alphabet(root: Node) -> Ranges:
    """Return characters outside of which no text of a node has any: operands of an intersection share theirs."""
    found: dict[int, Ranges] = {}
    for node in walk(root):
        if isinstance(node, CharClass):
            found[id(node)] = node.ranges
        elif isinstance(node, (Literal, OneOf)):
            texts = (node.data,) if isinstance(node, Literal) else node.texts
            found[id(node)] = normalise((ord(char), ord(char)) for text in texts for char in text.decode())
        elif isinstance(node, And):
            shared = ALL
            for part in node.parts:
                shared = intersect(shared, found[id(part)])
            found[id(node)] = shared
        elif isinstance(node, Not):
            found[id(node)] = ALL
        else:
            inner = {found[id(part)] for part in children(node)}
            found[id(node)] = inner.pop() if len(inner) == 1 else normalise(one for part in inner for one in part)
    return found[id(root)]


class _Table:
    """Interned expressions: id 0 has no text, id 1 the empty text only. Texts have characters of `alphabet` only."""

    def __init__(self, alphabet: Ranges = ALL) -> None:
        self.alphabet = alphabet
        self.terms: list[_Key] = [(-1, ()), (-1, ())]
        self.nullable = [False, True]
        self._ids: dict[_Key, int] = {}
        self._rows: dict[int, _Row] = {_NONE: [], _EMPTY: []}
        self.everything = self.negate(_NONE)

    def _make(self, kind: int, args: tuple[object, ...], *, nullable: bool) -> int:
        key = (kind, args)
        found = self._ids.get(key)
        if found is None:
            found = self._ids[key] = len(self.terms)
            self.terms.append(key)
            self.nullable.append(nullable)
        return found

    def char(self, ranges: Ranges) -> int:
        if self.alphabet is not ALL:
            ranges = intersect(ranges, self.alphabet)
        return self._make(_CHAR, ranges, nullable=False) if ranges else _NONE

    def cat(self, first: int, second: int) -> int:
        """Return `first` then `second`; a sequence in front is re-nested to the right."""
        heads = []
        while first not in {_NONE, _EMPTY} and self.terms[first][0] == _CAT:
            head, rest = self.terms[first][1]
            assert isinstance(head, int)
            assert isinstance(rest, int)
            heads.append(head)
            first = rest
        for head in (first, *reversed(heads)):
            if _NONE in {head, second}:
                return _NONE
            if head == _EMPTY:
                continue
            if second == _EMPTY:
                second = head
            else:
                nullable = self.nullable[head] and self.nullable[second]
                second = self._make(_CAT, (head, second), nullable=nullable)
        return second

    def either(self, parts: Iterable[int]) -> int:
        flat = self._flat(_OR, parts) - {_NONE}
        if self.everything in flat:
            return self.everything
        if len(flat) < 2:
            return flat.pop() if flat else _NONE
        return self._make(_OR, tuple(sorted(flat)), nullable=any(self.nullable[part] for part in flat))

    def both(self, parts: Iterable[int]) -> int:
        flat = self._flat(_AND, parts) - {self.everything}
        if _NONE in flat:
            return _NONE
        if len(flat) < 2:
            return flat.pop() if flat else self.everything
        return self._make(_AND, tuple(sorted(flat)), nullable=all(self.nullable[part] for part in flat))

    def _flat(self, kind: int, parts: Iterable[int]) -> set[int]:
        flat: set[int] = set()
        for part in parts:
            inner = self.terms[part]
            flat.update(inner[1] if inner[0] == kind else (part,))  # type: ignore[arg-type]
        return flat

    def repeat(self, body: int, low: int, high: int | None) -> int:
        if high == 0 or body == _EMPTY:
            return _EMPTY
        if body == _NONE:
            return _EMPTY if low == 0 else _NONE
        if (low, high) == (1, 1):
            return body
        nullable = low == 0 or self.nullable[body]
        return self._make(_REPEAT, (body, 0 if self.nullable[body] else low, high), nullable=nullable)

    def negate(self, body: int) -> int:
        if self.terms[body][0] == _NOT:
            (inner,) = self.terms[body][1]
            assert isinstance(inner, int)
            return inner
        return self._make(_NOT, (body,), nullable=not self.nullable[body])

    def operands(self, state: int) -> int:
        """Return how many parts the expression of a state combines."""
        kind, args = self.terms[state]
        return len(args) if kind in {_AND, _OR} else 1

    def convert(self, root: Node) -> int:
        """Return the expression of an IR node."""
        done: dict[int, int] = {}
        for node in walk(root):
            done[id(node)] = self._convert(node, done)
        return done[id(root)]

    def _convert(self, node: Node, done: dict[int, int]) -> int:
        if isinstance(node, CharClass):
            return self.char(node.ranges)
        if isinstance(node, Literal):
            return self._word(node.data)
        if isinstance(node, OneOf):
            return self.either(self._word(text) for text in node.texts)
        if isinstance(node, Seq):
            out = _EMPTY
            for part in reversed(node.parts):
                out = self.cat(done[id(part)], out)
            return out
        if isinstance(node, Alt):
            return self.either(done[id(part)] for part in node.parts)
        if isinstance(node, And):
            return self.both(done[id(part)] for part in node.parts)
        if isinstance(node, Repeat):
            return self.repeat(done[id(node.body)], node.minimum, node.maximum)
        return self.negate(done[id(node.body)]) if isinstance(node, Not) else _NONE

    def _word(self, data: bytes) -> int:
        out = _EMPTY
        for char in reversed(data.decode()):
            out = self.cat(self.char(((ord(char), ord(char)),)), out)
        return out

    # Derivatives

    def row(self, root: int) -> _Row:
        """Return the residues of an expression by disjoint sets of first characters."""
        rows = self._rows
        stack = [root]
        while stack:
            check()
            top = stack[-1]
            missing = [part for part in self._needs(top) if part not in rows] if top not in rows else []
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            if top not in rows:
                rows[top] = self._row(top)
        return rows[root]

    def _needs(self, state: int) -> tuple[int, ...]:
        kind, args = self.terms[state]
        if kind == _CHAR:
            return ()
        parts = tuple(arg for arg in args if isinstance(arg, int))
        if kind == _CAT:
            return parts if self.nullable[parts[0]] else parts[:1]
        return parts[:1] if kind == _REPEAT else parts

    def _row(self, state: int) -> _Row:
        kind, args = self.terms[state]
        if kind == _CHAR:
            return [(args, _EMPTY)]  # type: ignore[list-item]
        parts = self._needs(state)
        if kind == _CAT:
            head, tail = args
            assert isinstance(head, int)
            assert isinstance(tail, int)
            first = [(ranges, self.cat(target, tail)) for ranges, target in self._rows[head]]
            return self._merged([first, self._rows[tail]]) if self.nullable[head] else first
        if kind == _REPEAT:
            body, low, high = args
            assert isinstance(body, int)
            assert isinstance(low, int)
            rest = self.repeat(body, max(low - 1, 0), high - 1 if isinstance(high, int) else None)
            return [(ranges, self.cat(target, rest)) for ranges, target in self._rows[body]]
        if kind == _OR:
            return self._merged([self._rows[part] for part in parts])
        if kind == _AND:
            return self._crossed([self._rows[part] for part in parts])
        inner = self._rows[parts[0]]
        rest_ranges = complement(normalise(one for ranges, _ in inner for one in ranges))
        out = [(ranges, self.negate(target)) for ranges, target in inner]
        return [*out, (rest_ranges, self.everything)] if rest_ranges else out

    def _merged(self, rows: list[_Row]) -> _Row:
        parts: list[tuple[Ranges, tuple[int, ...]]] = []
        for ranges, target in (entry for row in rows for entry in row):
            rest, cut = ranges, []
            for other, targets in parts:
                shared = intersect(other, rest)
                if shared:
                    cut.append((shared, (*targets, target)))
                    rest, other = subtract(rest, shared), subtract(other, shared)
                if other:
                    cut.append((other, targets))
            parts = [*cut, (rest, (target,))] if rest else cut
        return [(ranges, self.either(targets)) for ranges, targets in parts]

    def _crossed(self, rows: list[_Row]) -> _Row:
        parts: list[tuple[Ranges, tuple[int, ...]]] = [(ranges, (target,)) for ranges, target in rows[0]]
        for row in rows[1:]:
            pairs = [(intersect(a, b), (*targets, target)) for a, targets in parts for b, target in row]
            parts = [(ranges, targets) for ranges, targets in pairs if ranges]
        found = [(ranges, self.both(targets)) for ranges, targets in parts]
        return [(ranges, target) for ranges, target in found if target != _NONE]
