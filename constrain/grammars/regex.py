"""Regular expressions as constraints.

`regex` is the public front end; `parse` gives the IR node that other front ends embed. The way of a pattern:
`regex_parser` (text to tree) -> `regex_link` (anchors and lookarounds away) -> one regular IR node over code points.
"""

from __future__ import annotations

from constrain.arguments import instance
from constrain.errors import GrammarSyntaxError, LimitExceededError
from constrain.grammars.regex_dialects import Flags
from constrain.grammars.regex_link import link_tree
from constrain.grammars.regex_parser import parse_tree
from constrain.ir import SURROGATES, Grammar, Lexeme, Node, ReportItem, walk
from constrain.limits import Limits, checked

DIALECTS = ("python", "ecma")
FLAGS = frozenset("imsxau")  # `u` is what str patterns have anyway


def parse(
    pattern: str,
    *,
    dialect: str = "python",
    search: bool = False,
    flags: str = "",
    limits: Limits | None = None,
) -> Node:
    """Return the regular node of a pattern: the texts it matches as a whole, or in which it is found.

    Args:
        pattern: the pattern's text.
        dialect: "python" (`re` on str) or "ecma" (ECMA-262 with flag `u`, as JSON Schema's `pattern`).
        search: match anywhere; anchors then bind only the branch they stand in.
        flags: letters of "imsxa", as in `(?im)`.
        limits: `max_nesting`, `max_repeat` and `max_regex_size` apply.
    Raises:
        GrammarSyntaxError, UnsupportedFeatureError, LimitExceededError
        TypeError, ValueError: an argument is of a wrong kind, a dialect or flag is not known.
    """
    instance("pattern", pattern, str, "a str")
    instance("search", search, bool, "True or False")
    if dialect not in DIALECTS:
        raise ValueError(f"unknown dialect={dialect!r}; expected one of {DIALECTS}")
    if not set(instance("flags", flags, str, "a str of letters")) <= FLAGS:
        raise ValueError(f"flags={flags!r}; expected letters of 'imsxa'")
    limits = checked(limits)
    if len(pattern) > limits.max_regex_size:
        raise LimitExceededError("max_regex_size", limits.max_regex_size, f"by a pattern of {len(pattern)} characters")
    if any(SURROGATES[0] <= ord(char) <= SURROGATES[1] for char in pattern):
        raise GrammarSyntaxError("a lone surrogate in the pattern can match no text")
    tree = parse_tree(pattern, limits, ecma=dialect == "ecma", flags=Flags().changed(flags, on=True))
    node = link_tree(tree, limits, search=search)
    if sum(1 for _ in walk(node)) > limits.max_regex_size:
        raise LimitExceededError("max_regex_size", limits.max_regex_size, "by one pattern")
    return node


def regex(
    pattern: str, *, dialect: str = "python", search: bool = False, flags: str = "", limits: Limits | None = None
) -> Grammar:
    r"""Return the constraint "the answer matches `pattern`", as `re.fullmatch` on str.

    Groups, classes, Unicode `\d \w \s`, flags, anchors, word boundaries, lookaheads and one-character lookbehinds are
    exact; lazy quantifiers denote the same language as greedy ones. Back-references, possessive quantifiers, atomic
    groups and conditionals are refused with their position.

    Args:
        pattern: the pattern's text.
        dialect: "python", or "ecma" for ECMA-262 with flag `u`.
        search: as `re.search`: any text in which the pattern is found.
        flags: letters of "imsxa".
        limits: bounds on the pattern's size.
    Raises:
        GrammarSyntaxError: the pattern is malformed.
        UnsupportedFeatureError: it uses something that is not supported.
        LimitExceededError: it is too large.
    """
    node = parse(pattern, dialect=dialect, search=search, flags=flags, limits=limits)
    source = ("regex", {"pattern": pattern, "dialect": dialect, "search": search, "flags": flags})
    report = (ReportItem("position 0", "regex", "exact", f"{dialect}, {'search' if search else 'full match'}"),)
    return Grammar(Lexeme(node), report=report, source=source, name=f"the pattern {shown(pattern)}")


def shown(pattern: str) -> str:
    """Return a pattern as messages show it: quoted, cut when long."""
    return repr(pattern if len(pattern) <= 60 else pattern[:57] + "...")
