"""Who may import whom (docs/architecture.md). Imports inside functions and under TYPE_CHECKING count too."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "constrain"

LEAVES = {"arguments", "deadline", "errors", "limits", "ir"}
VOCABULARY = {"vocabulary", "vocabularies"}
AUTOMATA = LEAVES | VOCABULARY | {"kernels", "automata"}
COMPILED = AUTOMATA | {"compiled", "matcher"}
DECODING = COMPILED | {"grammars", "decoding"}
BACKENDS = DECODING | {"backends"}
MAY_IMPORT = {
    "arguments": set(),
    "errors": set(),
    "deadline": {"errors"},
    "limits": {"arguments"},
    "ir": LEAVES,
    "grammars": LEAVES | {"grammars"},
    "vocabulary": LEAVES | VOCABULARY,
    "vocabularies": LEAVES | VOCABULARY,
    "kernels": LEAVES | {"kernels"},
    "automata": AUTOMATA,
    "compiled": COMPILED,
    "matcher": COMPILED,
    "decoding": DECODING,
    "backends": BACKENDS,
    "cli": BACKENDS | {"cli"},
    "__main__": {"cli"},
}
# Libraries that only some layers may import.
ONLY_IN = {"numba": {"kernels"}, "triton": {"kernels"}, "transformers": {"backends"}, "typer": {"cli"}}

MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def imported(path: Path) -> set[str]:
    """Return the dotted names that a module imports, `from a import b` as `a.b`."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_follow_the_layers(path):
    layer = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    assert layer in MAY_IMPORT, f"{layer} has no place in the layers: give it one in MAY_IMPORT and in the docs"
    for name in imported(path):
        top, _, rest = name.partition(".")
        if top == "constrain":
            assert rest.split(".")[0] in MAY_IMPORT[layer], f"{layer} must not import {name}"
        assert layer in ONLY_IN.get(top, {layer}), f"{layer} must not import {top}"
