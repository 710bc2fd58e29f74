"""Structured generation: any language model, exactly in the shape of a schema, a pattern or a grammar.

Start with `load` and `generate`; without a model, with `json_schema` (or `regex`, `choice`), `compile` and
`Vocabulary`. Names are imported when they are first used, so that `import constrain` costs nothing: no numpy, no
numba, no torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from constrain.backends.logits_processor import LogitsProcessor
    from constrain.backends.transformers import from_transformers, load
    from constrain.compiled import CompiledGrammar
    from constrain.compiled import compile_grammar as compile  # noqa: A004
    from constrain.decoding.generate import (
        generate,
        generate_async,
        generate_batch,
        stream,
        stream_async,
    )
    from constrain.decoding.result import Result
    from constrain.errors import (
        BudgetError,
        ConstrainError,
        EmptyLanguageError,
        GrammarError,
        GrammarSyntaxError,
        LimitExceededError,
        TokenRejectedError,
        UnsupportedFeatureError,
        VocabularyError,
    )
    from constrain.grammars.choice import choice
    from constrain.grammars.json_schema import json_schema
    from constrain.grammars.regex import regex
    from constrain.ir import Grammar
    from constrain.limits import Limits
    from constrain.matcher import Matcher
    from constrain.vocabulary import Vocabulary

__all__ = [
    "BudgetError",
    "CompiledGrammar",
    "ConstrainError",
    "EmptyLanguageError",
    "Grammar",
    "GrammarError",
    "GrammarSyntaxError",
    "LimitExceededError",
    "Limits",
    "LogitsProcessor",
    "Matcher",
    "Result",
    "TokenRejectedError",
    "UnsupportedFeatureError",
    "Vocabulary",
    "VocabularyError",
    "__version__",
    "choice",
    "compile",
    "from_transformers",
    "generate",
    "generate_async",
    "generate_batch",
    "json_schema",
    "load",
    "regex",
    "stream",
    "stream_async",
]

# Public name -> (module, name there). No sub-module of the package may bear a public name: importing it would set the
# module as an attribute here and hide the function (tests/test_public_api.py).
_HOME: dict[str, tuple[str, str]] = {
    "BudgetError": ("errors", "BudgetError"),
    "CompiledGrammar": ("compiled", "CompiledGrammar"),
    "ConstrainError": ("errors", "ConstrainError"),
    "EmptyLanguageError": ("errors", "EmptyLanguageError"),
    "Grammar": ("ir", "Grammar"),
    "GrammarError": ("errors", "GrammarError"),
    "GrammarSyntaxError": ("errors", "GrammarSyntaxError"),
    "LimitExceededError": ("errors", "LimitExceededError"),
    "Limits": ("limits", "Limits"),
    "LogitsProcessor": ("backends.logits_processor", "LogitsProcessor"),
    "Matcher": ("matcher", "Matcher"),
    "Result": ("decoding.result", "Result"),
    "TokenRejectedError": ("errors", "TokenRejectedError"),
    "UnsupportedFeatureError": ("errors", "UnsupportedFeatureError"),
    "Vocabulary": ("vocabulary", "Vocabulary"),
    "VocabularyError": ("errors", "VocabularyError"),
    "choice": ("grammars.choice", "choice"),
    "compile": ("compiled", "compile_grammar"),
    "from_transformers": ("backends.transformers", "from_transformers"),
    "generate": ("decoding.generate", "generate"),
    "generate_async": ("decoding.generate", "generate_async"),
    "generate_batch": ("decoding.generate", "generate_batch"),
    "json_schema": ("grammars.json_schema", "json_schema"),
    "load": ("backends.transformers", "load"),
    "regex": ("grammars.regex", "regex"),
    "stream": ("decoding.generate", "stream"),
    "stream_async": ("decoding.generate", "stream_async"),
}
# What the transformers extra brings.
_EXTRA = {"accelerate", "gguf", "jinja2", "tokenizers", "torch", "transformers"}


def __getattr__(name: str) -> object:
    """Import a public name from where it is defined (PEP 562), once."""
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'constrain' has no attribute {name!r}")
    module, attribute = home
    try:
        value: object = getattr(importlib.import_module(f"constrain.{module}"), attribute)
    except ModuleNotFoundError as error:
        if error.name not in _EXTRA:
            raise
        raise ImportError(f"{error}; constrain.{name} needs an extra: pip install 'constrain[transformers]'") from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, imported or not."""
    return sorted(__all__)
