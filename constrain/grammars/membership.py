"""Does a text belong to a regular node? A direct evaluation for constants, where no automaton is at hand."""

from __future__ import annotations

from constrain.ir import Alt, And, CharClass, Literal, Node, Not, OneOf, Repeat, Seq, walk

# The ends of a node's matches from one start: a set of positions as the bits of an int.
Ends = list[int]


def matches(root: Node, text: str) -> bool:
    """Return whether a regular node over code points matches the whole text.

    Cost: O(nodes * len(text)**2) bit operations in the worst case; meant for keys and constants.
    """
    ends: dict[int, Ends] = {}
    for node in walk(root):
        ends[id(node)] = _ends(node, text, ends)
    return bool(ends[id(root)][0] >> len(text) & 1)


def _ends(node: Node, text: str, known: dict[int, Ends]) -> Ends:
    size = len(text)
    if isinstance(node, CharClass):
        codes = [ord(char) for char in text]
        ranges = node.ranges
        hit = [any(low <= code <= high for low, high in ranges) for code in codes]
        return [1 << (at + 1) if at < size and hit[at] else 0 for at in range(size + 1)]
    if isinstance(node, Literal):
        word = node.data.decode()
        return [1 << (at + len(word)) if text.startswith(word, at) else 0 for at in range(size + 1)]
    if isinstance(node, OneOf):
        words = [data.decode() for data in node.texts]
        return [sum(1 << (at + len(word)) for word in words if text.startswith(word, at)) for at in range(size + 1)]
    if isinstance(node, Seq):
        out = [1 << at for at in range(size + 1)]
        for part in node.parts:
            out = [_step(here, known[id(part)]) for here in out]
        return out
    if isinstance(node, (Alt, And)):
        return _combined(node, size, known)
    if isinstance(node, Not):
        whole = (1 << (size + 1)) - 1
        return [whole >> at << at & ~found for at, found in enumerate(known[id(node.body)])]
    if isinstance(node, Repeat):
        return [_repeated(at, node, known[id(node.body)], size) for at in range(size + 1)]
    return [0] * (size + 1)  # ByteClass(0), the empty language


def _combined(node: Alt | And, size: int, known: dict[int, Ends]) -> Ends:
    whole = (1 << (size + 1)) - 1
    out = [0 if isinstance(node, Alt) else whole >> at << at for at in range(size + 1)]
    for part in node.parts:
        ends = known[id(part)]
        if isinstance(node, Alt):
            out = [a | b for a, b in zip(out, ends, strict=True)]
        else:
            out = [a & b for a, b in zip(out, ends, strict=True)]
    return out


def _step(here: int, ends: Ends) -> int:
    """Return the positions reached from any of `here`."""
    out = 0
    while here:
        low = here & -here
        out |= ends[low.bit_length() - 1]
        here ^= low
    return out


def _repeated(start: int, node: Repeat, ends: Ends, size: int) -> int:
    here = 1 << start
    # After as many copies as there are characters, only empty copies can follow: sets of positions then repeat.
    for _ in range(min(node.minimum, size - start + 1)):
        here = _step(here, ends)
    found = here
    left = None if node.maximum is None else node.maximum - node.minimum
    while here and (left is None or left > 0):
        here = _step(here, ends) & ~found
        found |= here
        left = None if left is None else left - 1
    return found
