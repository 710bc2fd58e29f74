"""The keywords that speak of one type, and `type`, `enum`, `const`: from a schema object to shapes."""

from __future__ import annotations

from contextlib import suppress
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from constrain.errors import GrammarSyntaxError, LimitExceededError, UnsupportedFeatureError
from constrain.grammars.formats.table import FORMATS
from constrain.grammars.json_multiples import scaled
from constrain.grammars.json_numbers import UNBOUNDED, Bounds
from constrain.grammars.json_schema import vocabulary
from constrain.grammars.json_schema.array_shapes import reduced_array
from constrain.grammars.json_schema.object_shapes import expression_at, parted, reduced_object
from constrain.grammars.json_schema.patterns import filtered, pattern_node
from constrain.grammars.json_schema.shapes import (
    FALSE,
    FREE,
    Arr,
    Bool,
    Contains,
    Format,
    Null,
    Num,
    Obj,
    Pattern,
    Prop,
    Shape,
    Str,
    others,
    reduced,
    united,
)
from constrain.grammars.json_values import brief, count_of, exact, is_number, number_spellings
from constrain.ir import ReportItem

if TYPE_CHECKING:
    from constrain.grammars.json_schema.keywords import Document

_NUMBER = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_STEPS = ("multipleOf", "divisibleBy")
_LARGEST_STEP = 100_000  # each remainder is a state
_MOST_PLACES = 60
_COUNTS = (
    *("minLength", "maxLength", "minItems", "maxItems"),
    *("minContains", "maxContains", "minProperties", "maxProperties"),
)
_STRING = ("minLength", "maxLength", "pattern", "format")
_ARRAY = ("prefixItems", "items", "additionalItems", "minItems", "maxItems", "contains", "uniqueItems")
_MEMBERS = ("properties", "required", "additionalProperties", "patternProperties")
_OBJECT = (*_MEMBERS, "minProperties", "maxProperties", "dependentRequired", "dependencies")
_OF_ONE_TYPE = frozenset((*_NUMBER, *_STEPS, *_STRING, *_ARRAY, *_OBJECT, "type"))
_LARGEST_EXPONENT = 2000


def wrong(where: str, expected: str, value: object) -> GrammarSyntaxError:
    """Return the error for a keyword whose value is not what the standard asks for."""
    return GrammarSyntaxError(f"{where} {expected}, got {brief(value)}")


class Assertions:
    """Reads the assertion keywords of one document's schemas."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.limits = document.options.limits

    def of(self, schema: dict[str, Any], pointer: str, *, extra: bool) -> list[int]:
        """Return the expressions of what a schema's own keywords say; none for a schema that says nothing.

        Args:
            schema: the schema.
            pointer: where it is.
            extra: whether objects may have more members where `additionalProperties` is absent.
        """
        algebra = self.document.algebra
        parts = []
        if not _OF_ONE_TYPE.isdisjoint(schema):
            parts.append(algebra.union(self._by_type(schema, pointer, extra=extra)))
        for keyword in ("enum", "const"):
            if keyword in schema:
                values = [schema["const"]] if keyword == "const" else schema["enum"]
                parts.append(self._constants(values, f"{pointer}/{keyword}"))
        return parts

    def _by_type(self, schema: dict[str, Any], pointer: str, *, extra: bool) -> tuple[Shape, ...]:
        found: list[Shape] = []
        for name in self._types(schema, pointer):
            shape: Shape | None
            if name in {"number", "integer"}:
                shape = self._number(schema, pointer, integer=name == "integer")
            elif name == "string":
                shape = self._string(schema, pointer)
            elif name == "array":
                shape = self._array(schema, pointer)
            elif name == "object":
                shape = self._object(schema, pointer, extra=extra)
            else:
                shape = FREE[name]
            if shape is not None:
                found.append(shape)
        return tuple(found)

    def _types(self, schema: dict[str, Any], pointer: str) -> list[str]:
        given = schema.get("type")
        if given is None and "type" not in schema:
            return list(FREE)
        names = [given] if isinstance(given, str) else given
        if not isinstance(names, list) or not names:
            raise wrong(f"{pointer}/type", "must be a type or a non-empty array of types", given)
        for name in names:
            if not isinstance(name, str) or name not in vocabulary.TYPES:
                raise wrong(f"{pointer}/type", f"must be among {', '.join(vocabulary.TYPES)}", name)
        return [name for name in dict.fromkeys(names) if name != "integer" or "number" not in names]

    def check(self, keyword: str, value: object, where: str) -> None:
        """Raise GrammarSyntaxError for a malformed value, also of a keyword that speaks of another type."""
        if keyword in _COUNTS and count_of(value) is None:
            raise wrong(where, "must be a non-negative integer", value)
        if keyword in _NUMBER and not (keyword.startswith("exclusive") and isinstance(value, bool)):
            self._number_at(value, where)
        if keyword == "uniqueItems" and not isinstance(value, bool):
            raise wrong(where, "must be true or false", value)
        if keyword in _STEPS:
            self._step(value, where)
        if keyword == "required" and not (isinstance(value, list) and all(isinstance(name, str) for name in value)):
            raise wrong(where, "must be an array of strings", value)
        if keyword == "patternProperties" and isinstance(value, dict):
            for pattern in value:
                self._check_pattern(pattern, where)
        if keyword in {"dependentRequired", "dependencies"}:
            if not isinstance(value, dict):
                raise wrong(where, "must be an object", value)
            for names in value.values():
                is_list = isinstance(names, list) and all(isinstance(name, str) for name in names)
                if not is_list and (keyword == "dependentRequired" or not isinstance(names, (dict, bool))):
                    raise wrong(where, "must hold arrays of strings", names)
        if keyword == "pattern":
            with suppress(UnsupportedFeatureError, LimitExceededError):  # raised where it says something
                self._check_pattern(value, where)

    # One method per type

    def _number(self, schema: dict[str, Any], pointer: str, *, integer: bool) -> Shape | None:
        bounds = UNBOUNDED
        for keyword in _NUMBER:
            if keyword not in schema:
                continue
            value = schema[keyword]
            if keyword.startswith("exclusive"):
                if isinstance(value, bool):  # draft 4: it belongs to minimum or maximum
                    if value:
                        bounds = bounds.meet(self._exclusive_draft4(schema, pointer, keyword))
                    continue
                limit = self._bound(value, f"{pointer}/{keyword}")
                is_low = keyword == "exclusiveMinimum"
                new = Bounds(low=limit, low_open=True) if is_low else Bounds(high=limit, high_open=True)
            else:
                limit = self._bound(value, f"{pointer}/{keyword}")
                new = Bounds(low=limit) if keyword == "minimum" else Bounds(high=limit)
            bounds = bounds.meet(new)
        steps = tuple(
            (self._step(schema[keyword], f"{pointer}/{keyword}"), True) for keyword in _STEPS if keyword in schema
        )
        return reduced(Num(bounds, integer, multiples=tuple(dict(steps).items())))

    def _step(self, value: object, where: str) -> Decimal:
        step = self._number_at(value, where)
        if step <= 0:
            raise wrong(where, "must be greater than 0", value)
        if max(abs(step.adjusted()), len(step.as_tuple().digits)) > _MOST_PLACES or scaled(step)[0] > _LARGEST_STEP:
            reason = (
                f"multiples are counted by remainders, and numbers of more than {_LARGEST_STEP} units have too many"
            )
            raise UnsupportedFeatureError(where.rsplit("/", 1)[1], where, reason, "Leave it out, and round the answer.")
        return step

    def _exclusive_draft4(self, schema: dict[str, Any], pointer: str, keyword: str) -> Bounds:
        name = "minimum" if keyword == "exclusiveMinimum" else "maximum"
        if name not in schema:
            return UNBOUNDED
        limit = self._bound(schema[name], f"{pointer}/{name}")
        return Bounds(low=limit, low_open=True) if name == "minimum" else Bounds(high=limit, high_open=True)

    def _number_at(self, value: object, where: str) -> Decimal:
        if not is_number(value):
            raise wrong(where, "must be a number", value)
        assert isinstance(value, (int, float, Decimal))
        try:
            return exact(value)
        except ValueError:
            raise wrong(where, "must be a finite number", value) from None

    def _bound(self, value: object, where: str) -> Decimal:
        number = self._number_at(value, where)
        if number.is_zero():
            return Decimal(0)
        if max(abs(number.adjusted()), len(number.as_tuple().digits)) > _LARGEST_EXPONENT:
            raise UnsupportedFeatureError(
                where.rsplit("/", 1)[1],
                where,
                f"bounds beyond 10^{_LARGEST_EXPONENT}, or with more digits than that, are not supported",
                "Leave the bound out, or round it: numbers have at most max_digits digits.",
            )
        return number

    def _count(self, schema: dict[str, Any], keyword: str, pointer: str) -> int | None:
        """Return the value of a counting keyword; a maximum above `max_repeat` is lowered to it and reported."""
        if keyword not in schema:
            return None
        value = count_of(schema[keyword])
        assert value is not None  # `check` has seen it
        if value > self.limits.max_repeat:
            if keyword.startswith("min"):
                raise LimitExceededError("max_repeat", self.limits.max_repeat, f"by {keyword} at {pointer}")
            note = f"at most {self.limits.max_repeat} are offered (limit max_repeat)"
            self.document.report.append(ReportItem(pointer, keyword, "cap", note))
            return self.limits.max_repeat
        return value

    def _string(self, schema: dict[str, Any], pointer: str) -> Shape | None:
        if _free(schema, _STRING):
            return FREE["string"]
        patterns: tuple[tuple[Pattern, bool], ...] = ()
        if "pattern" in schema:
            self._check_pattern(schema["pattern"], f"{pointer}/pattern")
            patterns = ((schema["pattern"], True),)
        if "format" in schema and self.document.options.formats == "assert" and schema["format"] in FORMATS:
            patterns += ((Format(schema["format"]), True),)
        minimum = self._count(schema, "minLength", pointer) or 0
        return reduced(Str(minimum, self._count(schema, "maxLength", pointer), patterns))

    def _check_pattern(self, pattern: object, where: str) -> None:
        if not isinstance(pattern, str):
            raise wrong(where, "must be a string", pattern)
        try:
            pattern_node(pattern, self.limits)
        except UnsupportedFeatureError as error:
            feature, reason = f"pattern {error.feature}", f"{error.reason} ({error.where})"
            raise UnsupportedFeatureError(feature, where, reason, error.remedy) from None
        except GrammarSyntaxError as error:
            raise GrammarSyntaxError(f"{where}: {error.reason}", error.text, error.position) from None

    def _array(self, schema: dict[str, Any], pointer: str) -> Shape | None:
        if _free(schema, _ARRAY):
            return FREE["array"]
        expression_of = self.document.expression_of
        items = schema.get("items", True)
        places = schema.get("prefixItems", [])
        if isinstance(items, list):  # before 2020-12: the first places; additionalItems is for the rest
            places, items = items, schema.get("additionalItems", True)
        prefix = tuple(expression_of(part) for part in places)
        minimum = self._count(schema, "minItems", pointer) or 0
        contains: tuple[Contains, ...] = ()
        if "contains" in schema:
            least = self._count(schema, "minContains", pointer)
            most = self._count(schema, "maxContains", pointer)
            contains = (Contains(expression_of(schema["contains"]), 1 if least is None else least, most),)
        unique = schema.get("uniqueItems", False) is True
        if unique and self.document.algebra.unique_at == "#":
            self.document.algebra.unique_at = f"{pointer}/uniqueItems"
        maximum = self._count(schema, "maxItems", pointer)
        shape = Arr(prefix, expression_of(items), minimum, maximum, contains, unique)
        return reduced_array(shape, self.document.algebra)

    def _object(self, schema: dict[str, Any], pointer: str, *, extra: bool) -> Shape | None:
        if _free(schema, _OBJECT):
            if not extra:
                self.document.report.append(ReportItem(pointer, "additionalProperties", "exact", "extra='forbid'"))
                return Obj((), others(FALSE))
            return FREE["object"]
        algebra, expression_of = self.document.algebra, self.document.expression_of
        names = dict.fromkeys(schema.get("required", []))
        patterns = {pattern: expression_of(part) for pattern, part in schema.get("patternProperties", {}).items()}
        groups = parted(patterns, expression_of(schema.get("additionalProperties", extra)), algebra)
        props = []
        for name, part in schema.get("properties", {}).items():
            check_text(name, pointer)
            expression = expression_of(part)
            for pattern, asked in patterns.items():
                if filtered((name,), ((pattern, True),), self.limits):
                    expression = algebra.meet(expression, asked)
            props.append(Prop(name, expression, name in names))
            names.pop(name, None)
        for name in names:
            check_text(name, pointer)
            props.append(Prop(name, expression_at(Obj((), groups), name, self.limits), required=True))
        shape = Obj(
            tuple(props),
            groups,
            minimum=self._count(schema, "minProperties", pointer) or 0,
            maximum=self._count(schema, "maxProperties", pointer),
            implied=self._implied(schema, pointer),
        )
        return reduced_object(shape)

    @staticmethod
    def _implied(schema: dict[str, Any], pointer: str) -> tuple[tuple[str, str], ...]:
        found: dict[tuple[str, str], None] = {}
        for keyword in ("dependentRequired", "dependencies"):
            for name, others_ in schema.get(keyword, {}).items():
                for other in others_ if isinstance(others_, list) else ():
                    found[check_text(name, pointer), check_text(other, pointer)] = None
        return tuple(pair for pair in found if pair[0] != pair[1])

    # Constants

    def _constants(self, values: object, where: str) -> int:
        if not isinstance(values, (list, tuple)):
            raise wrong(where, "must be an array", values)
        if len(values) > self.limits.max_literals:
            raise LimitExceededError("max_literals", self.limits.max_literals, f"at {where}")
        containers = sum(isinstance(value, (list, tuple, dict)) for value in values)
        if containers > self.limits.max_schema_nodes:
            raise LimitExceededError(
                "max_schema_nodes", self.limits.max_schema_nodes, f"by arrays and objects at {where}"
            )
        shapes: list[Shape] = []
        texts: dict[str, None] = {}
        numbers: dict[Decimal, tuple[str, ...]] = {}
        for value in values:  # the two kinds that lists of thousands are made of go without a shape each
            if isinstance(value, str):
                texts[check_text(value, where)] = None
            elif is_number(value):
                number = self._finite(value, where)
                numbers[number] = tuple(dict.fromkeys(numbers.get(number, ()) + number_spellings(value)))
            else:
                shapes.append(self._scalar(value, where) or self._container(value, where))
        if texts:
            shapes.append(Str(texts=tuple(texts)))
        if numbers:
            shapes.append(Num(values=tuple(numbers.items())))
        return self.document.algebra.union(united(shapes))

    def _finite(self, value: float | Decimal, where: str) -> Decimal:
        try:
            return exact(value)
        except ValueError:
            raise wrong(where, "must hold finite numbers", value) from None

    def _scalar(self, value: object, where: str) -> Shape | None:
        if value is None:
            return Null()
        if isinstance(value, bool):
            return Bool((value,))
        if isinstance(value, str):
            check_text(value, where)
            return Str(texts=(value,))
        if isinstance(value, (int, float, Decimal)):
            return Num(values=((self._finite(value, where), number_spellings(value)),))
        return None

    def _container(self, root: object, where: str) -> Shape:
        """Return the shape of one array or object, inner values first."""
        done: dict[int, Shape] = {}
        stack: list[tuple[object, int]] = [(root, 0)]
        while stack:
            value, depth = stack[-1]
            if not isinstance(value, (list, tuple, dict)):
                raise wrong(where, "must hold JSON values", value)
            if depth > self.limits.max_nesting:
                raise LimitExceededError("max_nesting", self.limits.max_nesting, f"at {where}")
            inner = list(value.values() if isinstance(value, dict) else value)
            open_ones = [one for one in inner if isinstance(one, (list, tuple, dict)) and id(one) not in done]
            if open_ones:
                stack.extend((one, depth + 1) for one in open_ones)
                continue
            stack.pop()
            parts = [self._one(one, where, done) for one in inner]
            if isinstance(value, dict):
                names = [check_text(name, where) for name in value]
                pairs = zip(names, parts, strict=True)
                done[id(value)] = Obj(tuple(Prop(name, part, required=True) for name, part in pairs), others(FALSE))
            else:
                done[id(value)] = Arr(tuple(parts), 1, len(parts), len(parts))
        return done[id(root)]

    def _one(self, value: object, where: str, done: dict[int, Shape]) -> int:
        shape = done.get(id(value)) if isinstance(value, (list, tuple, dict)) else self._scalar(value, where)
        if shape is None:
            raise wrong(where, "must hold JSON values", value)
        return self.document.algebra.union((shape,))


def check_text(text: object, where: str) -> str:
    """Return a key or constant string, which must be writable in UTF-8."""
    if not isinstance(text, str):
        raise wrong(where, "must have strings as keys", text)
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise GrammarSyntaxError(f"{where} holds a lone surrogate in {text!a}, which no text can spell") from None
    return text


def _free(schema: dict[str, Any], keywords: tuple[str, ...]) -> bool:
    return not any(keyword in schema for keyword in keywords)
