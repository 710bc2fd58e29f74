"""Strongly connected components against their definition."""

from hypothesis import given
from hypothesis import strategies as st

from constrain.automata.components import strongly_connected

GRAPHS = st.integers(0, 8).flatmap(
    lambda size: st.fixed_dictionaries(
        {node: st.lists(st.integers(0, max(size - 1, 0)), max_size=3) for node in range(size)}
    )
)


def reachable(graph):
    """Return the pairs (x, y) with a path, perhaps empty, from x to y."""
    pairs = {(node, node) for node in graph} | {(node, other) for node, out in graph.items() for other in out}
    while True:
        more = pairs | {(a, d) for a, b in pairs for c, d in pairs if b == c}
        if more == pairs:
            return pairs
        pairs = more


@given(GRAPHS)
def test_components_are_the_classes_of_mutual_reachability_callees_first(graph):
    components = strongly_connected(graph)
    pairs = reachable(graph)
    place = {node: i for i, component in enumerate(components) for node in component}
    assert sorted(place) == sorted(graph) == sorted(node for component in components for node in component)
    for a in graph:
        for b in graph:
            assert (place[a] == place[b]) == ((a, b) in pairs and (b, a) in pairs)
            if (a, b) in pairs:
                assert place[b] <= place[a]


def test_nodes_that_are_only_led_to_are_components_too():
    assert strongly_connected({"a": ["b"]}) == [["b"], ["a"]]


def test_a_long_path_and_a_long_ring_need_no_recursion():
    size = 50_000
    assert len(strongly_connected({i: [i + 1] for i in range(size)})) == size + 1
    assert len(strongly_connected({i: [(i + 1) % size] for i in range(size)})) == 1
