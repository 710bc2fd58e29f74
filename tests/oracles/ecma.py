"""ECMA-262 patterns with flag `u`, searched as JSON Schema's `pattern` is: by node where there is one.

A pattern that is an error under `u` (real schemas write `\\-` and `\\_`) is read without it, as ECMA-262 annex B does;
`is_lenient` tells. Without node a translation to the `regex` module stands in; the tests compare the two.
"""

from __future__ import annotations

import atexit
import json
import selectors
import shutil
import subprocess
from functools import lru_cache


class PatternError(ValueError):
    """The pattern is no ECMA-262 pattern, with or without flag `u`."""


class TooSlowError(RuntimeError):
    """The backtracking matcher did not answer in time; the oracle does not know."""


SERVER = r"""
const lines = require('readline').createInterface({input: process.stdin});
const known = new Map();
function compiled(pattern) {
  if (!known.has(pattern)) {
    let found = {error: null};
    try { found = {regexp: new RegExp(pattern, 'u'), lenient: false}; }
    catch (strict) {
      try { found = {regexp: new RegExp(pattern), lenient: true}; }
      catch (error) { found = {error: String(error)}; }
    }
    known.set(pattern, found);
  }
  return known.get(pattern);
}
lines.on('line', line => {
  const {pattern, text} = JSON.parse(line);
  const found = compiled(pattern);
  const answer = found.regexp ? {match: found.regexp.test(text), lenient: found.lenient} : {error: found.error};
  process.stdout.write(JSON.stringify(answer) + '\n');
});
"""


class Node:
    """One node process that answers (pattern, text) queries, a line each; restarted after a query that hangs."""

    def __init__(self, seconds: float = 5.0) -> None:
        self.seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None
        atexit.register(self.close)

    def ask(self, pattern: str, text: str) -> dict[str, object]:
        """Return {"match", "lenient"} or {"error"}."""
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                [shutil.which("node") or "node", "-e", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps({"pattern": pattern, "text": text}).encode() + b"\n")
        process.stdin.flush()
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            if not selector.select(self.seconds):
                self.close()
                raise TooSlowError(f"pattern {pattern!r} on {len(text)} characters")
        answer: dict[str, object] = json.loads(process.stdout.readline())
        return answer

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    stream.close()


_NODE = Node()
HAS_NODE = shutil.which("node") is not None


def search(pattern: str, text: str) -> bool:
    """Return whether `pattern` matches somewhere in `text`.

    Raises:
        PatternError: it is no pattern.
        TooSlowError: no answer in time.
    """
    return _search_node(pattern, text) if HAS_NODE else search_translated(pattern, text)


@lru_cache(maxsize=50_000)
def _search_node(pattern: str, text: str) -> bool:
    answer = _NODE.ask(pattern, text)
    if "error" in answer:
        raise PatternError(f"{pattern!r}: {answer['error']}")
    return bool(answer["match"])


@lru_cache(maxsize=5_000)
def is_lenient(pattern: str) -> bool:
    """Return whether the pattern is an error under flag `u` and only read without it."""
    return HAS_NODE and bool(_NODE.ask(pattern, "").get("lenient"))


# The stand-in

SPACE = r"\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
CLASSES = {"d": "0-9", "w": "A-Za-z0-9_", "s": SPACE}
BOUNDARY = r"(?:(?<![A-Za-z0-9_])(?=[A-Za-z0-9_])|(?<=[A-Za-z0-9_])(?![A-Za-z0-9_]))"
LETTERS = {"t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "0": "\0"}


def search_translated(pattern: str, text: str) -> bool:
    """Return what `search` does, by the `regex` module on a translated pattern."""
    import regex

    try:
        return regex.compile(translate(pattern), regex.V0).search(text, timeout=5) is not None
    except TimeoutError:
        raise TooSlowError(pattern) from None
    except regex.error as error:
        raise PatternError(f"{pattern!r}: {error}") from None


def translate(pattern: str) -> str:
    """Return an ECMA-262 pattern in the syntax of the `regex` module (not every error is found)."""
    out: list[str] = []
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "\\":
            piece, at = _escape(pattern, at, in_class=False)
            out.append(piece)
        elif char == "[":
            piece, at = _class(pattern, at)
            out.append(piece)
        elif pattern.startswith("(?<", at) and pattern[at + 3 : at + 4] not in ("=", "!"):
            out.append("(?P<")
            at += 3
        else:
            out.append({".": r"[^\n\r\u2028\u2029]", "$": r"\Z", "^": r"\A"}.get(char, char))
            at += 1
    return "".join(out)


def _point(value: int) -> str:
    return f"\\U{value:08x}"


def _escape(pattern: str, at: int, *, in_class: bool) -> tuple[str, int]:
    """Return the translation of the escape at `at` and where it ends."""
    if at + 1 >= len(pattern):
        raise PatternError(f"{pattern!r}: a backslash at the end")
    letter = pattern[at + 1]
    if letter == "u":
        if pattern.startswith("{", at + 2):
            stop = pattern.index("}", at)
            return _point(int(pattern[at + 3 : stop], 16)), stop + 1
        value = int(pattern[at + 2 : at + 6], 16)
        if 0xD800 <= value < 0xDC00 and pattern.startswith("\\u", at + 6):
            low = int(pattern[at + 8 : at + 12], 16)
            if 0xDC00 <= low < 0xE000:
                return _point(0x10000 + (value - 0xD800 << 10) + low - 0xDC00), at + 12
        return _point(value), at + 6
    if letter == "x":
        return _point(int(pattern[at + 2 : at + 4], 16)), at + 4
    if letter == "c":
        return _point(ord(pattern[at + 2]) % 32), at + 3
    if letter in "pP":
        stop = pattern.index("}", at)
        return pattern[at : stop + 1], stop + 1
    if letter == "k":
        stop = pattern.index(">", at)
        return f"(?P={pattern[at + 3 : stop]})", stop + 1
    if letter in LETTERS:
        return _point(ord(LETTERS[letter])), at + 2
    if letter.lower() in CLASSES:
        inside = CLASSES[letter.lower()]
        if in_class:
            return (inside if letter.islower() else _complement(letter.lower())), at + 2
        return f"[{inside}]" if letter.islower() else f"[^{inside}]", at + 2
    if letter in "bB":
        if in_class:
            return r"\x08", at + 2
        return BOUNDARY if letter == "b" else f"(?!{BOUNDARY})", at + 2
    if letter.isdigit():
        return f"\\{letter}", at + 2
    return _point(ord(letter)), at + 2


def _complement(letter: str) -> str:
    """Return what a class holds for the capital shorthand of `letter`."""
    import regex

    inside = regex.compile(f"[{CLASSES[letter]}]")
    edges = [
        point
        for point in range(0x10000)
        if bool(inside.match(chr(point))) != (point > 0 and bool(inside.match(chr(point - 1))))
    ]
    outside = [0, *edges, 0x110000] if not inside.match("\0") else [*edges[1:], 0x110000]
    return "".join(f"{_point(a)}-{_point(b - 1)}" for a, b in zip(outside[::2], outside[1::2], strict=True))


def _class(pattern: str, at: int) -> tuple[str, int]:
    """Return the translation of the class at `at` and where it ends."""
    at += 1
    negated = pattern.startswith("^", at)
    at += negated
    parts: list[str] = []
    while True:
        if at >= len(pattern):
            raise PatternError(f"{pattern!r}: an open class")
        char = pattern[at]
        if char == "]":
            break
        if char == "\\":
            piece, at = _escape(pattern, at, in_class=True)
        else:
            piece, at = (char if char == "-" else _point(ord(char))), at + 1
        parts.append(piece)
    inside = "".join(parts)
    if not inside:
        return r"[\s\S]" if negated else r"(?!)", at + 1
    if inside.endswith("-"):
        inside = inside[:-1] + r"\-"
    if inside.startswith("-"):
        inside = "\\" + inside
    return f"[{'^' if negated else ''}{inside}]", at + 1
