import numpy as np
import pytest

from constrain.cli.describe import describe_bytes, runs, show, token_ids


@pytest.mark.parametrize(
    ("allowed", "words"),
    [
        (b"", "nothing"),
        (b"a", "'a'"),
        (b"ab", "'a', 'b'"),
        (b"abc", "a-c"),
        (b"0123456789-", "0-9, '-'"),
        (b"789:;<=>?@AB", "7-9, ':', ';', '<', '=', '>', '?', '@', 'A', 'B'"),
        (b" \t\n\r", "space, tab, newline, carriage return"),
        (b"'\"", "'\"', \"'\""),
        (bytes(set(range(0x20, 0x7F)) - set(b'"\\')), "any printable ASCII character but '\"', '\\'"),
        (range(0x20, 0x7F), "any printable ASCII character"),
        (range(0xC2, 0xF5), "any non-ASCII character"),
        (b"\xc3\xe2\xe3", "non-ASCII characters that begin with 0xc3, 0xe2-0xe3"),
        (range(0x80, 0x90), "the next byte of the character begun (0x80-0x8f)"),
        (b"\x00\x01\x7f", "control characters 0x00-0x01, 0x7f"),
        (b"\xc0\xff", "bytes that are not UTF-8 (0xc0, 0xff)"),
    ],
)
def test_byte_sets_in_words(allowed, words):
    assert describe_bytes(allowed) == words


def test_every_single_byte_has_a_name():
    assert len({describe_bytes([byte]) for byte in range(256)}) == 256


def test_runs_are_maximal():
    assert list(runs([5, 1, 2, 3, 9])) == [(1, 3), (5, 5), (9, 9)]
    assert list(runs([])) == []


def test_long_texts_are_shown_by_their_ends():
    assert show(b"x" * 200, limit=10) == "'xxxxx' ... 'xxxxx'"


def test_texts_that_are_not_utf8_are_shown_as_bytes():
    assert show(b"\xff") == r"b'\xff'"


@pytest.mark.parametrize("vocab_size", [1, 31, 32, 33, 100])
def test_token_ids_are_the_bits_below_the_vocabulary_size(vocab_size):
    row = np.full(-(-vocab_size // 32), -1, dtype=np.int32)
    assert token_ids(row, vocab_size) == list(range(vocab_size))
    row[0] = 1
    row[1:] = 0
    assert token_ids(row, vocab_size) == [0]
