"""Python types as JSON Schemas, through pydantic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from constrain.errors import UnsupportedFeatureError

if TYPE_CHECKING:
    from pydantic import TypeAdapter


def schema_of(given: Any) -> tuple[dict[str, Any] | bool, TypeAdapter[Any] | None]:
    """Return the schema of a type, and the adapter that turns valid JSON into an instance of it.

    Args:
        given: a schema (dict or bool, returned with no adapter), a `TypeAdapter`, or a type: a pydantic model, a
            dataclass, TypedDict, NamedTuple, Enum, Literal, Union, list[...], `int`, ...
    Raises:
        TypeError: pydantic does not know what to do with it.
        UnsupportedFeatureError: it has no JSON Schema (a callable, an arbitrary class).
    """
    if isinstance(given, (dict, bool)):
        return given, None
    import pydantic
    from pydantic.errors import PydanticInvalidForJsonSchema, PydanticUserError

    try:
        adapter = given if isinstance(given, pydantic.TypeAdapter) else pydantic.TypeAdapter(given)
    except PydanticUserError as error:
        raise TypeError(f"no schema for {given!r}: {error.message}") from None
    try:
        return adapter.json_schema(mode="validation"), adapter
    except PydanticInvalidForJsonSchema as error:
        raise UnsupportedFeatureError(
            getattr(given, "__name__", repr(given)),
            "#",
            f"the type has no JSON Schema: {error.message}",
            "Give the field a type that JSON can hold, or pydantic.WithJsonSchema.",
        ) from None
