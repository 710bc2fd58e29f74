"""Compile the kernels once per machine (numba caches them on disk), with a word to the user if it takes a while."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator

_lock = threading.Lock()
_done = False

Progress = Callable[[int, int, str], None]


def warm(progress: Progress | None = None) -> None:
    """Make sure that every kernel is compiled.

    Args:
        progress: called as (steps done, steps, what comes next). Without it a line goes to stderr, if it takes
            more than a second and a half of computing.
    Cost: about 15 s the first time on a machine, then 0.1 s in each process (loading numba's cache).
    """
    global _done  # noqa: PLW0603  one flag for the process
    with _lock:
        if _done:
            return
        began = time.process_time()  # waiting for a busy machine is no compilation
        told = False
        steps = list(_steps())
        for i, (what, run) in enumerate(steps):
            if progress is not None:
                progress(i, len(steps), what)
            elif not told and time.process_time() - began > 1.5:
                told = True
                sys.stderr.write("constrain: compiling kernels, once on this machine (about 15 s) ...\n")
            run()
        if progress is not None:
            progress(len(steps), len(steps), "done")
        _done = True


def _steps() -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield (name, thunk) pairs that together call every kernel with the types they are used with."""
    import numpy as np

    from constrain import ir
    from constrain.automata.machine import Machine
    from constrain.limits import Limits
    from constrain.vocabulary import Vocabulary

    vocabulary = Vocabulary.from_tokens([b'"', b"a", b"aa", None], eos_token_ids=(3,))
    key = ir.Key(ir.seq([ir.Literal(b'"'), ir.Repeat(ir.ByteClass(1 << 97), 0, None), ir.Literal(b'"')]))
    grammar = ir.Grammar(ir.seq([ir.Op(ir.INSERT, texts=(b"b",)), key]))
    made: list[Machine] = []

    def machine() -> Machine:
        if not made:
            made.append(Machine(grammar, vocabulary, Limits()))
        return made[0]

    row = np.zeros((1, 1), dtype=np.int32)
    data = np.frombuffer(b'"a"', dtype=np.uint8)
    yield "states", machine
    yield "transitions", lambda: machine().advance(machine().start, data, 0, 3)
    yield "bytes", lambda: machine().next_bytes(machine().start)
    yield "masks", lambda: machine().fill([machine().start], row)
    yield "ends", lambda: machine().is_accepting(machine().start)
    yield "edges", lambda: machine().first_pairs(int(machine().content(machine().start)[1]))
    yield "tables", lambda: machine().rebuild_hash()
