"""URIs (RFC 3986), IRIs (RFC 3987), URI templates (RFC 6570) and JSON pointers (RFC 6901)."""

from __future__ import annotations

from functools import cache

from constrain.grammars.formats.hosts import ipv6_text
from constrain.grammars.regex import parse
from constrain.ir import Node

_HEX = "[0-9A-Fa-f]"
_PCT = f"%{_HEX}{{2}}"
_UNRESERVED = r"A-Za-z0-9\-._~"
_SUB_DELIMS = "!$&'()*+,;="
_PLANES = "".join(rf"\u{{{plane:X}0000}}-\u{{{plane:X}FFFD}}" for plane in range(1, 14))
_UCSCHAR = rf"\u00A0-\uD7FF\uF900-\uFDCF\uFDF0-\uFFEF{_PLANES}\u{{E1000}}-\u{{EFFFD}}"
# RFC 3987 section 4.1: an IRI must not hold bidirectional formatting characters.
_IRI_UCSCHAR = _UCSCHAR.replace(r"\u00A0-\uD7FF", r"\u00A0-\u200D\u2010-\u2029\u202F-\uD7FF")
_IPRIVATE = r"\uE000-\uF8FF\u{F0000}-\u{FFFFD}\u{100000}-\u{10FFFD}"


class _Parts:
    """The productions that URIs and IRIs share; `more` and `private` are what IRIs add to unreserved and to queries."""

    def __init__(self, more: str, private: str) -> None:
        chars = f"{_UNRESERVED}{more}{_SUB_DELIMS}"
        pchar = f"(?:[{chars}:@]|{_PCT})"
        future = rf"[vV]{_HEX}+\.[{_UNRESERVED}{_SUB_DELIMS}:]+"
        # A registered name covers IPv4 addresses.
        host = rf"(?:\[(?:{ipv6_text()}|{future})\]|(?:[{chars}]|{_PCT})*)"
        authority = f"(?:(?:[{chars}:]|{_PCT})*@)?{host}(?::[0-9]*)?"
        rooted = f"//{authority}(?:/{pchar}*)*|/(?:{pchar}+(?:/{pchar}*)*)?"
        query = rf"(?:\?(?:[{chars}:@/?{private}]|{_PCT})*)?"
        self.tail = f"{query}(?:#(?:[{chars}:@/?]|{_PCT})*)?"
        self.hierarchical = f"(?:{rooted}|(?:{pchar}+(?:/{pchar}*)*)?)"
        no_colon = f"(?:[{chars}@]|{_PCT})+"
        self.relative = f"(?:{rooted}|(?:{no_colon}(?:/{pchar}*)*)?)"
        self.full = rf"[A-Za-z][A-Za-z0-9+\-.]*:{self.hierarchical}{self.tail}"
        self.reference = f"(?:{self.full}|{self.relative}{self.tail})"


@cache
def _uri() -> _Parts:
    return _Parts("", "")


@cache
def _iri() -> _Parts:
    return _Parts(_IRI_UCSCHAR, _IPRIVATE)


@cache
def uri() -> Node:
    """Return `URI`: with a scheme, with or without a fragment."""
    return parse(_uri().full, dialect="ecma")


@cache
def uri_reference() -> Node:
    """Return `URI-reference`."""
    return parse(_uri().reference, dialect="ecma")


@cache
def iri() -> Node:
    """Return `IRI`."""
    return parse(_iri().full, dialect="ecma")


@cache
def iri_reference() -> Node:
    """Return `IRI-reference`."""
    return parse(_iri().reference, dialect="ecma")


@cache
def uri_template() -> Node:
    """Return `URI-Template` of RFC 6570 section 2, with the apostrophe of erratum 6937."""
    literals = rf"[!#$&'()*+,\-./0-9:;=?@A-Z\[\]_a-z~{_UCSCHAR}{_IPRIVATE}]|{_PCT}"
    varchar = f"(?:[A-Za-z0-9_]|{_PCT})"
    varspec = rf"{varchar}(?:\.?{varchar})*(?::[1-9][0-9]{{0,3}}|\*)?"
    expression = rf"\{{[+#./;?&=,!@|]?{varspec}(?:,{varspec})*\}}"
    return parse(f"(?:{literals}|{expression})*", dialect="ecma")


_POINTER = "(?:/(?:[^/~]|~[01])*)*"


@cache
def json_pointer() -> Node:
    """Return `json-pointer` of RFC 6901 section 3."""
    return parse(_POINTER, dialect="ecma")


@cache
def relative_json_pointer() -> Node:
    """Return `relative-json-pointer` of draft-handrews-relative-json-pointer-01 section 3.

    Refused: the index manipulation (`0+1`) of the later draft-bhutton-relative-json-pointer-00, which is no part of
    drafts up to 2019-09.
    """
    return parse(f"(?:0|[1-9][0-9]*)(?:#|{_POINTER})", dialect="ecma")


@cache
def uuid() -> Node:
    """Return `UUID` of RFC 4122 section 3."""
    return parse(f"{_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}}", dialect="ecma")
