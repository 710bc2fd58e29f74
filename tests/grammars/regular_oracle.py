"""A slow, obvious matcher for regular IR nodes over decoded text or bytes: which spans does each node match?"""

from constrain.ir import Alt, And, ByteClass, CharClass, Lexeme, Literal, Not, OneOf, Repeat, Seq, walk


def matches(root, data):
    """Return whether a regular node matches `data` (bytes, valid UTF-8 or not) as a whole."""
    n = len(data)
    spans = {}
    for node in walk(root):
        spans[id(node)] = [_ends(node, data, start, n, spans) for start in range(n + 1)]
    return n in spans[id(root)][0]


def _ends(node, data, start, n, spans):
    if isinstance(node, Literal):
        return {start + len(node.data)} if data.startswith(node.data, start) else set()
    if isinstance(node, ByteClass):
        return {start + 1} if start < n and node.mask >> data[start] & 1 else set()
    if isinstance(node, CharClass):
        return _char(node, data, start, n)
    if isinstance(node, OneOf):
        return {start + len(text) for text in node.texts if data.startswith(text, start)}
    if isinstance(node, Lexeme):
        return spans[id(node.pattern)][start]
    if isinstance(node, Seq):
        here = {start}
        for part in node.parts:
            here = {end for at in here for end in spans[id(part)][at]}
        return here
    if isinstance(node, Alt):
        return set().union(*(spans[id(part)][start] for part in node.parts)) if node.parts else set()
    if isinstance(node, And):
        return set(range(start, n + 1)).intersection(*(spans[id(part)][start] for part in node.parts))
    if isinstance(node, Not):
        return set(range(start, n + 1)) - spans[id(node.body)][start]
    assert isinstance(node, Repeat), node
    return _repeat(spans[id(node.body)], start, node.minimum, node.maximum, n)


def _char(node, data, start, n):
    for size in range(1, 5):
        if start + size <= n:
            try:
                char = data[start : start + size].decode()
            except UnicodeDecodeError:
                continue
            if any(low <= ord(char) <= high for low, high in node.ranges):
                return {start + size}
            return set()
    return set()


def _repeat(body, start, minimum, maximum, n):
    here = {start}
    found = set(here) if minimum == 0 else set()
    seen = set()
    count = 0
    while here and (maximum is None or count < maximum):
        here = {end for at in here for end in body[at]}
        count += 1
        if count >= minimum:
            if here <= found:
                break
            found |= here
        elif count > minimum:
            break
        key = (frozenset(here), min(count, minimum))
        if key in seen:
            break
        seen.add(key)
    return found
