"""What the demo asks for. Its own module: importing pydantic takes a fifth of a second, and `--help` should not."""

from __future__ import annotations

from pydantic import BaseModel, Field


class Person(BaseModel):
    """A person, in three fields."""

    name: str = Field(max_length=40)
    born: int = Field(ge=0, le=2100)
    known_for: list[str] = Field(min_length=1, max_length=3)
