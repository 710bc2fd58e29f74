"""The public front end for JSON Schema."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from constrain.deadline import within
from constrain.errors import EmptyLanguageError
from constrain.grammars.json_numbers import DEFAULT_DIGITS, Digits
from constrain.grammars.json_schema.instances import Instances
from constrain.grammars.json_schema.keywords import Document
from constrain.grammars.json_schema.nodes import MAX_INDENT_DEPTH, Nodes
from constrain.grammars.json_schema.options import Options
from constrain.grammars.json_schema.references import Documents
from constrain.grammars.json_values import read_json
from constrain.grammars.python_types import schema_of
from constrain.ir import Grammar, ReportItem
from constrain.limits import Limits, checked

if TYPE_CHECKING:
    from referencing import Registry


def json_schema(
    schema: Any,
    *,
    whitespace: str | int = "flexible",
    max_whitespace: int = 8,
    property_order: str = "schema",
    max_digits: Digits = DEFAULT_DIGITS,
    max_string: int | None = None,
    string_spelling: str = "plain",
    integer_spelling: str = "plain",
    formats: str = "assert",
    unknown_formats: str = "annotate",
    extra: str = "schema",
    limits: Limits | None = None,
    registry: Registry[Any] | None = None,
) -> Grammar:
    """Return the constraint "the answer is a JSON text that is valid under `schema`".

    Every keyword is enforced exactly or refused with its JSON pointer; `.report` of the result lists each one. An
    object never has a key twice. No whitespace stands before or after the value.

    Args:
        schema: a dict or bool, a JSON text, a pydantic model, a dataclass, TypedDict, Enum, Literal, or any other type
            that pydantic's `TypeAdapter` takes.
        whitespace: "flexible" (a run of up to `max_whitespace` blanks around every punctuation mark), "compact", or
            the n of `json.dumps(indent=n)`.
        max_whitespace: bounds a run, so that an answer cannot consist of blanks.
        property_order: "schema" (declared members as written, then required undeclared ones, then others) or "any".
        max_digits: digits of integer part, fraction and exponent of a number; more where a bound has more.
        max_string: code points of a string that has no maxLength; None for no bound.
        string_spelling: "plain" writes keys, constants, enum values and strings of a format as
            `json.dumps(ensure_ascii=False)` does; "any" also takes their escaped spellings. Other strings may have any
            spelling.
        integer_spelling: "plain" writes integers and constant numbers as `1`; "any" also takes `1.0` and `1e2`.
        formats: "assert" the keyword `format` (docs/formats.md), or "annotate": report it and do not check it.
        unknown_formats: "annotate" formats that JSON Schema does not define, or "refuse" them.
        extra: "schema", or "forbid": objects have only declared members where `additionalProperties` is absent.
        limits: bounds on the schema's size.
        registry: other documents that `$ref` may name, a `referencing.Registry`; nothing else is looked up.
    Raises:
        GrammarSyntaxError: not JSON, or a malformed or unresolvable schema.
        UnsupportedFeatureError: a keyword that is not enforced.
        EmptyLanguageError: no value is valid.
        LimitExceededError: the schema is too large or too deep, or takes longer than `max_compile_seconds`.
    Cost: about 30 us a subschema; rules are made when the engine first enters them.
    """
    options = Options(
        whitespace=whitespace,
        max_whitespace=max_whitespace,
        property_order=property_order,
        max_digits=max_digits,
        max_string=max_string,
        string_spelling=string_spelling,
        integer_spelling=integer_spelling,
        formats=formats,
        unknown_formats=unknown_formats,
        extra=extra,
        limits=checked(limits),
        registry=registry,
    )
    with within(options.limits.max_compile_seconds):
        root = _document(schema, options.limits)
        document = Document(root, options)
        expression = document.read(root)
        instances = Instances(document.algebra)
        nodes = Nodes(instances, replace(options, registry=None))  # a registry cannot be pickled
        start = nodes.value(expression)
        if start is None:
            raise EmptyLanguageError(*document.why_empty(root, instances))
    arguments = {name: getattr(options, name) for name in _SOURCE_OPTIONS}
    arguments["registry"] = Documents(document.references.used) if document.references.used else None
    return Grammar(
        start,
        expand=nodes.expand,
        report=(*document.report, *_caps(options)),
        source=("json_schema", {"schema": root, **arguments}),
        name="the schema",
    )


_SOURCE_OPTIONS = (
    "whitespace",
    "max_whitespace",
    "property_order",
    "max_digits",
    "max_string",
    "string_spelling",
    "integer_spelling",
    "formats",
    "unknown_formats",
    "extra",
    "limits",
    "registry",
)


def _document(schema: Any, limits: Limits) -> Any:
    if isinstance(schema, (dict, bool)):
        return schema
    if isinstance(schema, (str, bytes)):
        return read_json(schema, limits)
    return schema_of(schema)[0]


def _caps(options: Options) -> list[ReportItem]:
    whole, fraction, exponent = options.max_digits
    note = f"numbers have at most {whole} digits, {fraction} after the point, {exponent} in the exponent"
    bounded = "with bounds, an exponent follows one digit 1-9 before the point"
    caps = [ReportItem("#", "max_digits", "cap", f"{note}; {bounded}")]
    if options.indent is None:
        run = options.max_whitespace if options.whitespace == "flexible" else 0
        caps.append(ReportItem("#", "max_whitespace", "cap", f"runs of at most {run} blanks"))
    else:
        note = f"as json.dumps(indent={options.indent}) writes it, {MAX_INDENT_DEPTH} levels or as deep as needed"
        caps.append(ReportItem("#", "whitespace", "cap", note))
    if options.max_string is not None:
        caps.append(ReportItem("#", "max_string", "cap", f"free strings of at most {options.max_string} code points"))
    if options.string_spelling == "plain":
        caps.append(
            ReportItem("#", "string_spelling", "cap", "keys, constants and strings of a format in their plain spelling")
        )
    if options.property_order == "schema":
        caps.append(ReportItem("#", "property_order", "cap", "members in the order of the schema, others last"))
    return caps
