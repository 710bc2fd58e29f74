"""The validator oracle: is a JSON *text* an instance of a JSON Schema?

`jsonschema` does the work, with what it lacks put in:

- the text is read strictly (RFC 8259): no NaN, no duplicate keys, no lone surrogates, no BOM, any depth;
- numbers are exact: ints, and Decimals for the rest; `1.0` is an integer (but not in drafts 3 and 4), `multipleOf` and
  the bounds are exact, and so are `const`, `enum` and `uniqueItems`, where 1 equals 1.0 and true does not equal 1;
- patterns are ECMA-262's with flag `u` (`oracles.ecma`), in `patternProperties` too;
- `format` is asserted, with the checkers of the schema's own draft and those of 2020-12.

What the oracle cannot decide raises `UnsureError`: a reference that leads nowhere, a pattern that is none, a matcher
that hangs, a depth beyond its stack.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Hashable, Iterator
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

import jsonschema
from jsonschema import validators
from jsonschema.exceptions import ValidationError
from oracles import ecma
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable
from referencing.jsonschema import EMPTY_REGISTRY, lookup_recursive_ref

MAX_DEPTH = 4_000
_SHALLOW = 40


class NotJsonError(ValueError):
    """The text is not JSON as the oracle reads it."""


class UnsureError(RuntimeError):
    """The oracle cannot tell."""


# Reading

_SPACE = re.compile(r"[ \t\n\r]*")
_STRING = re.compile(r'"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_ESCAPE = re.compile(r'\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))')
_LETTERS = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_WORDS = {"true": True, "false": False, "null": None}


def parse(text: str | bytes) -> Any:
    """Return the value of a JSON text: dict, list, str, int, Decimal, bool or None.

    Raises:
        NotJsonError: it is no JSON text, has a key twice, or a lone surrogate.
    """
    if isinstance(text, bytes):
        try:
            text = text.decode()
        except UnicodeDecodeError as error:
            raise NotJsonError(f"not UTF-8: {error}") from None
    return _Reader(text).document()


class _Reader:
    """Reads one text without recursion: a stack of open containers."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def fail(self, what: str) -> NotJsonError:
        return NotJsonError(f"{what} at {self.at}: {self.text[self.at : self.at + 20]!r}")

    def skip(self) -> str:
        """Return the next character after whitespace, "" at the end."""
        found = _SPACE.match(self.text, self.at)
        assert found is not None
        self.at = found.end()
        return self.text[self.at : self.at + 1]

    def expect(self, char: str) -> None:
        if self.skip() != char:
            raise self.fail(f"expected {char!r}")
        self.at += 1

    def document(self) -> Any:
        top: list[Any] = []
        # (container, key or None); the value just read goes into the innermost.
        stack: list[tuple[Any, str | None]] = [(top, None)]
        while True:
            opened = self.value_or_open(stack)
            if opened:
                continue
            # One value is complete: close what ends here.
            while True:
                container, _ = stack[-1]
                if container is top:
                    if self.skip():
                        raise self.fail("text after the value")
                    return top[0]
                char = self.skip()
                if char == ",":
                    self.at += 1
                    if isinstance(container, dict):
                        stack[-1] = (container, self.key(container))
                    break
                if char != ("}" if isinstance(container, dict) else "]"):
                    raise self.fail("expected ',' or the end")
                self.at += 1
                stack.pop()

    def value_or_open(self, stack: list[tuple[Any, str | None]]) -> bool:
        """Read a value; return True if it is a container that has been opened and is not empty."""
        char = self.skip()
        if char not in ("{", "["):
            self.put(stack, self.scalar(char))
            return False
        self.at += 1
        fresh: Any = {} if char == "{" else []
        self.put(stack, fresh)
        if self.skip() == ("}" if char == "{" else "]"):
            self.at += 1
            return False
        stack.append((fresh, self.key(fresh) if char == "{" else None))
        return True

    @staticmethod
    def put(stack: list[tuple[Any, str | None]], value: Any) -> None:
        container, key = stack[-1]
        if isinstance(container, dict):
            container[key] = value
        else:
            container.append(value)

    def key(self, container: dict[str, Any]) -> str:
        if self.skip() != '"':
            raise self.fail("expected a key")
        key = self.string()
        if key in container:
            raise self.fail(f"key {key!r} twice")
        container[key] = None
        self.expect(":")
        return key

    def string(self) -> str:
        found = _STRING.match(self.text, self.at)
        if found is None:
            raise self.fail("a bad string")
        raw = found.group()[1:-1]
        decoded = _ESCAPE.sub(lambda m: chr(int(m[1], 16)) if m[1] else _LETTERS[m[2]], raw)
        try:
            # Pairs of escapes become one character; what is left over is alone.
            decoded = decoded.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
        except UnicodeDecodeError:
            raise self.fail("a lone surrogate") from None
        self.at = found.end()
        return decoded

    def scalar(self, char: str) -> Any:
        if char == '"':
            return self.string()
        for word, value in _WORDS.items():
            if self.text.startswith(word, self.at):
                self.at += len(word)
                return value
        found = _NUMBER.match(self.text, self.at)
        if found is None:
            raise self.fail("expected a value")
        self.at = found.end()
        return number(found.group())


def number(text: str) -> int | Decimal:
    """Return the exact value of a JSON number."""
    try:
        value = Decimal(text)
    except InvalidOperation:
        raise UnsureError(f"a number beyond the oracle: {text[:40]}") from None
    if not value.is_finite():
        raise UnsureError(f"a number beyond the oracle: {text[:40]}")
    return value if any(char in text for char in ".eE") else int(value)


def exact(value: Any) -> Any:
    """Return a schema with its floats as the Decimals that their shortest spelling means, and no `$schema` strings.

    `jsonschema` looks up `$schema` in every subschema that it enters and would go on with its own classes.
    """
    if isinstance(value, float):
        return Decimal(repr(value))
    if isinstance(value, list):
        return [exact(item) for item in value]
    if isinstance(value, dict):
        kept = {key: item for key, item in value.items() if key != "$schema" or not isinstance(item, str)}
        literal = ("const", "enum", "default", "examples")
        return {key: _floats(item) if key in literal else exact(item) for key, item in kept.items()}
    return value


def _floats(value: Any) -> Any:
    if isinstance(value, float):
        return Decimal(repr(value))
    if isinstance(value, list):
        return [_floats(item) for item in value]
    if isinstance(value, dict):
        return {key: _floats(item) for key, item in value.items()}
    return value


def depth(value: Any) -> int:
    """Return how deep a value is nested, without recursion."""
    deepest, todo = 0, [(value, 1)]
    while todo:
        here, level = todo.pop()
        deepest = max(deepest, level)
        inner = here.values() if isinstance(here, dict) else here if isinstance(here, list) else ()
        todo.extend((item, level + 1) for item in inner)
    return deepest


def identity(value: Any) -> Hashable:
    """Return something equal exactly for equal JSON values: 1 is 1.0, true is not 1, order of keys does not count."""
    if isinstance(value, bool) or value is None:
        return ("word", value)
    if isinstance(value, (int, Decimal, float)):
        # Python's ints and Decimals compare and hash by value.
        return (
            "number",
            value if isinstance(value, int) else Decimal(repr(value)) if isinstance(value, float) else value,
        )
    if isinstance(value, str):
        return ("string", value)
    if isinstance(value, list):
        return ("array", tuple(identity(item) for item in value))
    return ("object", frozenset((key, identity(item)) for key, item in value.items()))


# Keywords


def is_number(_checker: object, value: object) -> bool:
    return isinstance(value, (int, Decimal)) and not isinstance(value, bool)


def is_integer(_checker: object, value: object) -> bool:
    if isinstance(value, Decimal):
        return value == value.to_integral_value()
    return isinstance(value, int) and not isinstance(value, bool)


def is_strict_integer(_checker: object, value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def is_multiple(value: int | Decimal, divisor: int | Decimal) -> bool:
    """Return whether value / divisor is an integer, exactly, whatever the exponent."""
    sign_digits_exponent = Decimal(value).as_tuple()
    exponent = sign_digits_exponent.exponent
    assert isinstance(exponent, int)
    digits = int(Decimal((0, sign_digits_exponent.digits, 0)))
    if not digits:
        return True
    while digits % 10 == 0:
        digits, exponent = digits // 10, exponent + 1
    ratio = Fraction(divisor)
    scaled = digits * ratio.denominator
    modulus = abs(ratio.numerator)
    if exponent >= 0:
        return scaled * pow(10, exponent, modulus) % modulus == 0
    if -exponent > len(str(scaled)):
        return False
    return scaled % (modulus * 10**-exponent) == 0


Keyword = Callable[[Any, Any, Any, Any], Iterator[ValidationError]]


def _search(pattern: str, text: str) -> bool:
    try:
        return ecma.search(pattern, text)
    except (ecma.PatternError, ecma.TooSlowError) as error:
        raise UnsureError(str(error)) from error


def pattern(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not _search(value, instance):
        yield ValidationError(f"{instance!r} does not match {value!r}")


def pattern_properties(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if isinstance(instance, dict):
        for expression, subschema in value.items():
            for key, item in instance.items():
                if _search(expression, key):
                    yield from validator.descend(item, subschema, path=key, schema_path=expression)


def _extras(instance: dict[str, Any], schema: dict[str, Any]) -> list[str]:
    declared, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    return [
        key for key in instance if key not in declared and not any(_search(expression, key) for expression in patterns)
    ]


def additional_properties(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if isinstance(instance, dict):
        for key in _extras(instance, schema):
            if value is False:
                yield ValidationError(f"{key!r} is not a declared property")
            else:
                yield from validator.descend(instance[key], value, path=key)


def evaluated(validator: Any, instance: dict[str, Any], schema: Any, *, own: bool = True) -> set[str]:
    """Return the keys that `schema` says something about (2020-12, core 11.3); `own`: its unevaluatedProperties too."""
    if not isinstance(schema, dict):
        return set()
    found: set[str] = set()
    for name in ("$ref", "$dynamicRef", "$recursiveRef"):
        if name in schema:
            recursive = name == "$recursiveRef"
            resolved = (
                lookup_recursive_ref(validator._resolver) if recursive else validator._resolver.lookup(schema[name])
            )
            inner = validator.evolve(schema=resolved.contents, _resolver=resolved.resolver)
            found |= evaluated(inner, instance, resolved.contents)
    found |= instance.keys() & schema.get("properties", {}).keys()
    for expression in schema.get("patternProperties", {}):
        found |= {key for key in instance if _search(expression, key)}
    if "additionalProperties" in schema:
        found |= set(_extras(instance, schema))
    if own and "unevaluatedProperties" in schema:
        return set(instance)
    branches = [part for name in ("allOf", "anyOf", "oneOf") for part in schema.get(name, ())]
    branches += [part for key, part in schema.get("dependentSchemas", {}).items() if key in instance]
    if "if" in schema:
        holds = validator.evolve(schema=schema["if"]).is_valid(instance)
        branches += [schema["if"]] if holds else []
        branches += [schema[name] for name in (("then",) if holds else ("else",)) if name in schema]
    for part in branches:
        inner = validator.evolve(schema=part)
        if inner.is_valid(instance):
            found |= evaluated(inner, instance, part)
    return found


def unevaluated_properties(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if isinstance(instance, dict):
        for key in instance.keys() - evaluated(validator, instance, schema, own=False):
            if not validator.evolve(schema=value).is_valid(instance[key]):
                yield ValidationError(f"{key!r} is not evaluated")


def multiple_of(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if validator.is_type(instance, "number") and not is_multiple(instance, value):
        yield ValidationError(f"{instance} is not a multiple of {value}")


def const(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if identity(value) != identity(instance):
        yield ValidationError("not the constant")


def enum(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    mine = identity(instance)
    if all(identity(item) != mine for item in value):
        yield ValidationError("not one of the enum")


def unique_items(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if value and isinstance(instance, list) and len({identity(item) for item in instance}) < len(instance):
        yield ValidationError("items repeat")


OURS: dict[str, Keyword] = {
    "pattern": pattern,
    "patternProperties": pattern_properties,
    "additionalProperties": additional_properties,
    "unevaluatedProperties": unevaluated_properties,
    "multipleOf": multiple_of,
    "divisibleBy": multiple_of,
    "const": const,
    "enum": enum,
    "uniqueItems": unique_items,
}
_CLASSES: dict[type, type] = {}


def _extended(base: Any) -> Any:
    """Return a jsonschema class with our keywords in the place of those it has."""
    if base not in _CLASSES:
        old = base in (jsonschema.Draft3Validator, jsonschema.Draft4Validator)
        checker = base.TYPE_CHECKER.redefine("number", is_number)
        checker = checker.redefine("integer", is_strict_integer if old else is_integer)
        changed = {name: function for name, function in OURS.items() if name in base.VALIDATORS}
        _CLASSES[base] = validators.extend(base, changed, type_checker=checker)
    return _CLASSES[base]


def _formats(base: Any) -> jsonschema.FormatChecker:
    """Return the format checkers of a draft and of 2020-12, `regex` being ECMA-262's."""
    checker = jsonschema.FormatChecker(formats=())
    checker.checkers = {**jsonschema.Draft202012Validator.FORMAT_CHECKER.checkers, **base.FORMAT_CHECKER.checkers}

    def is_pattern(value: object) -> bool:
        if isinstance(value, str):
            ecma.search(value, "")
        return True

    checker.checkers["regex"] = (is_pattern, (ecma.PatternError,))
    return checker


def _metaschemas() -> Registry[Any]:
    """Return the metaschemas without `$schema`, so that references to them stay with our classes."""
    from jsonschema_specifications import REGISTRY
    from referencing.jsonschema import DRAFT202012, specification_with

    registry: Registry[Any] = EMPTY_REGISTRY
    for uri in REGISTRY:
        contents = REGISTRY.contents(uri)
        said = contents.get("$schema") if isinstance(contents, dict) else None
        specification = specification_with(said, default=DRAFT202012) if said else DRAFT202012
        registry = registry.with_resource(uri, Resource(exact(contents), specification))
    return registry


_REGISTRY: list[Any] = []


class Validator:
    """A schema, ready to judge texts.

    Args:
        schema: dict or bool, or a JSON text.
        assert_formats: whether `format` can refuse.
        registry: where references outside the schema lead (official test suite: the remotes).
    """

    def __init__(self, schema: Any, *, assert_formats: bool = True, registry: Any = None) -> None:
        value = parse(schema) if isinstance(schema, (str, bytes)) else schema
        said = value.get("$schema") if isinstance(value, dict) else None
        known = {"$schema": said} if isinstance(said, str) else {}
        base: Any = validators.validator_for(known, default=jsonschema.Draft202012Validator)
        if registry is None:
            if not _REGISTRY:
                _REGISTRY.append(_metaschemas())
            registry = _REGISTRY[0]
        self._validator = _extended(base)(
            exact(value), format_checker=_formats(base) if assert_formats else None, registry=registry
        )

    def explain(self, text: str | bytes) -> str | None:
        """Return why `text` is no instance, None if it is one.

        Raises:
            UnsureError: the oracle cannot tell.
        """
        try:
            value = parse(text)
        except NotJsonError as error:
            return str(error)
        return self.explain_value(value)

    def explain_value(self, value: Any) -> str | None:
        """Return why a value (as `parse` gives it) is no instance, None if it is one."""
        levels = depth(value)
        if levels > MAX_DEPTH:
            raise UnsureError(f"nested {levels} deep")
        if levels <= _SHALLOW:
            return self._first_error(value)
        return _with_stack(lambda: self._first_error(value))

    def accepts(self, text: str | bytes) -> bool:
        """Return whether `text` is a JSON text of an instance."""
        return self.explain(text) is None

    def _first_error(self, value: Any) -> str | None:
        try:
            error = next(self._validator.iter_errors(value), None)
        except Unresolvable as missing:
            raise UnsureError(f"unresolvable: {missing}") from missing
        except RecursionError as deep:
            raise UnsureError("recursion without end, or too deep") from deep
        return None if error is None else f"{error.json_path}: {error.message[:300]}"


def _with_stack(call: Callable[[], str | None]) -> str | None:
    """Call with room for deep recursion: a thread with a large stack of its own."""
    result: list[Any] = []

    def body() -> None:
        try:
            result.append(call())
        except BaseException as error:
            result.append(error)

    limit, size = sys.getrecursionlimit(), threading.stack_size(512 << 20)
    sys.setrecursionlimit(200_000)
    try:
        thread = threading.Thread(target=body)
        thread.start()
        thread.join()
    finally:
        sys.setrecursionlimit(limit)
        threading.stack_size(size)
    if isinstance(result[0], BaseException):
        raise result[0]
    answer: str | None = result[0]
    return answer


def accepts(schema: Any, text: str | bytes) -> bool:
    """Return whether `text` is a JSON text of an instance of `schema`."""
    return Validator(schema).accepts(text)
