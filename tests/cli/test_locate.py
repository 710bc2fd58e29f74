"""Positions, with a stand-in for the engine: a finite set of texts."""

from types import SimpleNamespace

import pytest

from constrain.cli.locate import describe_refusal, find_refusal, follow


class Texts:
    """The part of a compiled constraint that is used here, over a finite language."""

    start = 1

    def __init__(self, *texts):
        self.texts = [text if isinstance(text, bytes) else text.encode() for text in texts]
        self.prefixes = [None]
        for text in self.texts:
            for stop in range(len(text) + 1):
                if text[:stop] not in self.prefixes:
                    self.prefixes.append(text[:stop])

    def advance_bytes(self, state, data):
        after = self.prefixes[state] + data
        return self.prefixes.index(after) if after in self.prefixes else 0

    def is_accepting(self, state):
        return self.prefixes[state] in self.texts

    def next_bytes(self, state):
        prefix = self.prefixes[state]
        return frozenset(text[len(prefix)] for text in self.texts if text.startswith(prefix) and text != prefix)

    def forced_bytes(self, state):
        forced = b""
        while not self.is_accepting(state) and len(following := self.next_bytes(state)) == 1:
            forced += bytes(following)
            state = self.advance_bytes(state, bytes(following))
        return forced


def refused(language, text):
    return find_refusal(language, text if isinstance(text, bytes) else text.encode())


def test_members_are_not_refused():
    assert refused(Texts("ab", "abc"), "ab") is None


@pytest.mark.parametrize(
    ("texts", "data", "offset", "line", "column"),
    [
        (["abc"], "abd", 2, 1, 3),
        (["abc"], "ab", 2, 1, 3),
        (["abc"], "", 0, 1, 1),
        (["abc"], "abcd", 3, 1, 4),
        (["a\nb\ncd"], "a\nb\ncx", 5, 3, 2),
        (["éa"], "éb", 2, 1, 2),  # columns count characters, offsets bytes
        (["é"], "è", 1, 1, 1),  # the second byte of a character is where that character stands
    ],
)
def test_where_a_text_is_refused(texts, data, offset, line, column):
    refusal = refused(Texts(*texts), data)
    assert (refusal.offset, refusal.line, refusal.column) == (offset, line, column)


def test_following_stops_at_the_last_good_state():
    language = Texts("abc")
    read, state = follow(language, b"abx")
    assert (read, language.prefixes[state]) == (2, b"ab")


def test_the_message_shows_the_line_with_a_caret():
    language = Texts('{\n\t"a": 1}', '{\n\t"a": 2}')
    refusal = refused(language, '{\n\t"a": x}')
    assert describe_refusal(language, refusal, "f.json") == [
        "refused: f.json, line 2, column 7 (byte 8): 'x' cannot come here",
        '  2 |  "a": x}',
        "    |       ^",
        "expected: '1', '2'",
    ]


def test_a_text_that_ends_too_early():
    language = Texts("null")
    lines = describe_refusal(language, refused(language, "nu"), "f")
    assert lines[0] == "refused: f, line 1, column 3 (byte 2): the text ends too early"
    assert lines[-1] == "expected: 'll', nothing else"


def test_where_only_the_end_may_come():
    language = Texts("null")
    assert describe_refusal(language, refused(language, "nulls"), "f")[-1] == "expected: the end of the text"


def test_where_the_end_is_one_of_several():
    language = Texts("1", "12")
    assert describe_refusal(language, refused(language, "1x"), "f")[-1] == "expected: '2', or the end of the text"


@pytest.mark.parametrize(
    ("data", "shown"), [("è".encode(), "'è'"), (b"\xff", "byte 0xff"), (b"\xc3", "byte 0xc3"), (b"\n", r"'\n'")]
)
def test_the_refused_character_is_named_whole(data, shown):
    language = Texts(b"\xc3\xa9" if data[0] == 0xC3 and len(data) > 1 else b"a")
    assert f": {shown} cannot come here" in describe_refusal(language, refused(language, data), "f")[0]


def test_long_lines_are_cut_around_the_caret():
    language = SimpleNamespace(
        start=1,
        advance_bytes=lambda state, data: int(b"x" not in data),
        is_accepting=lambda state: False,
        forced_bytes=lambda state: b"",
        next_bytes=lambda state: frozenset(b"a"),
    )
    data = b"a" * 500 + b"x" + b"a" * 500
    lines = describe_refusal(language, find_refusal(language, data), "f")
    assert len(lines[1]) < 140
    assert lines[1][lines[2].index("^")] == "x"
