"""Acceptance 1 of JSON Schema: the official suite's required tests, drafts 4 to 2020-12.

Each instance is read as compact, default and indented text. What is not as the suite says stands in
`suite_ledger.txt`, a line each with its reason; a line that is not needed fails too.
"""

import json
import os
from pathlib import Path

import pytest
import referencing.jsonschema
from referencing import Registry, Resource

import constrain
from constrain.errors import ConstrainError, EmptyLanguageError
from constrain.vocabulary import Vocabulary

LEDGER = Path(__file__).with_name("suite_ledger.txt")
SCHEMAS = {
    "draft4": "http://json-schema.org/draft-04/schema#",
    "draft6": "http://json-schema.org/draft-06/schema#",
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}
VOCABULARY = Vocabulary.from_tokens([*(bytes((byte,)) for byte in range(256)), None], eos_token_ids=[256])
OPTIONS = {
    "property_order": "any",
    "string_spelling": "any",
    "integer_spelling": "any",
    "formats": "annotate",
    "max_whitespace": 64,
}
LAYOUTS = ({}, {"separators": (",", ":")}, {"indent": 2}, {"ensure_ascii": False})


@pytest.fixture
def suite(data):
    folder = data / "json-schema-test-suite"
    if not folder.is_dir():
        pytest.skip("the official suite is not there")
    return folder


def registry(suite):
    found = []
    for file in sorted((suite / "remotes").rglob("*.json")):
        resource = Resource.from_contents(
            json.loads(file.read_text()), default_specification=referencing.jsonschema.DRAFT202012
        )
        found.append((f"http://localhost:1234/{file.relative_to(suite / 'remotes').as_posix()}", resource))
    return Registry().with_resources(found)


def compiled(schema, draft, known):
    """Return the compiled schema, None where it has no instance, or why it is refused."""
    if isinstance(schema, dict) and "$schema" not in schema:
        schema = {"$schema": SCHEMAS[draft], **schema}
    options = OPTIONS if draft != "draft4" else OPTIONS | {"integer_spelling": "plain"}  # 1.0 is no integer there
    try:
        return constrain.compile(constrain.json_schema(schema, registry=known, **options), VOCABULARY)
    except EmptyLanguageError:
        return None
    except ConstrainError as error:
        return str(error).splitlines()[0]


def faults(group, found):
    """Yield the descriptions of the tests of a group that are not as the suite says."""
    for test in group["tests"]:
        texts = [json.dumps(test["data"], **layout).encode("utf-8", "surrogatepass") for layout in LAYOUTS]
        said = [found is not None and found.accepts(text) for text in texts]
        if said != [test["valid"]] * len(said):
            assert test["valid"], f"accepted though invalid: {group['description']}: {test['description']}"
            yield test["description"]


@pytest.mark.parametrize("draft", SCHEMAS)
def test_required(suite, draft):
    known = registry(suite)
    total = 0
    wrong = {}
    for file in sorted((suite / "tests" / draft).glob("*.json")):
        for group in json.loads(file.read_text()):
            total += len(group["tests"])
            found = compiled(group["schema"], draft, known)
            place = f"{draft} | {file.stem} | {group['description']}"
            if isinstance(found, str):
                wrong[f"{place} | *"] = len(group["tests"]), found
            else:
                wrong |= {f"{place} | {test}": (1, "a valid instance is refused") for test in faults(group, found)}
    lines = [line for line in LEDGER.read_text().splitlines() if line and not line.startswith("#")]
    ledger = {line.rpartition(" | ")[0] for line in lines if line.startswith(f"{draft} | ")}
    print(f"\n{draft}: {total - sum(count for count, _ in wrong.values())} of {total} required tests")
    if os.environ.get("CONSTRAIN_WRITE_LEDGER"):
        with LEDGER.open("a") as out:
            out.writelines(f"{name} | {reason}\n" for name, (_, reason) in wrong.items() if name not in ledger)
    assert wrong.keys() - ledger == set(), "not as the suite says, and not in the ledger"
    assert ledger - wrong.keys() == set(), "in the ledger, but as the suite says"
