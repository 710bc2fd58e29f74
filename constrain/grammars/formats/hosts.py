"""Host names, IP addresses and e-mail addresses."""

from __future__ import annotations

from functools import cache

from constrain.grammars.regex import parse
from constrain.grammars.regex_tree import ANY_CHAR
from constrain.ir import And, Node, Not, Repeat

H16 = "[0-9A-Fa-f]{1,4}"
DEC_OCTET = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
IPV4 = rf"(?:{DEC_OCTET}\.){{3}}{DEC_OCTET}"

_LETTERS_DIGITS = "[0-9A-Za-z]"
LDH_LABEL = f"{_LETTERS_DIGITS}(?:-*{_LETTERS_DIGITS})*"
_LABELS = rf"{LDH_LABEL}(?:\.{LDH_LABEL})*"
_MORE = f"(?:-*{_LETTERS_DIGITS})*"
# Said without a complement, so that what begins with xn-- is a dead end at once.
_NO_A_LABEL = (
    f"(?:[0-9A-WYZa-wyz]{_MORE}|[xX](?:(?:-+{_LETTERS_DIGITS}|[0-9A-MO-Za-mo-z]){_MORE}"
    f"|[nN](?:-?{_LETTERS_DIGITS}{_MORE})?)?)"
)
_LABEL_LENGTHS = r"[^.]{1,63}(?:\.[^.]{1,63})*"


def ipv6_text() -> str:
    """Return the pattern `IPv6address` of RFC 3986 section 3.2.2, which is RFC 4291 section 2.2 without zones."""
    last = f"(?:{H16}:{H16}|{IPV4})"
    ways = [f"(?:{H16}:){{6}}{last}"]
    for after in range(5, -1, -1):
        before = 5 - after
        left = "" if not before else f"(?:{H16}(?::{H16}){{0,{before - 1}}})?"
        ways.append(f"{left}::(?:{H16}:){{{after}}}{last}")
    ways += [f"(?:{H16}(?::{H16}){{0,5}})?::{H16}", f"(?:{H16}(?::{H16}){{0,6}})?::"]
    return f"(?:{'|'.join(ways)})"


@cache
def ipv4() -> Node:
    """Return `IPv4address` of RFC 3986, the dotted-quad of RFC 2673 section 3.2 without leading zeros."""
    return parse(IPV4, dialect="ecma")


@cache
def ipv6() -> Node:
    """Return RFC 4291 section 2.2 without a zone."""
    return parse(ipv6_text(), dialect="ecma")


@cache
def domain() -> Node:
    """Return dotted LDH labels (RFC 1123 section 2.1, RFC 5321 section 4.1.2) of at most 63 octets each."""
    return And((parse(_LABELS, dialect="ecma"), parse(_LABEL_LENGTHS, dialect="ecma")))


@cache
def hostname() -> Node:
    """Return RFC 1123 section 2.1: dotted labels of 63 octets, 253 in all, and not of the form #.#.#.#.

    Refused though they may be valid: names with a label `xn--...`. Whether such a label is an A-label (RFC 5890) is not
    regular, for its numbers are coded relative to each other (RFC 3492).
    """
    labels = parse(rf"{_NO_A_LABEL}(?:\.{_NO_A_LABEL})*", dialect="ecma")
    dotted_decimal = parse(r"\d+\.\d+\.\d+\.\d+", dialect="ecma")
    return And((labels, parse(_LABEL_LENGTHS, dialect="ecma"), Repeat(ANY_CHAR, 1, 253), Not(dotted_decimal)))
