"""From what the user asks for to a compiled grammar and a reader of values. The only place that knows front ends.

Front ends and the compiler are imported when they are first used.
"""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from threading import Lock
from typing import TYPE_CHECKING, Any

from constrain.arguments import refuse
from constrain.decoding.result import Reader
from constrain.errors import VocabularyError
from constrain.ir import Grammar

if TYPE_CHECKING:
    from constrain.compiled import CompiledGrammar
    from constrain.vocabulary import Vocabulary

CACHE_SIZE = 32


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the user asks for; at most one of the first five.

    Attributes:
        schema: a JSON Schema (mapping, JSON text, bool) or a Python type.
        regex: a pattern for the whole answer.
        choice: the possible answers.
        grammar: a `Grammar` of any front end.
        constraint: a `Grammar`, or one compiled for the model's vocabulary.
        json_options: options of `constrain.json_schema`, with `schema`.
    """

    schema: Any = None
    regex: str | None = None
    choice: Sequence[str] | None = None
    grammar: Grammar | None = None
    constraint: CompiledGrammar | Grammar | None = None
    json_options: Mapping[str, Any] | None = None


WANTED_NAMES = frozenset(item.name for item in fields(Wanted))


@dataclass(frozen=True, slots=True)
class Constraint:
    """A compiled grammar, how to read its values, and the seconds that compiling took."""

    compiled: CompiledGrammar
    reader: Reader
    seconds: float = 0.0


_cache: OrderedDict[Hashable, Constraint] = OrderedDict()
_lock = Lock()


def resolve(wanted: Wanted, vocabulary: Vocabulary) -> Constraint | None:
    """Return the constraint that is asked for, compiled for the vocabulary, or None where nothing is.

    Raises:
        TypeError: more than one is asked for, or it is of a wrong type.
        VocabularyError: it was compiled for another vocabulary.
        GrammarError: the constraint is at fault.
    Cost: what compiling costs, the first time; the last 32 constraints are kept.
    """
    name = _only(wanted)
    if name is None:
        return None
    value = getattr(wanted, name)
    if name in {"grammar", "constraint"} and not isinstance(value, Grammar):
        return _compiled(name, value, vocabulary)
    key = _cache_key(vocabulary, name, value, wanted.json_options)
    with _lock:
        found = None if key is None else _cache.get(key)
        if found is not None:
            _cache.move_to_end(key)
            return replace(found, seconds=0.0)
    made = _make(name, value, wanted.json_options, vocabulary)
    if key is None:
        return made
    with _lock:
        _cache[key] = made
        while len(_cache) > CACHE_SIZE:
            _cache.popitem(last=False)
    return made


def _only(wanted: Wanted) -> str | None:
    names = ("schema", "regex", "choice", "grammar", "constraint")
    given = [name for name in names if getattr(wanted, name) is not None]
    if len(given) > 1:
        raise TypeError(f"{' and '.join(given)} are given; expected at most one constraint")
    options: Any = wanted.json_options
    if options is not None and not (isinstance(options, Mapping) and all(isinstance(name, str) for name in options)):
        refuse("json_options", options, "keyword options of json_schema")
    if options is not None and given != ["schema"]:
        raise TypeError("json_options are given without schema")
    return given[0] if given else None


def _compiled(name: str, value: Any, vocabulary: Vocabulary) -> Constraint:
    if not hasattr(value, "allowed_within"):
        refuse(name, value, "a Grammar or a compiled one")
    if value.vocabulary.fingerprint != vocabulary.fingerprint:
        raise VocabularyError(
            f"the constraint was compiled for another vocabulary ({value.vocabulary.vocab_size} tokens) than the "
            f"model's ({vocabulary.vocab_size}); compile it with model.vocabulary, or pass the Grammar itself"
        )
    return Constraint(value, Reader())


def _cache_key(vocabulary: Vocabulary, name: str, value: Any, options: Mapping[str, Any] | None) -> Hashable:
    try:
        key = (vocabulary.fingerprint, name, *_key(value), *_key(options))
        hash(key)
    except (TypeError, ValueError, RecursionError):
        # Not hashable, or nested too deep to be written down: compiled anew each time.
        return None
    return key


def _key(value: Any) -> tuple[Hashable, ...]:
    """Return something that equals itself only for constraints that mean the same."""
    if isinstance(value, str):
        return ("text", value)
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return ("list", *value)
    if isinstance(value, (Mapping, bool)):
        # Kept in order, since properties are written in the order of the schema.
        return ("json", json.dumps(value, default=repr))
    return ("object", value)


def _make(name: str, value: Any, json_options: Mapping[str, Any] | None, vocabulary: Vocabulary) -> Constraint:
    began = time.perf_counter()
    reader = Reader()
    grammar: Grammar
    if name == "schema":
        grammar, reader = _from_schema(value, dict(json_options or {}))
    elif name == "regex":
        from constrain.grammars.regex import regex

        grammar = regex(value)
    elif name == "choice":
        from constrain.grammars.choice import choice

        grammar = choice(value)
    else:
        grammar = value
    from constrain.compiled import compile_grammar

    compiled = compile_grammar(grammar, vocabulary)
    return Constraint(compiled, reader, time.perf_counter() - began)


def _from_schema(schema: Any, options: dict[str, Any]) -> tuple[Grammar, Reader]:
    from constrain.grammars.json_schema import json_schema

    plain = isinstance(schema, (Mapping, str, bool))
    return json_schema(schema, **options), Reader("json") if plain else Reader("python", schema)
