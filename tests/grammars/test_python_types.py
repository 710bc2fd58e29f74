"""Python types: their schemas, and that what the constraint accepts is an instance."""

import dataclasses
import enum
from typing import Literal, NamedTuple, Optional, Union

import pydantic
import pytest
from grammar_oracle import accepts
from typing_extensions import TypedDict

from constrain.errors import UnsupportedFeatureError
from constrain.grammars.json_schema import json_schema
from constrain.grammars.python_types import schema_of


class Person(pydantic.BaseModel):
    name: str
    age: int = pydantic.Field(ge=0)
    langs: list[str] = []


class Tree(pydantic.BaseModel):
    value: int
    children: list["Tree"] = []


class Cat(pydantic.BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(pydantic.BaseModel):
    kind: Literal["dog"]


class Owner(pydantic.BaseModel):
    pet: Union[Cat, Dog] = pydantic.Field(discriminator="kind")  # noqa: UP007


@dataclasses.dataclass
class Point:
    x: int
    y: Optional[int] = None  # noqa: UP045


class Movie(TypedDict):
    title: str
    year: int


class Pair(NamedTuple):
    left: int
    right: str


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


CASES = [
    (Person, ['{"name":"Ada","age":36,"langs":["en"]}', '{"name":"A","age":0}'], ['{"name":"A","age":-1}', "{}"]),
    (Tree, ['{"value":1,"children":[{"value":2}]}'], ['{"value":"x"}', '{"children":[]}']),
    (Owner, ['{"pet":{"kind":"cat","lives":9}}', '{"pet":{"kind":"dog"}}'], ['{"pet":{"kind":"cat"}}']),
    (Point, ['{"x":1}', '{"x":1,"y":null}'], ['{"y":1}']),
    (Movie, ['{"title":"M","year":1931}'], ['{"title":"M"}']),
    (Pair, ['[1,"a"]'], ["[1]", '["a",1]']),
    (Color, ['"red"'], ['"green"']),
    (
        Literal["a", 1, None],  # noqa: PYI061
        ['"a"', "1", "null"],
        ["2"],
    ),
    (dict[str, int], ["{}", '{"a":1}'], ['{"a":"x"}', '{"a":1,"a":2}']),
    (Union[int, list[bool]], ["1", "[true]"], ['"x"']),  # noqa: UP007
    (tuple[int, str], ['[1,"a"]'], ["[1]"]),
    (bool, ["true"], ["1"]),
]


@pytest.mark.parametrize(("kind", "good", "bad"), CASES)
def test_types(kind, good, bad):
    grammar = json_schema(kind)
    assert [text for text in good if not accepts(grammar, text.encode())] == []
    assert [text for text in bad if accepts(grammar, text.encode())] == []
    _, adapter = schema_of(kind)
    for text in good:
        adapter.validate_json(text)


def test_adapters_are_taken_and_schemas_pass_through():
    adapter = pydantic.TypeAdapter(int)
    assert schema_of(adapter) == ({"type": "integer"}, adapter)
    assert schema_of({"type": "null"}) == ({"type": "null"}, None)


def test_types_without_schema():
    with pytest.raises(TypeError, match="no schema for"):
        json_schema(object())

    class Opaque:
        pass

    with pytest.raises((TypeError, UnsupportedFeatureError)):
        json_schema(Opaque)
