"""Choosing one token from logits and the set of allowed tokens. Arrays in, a token out; nothing here has state."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from constrain.decoding.result import TokenLogprob

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from constrain.decoding.options import Options

    Floats = npt.NDArray[np.float64]
    Ids = npt.NDArray[np.int64]

# Tokens tested before `choose_within` gives up; a test takes a few microseconds.
MAX_TESTED = 4096


def choose(
    logits: npt.NDArray[np.float32],
    allowed: Ids | None,
    options: Options,
    rng: np.random.Generator | None,
    seen: Sequence[int],
) -> int:
    """Return a token drawn by the options from the allowed ones.

    Args:
        logits: float32[vocab_size], not changed.
        allowed: ids of the allowed tokens, sorted, at least one; None: all.
        rng: where randomness comes from; not used at temperature 0.
        seen: token ids that the repetition penalty is about, prompt and answer.
    Raises:
        ValueError: an allowed token's logit is NaN.
    """
    values = _values(logits, allowed, options, seen)
    sampled = options.temperature > 0 and rng is not None
    best = _draw(distribution(values, options), rng) if sampled and rng is not None else int(np.argmax(values))
    return best if allowed is None else int(allowed[best])


def choose_within(
    logits: npt.NDArray[np.float32],
    allowed: Ids,
    options: Options,
    rng: np.random.Generator,
    seen: Sequence[int],
    fits: Callable[[int], bool],
) -> int | None:
    """Return a token drawn as `choose` would from those of `allowed` that fit, without asking about all of them.

    For truncated sampling. Tokens are tested from the most probable down until it is clear which are kept: with top-k
    the first k, with min-p those above the bar, with top-p until what is untested can no longer move the border.

    Args:
        fits: whether a token is in the smaller set that truncation is over.
    Returns:
        None, and no random number used, if a token that would be kept does not fit, or MAX_TESTED tests did not
        settle it: the smaller set has to be computed.
    Cost: tests of the kept tokens, and with top-p of about as many again.
    """
    values = _values(logits, allowed, options, seen)
    kept = np.flatnonzero(distribution(values, options))
    asked = kept
    if options.top_k and options.top_p < 1:
        # Top-p is over all that top-k keeps.
        asked = np.flatnonzero(distribution(values, replace(options, top_p=1.0, min_p=0.0)))
    if len(asked) > MAX_TESTED or not all(fits(int(token)) for token in allowed[asked]):
        return None
    if options.top_p < 1 and options.top_k == 0:
        # Of what is not kept some may not fit; then the kept ones weigh more together, and fewer suffice.
        border = _border(values, allowed, kept, options, fits)
        if border is None:
            return None
        kept = border
    # What is kept is settled: only the temperature is left to apply.
    weights = np.exp((values[kept] - values[kept].max()) / options.temperature)
    return int(allowed[kept[_draw(weights, rng)]])


def _border(
    values: Floats, allowed: Ids, kept: Ids, options: Options, fits: Callable[[int], bool]
) -> npt.NDArray[np.int64] | None:
    """Return those of `kept` that top-p keeps over the tokens that fit; None after MAX_TESTED tests."""
    weights = np.exp((values - values.max()) / options.temperature)
    order = np.argsort(-weights, kind="stable")
    # `kept` is a beginning of this order: all with the largest weights.
    before = np.cumsum(weights[order]) - weights[order]
    untested = np.cumsum(weights[order][::-1])[::-1]
    fitting, tested = float(before[len(kept)]) if len(kept) < len(order) else float(untested[0]), len(kept)
    while True:
        rest = float(untested[tested]) if tested < len(order) else 0.0
        least, most = (int((before[: len(kept)] < options.top_p * total).sum()) for total in (fitting, fitting + rest))
        if least == most:
            found: Ids = np.sort(order[:most])
            return found
        stop = min(2 * tested + 8, len(order))
        if stop > MAX_TESTED:
            return None
        fitting += sum(float(weights[i]) for i in order[tested:stop] if fits(int(allowed[i])))
        tested = stop


def _values(
    logits: npt.NDArray[np.float32], allowed: Ids | None, options: Options, seen: Sequence[int]
) -> npt.NDArray[np.float64]:
    """Return the logits of the allowed tokens, penalised, float64.

    Raises:
        ValueError: one of them is NaN.
    """
    values = (logits if allowed is None else logits[allowed]).astype(np.float64)
    if options.repetition_penalty != 1.0:
        _penalise(values, allowed, seen, options.repetition_penalty)
    best = values.max()
    if np.isnan(best):
        raise ValueError("the model's logits are not numbers (NaN); expected finite ones: try another dtype or device")
    if np.isneginf(best):
        # Every allowed token has probability zero under the model: they are equally good.
        values[:] = 0.0
    return values


def _penalise(values: Floats, allowed: Ids | None, seen: Sequence[int], penalty: float) -> None:
    ids = np.unique(np.asarray(seen, dtype=np.int64))
    if allowed is not None:
        at = np.searchsorted(allowed, ids)
        hit = at < len(allowed)
        ids = at[hit][allowed[at[hit]] == ids[hit]]
    values[ids] = np.where(values[ids] > 0, values[ids] / penalty, values[ids] * penalty)


def distribution(values: Floats, options: Options) -> Floats:
    """Return the probabilities after temperature, top-k, top-p and min-p, float64 like `values`."""
    scaled = values / options.temperature
    if 0 < options.top_k < len(scaled):
        least = np.partition(scaled, -options.top_k)[-options.top_k]
        scaled = np.where(scaled < least, -np.inf, scaled)
    weights = np.exp(scaled - scaled.max())
    weights /= weights.sum()
    if options.top_p < 1:
        order = np.argsort(-weights, kind="stable")
        before = np.cumsum(weights[order]) - weights[order]
        weights[order[before >= options.top_p]] = 0.0
    if options.min_p > 0:
        weights[weights < options.min_p * weights.max()] = 0.0
    total: Floats = weights / weights.sum()
    return total


def _draw(weights: Floats, rng: np.random.Generator) -> int:
    sums = np.cumsum(weights)
    at = int(np.searchsorted(sums, rng.random() * sums[-1], side="right"))
    # Rounding may put the number past the end, never on a token of weight 0 before it.
    return min(at, int(np.flatnonzero(weights)[-1]))


def score(
    logits: npt.NDArray[np.float32], token_id: int, allowed: Ids | None, alternatives: int, *, forced: bool = False
) -> TokenLogprob:
    """Return what is to be told about a token: log-probabilities at temperature 1, and what the mask removed.

    A forced token was chosen with probability 1, and everything but it was removed.
    """
    whole = logits.astype(np.float64)
    total = _log_sum(whole)
    raw = float(whole[token_id] - total)
    top = tuple((int(i), float(whole[i] - total)) for i in _largest(whole, alternatives))
    if forced:
        return TokenLogprob(token_id, raw, 0.0, float(-np.expm1(raw)), True, top)
    if allowed is None:
        return TokenLogprob(token_id, raw, raw, 0.0, False, top)
    legal = _log_sum(whole[allowed])
    masked = float(whole[token_id] - legal) if np.isfinite(legal) else -float(np.log(len(allowed)))
    removed = min(1.0, max(0.0, float(-np.expm1(legal - total))))
    return TokenLogprob(token_id, raw, masked, removed, False, top)


def _largest(values: Floats, count: int) -> Ids:
    count = min(count, len(values))
    if not count:
        return np.zeros(0, dtype=np.int64)
    found = np.argpartition(-values, count - 1)[:count].astype(np.int64)
    return found[np.argsort(-values[found], kind="stable")]


def _log_sum(values: Floats) -> float:
    most = float(values.max())
    return most + float(np.log(np.exp(values - most).sum())) if np.isfinite(most) else most
