"""A slow, obvious recogniser for grammar nodes with rules, keys and registers: all ways to read a text, memoised."""

import json
import re
import sys
from fractions import Fraction

from constrain import ir

EMPTY = (0, 0, 0, frozenset(), frozenset())


def _is_multiple(node, data):
    if not data:
        return True
    text = data.decode("latin-1")
    if not re.fullmatch(r"[0-9]+(\.[0-9]*)?", text):
        return False
    return (Fraction(text.rstrip(".")) * 10**node.places / node.step).denominator == 1


def accepts(grammar, data):
    """Return whether `data` (bytes) is a member of the grammar's language."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(10_000)
    try:
        return _Reading(grammar, data).accepts()
    finally:
        sys.setrecursionlimit(before)


class _Reading:
    def __init__(self, grammar, data):
        self.grammar = grammar
        self.data = data
        self.rules = {}
        self.calls = {}
        self.memo = {}

    def accepts(self):
        return any(end == len(self.data) for end, _ in self.ends(self.grammar.start, 0, EMPTY))

    def rule(self, name):
        if name not in self.rules:
            known = self.grammar.rules.get(name)
            self.rules[name] = self.grammar.expand(name) if known is None else known
            ir.verify_node(self.rules[name], name)
        return self.rules[name]

    def call(self, name, start):
        if (name, start) not in self.calls:
            self.calls[name, start] = {end for end, _ in self.ends(self.rule(name), start, EMPTY)}
        return self.calls[name, start]

    def ends(self, node, start, registers):
        key = (id(node), start, registers)
        if key not in self.memo:
            self.memo[key] = self._ends(node, start, registers)
        return self.memo[key]

    def _ends(self, node, start, registers):
        if isinstance(node, ir.Ref):
            return {(end, registers) for end in self.call(node.name, start)}
        if isinstance(node, (ir.Lexeme, ir.REGULAR)):
            return {(end, registers) for end in self.text_ends(node, start)}
        if isinstance(node, ir.Key):
            found = set()
            for end in self.text_ends(node.pattern, start):
                text = json.loads(self.data[start:end]).encode()
                if text not in registers[4]:
                    found.add((end, (*registers[:4], registers[4] | {text})))
            return found
        if isinstance(node, ir.Op):
            after = _operate(node, registers)
            return set() if after is None else {(start, after)}
        if isinstance(node, ir.Seq):
            here = {(start, registers)}
            for part in node.parts:
                here = {after for at, state in here for after in self.ends(part, at, state)}
            return here
        if isinstance(node, ir.Alt):
            return {after for part in node.parts for after in self.ends(part, start, registers)}
        assert isinstance(node, ir.Repeat), node
        return self._repeat(node, start, registers)

    def _repeat(self, node, start, registers):
        here = {(start, registers)}
        found = set(here) if node.minimum == 0 else set()
        count = 0
        while here and (node.maximum is None or count < node.maximum):
            here = {after for at, state in here for after in self.ends(node.body, at, state)} - (
                found if count >= node.minimum else set()
            )
            count += 1
            if count >= node.minimum:
                found |= here
            elif count > len(self.data) + 1:
                break
        return found

    def text_ends(self, node, start):
        """Return the ends of a regular node's matches."""
        key = (id(node), start)
        if key not in self.memo:
            self.memo[key] = self._text_ends(node, start)
        return self.memo[key]

    def _text_ends(self, node, start):
        data, size = self.data, len(self.data)
        if isinstance(node, ir.Lexeme):
            return self.text_ends(node.pattern, start)
        if isinstance(node, ir.Literal):
            return {start + len(node.data)} if data.startswith(node.data, start) else set()
        if isinstance(node, ir.ByteClass):
            return {start + 1} if start < size and node.mask >> data[start] & 1 else set()
        if isinstance(node, ir.CharClass):
            return self._char(node, start)
        if isinstance(node, ir.OneOf):
            return {start + len(text) for text in node.texts if data.startswith(text, start)}
        if isinstance(node, ir.Seq):
            here = {start}
            for part in node.parts:
                here = {end for at in here for end in self.text_ends(part, at)}
            return here
        if isinstance(node, ir.Alt):
            return {end for part in node.parts for end in self.text_ends(part, start)}
        if isinstance(node, ir.And):
            return set.intersection(set(range(start, size + 1)), *(self.text_ends(part, start) for part in node.parts))
        if isinstance(node, ir.Not):
            return set(range(start, size + 1)) - self.text_ends(node.body, start)
        if isinstance(node, ir.Multiple):
            return {end for end in range(start, size + 1) if _is_multiple(node, data[start:end])}
        return self._text_repeat(node, start)

    def _char(self, node, start):
        for stop in range(start + 1, min(start + 4, len(self.data)) + 1):
            try:
                char = self.data[start:stop].decode()
            except UnicodeDecodeError:
                continue
            return {stop} if any(low <= ord(char) <= high for low, high in node.ranges) else set()
        return set()

    def _text_repeat(self, node, start):
        here = {start}
        for _ in range(min(node.minimum, len(self.data) + 1)):
            here = {end for at in here for end in self.text_ends(node.body, at)}
        found = set(here)
        left = None if node.maximum is None else node.maximum - node.minimum
        while here and left != 0:
            here = {end for at in here for end in self.text_ends(node.body, at)} - found
            found |= here
            left = None if left is None else left - 1
        return found


def _operate(operation, registers):
    first, second, third, marks, texts = registers
    counters = [first, second, third]
    code, slot, value = operation.code, operation.slot, operation.value
    if code == ir.ADD:
        counters[slot] += value
    elif (code == ir.LESS and not counters[slot] < value) or (code == ir.AT_LEAST and not counters[slot] >= value):
        return None
    elif code == ir.MARK:
        if value in marks:
            return None
        marks |= {value}
    elif (code == ir.MARKED and value not in marks) or (code == ir.UNMARKED and value in marks):
        return None
    elif code == ir.INSERT:
        texts |= set(operation.texts)
    return (*counters, marks, texts)
