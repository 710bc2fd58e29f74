"""The formats that are asserted, by name."""

from __future__ import annotations

from collections.abc import Callable

from constrain.grammars.formats import dates, hosts, idn, mail, patterns, uris
from constrain.ir import Node

FORMATS: dict[str, Callable[[], Node]] = {
    "date": dates.date,
    "time": dates.time,
    "date-time": dates.date_time,
    "duration": dates.duration,
    "email": mail.email,
    "idn-email": mail.idn_email,
    "hostname": hosts.hostname,
    "idn-hostname": idn.idn_hostname,
    "ipv4": hosts.ipv4,
    "ipv6": hosts.ipv6,
    "uri": uris.uri,
    "uri-reference": uris.uri_reference,
    "iri": uris.iri,
    "iri-reference": uris.iri_reference,
    "uri-template": uris.uri_template,
    "uuid": uris.uuid,
    "json-pointer": uris.json_pointer,
    "relative-json-pointer": uris.relative_json_pointer,
    "regex": patterns.regex,
}
# How far a format goes where it is not exact.
STATUS = {
    "hostname": ("cap", "labels xn--... are not offered"),
    "idn-hostname": ("cap", "labels with characters beyond ASCII are short (constrain/grammars/formats/idn.py)"),
    "idn-email": ("cap", "labels with characters beyond ASCII are short (constrain/grammars/formats/idn.py)"),
    "relative-json-pointer": ("cap", "no index manipulation such as 0+1"),
    "regex": ("cap", "a regular part of ECMA-262's patterns (constrain/grammars/formats/patterns.py)"),
}
