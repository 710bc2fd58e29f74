"""Shortest ways round loops, against all pairs by brute force."""

from __future__ import annotations

import random

import pytest

from constrain.automata.round_trips import round_trips

FAR = 1 << 40


def all_pairs(nodes: int, edges: list[tuple[int, int, int]]) -> list[list[int]]:
    far = [[0 if a == b else FAR for b in range(nodes)] for a in range(nodes)]
    for a, b, weight in edges:
        far[a][b] = min(far[a][b], weight)
    for through in range(nodes):
        for a in range(nodes):
            for b in range(nodes):
                far[a][b] = min(far[a][b], far[a][through] + far[through][b])
    return far


@pytest.mark.parametrize("seed", range(60))
def test_equals_all_pairs(seed: int) -> None:
    draw = random.Random(seed)
    nodes = draw.randint(2, 12)
    edges = [
        (draw.randrange(nodes), draw.randrange(nodes), draw.randint(0, 5))
        for _ in range(draw.randint(nodes, 3 * nodes))
    ]
    following: dict[int, list[tuple[int, int]]] = {}
    for a, b, weight in edges:
        following.setdefault(a, []).append((b, weight))
    trips = [(b, a) for a, b, _ in edges if a != b]
    far = all_pairs(nodes, edges)
    expected = [far[a][b] if far[a][b] < FAR and far[b][a] < FAR else None for a, b in trips]
    assert round_trips(following, trips) == expected
