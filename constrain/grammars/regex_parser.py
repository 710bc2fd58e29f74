"""Reads a pattern of either dialect into a tree. One loop and a stack of open groups: no recursion on the pattern.

`parse_tree` is the entry; escapes and classes are in `regex_escapes`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from constrain.errors import LimitExceededError, UnsupportedFeatureError
from constrain.grammars import regex_dialects as dialects
from constrain.grammars.char_classes import Ranges
from constrain.grammars.regex_dialects import Flags
from constrain.grammars.regex_escapes import Scanner, read_class, read_escape
from constrain.grammars.regex_tree import Ahead, Behind, Tree, cat, char_class, either, repeated
from constrain.limits import Limits

_COUNT = re.compile(r"\{([0-9]*)(,?)([0-9]*)\}")
_FLAG_GROUP = re.compile(r"\(\?([aiLmsux]*)(?:-([imsx]+))?([:)])")
_NAMED = re.compile(r"\(\?(?:P<([^\W\d]\w*)>|<([^\W\d][\w$]*)>)")


@dataclass(slots=True)
class _Group:
    """An open parenthesis: what it is, the flags outside it, finished branches and the current one."""

    kind: str
    position: int
    outer: Flags
    branches: list[Tree] = field(default_factory=list)
    items: list[Tree] = field(default_factory=list)
    # May a quantifier follow? Not after an anchor, a quantifier or at a branch's start.
    repeatable: bool = False

    def end_branch(self) -> None:
        self.branches.append(cat(self.items))
        self.items = []
        self.repeatable = False


def parse_tree(pattern: str, limits: Limits, *, ecma: bool = False, flags: Flags | None = None) -> Tree:
    """Return the tree of a whole pattern.

    Raises:
        GrammarSyntaxError: the pattern is malformed.
        UnsupportedFeatureError: it uses a construct that is no regular language here (with its position).
        LimitExceededError: groups are nested deeper than `max_nesting`, or a count is above `max_repeat`.
    """
    return _Parser(pattern, limits, flags or Flags(), ecma=ecma).parse()


class _Parser:
    """One pass over one pattern."""

    def __init__(self, pattern: str, limits: Limits, flags: Flags, *, ecma: bool) -> None:
        self.scan = Scanner(pattern, ecma=ecma)
        self.limits = limits
        self.flags = flags
        self.stack = [_Group("(", 0, flags)]
        self.names: set[str] = set()

    def parse(self) -> Tree:
        scan = self.scan
        while scan.position < len(scan.text):
            if self.flags.verbose and self._skip_verbose():
                continue
            self._item(scan.text[scan.position])
        if len(self.stack) > 1:
            raise scan.error("unclosed group", self.stack[-1].position)
        group = self.stack[0]
        group.end_branch()
        return either(group.branches)

    def _skip_verbose(self) -> bool:
        scan = self.scan
        char = scan.text[scan.position]
        if char == "#":
            end = scan.text.find("\n", scan.position)
            scan.position = len(scan.text) if end < 0 else end + 1
        elif char in " \t\n\r\v\f":
            scan.position += 1
        else:
            return False
        return True

    def _item(self, char: str) -> None:
        scan, group = self.scan, self.stack[-1]
        start = scan.position
        if char == "(":
            self._open()
        elif char == ")":
            self._close()
        elif char == "|":
            scan.position += 1
            group.end_branch()
        elif char in "*+?" or (char == "{" and self._is_count()):
            self._quantifier()
        elif char == "[":
            self._characters(read_class(scan, self.flags))
        elif char == "\\":
            self._escape()
        elif char == ".":
            scan.position += 1
            self._characters(dialects.dot(self.flags, ecma=scan.ecma), cased=False)
        elif char == "^":
            scan.position += 1
            self._assertion(dialects.line_start(self.flags))
        elif char == "$":
            scan.position += 1
            self._assertion(dialects.line_end(self.flags, start, ecma=scan.ecma))
        else:
            scan.position += 1
            self._characters(((ord(char), ord(char)),))

    def _characters(self, ranges: Ranges, *, cased: bool = True) -> None:
        self._add(char_class(dialects.closed(ranges, self.flags) if cased else ranges))

    def _add(self, tree: Tree) -> None:
        group = self.stack[-1]
        group.items.append(tree)
        group.repeatable = True

    def _assertion(self, tree: Tree) -> None:
        self._add(tree)
        self.stack[-1].repeatable = False

    def _escape(self) -> None:
        start = self.scan.position
        found = read_escape(self.scan, self.flags)
        if not isinstance(found, str):
            self._characters(found)
        elif found in "bB":
            word = dialects.shorthand("w", self.flags, ecma=self.scan.ecma)
            self._assertion(dialects.word_boundary(word, start, negative=found == "B"))
        else:
            self._assertion(Behind((), start=True) if found == "A" else dialects.text_end(start))

    # Quantifiers

    def _is_count(self) -> bool:
        found = _COUNT.match(self.scan.text, self.scan.position)
        if found is None:
            return False
        low, comma, _ = found.groups()
        return bool(low) or (not self.scan.ecma and bool(comma))

    def _bounds(self) -> tuple[int, int | None]:
        scan = self.scan
        start, char = scan.position, scan.text[scan.position]
        if char != "{":
            scan.position += 1
            return {"*": (0, None), "+": (1, None), "?": (0, 1)}[char]
        found = _COUNT.match(scan.text, start)
        assert found is not None
        scan.position = found.end()
        low_text, comma, high_text = found.groups()
        longest = max(len(low_text.lstrip("0")), len(high_text.lstrip("0")))
        if longest > 18 or int(low_text or 0) > self.limits.max_repeat or int(high_text or 0) > self.limits.max_repeat:
            raise LimitExceededError("max_repeat", self.limits.max_repeat, f"at position {start} of a pattern")
        low = int(low_text or 0)
        high = (int(high_text) if high_text else None) if comma else low
        if high is not None and high < low:
            raise scan.error(f"counts out of order, {found.group()}", start)
        return low, high

    def _quantifier(self) -> None:
        scan, group = self.scan, self.stack[-1]
        start = scan.position
        if not group.repeatable:
            lookahead = scan.ecma and group.items and isinstance(group.items[-1], Ahead)
            if not lookahead:
                raise scan.error(f"nothing to repeat before {scan.text[start]!r}", start)
        low, high = self._bounds()
        after = scan.text[scan.position : scan.position + 1]
        if after == "?":
            scan.position += 1  # lazy: the same language
        elif after == "+" and not scan.ecma:
            raise UnsupportedFeatureError(
                scan.text[start : scan.position + 1],
                f"position {start} of the pattern",
                "a possessive quantifier depends on what was tried before",
                "Use the plain quantifier if the language is the same.",
            )
        group.items[-1] = repeated(group.items[-1], low, high, start)
        group.repeatable = False

    # Groups

    def _open(self) -> None:
        scan = self.scan
        start = scan.position
        kind, flags = "(", self.flags
        if scan.text.startswith("(?", start):
            opened = self._open_special(start)
            if opened is None:
                return
            kind, flags = opened
        else:
            scan.position += 1
        if len(self.stack) > self.limits.max_nesting:
            raise LimitExceededError("max_nesting", self.limits.max_nesting, f"at position {start} of a pattern")
        self.stack.append(_Group(kind, start, self.flags))
        self.flags = flags

    def _open_special(self, start: int) -> tuple[str, Flags] | None:
        """Read `(?...`; return the kind of group and its flags, or None if it was complete in itself."""
        scan = self.scan
        text = scan.text
        for opening in ("(?:", "(?=", "(?!", "(?<=", "(?<!"):
            if text.startswith(opening, start):
                scan.position += len(opening)
                return opening, self.flags
        named = _NAMED.match(text, start)
        if named is not None and (named.group(2) or not scan.ecma):  # Python is lent ECMA's spelling
            scan.position = named.end()
            name = named.group(1) or named.group(2)
            if name in self.names and not scan.ecma:  # ECMA-262 allows it in different alternatives
                raise scan.error(f"group name {name!r} twice", start)
            self.names.add(name)
            return "(", self.flags
        if not scan.ecma:
            if text.startswith("(?#", start):
                end = text.find(")", start)
                if end < 0:
                    raise scan.error("unclosed comment", start)
                scan.position = end + 1
                return None
            changed = _FLAG_GROUP.match(text, start)
            if changed is not None and changed.group() != "(?)":
                return self._flag_group(changed)
        raise self._unknown_group(start)

    def _flag_group(self, found: re.Match[str]) -> tuple[str, Flags] | None:
        scan = self.scan
        on, off, end = found.groups()
        if "L" in on:
            raise scan.error("flag 'L' is for bytes patterns", found.start())
        flags = self.flags.changed(on, on=True).changed(off or "", on=False)
        if "u" in on:
            flags = flags.changed("a", on=False)
        scan.position = found.end()
        if end == ":":
            return "(?:", flags
        if off or len(self.stack) > 1 or self.stack[0].items or self.stack[0].branches:
            raise scan.error("global flags must be at the start of the pattern", found.start())
        self.flags = flags
        return None

    def _unknown_group(self, start: int) -> Exception:
        opening = self.scan.text[start : start + 4]
        reasons = {
            "(?P=": ("a back-reference is no regular language", "Write out what the group may hold."),
            "(?>": ("an atomic group depends on what was tried before", "Use (?:...) if the language is the same."),
            "(?(": ("a conditional depends on which groups matched", "Write both cases as alternatives."),
        }
        for prefix, (reason, remedy) in reasons.items():
            if opening.startswith(prefix) and not self.scan.ecma:
                return UnsupportedFeatureError(prefix + "...)", f"position {start} of the pattern", reason, remedy)
        if re.match(r"\(\?P?<", opening):
            return self.scan.error("a group's name is letters, digits and '_', no digit first, then '>'", start)
        if not self.scan.ecma and re.match(r"\(\?[aiLmsux-]", opening):
            return self.scan.error("flags are letters of 'aiLmsux', then ')' or ':'", start)
        dialect = "ECMA-262" if self.scan.ecma else "Python"
        return self.scan.error(f"unknown group {opening!r} in {dialect} syntax", start)

    def _close(self) -> None:
        scan = self.scan
        if len(self.stack) == 1:
            raise scan.error("unbalanced parenthesis", scan.position)
        scan.position += 1
        group = self.stack.pop()
        group.end_branch()
        self.flags = group.outer
        body = either(group.branches)
        if group.kind in {"(", "(?:"}:
            self._add(body)
        elif group.kind in {"(?=", "(?!"}:
            self._add(Ahead(body, negative=group.kind == "(?!", position=group.position))
        else:
            self._assertion(self._lookbehind(body, group))  # ECMA-262 has no quantifier after it, and it says nothing

    def _lookbehind(self, body: Tree, group: _Group) -> Tree:
        behind = dialects.one_character_behind(body)
        if behind is None:
            raise UnsupportedFeatureError(
                group.kind + "...)",
                f"position {group.position} of the pattern",
                "only lookbehinds for one character (a class, or alternatives of such and ^) are supported",
                "Write the text that must come before as part of the pattern, or exclude it with a lookahead.",
            )
        if group.kind == "(?<!":
            return dialects.not_behind(behind)
        return behind
