"""The fewest tokens to the end of a text: a search over tokens, level by level.

A shortest completion in bytes is found without looking at tokens (see `completion`), and need not be the shortest in
tokens: among the texts of a choice, the shortest may take three tokens and a longer one two. Where the states of a
constraint are few (it is regular, or finite), a breadth-first search over tokens answers exactly.

Source: Dijkstra 1959, with unit weights and a lower bound from the bytes that are still needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from constrain.automata.text_tokens import allowed_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from constrain.automata.machine import Machine


_NEW_STATE = 1000
"""How many tokens a state of the lexer that was not known costs."""
_FOUND = 50
"""How many tokens a distinct state after one costs."""


def fewest_tokens(
    machine: Machine, state: int, known: Sequence[int], least_bytes: Callable[[int], int], at_most: int
) -> tuple[tuple[int, ...], int]:
    """Return the fewest tokens from `state` to a state where the text may end, and how many tokens were tried.

    Args:
        known: tokens that lead there.
        least_bytes: of a state, never more than the bytes to the end.
        at_most: tokens to try (a million take about a second); if they do not suffice, or the tables are getting full,
            `known` comes back, and a number above `at_most`. A state of the lexer that was not known counts as a
            thousand tokens, a state after a token as fifty.
    """
    longest = machine.lexicon.tokens.max_depth
    came: dict[int, tuple[int, int]] = {state: (-1, state)}
    level, tried = [state], 0
    # With `depth` tokens taken, a way that is shorter than `known` has at most this many more.
    for depth in range(len(known) - 1):
        more = len(known) - 1 - depth
        following: list[int] = []
        for here in level:
            if machine.is_crowded:  # the room that is left is for the text itself
                return tuple(known), at_most + 1
            rows = machine.lexicon.num_states
            token_ids = allowed_tokens(machine, here)
            tried += len(token_ids) + _NEW_STATE * (machine.lexicon.num_states - rows)
            if tried > at_most:
                return tuple(known), tried
            after = machine.successors(here, token_ids)
            states, first = np.unique(after, return_index=True)
            tried += _FOUND * len(states)
            for found, at in zip(states.tolist(), first.tolist(), strict=True):
                if found == 0 or found in came:
                    continue
                came[found] = (int(token_ids[at]), here)
                if machine.is_accepting(found):
                    return _way(came, found), tried
                if more > 1 and least_bytes(found) <= (more - 1) * longest:
                    following.append(found)
        level = following
    return tuple(known), tried


def _way(came: dict[int, tuple[int, int]], state: int) -> tuple[int, ...]:
    out: list[int] = []
    while came[state][0] >= 0:
        token_id, state = came[state]
        out.append(token_id)
    return tuple(reversed(out))
