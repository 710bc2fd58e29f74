"""Python types as JSON Schemas, through pydantic."""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING, Any

from constrain.errors import GrammarSyntaxError, UnsupportedFeatureError
from constrain.grammars.json_values import brief

if TYPE_CHECKING:
    from pydantic import TypeAdapter


def schema_of(given: Any) -> tuple[dict[str, Any] | bool, TypeAdapter[Any] | None]:
    """Return the schema of a type, and the adapter that turns valid JSON into an instance of it.

    Args:
        given: a schema (dict or bool, returned with no adapter), a `TypeAdapter`, or a type: a pydantic model, a
            dataclass, TypedDict, NamedTuple, Enum, Literal, Union, list[...], `int`, ...
    Raises:
        TypeError: pydantic does not know what to do with it.
        GrammarSyntaxError: a pattern or bound of it is malformed, or it is nested too deeply.
        UnsupportedFeatureError: it has no JSON Schema (a callable, an arbitrary class).
    """
    if isinstance(given, (dict, bool)):
        return given, None
    if isinstance(given, FunctionType):
        raise TypeError(f"no schema for {given.__name__}, a function; expected a dict, a bool, a JSON text or a type")
    import pydantic
    from pydantic.errors import PydanticInvalidForJsonSchema, PydanticUserError
    from pydantic_core import SchemaError

    name = getattr(given, "__name__", None) or brief(given)
    try:
        adapter = given if isinstance(given, pydantic.TypeAdapter) else pydantic.TypeAdapter(given)
        return adapter.json_schema(mode="validation"), adapter
    except PydanticInvalidForJsonSchema as error:
        raise UnsupportedFeatureError(
            name,
            "#",
            f"the type has no JSON Schema: {error.message}",
            "Give the field a type that JSON can hold, or pydantic.WithJsonSchema.",
        ) from None
    except PydanticUserError as error:
        expected = "expected a dict, a bool, a JSON text or a type that pydantic knows"
        raise TypeError(f"no schema for {name}; {expected}. pydantic: {error.message.splitlines()[0]}") from None
    except SchemaError as error:
        raise GrammarSyntaxError(f"no schema for {name}; pydantic: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise GrammarSyntaxError(f"{name} is nested too deeply for pydantic; write its schema as a dict") from None
