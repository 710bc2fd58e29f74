"""The names that everything outside relies on. A change here is a change for users: say so in CHANGELOG.md."""

import ast
import importlib.metadata
import pkgutil
import sys
from pathlib import Path

import pytest

import constrain

PUBLIC = [
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
METHODS = {
    "CompiledGrammar": [
        "accepts",
        "advance",
        "advance_bytes",
        "allowed_within",
        "bitmask",
        "completion",
        "distance",
        "fill_bitmask",
        "fill_bitmasks",
        "forced_bytes",
        "is_accepting",
        "matcher",
        "next_bytes",
    ],
    "Matcher": [
        "accept_token",
        "copy",
        "fill_next_token_bitmask",
        "forced_bytes",
        "forced_tokens",
        "is_accepting",
        "is_terminated",
        "num_tokens",
        "reset",
        "rollback",
        "state",
        "try_accept_token",
    ],
    "Vocabulary": ["from_tokenizer_json", "from_tokens", "from_transformers"],
    "Grammar": ["report"],
}


def test_the_public_names_are_pinned():
    assert constrain.__all__ == PUBLIC
    assert dir(constrain) == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_resolves_and_says_what_it_is(name):
    if name in {"LogitsProcessor", "from_transformers", "load"}:
        pytest.importorskip("transformers", reason="needs transformers")
        pytest.importorskip("torch", reason="needs torch")
    value = getattr(constrain, name)
    assert name == "__version__" or (callable(value) and value.__doc__)


@pytest.mark.parametrize(("owner", "name"), [(owner, name) for owner, names in METHODS.items() for name in names])
def test_documented_methods_exist(owner, name):
    cls = getattr(constrain, owner)
    assert hasattr(cls, name) or name in getattr(cls, "__annotations__", {})


def test_unknown_names_raise_attribute_error():
    with pytest.raises(AttributeError, match="module 'constrain' has no attribute 'Constrain'"):
        constrain.Constrain  # noqa: B018


def test_without_the_extra_the_error_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    for module in ("constrain.backends.logits_processor", "constrain.backends.transformers"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    for name in ("LogitsProcessor", "load"):
        monkeypatch.delitem(vars(constrain), name, raising=False)
        with pytest.raises(ImportError, match=r"pip install 'constrain\[transformers\]'"):
            getattr(constrain, name)


def test_no_module_hides_a_public_name():
    # Importing constrain.x sets constrain.x to the module.
    modules = {module.name for module in pkgutil.iter_modules(constrain.__path__)}
    assert not modules & set(PUBLIC)


def test_type_checkers_see_what_runs():
    found = {}
    for block in ast.parse(Path(constrain.__file__).read_text()).body:
        if isinstance(block, ast.If):
            for node in block.body:
                for alias in node.names:
                    home = node.module.removeprefix("constrain.")
                    found[alias.asname or alias.name] = (home, alias.name)
    assert found == constrain._HOME


def test_the_version_is_the_installed_one():
    assert constrain.__version__ == importlib.metadata.version("constrain")
