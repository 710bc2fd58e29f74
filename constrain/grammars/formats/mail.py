"""E-mail addresses: `Mailbox` of RFC 5321 section 4.1.2."""

from __future__ import annotations

from functools import cache

from constrain.grammars.char_classes import ALL, intersect
from constrain.grammars.formats.hosts import H16, domain
from constrain.grammars.formats.idn import international
from constrain.grammars.regex import parse
from constrain.grammars.regex_tree import ANY_CHAR, char_class
from constrain.ir import EPSILON, Alt, And, Literal, Node, Repeat, Seq

_AT = Literal(b"@")
_SNUM = r"(?:25[0-5]|2[0-4]\d|[01]?\d?\d)"  # leading zeros are allowed here, unlike in RFC 3986
_IPV4 = rf"{_SNUM}(?:\.{_SNUM}){{3}}"


def local_part(more: str = "") -> Node:
    """Return `Local-part`: a dotted or a quoted string; `more` is put into the classes of both."""
    atom = rf"[0-9A-Za-z!#$%&'*+\-/=?^_`{{|}}~{more}]+"
    quoted = rf'"(?:[ !#-\[\]-~{more}]|\\[ -~])*"'
    return parse(rf"{atom}(?:\.{atom})*|{quoted}", dialect="ecma")


@cache
def address_literal() -> Node:
    """Return `address-literal` of section 4.1.3; no tag but IPv6 is registered.

    Unlike in RFC 4291, `::` stands for two groups or more.
    """
    ways = [f"(?:{H16}:){{7}}{H16}", f"(?:{H16}:){{6}}{_IPV4}"]
    for most, end in ((6, ""), (4, _IPV4)):
        for left in range(most + 1):
            before = "" if not left else f"{H16}(?::{H16}){{{left - 1}}}"
            right = most - left
            after = (
                f"(?:{H16}:){{0,{right}}}{end}" if end else f"(?:{H16}(?::{H16}){{0,{right - 1}}})?" if right else ""
            )
            ways.append(f"{before}::{after}")
    return parse(rf"\[(?:{_IPV4}|[Ii][Pp][Vv]6:(?:{'|'.join(ways)}))\]", dialect="ecma")


@cache
def idn_email() -> Node:
    """Return mailboxes of RFC 6531 section 3.3: characters beyond ASCII in local parts, U-labels in domains.

    Limits count octets of UTF-8. Refused though they may be valid: domains with a U-label that `idn` does not offer,
    and other domains of more than 189 octets (254 are left for all, 64 of them for the local part).
    """
    local = And((local_part(r"\x80-\u{10FFFF}"), _octets(64)))
    ascii_domain = And((domain(), Repeat(ANY_CHAR, 1, 189)))
    return Seq((local, _AT, Alt((ascii_domain, international(), address_literal()))))


def _octets(most: int) -> Node:
    """Return texts of at most `most` octets in UTF-8, written out by the number that is left."""
    sizes = [char_class(ranges) for ranges in (((0, 0x7F),), ((0x80, 0x7FF),), intersect(((0x800, 0xFFFF),), ALL))]
    sizes.append(char_class(((0x10000, 0x10FFFF),)))
    after: list[Node] = [EPSILON]
    for left in range(1, most + 1):
        ways = [Seq((node, after[left - size])) for size, node in enumerate(sizes, 1) if size <= left]
        after.append(Alt((EPSILON, *ways)))
    return after[most]


@cache
def email() -> Node:
    """Return mailboxes of 254 octets (a path of 256 with its brackets), local parts of 64 (section 4.5.3.1)."""
    local = And((local_part(), Repeat(ANY_CHAR, 1, 64)))
    return And((Seq((local, _AT, Alt((domain(), address_literal())))), Repeat(ANY_CHAR, 1, 254)))
