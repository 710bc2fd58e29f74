import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constrain.automata.token_trie import BYTE, DEPTH, END, LO, TokenTrie, build, token_trie
from constrain.vocabulary import Vocabulary

# Few letters, zero among them, and lengths around the eight bytes that are sorted at a time.
TOKEN = st.one_of(
    st.none(),
    st.binary(max_size=3),
    st.lists(st.sampled_from([0, 1, 255]), max_size=20).map(bytes),
    st.tuples(st.integers(5, 18), st.binary(max_size=2)).map(lambda p: b"\0" * p[0] + p[1]),
)


def naive(tokens):
    """Return the rows that the trie must have: (path, ids that end there, ids in the subtree), depth first."""
    root = {}
    for i, token in enumerate(tokens):
        if token:
            node = root
            for byte in token:
                node = node.setdefault(byte, {})
            node.setdefault("ids", []).append(i)
    rows = []

    def visit(node, path):
        rows.append([path, node.get("ids", []), None])
        at = len(rows) - 1
        below = list(node.get("ids", []))
        for byte in sorted(k for k in node if k != "ids"):
            below += visit(node[byte], path + bytes([byte]))
        rows[at][2] = (below, len(rows))
        return below

    visit(root, b"")
    return rows


def check(tokens, trie):
    rows = naive(tokens)
    assert trie.num_nodes == len(rows)
    assert trie.max_depth == max((len(t) for t in tokens if t), default=0)
    for n, (path, ids, (below, end)) in enumerate(rows):
        byte, depth, stop, lo = trie.nodes[n].tolist()
        assert trie.path(n) == path
        assert (byte, depth, stop) == (path[-1] if path else 0, len(path), end)
        assert trie.token_ids(n) == ids
        assert trie.order[lo : trie.nodes[stop, LO]].tolist() == below
    assert trie.nodes[-1].tolist() == [0, 0, len(rows), len(trie.order)]
    assert trie.nodes.flags.c_contiguous
    assert {trie.nodes.dtype, trie.order.dtype, trie.paths.dtype} == {np.dtype(np.int32)}


@settings(max_examples=300)
@given(st.lists(TOKEN, min_size=1, max_size=40))
def test_trie_equals_a_naive_one(tokens):
    check(tokens, build(Vocabulary.from_tokens(tokens)))


def test_no_token_at_all():
    check([None, b""], build(Vocabulary.from_tokens([None, b""])))


def test_long_tokens():
    tokens = [b"ab" * 200, b"ab" * 200 + b"\0", b"ab" * 199, b"ab" * 200, b"b"]
    check(tokens, build(Vocabulary.from_tokens(tokens)))


def test_special_and_end_tokens_are_not_in_it():
    trie = build(Vocabulary.from_tokens([b"a", b"b", b"c"], eos_token_ids=[1], special_token_ids=[2]))
    assert trie.order.tolist() == [0]


def test_walk_of_children():
    trie = build(Vocabulary.from_tokens([b"ab", b"ac", b"b"]))
    children, child = [], 1
    while child < trie.nodes[0, END]:
        children.append((int(trie.nodes[child, BYTE]), int(trie.nodes[child, DEPTH])))
        child = trie.nodes[child, END]
    assert children == [(ord("a"), 1), (ord("b"), 1)]


def test_one_trie_for_equal_tokens():
    one = Vocabulary.from_tokens([b"a", None], eos_token_ids=[1])
    two = Vocabulary.from_tokens([b"a", None])
    assert token_trie(one) is token_trie(one) is token_trie(two)


def test_arrays_are_checked():
    nodes, one = np.zeros((1, 4), dtype=np.int32), np.zeros(0, dtype=np.int32)
    with pytest.raises(ValueError, match="nodes are"):
        TokenTrie(nodes, one, one, np.zeros(0, dtype=np.uint8), 0)
    nodes = np.zeros((2, 4), dtype=np.int32)
    with pytest.raises(ValueError, match="sentinel"):
        TokenTrie(nodes, one, np.zeros(1, dtype=np.int32), np.zeros(0, dtype=np.uint8), 0)
    with pytest.raises(ValueError, match="int32"):
        TokenTrie(nodes.astype(np.int64), one, np.zeros(1, dtype=np.int32), np.zeros(0, dtype=np.uint8), 0)


def test_a_large_trie_comes_back_from_disk(monkeypatch, tmp_path):
    monkeypatch.setenv("CONSTRAIN_CACHE_DIR", str(tmp_path))
    tokens = [i.to_bytes(2, "big") for i in range(5000)]
    first = token_trie(Vocabulary.from_tokens(tokens))
    arrays = [first.nodes.copy(), first.order.copy(), first.paths.copy(), first.blob.copy()]
    (file,) = (tmp_path / "token_trie").glob("*.bin")
    del first
    monkeypatch.setattr("constrain.automata.token_trie.build", None)  # it must not be built again
    again = token_trie(Vocabulary.from_tokens(tokens))
    for old, new in zip(arrays, [again.nodes, again.order, again.paths, again.blob], strict=True):
        np.testing.assert_array_equal(old, new)
        assert new.flags.writeable
    monkeypatch.undo()
    monkeypatch.setenv("CONSTRAIN_CACHE_DIR", str(tmp_path))
    damaged = bytearray(file.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    file.write_bytes(damaged)
    del again, new
    np.testing.assert_array_equal(token_trie(Vocabulary.from_tokens(tokens)).nodes, arrays[0])
    assert file.read_bytes() != bytes(damaged)
