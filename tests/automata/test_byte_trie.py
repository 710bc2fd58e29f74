"""Tries of sets of strings against nested dicts."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from constrain.automata.byte_trie import trie_nodes

TEXTS = st.lists(
    st.one_of(
        st.binary(max_size=3),
        st.lists(st.sampled_from([0, 97, 98, 255]), max_size=12).map(bytes),
        st.tuples(st.integers(60, 70), st.binary(max_size=2)).map(lambda t: b"a" * t[0] + t[1]),
    ),
    max_size=20,
)


def naive(texts):
    """Return (byte, depth, end of the subtree, strings before) of every node in depth-first order, and the sentinel."""
    ordered = sorted(set(texts))
    paths = sorted({text[:size] for text in ordered for size in range(len(text) + 1)} | {b""})
    rows = []
    for i, path in enumerate(paths):
        end = next((j for j in range(i + 1, len(paths)) if not paths[j].startswith(path)), len(paths))
        rows.append((path[-1] if path else 0, len(path), end, sum(text < path for text in ordered)))
    return [*rows, (0, 0, len(paths), len(ordered))], paths


@settings(max_examples=150)
@given(TEXTS)
def test_nodes_equal_the_naive_ones(texts):
    nodes = trie_nodes(texts)
    rows, paths = naive(texts)
    assert nodes.dtype == np.int32
    assert nodes.flags.c_contiguous
    assert [tuple(row) for row in nodes.tolist()] == rows
    ends = {paths[i] for i in range(len(paths)) if nodes[i + 1, 3] > nodes[i, 3]}
    assert ends == set(texts)


def test_no_strings_and_the_empty_string():
    assert trie_nodes([]).tolist() == [[0, 0, 1, 0], [0, 0, 1, 0]]
    assert trie_nodes([b""]).tolist() == [[0, 0, 1, 0], [0, 0, 1, 1]]


def test_long_strings_cost_their_length():
    """A pass for each byte, as there once was, takes minutes here."""
    size = 1_000_000
    nodes = trie_nodes([b"x" * size, b"x" * size + b"y", b"z"])
    assert len(nodes) == size + 4
    assert (nodes[1 : size + 1, 2] == size + 2).all()
    assert nodes[-3:, 1].tolist() == [size + 1, 1, 0]
