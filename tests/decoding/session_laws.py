"""What every `Model` must do, as functions over a model. Used for the table model and for real ones."""

import numpy as np
import pytest


def fresh(model, rows):
    """Return the logits after each row, each row alone in a session of its own."""
    return np.concatenate([model.prefill([row]).logits() for row in rows])


def check_against_fresh(model, session, tolerance):
    got, expected = session.logits(), fresh(model, session.rows)
    assert got.dtype == np.float32
    assert got.shape == (len(session.rows), model.vocabulary.vocab_size)
    np.testing.assert_allclose(got, expected, atol=tolerance, rtol=tolerance)


def random_walk(model, prompts, steps, seed, tolerance):
    """Do random things to a session; after each, its logits are those of its rows, computed from nothing."""
    rng = np.random.default_rng(seed)
    session = model.prefill(prompts)
    rows = [list(prompt) for prompt in prompts]

    def tokens(count):
        return [int(token) for token in rng.integers(0, model.vocabulary.vocab_size, count)]

    for _ in range(steps):
        action = rng.integers(0, 4)
        if action == 0:
            new = [tokens(rng.integers(0, 4)) for _ in rows]
            session.append(new)
            rows = [row + more for row, more in zip(rows, new, strict=True)]
        elif action == 1:
            counts = [int(rng.integers(0, min(4, len(row)))) for row in rows]
            session.rollback(counts)
            rows = [row[: len(row) - count] for row, count in zip(rows, counts, strict=True)]
        elif action == 2:
            picked = [int(i) for i in rng.integers(0, len(rows), rng.integers(1, 5))]
            session.fork(picked)
            rows = [list(rows[i]) for i in picked]
        else:
            counts = [int(rng.integers(0, min(4, len(row)) + 1)) for row in rows]
            for row, count, window in zip(rows, counts, session.window(counts), strict=True):
                assert window.shape == (count, model.vocabulary.vocab_size)
                ends = range(len(row) - count + 1, len(row) + 1)
                for end, logits in zip(ends, window, strict=True):
                    expected = fresh(model, [row[:end]])[0]
                    np.testing.assert_allclose(logits, expected, atol=tolerance, rtol=tolerance)
        assert [list(row) for row in session.rows] == rows
        if rng.integers(0, 2):
            check_against_fresh(model, session, tolerance)
    check_against_fresh(model, session, tolerance)


def misuse(model):
    """Wrong arguments raise ValueError."""
    with pytest.raises(ValueError, match="no tokens"):
        model.prefill([[1], []])
    with pytest.raises(ValueError, match="token_id"):
        model.prefill([[model.vocabulary.vocab_size]])
    session = model.prefill([[1, 2]])
    with pytest.raises(ValueError, match="num_tokens=2"):
        session.rollback([2])
    with pytest.raises(ValueError, match="count=3"):
        session.window([3])
    with pytest.raises(ValueError, match=r"zip|rows"):
        session.append([[1], [2]])
