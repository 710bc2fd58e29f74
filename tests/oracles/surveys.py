"""What is tried on one real schema, and a file of results that a long run can be resumed from.

`survey_instances` reads the labelled instances token by token; `survey_walks` lets random tokens through the mask and
asks the validator about what comes out. Both return a plain dict for one line of a JSON Lines file.
"""

from __future__ import annotations

import json
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from oracles import datasets
from oracles.validator import UnsureError, Validator

from constrain.compiled import CompiledGrammar, compile_grammar
from constrain.errors import ConstrainError, UnsupportedFeatureError
from constrain.grammars.json_schema import json_schema
from constrain.vocabulary import Vocabulary

Record = dict[str, Any]


class TookTooLongError(Exception):
    """One schema used up its seconds."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise `TookTooLongError` in the main thread when the block takes more CPU time (compiled code is not interrupted).

    CPU time, so that a busy or paused machine is no failure.
    """

    def ring(_number: int, _frame: FrameType | None) -> None:
        raise TookTooLongError(f"{seconds} s")

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


class Records:
    """Results by key in a JSON Lines file under `.acceptance/`; what is there already is not done again."""

    def __init__(self, name: str | None) -> None:
        self.found: dict[str, Record] = {}
        self.path: Path | None = None
        if name is not None:
            self.path = datasets.ROOT / ".acceptance" / name
            self.path.parent.mkdir(exist_ok=True)
            if self.path.exists():
                for line in self.path.read_text(encoding="utf-8").split("\n"):
                    try:
                        record = json.loads(line)
                    except ValueError:
                        continue  # the line that an interrupted run was writing
                    self.found[record["id"]] = record

    def each(self, rows: Iterable[Record], survey: Callable[[Record], Record]) -> list[Record]:
        """Return the record of every row, made now or before."""
        out = []
        for row in rows:
            key = row["id"]
            if key not in self.found:
                record = {"id": key, **survey(row)}
                self.found[key] = record
                if self.path is not None:
                    with self.path.open("a", encoding="utf-8") as stream:
                        stream.write(json.dumps(record) + "\n")
            out.append(self.found[key])
        return out


def compiled_or_refused(
    schema: object, vocabulary: Vocabulary, seconds: float, **options: Any
) -> tuple[CompiledGrammar | None, Record]:
    """Return the compiled schema, or None and why: "refused", a keyword; anything but our own errors is a crash."""
    began = time.perf_counter()
    try:
        with at_most(seconds):
            compiled = compile_grammar(json_schema(schema, **options), vocabulary)
    except UnsupportedFeatureError as error:
        return None, {"status": "refused", "keyword": error.feature, "why": str(error)[:300]}
    except ConstrainError as error:
        return None, {"status": "refused", "keyword": type(error).__name__, "why": str(error)[:300]}
    except TookTooLongError as error:
        return None, {"status": "timeout", "keyword": "timeout", "why": f"compile: {error}"}
    except Exception as error:
        return None, {"status": "crash", "keyword": type(error).__name__, "why": str(error)[:300]}
    return compiled, {"status": "compiled", "compile_ms": round(1e3 * (time.perf_counter() - began), 3)}


def survey_instances(
    row: Record, vocabulary: Vocabulary, tokenizer: Any, seconds: float = 60.0, **options: Any
) -> Record:
    """Try every labelled instance of a schema token by token, as `json.dumps` writes it, in any order of keys."""
    options = {"property_order": "any", **options}
    compiled, record = compiled_or_refused(row["schema"], vocabulary, seconds, **options)
    record |= {"dataset": row["dataset"], "valid": 0, "invalid": 0, "valid_refused": [], "invalid_accepted": []}
    for case in row["tests"]:
        record["valid" if case["valid"] else "invalid"] += 1
    if compiled is None:
        return record
    for index, case in enumerate(row["tests"]):
        text = datasets.instance_text(case["data"])
        try:
            with at_most(seconds):
                stopped = read(compiled, tokenizer.encode(text, add_special_tokens=False).ids, text)
        except Exception as error:
            record["status"], record["why"] = "crash", f"instance {index}: {type(error).__name__}: {error}"[:300]
            break
        if case["valid"] and stopped is not None:
            record["valid_refused"].append([index, stopped])
        elif not case["valid"] and stopped is None:
            record["invalid_accepted"].append(index)
    record["states"] = compiled.num_states
    return record


def read(compiled: CompiledGrammar, token_ids: list[int], text: str) -> str | None:
    """Feed tokens to a matcher; return where it stopped, None if the text was accepted as a whole."""
    matcher = compiled.matcher()
    done = b""
    for token_id in token_ids:
        if not matcher.try_accept_token(token_id):
            return f"{done[-60:]!r} then {compiled.vocabulary.token_bytes(token_id)!r}"
        done += compiled.vocabulary.token_bytes(token_id) or b""
    assert done == text.encode(), "the tokenizer does not give the text back"
    return None if matcher.is_accepting() else f"{done[-60:]!r} is not the end"


def allowed_ids(row: np.ndarray[Any, np.dtype[np.int32]], size: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the token ids whose bits are set."""
    return np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")[:size])


@lru_cache(maxsize=2)
def first_bytes(vocabulary: Vocabulary) -> np.ndarray[Any, np.dtype[np.int16]]:
    """Return the first byte of every token, -1 for those without bytes."""
    return np.array([token[0] if token else -1 for token in vocabulary.tokens()], dtype=np.int16)


def walk(
    compiled: CompiledGrammar,
    rng: random.Random,
    *,
    free: int,
    slack: int,
    budgeted: int = 1 << 30,
    by_byte: bool = False,
    ends: list[int] | None = None,
) -> list[int]:
    """Return the tokens of a random walk under the mask, the end token included.

    Args:
        free: steps without a budget; then `distance` + `slack` tokens are left.
        slack: how many tokens more than needed the end may take.
        budgeted: steps drawn under the budget; the rest follows the engine's own shortest completion.
        by_byte: draw the first byte uniformly and then a token with it: short structure instead of long junk.
        ends: is given the number of tokens after which the end was offered, each of them a whole text.
    Raises:
        AssertionError: no token is allowed, the end is offered where the text may not end (or is not where it may), or
            the budget was missed.
    """
    vocabulary = compiled.vocabulary
    first = first_bytes(vocabulary)
    end_ids = np.array(vocabulary.eos_token_ids)
    state, out = compiled.start, []
    left: int | None = None
    while True:
        if left is None and len(out) >= free:
            left = compiled.distance(state) + slack
        if left is not None and len(out) >= free + budgeted:
            rest = compiled.completion(state)
            assert len(rest) <= left, f"the completion takes {len(rest)} tokens, {left} are left"
            for token_id in rest:
                assert state > 1, "the completion goes on after the end, or is refused"
                state = compiled.advance(state, token_id)
            assert state == 1, "the completion does not end"
            return out + rest
        row = compiled.bitmask(state) if left is None else compiled.allowed_within(state, left)
        choice = allowed_ids(row, vocabulary.vocab_size)
        assert len(choice), f"dead end after {len(out)} tokens, budget {left}, distance {compiled.distance(state)}"
        offered = np.isin(end_ids, choice)
        accepting = compiled.is_accepting(state)
        assert offered.all() == offered.any() == accepting, f"ends offered {offered}, accepting {accepting}"
        if accepting and ends is not None:
            ends.append(len(out))
        if by_byte:
            # The end counts as one more byte, -1.
            starts = first[choice]
            choice = choice[starts == rng.choice(np.unique(starts).tolist())]
        token_id = int(choice[rng.randrange(len(choice))])
        out.append(token_id)
        if left is not None:
            left -= 1
        if token_id in vocabulary.eos_token_ids:
            assert left is None or left >= 0, "the budget was missed"
            return out
        assert left is None or left > 0, "the budget is used up and the end has not come"
        state = compiled.advance(state, token_id)
        assert state != 0, "a token that the mask allows is refused"


# Every walk ends under the budget. A mask under it may look at every token, so few walks draw all of their end there;
# the others draw this many steps and then follow the engine's own completion.
BUDGETED = (*(1,) * 12, 2, 2, 3, 1 << 30)
_ENDS_JUDGED = 4


def survey_walks(
    row: Record, vocabulary: Vocabulary, walks: int, seed: int, seconds: float = 120.0, **options: Any
) -> Record:
    """Walk a schema `walks` times; every text at which an end was offered must be valid.

    Of eight walks seven draw uniformly among the allowed tokens, one by first byte.
    """
    compiled, record = compiled_or_refused(row["schema"], vocabulary, seconds, **options)
    record |= {"walks": 0, "uniform": 0, "tokens": 0, "ends": 0, "unsure": 0, "failures": []}
    if compiled is None:
        return record
    rng = random.Random(f"{seed} {row['id']}")
    try:
        validator = Validator(row["schema"])
        with at_most(seconds):
            for index in range(walks):
                free, slack = rng.choice((0, 3, 10, 30, 60)), rng.choice((0, 0, 1, 5, 20))
                by_byte, ends = index % 8 == 7, []
                tokens = walk(
                    compiled, rng, free=free, slack=slack, budgeted=rng.choice(BUDGETED), by_byte=by_byte, ends=ends
                )
                record["walks"] += 1
                record["uniform"] += not by_byte
                record["tokens"] += len(tokens)
                earlier = rng.sample(ends, min(len(ends), _ENDS_JUDGED))
                for size in {*earlier, len(tokens) - 1}:
                    record["ends"] += 1
                    _judge(record, validator, vocabulary.decode(tokens[:size]))
    except TookTooLongError as error:
        record["status"], record["why"] = "timeout", str(error)
    except AssertionError as error:
        record["failures"].append({"why": str(error)})
    except UnsureError as error:
        record["status"], record["why"] = "unsure", str(error)[:200]
    except Exception as error:
        record["status"], record["why"] = "crash", f"{type(error).__name__}: {error}"[:300]
    return record


def _judge(record: Record, validator: Validator, text: bytes) -> None:
    try:
        said = validator.explain(text)
    except UnsureError as error:
        record["unsure"] += 1
        record["why"] = str(error)[:200]
    else:
        if said is not None:
            record["failures"].append({"text": text.decode(errors="replace")[:2000], "why": said[:300]})


def table(counts: Counter[str], total: int, head: str) -> str:
    """Return counts as lines, most first, with their share."""
    lines = [f"{count:6d} {100 * count / max(total, 1):5.1f} %  {name}" for name, count in counts.most_common()]
    return "\n".join([head, *lines])


def instances_report(records: list[Record]) -> str:
    """Return the table of acceptance 4: what compiles, what is refused by keyword, what went wrong."""
    total = len(records)
    status = Counter(record["status"] for record in records)
    refused = Counter(f"{record['keyword']}" for record in records if "keyword" in record)
    compiled = [record for record in records if record["status"] == "compiled"]
    valid, invalid = sum(r["valid"] for r in compiled), sum(r["invalid"] for r in compiled)
    valid_refused = sum(len(r["valid_refused"]) for r in compiled)
    invalid_accepted = sum(len(r["invalid_accepted"]) for r in compiled)
    lines = [
        table(status, total, f"{total} schemas"),
        table(refused, total, "not compiled, by keyword"),
        f"valid instances of compiled schemas: {valid}, refused: {valid_refused}",
        f"invalid instances of compiled schemas: {invalid}, accepted: {invalid_accepted}",
    ]
    for record in records:
        if record["valid_refused"] or record["invalid_accepted"] or record["status"] in ("crash", "timeout"):
            lines.append(
                f"  {record['id']}: {record['status']} {record.get('why', '')} "
                f"valid refused {record['valid_refused'][:2]} invalid accepted {record['invalid_accepted'][:5]}"
            )
    return "\n".join(lines)


def walks_report(records: list[Record]) -> str:
    """Return the table of acceptance 3."""
    walked = [record for record in records if record["walks"]]
    lines = [
        table(Counter(record["status"] for record in records), len(records), f"{len(records)} schemas"),
        f"schemas walked: {len(walked)}, walks: {sum(r['walks'] for r in walked)}, "
        f"uniform: {sum(r['uniform'] for r in walked)}, tokens: {sum(r['tokens'] for r in walked)}, "
        f"texts judged: {sum(r['ends'] for r in walked)}, "
        f"unsure: {sum(r['unsure'] for r in records)}, failures: {sum(len(r['failures']) for r in records)}",
    ]
    lines += [f"  {r['id']}: {failure}" for r in records for failure in r["failures"][:2]]
    lines += [
        f"  {r['id']}: {r['status']}: {r.get('why')}" for r in records if r["status"] in ("crash", "timeout", "unsure")
    ]
    return "\n".join(lines)
