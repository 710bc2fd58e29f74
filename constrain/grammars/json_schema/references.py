"""Finding what `$ref` points to: JSON pointers, anchors, embedded ids, other documents. Nothing is fetched.

Other documents are those of the caller's `referencing.Registry`, and the meta-schemas. `$dynamicRef` and
`$recursiveRef` are followed where they can lead to one place only, whatever the schema is reached through.
"""

from __future__ import annotations

import re
from collections import Counter
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urldefrag, urljoin

from constrain.errors import GrammarSyntaxError, UnsupportedFeatureError
from constrain.grammars.json_values import brief

if TYPE_CHECKING:
    from referencing import Registry

# Keywords whose value is data, not schema: ids inside it name nothing.
_DATA = frozenset({"const", "enum", "default", "examples"})
_ESCAPE = re.compile(r"~(?![01])")
_INDEX = re.compile(r"0|[1-9][0-9]{0,15}")
_SURROGATE = re.compile("[\ud800-\udfff]")
# Pointers are for people: beyond these lengths their middle is left out, so that deep schemas cost no memory for them.
_LONGEST_TOKEN = 200
_LONGEST_POINTER = 2_000


class Documents(NamedTuple):
    """Some documents by URI, to be asked like a `referencing.Registry`; unlike one it can be pickled."""

    contents_by_uri: dict[str, Any]

    def get_or_retrieve(self, uri: str) -> Any:
        """Return what leads to the contents of a document as `.value.contents`."""
        from referencing.exceptions import NoSuchResource

        if uri not in self.contents_by_uri:
            raise NoSuchResource(uri)
        return SimpleNamespace(value=SimpleNamespace(contents=self.contents_by_uri[uri]))


class References:
    """One schema document, the names it gives to its parts, and the documents that it names.

    Args:
        root: the document.
        draft: 4, 6, 7, 2019 or 2020.
        registry: where other documents are looked up.
    """

    def __init__(self, root: Any, *, draft: int = 2020, registry: Registry[Any] | None = None) -> None:
        self.root = root
        self.draft = draft
        self.id_keywords = ("$id", "id") if draft == 4 else ("$id",)
        self.registry = registry
        self.base = self.base_of(root, "")
        self.used: dict[str, Any] = {}  # other documents that were named, by URI
        self._resources: dict[str, tuple[Any, str]] | None = None
        self._dynamic: Counter[str] = Counter()  # how often each $dynamicAnchor is given; "" is $recursiveAnchor

    def resolve(self, keyword: str, reference: object, where: str, base: str) -> tuple[Any, str, str]:
        """Return the schema that a reference names, its JSON pointer, and its base URI.

        Args:
            keyword: `$ref`, `$dynamicRef` or `$recursiveRef`.
            reference: its value.
            where: JSON pointer of the schema that holds it.
            base: base URI there.
        Raises:
            GrammarSyntaxError: no such place.
            UnsupportedFeatureError: it names a document that is not known, or several places.
        """
        if not isinstance(reference, str):
            raise GrammarSyntaxError(f"{keyword} at {where} must be a string, got {brief(reference)}")
        if keyword != "$ref":
            self._names()
            if self._dynamic["" if keyword == "$recursiveRef" else reference.partition("#")[2]] > 1:
                reason = f"{brief(reference)} leads to several places, by the way that led here"
                raise UnsupportedFeatureError(keyword, f"{where}/{keyword}", reason, "Use $ref.")
        if base == self.base and reference.startswith("#"):
            uri, fragment, document, pointer = base, reference[1:], self.root, "#"
        else:
            uri, fragment = _joined(base, reference)
            document, pointer = self._document(uri, reference, where)
        fragment = unquote(fragment)
        if fragment and not fragment.startswith("/"):
            named = self._names().get(f"{uri}#{fragment}")
            if named is None:
                raise GrammarSyntaxError(f"$ref {brief(reference)} at {where}: there is no such anchor")
            return (*named, uri)
        for token in fragment.split("/")[1:]:
            document = _step(document, token, reference, where)
            pointer = below(pointer, token)
        return document, pointer, uri

    def base_of(self, schema: Any, base: str) -> str:
        """Return the base URI inside a schema."""
        name = self._id_of(schema) if isinstance(schema, dict) else ""
        return _joined(base, name)[0] if name else base

    def _id_of(self, schema: dict[str, Any]) -> str:
        if self.draft <= 7 and "$ref" in schema:
            return ""  # what stands beside $ref is ignored
        for keyword in self.id_keywords:
            name = schema.get(keyword)
            if isinstance(name, str):
                return name
        return ""

    def _document(self, uri: str, reference: str, where: str) -> tuple[Any, str]:
        if uri in {self.base, ""}:
            return self.root, "#"
        found = self._names().get(uri)
        if found is None:
            document = self._looked_up(uri)
            if document is None:
                raise UnsupportedFeatureError(
                    "$ref",
                    where,
                    f"{brief(reference)} names a document that was not given",
                    "Pass registry=, or copy it into $defs; nothing is fetched from the network.",
                )
            self.used[uri] = document
            self._crawl(document, f"{uri}#", uri)
            found = self._names()[uri] = (document, f"{uri}#")
        return found

    def _looked_up(self, uri: str) -> Any:
        from jsonschema_specifications import REGISTRY
        from referencing.exceptions import NoSuchResource, Unretrievable

        for registry in (self.registry, REGISTRY):
            if registry is not None:
                try:
                    return registry.get_or_retrieve(uri).value.contents
                except (NoSuchResource, Unretrievable):
                    continue
        return None

    def _names(self) -> dict[str, tuple[Any, str]]:
        """Return every embedded id and anchor of the document, by absolute URI."""
        if self._resources is None:
            self._resources = {}
            self._crawl(self.root, "#", self.base)
        return self._resources

    def _crawl(self, root: Any, pointer: str, base: str) -> None:
        """Note the ids and anchors below a document."""
        found = self._resources
        assert found is not None
        stack: list[tuple[Any, str, str]] = [(root, pointer, base)]
        while stack:
            value, pointer, base = stack.pop()
            if isinstance(value, list):
                stack.extend((item, below(pointer, str(place)), base) for place, item in enumerate(value))
            if not isinstance(value, dict):
                continue
            name = self._id_of(value)
            if name:
                uri, fragment = _joined(base, name)
                found[f"{uri}#{fragment}" if fragment else uri] = (value, pointer)
                base = uri
            for keyword in ("$anchor", "$dynamicAnchor"):
                if isinstance(value.get(keyword), str):
                    found[f"{base}#{value[keyword]}"] = (value, pointer)
            if isinstance(value.get("$dynamicAnchor"), str):
                self._dynamic[value["$dynamicAnchor"]] += 1
            self._dynamic[""] += value.get("$recursiveAnchor") is True
            stack.extend(
                (item, below(pointer, escaped(str(key))), base) for key, item in value.items() if key not in _DATA
            )


def _joined(base: str, name: str) -> tuple[str, str]:
    """Return the absolute URI of a name and its fragment."""
    try:
        uri, fragment = urldefrag(urljoin(base, name))
    except ValueError as error:
        raise GrammarSyntaxError(f"{brief(name)} is no reference: {error}") from None
    return uri, fragment


def _step(document: Any, token: str, reference: str, where: str) -> Any:
    if _ESCAPE.search(token):
        raise GrammarSyntaxError(f"$ref {brief(reference)} at {where}: '~' must be written ~0")
    key = token.replace("~1", "/").replace("~0", "~")
    if isinstance(document, dict) and key in document:
        return document[key]
    if isinstance(document, list) and _INDEX.fullmatch(key) and int(key) < len(document):
        return document[int(key)]
    raise GrammarSyntaxError(f"$ref {brief(reference)} at {where}: there is nothing at {brief(key)}")


def escaped(key: str) -> str:
    """Return a key as a token of a JSON pointer."""
    if not key.isascii():
        key = _SURROGATE.sub(lambda found: ascii(found.group())[1:-1], key)
    return key.replace("~", "~0").replace("/", "~1") if "~" in key or "/" in key else key


def below(pointer: str, token: str) -> str:
    """Return the pointer of a member; what is too long to be read is shortened in its middle."""
    if len(token) > _LONGEST_TOKEN:
        token = f"{token[: _LONGEST_TOKEN // 2]}...{token[-_LONGEST_TOKEN // 4 :]}"
    made = f"{pointer}/{token}"
    return (
        made if len(made) <= _LONGEST_POINTER else f"{made[: _LONGEST_POINTER // 4]}...{made[-_LONGEST_POINTER // 2 :]}"
    )
