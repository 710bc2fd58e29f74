"""Random small vocabularies, grammars, patterns and schemas for differential tests. Everything follows from a seed."""

from __future__ import annotations

import random
import string
from collections.abc import Callable

from constrain import ir
from constrain.vocabulary import Vocabulary

SPLIT = tuple("é€😀")


def vocabulary(rng: random.Random, alphabet: bytes, texts: tuple[str, ...] = (), size: int = 24) -> Vocabulary:
    """Return a vocabulary: every byte of `alphabet` and of `texts` alone, and `size` random longer tokens.

    Some tokens begin or end inside a character, some bytes have two ids, ids lie in random order, and there are one or
    two end tokens, a special one and a hole.
    """
    pieces = [bytes((byte,)) for byte in sorted(set(alphabet) | set("".join(texts).encode()))]
    wide = [text.encode() for text in texts]
    tokens: list[bytes | None] = list(pieces)
    for _ in range(size):
        token = b"".join(rng.choice(pieces + wide) for _ in range(rng.randint(2, 5)))
        if wide and rng.random() < 0.3:
            char = rng.choice(wide)
            cut = rng.randrange(1, len(char)) if len(char) > 1 else 1
            token = token[:2] + char[:cut] if rng.random() < 0.5 else char[cut:] + token[:2]
        tokens.append(token)
    tokens += [rng.choice(pieces), rng.choice(tokens[len(pieces) :]), None]
    rng.shuffle(tokens)
    ends = [len(tokens)] + ([len(tokens) + 1] if rng.random() < 0.3 else [])
    special = len(tokens) + len(ends)
    tokens += [b"</s>"] * len(ends) + [rng.choice(pieces)] + [None] * rng.randint(0, 3)
    return Vocabulary.from_tokens(tokens, eos_token_ids=ends, special_token_ids=[special])


# Grammars


def regular(rng: random.Random, depth: int, letters: bytes = b"abc") -> ir.Node:
    """Return a random regular node of at most `depth` levels."""
    if depth == 0 or rng.random() < 0.25:
        return _leaf(rng, letters)
    kind = rng.randrange(12)
    if kind < 4:
        return ir.Seq(tuple(regular(rng, depth - 1, letters) for _ in range(rng.randint(2, 3))))
    if kind < 7:
        return ir.Alt(tuple(regular(rng, depth - 1, letters) for _ in range(rng.randint(2, 3))))
    if kind < 10:
        minimum = rng.randint(0, 2)
        return ir.Repeat(regular(rng, depth - 1, letters), minimum, rng.choice((None, minimum + rng.randint(0, 3))))
    if kind == 10:
        return ir.And((regular(rng, depth - 1, letters), regular(rng, depth - 1, letters)))
    over = ir.Repeat(ir.ByteClass(sum(1 << byte for byte in letters)), 0, rng.choice((None, 3, 4)))
    return ir.And((over, ir.Not(regular(rng, depth - 1, letters))))


def _leaf(rng: random.Random, letters: bytes) -> ir.Node:
    kind = rng.randrange(10)
    if kind < 5:
        return ir.Literal(bytes(rng.choice(letters) for _ in range(rng.choice((0, 1, 1, 1, 2, 3)))))
    if kind < 7:
        return ir.ByteClass(sum(1 << byte for byte in letters if rng.random() < 0.5))
    if kind == 7:
        low, high = sorted(rng.sample((0x61, 0x63, 0xE0, 0xE9, 0x100, 0x20AC, 0x3000, 0x1F600, 0x1F64F), 2))
        return ir.CharClass(((low, high),))
    if kind == 8:
        return ir.Literal(rng.choice(SPLIT).encode())
    return ir.OneOf(tuple({bytes(rng.choice(letters) for _ in range(rng.randint(1, 3))) for _ in range(3)}))


def grammar(rng: random.Random) -> ir.Grammar:
    """Return a random grammar: up to four rules that call each other in every position, nullable or not."""
    names = ["start", "x", "y", "z"][: rng.randint(1, 4)]
    counted = rng.random() < 0.3
    rules = {name: _body(rng, names, 2, counted=counted and name != "start") for name in names}
    return ir.Grammar(ir.Ref("start"), rules)


def _body(rng: random.Random, names: list[str], depth: int, *, counted: bool) -> ir.Node:
    node = _call(rng, names, depth)
    if not counted:
        return node
    # At most `most` rounds, at least `least`. Operations stand before the text they forbid, and what they demand can be
    # had: front ends promise both (see ir.Op).
    most = rng.randint(1, 3)
    least = rng.randint(0, most)
    step = ir.Seq((ir.Op(ir.LESS, 0, most), ir.Alt((regular(rng, 1), ir.Literal(b"b"))), ir.Op(ir.ADD, 0, 1)))
    tail: ir.Node = ir.Op(ir.AT_LEAST, 0, least)
    if rng.random() < 0.5:
        marks = ir.Alt(tuple(ir.Seq((ir.Op(ir.MARK, 0, mark), ir.Literal(b"ac"[mark:]))) for mark in range(2)))
        once = ir.Seq((ir.Op(ir.UNMARKED, 0, 0), ir.Literal(b"a")))
        tail = ir.Seq((tail, ir.Repeat(marks, 0, None), rng.choice((ir.Op(ir.MARKED, 0, 1), ir.optional(once)))))
    return ir.Seq((ir.Repeat(step, 0, None), tail, *([node] if rng.random() < 0.3 else [])))


def _call(rng: random.Random, names: list[str], depth: int) -> ir.Node:
    if depth == 0 or rng.random() < 0.2:
        node = ir.Ref(rng.choice(names)) if rng.random() < 0.45 else regular(rng, 1)
        return ir.Lexeme(node) if not isinstance(node, ir.Ref) and rng.random() < 0.4 else node
    kind = rng.randrange(10)
    parts = tuple(_call(rng, names, depth - 1) for _ in range(rng.randint(2, 3)))
    if kind < 4:
        return ir.Seq(parts)
    if kind < 8:
        return ir.Alt((*parts, regular(rng, 1)))
    minimum = rng.randint(0, 2)
    return ir.Repeat(parts[0], minimum, rng.choice((None, minimum + rng.randint(0, 2))))


def keyed(rng: random.Random) -> ir.Grammar:
    """Return a random grammar of lists of unique keys, in one spelling or in several, some taken from the start."""
    letters = ir.ByteClass(sum(1 << byte for byte in b"ab"))
    inside: ir.Node = ir.Repeat(letters, rng.randint(0, 1), None)
    if rng.random() < 0.5:
        inside = ir.Repeat(ir.Alt((letters, ir.Literal(b"\\u0061"), ir.Literal(b"\\n"))), rng.randint(0, 1), None)
    key = ir.Key(ir.Seq((ir.Literal(b'"'), inside, ir.Literal(b'"'))))
    taken = tuple(text.encode() for text in rng.sample(("", "a", "b", "ab", "aa"), rng.randint(0, 3)))
    most = rng.randint(1, 4)
    item = ir.Seq((key, ir.Op(ir.ADD, 0, 1), *([ir.Ref("list")] if rng.random() < 0.3 else [])))
    # The test stands before the comma: behind it, it would strand a text (see ir.Op).
    more = ir.Repeat(ir.Seq((ir.Op(ir.LESS, 0, most), ir.Literal(b","), item)), 0, None)
    body = ir.Seq((ir.Literal(b"["), ir.Op(ir.INSERT, texts=taken), item, more, ir.Literal(b"]")))
    return ir.Grammar(ir.Ref("list"), {"list": ir.Alt((body, ir.Literal(b"[]")))})


# Patterns, in the syntax that Python's `re` and our front end share


def pattern(rng: random.Random, depth: int = 3) -> str:
    """Return a random pattern over a, b, c, é and a few classes; read it as a full match."""
    if depth == 0 or rng.random() < 0.15:
        return rng.choice(
            ("a", "b", "c", "ab", "é", "€", ".", "[ab]", "[^a]", "[a-c]", r"\w", r"\d", r"\W", "[é-€]", "😀")
        )
    kind = rng.randrange(8)
    one = pattern(rng, depth - 1)
    if kind < 3:
        return one + pattern(rng, depth - 1)
    if kind == 3:
        return f"({one}|{pattern(rng, depth - 1)})"
    if kind == 4:
        return f"(?:{one}|{pattern(rng, depth - 1)}|)"
    return f"(?:{one})" + rng.choice(("*", "+", "?", "{2}", "{1,3}", "{0,2}", "{2,}", "*?", "+?"))


# Schemas with finitely many documents, small enough to list


def closed_schema(rng: random.Random, *, numbers: bool) -> object:
    """Return a random schema whose documents (compact) are all in `universe(numbers)`."""
    kind = rng.randrange(7)
    if kind < 2:
        names = ["a", "b"][: rng.randint(1, 2)]
        schema: dict[str, object] = {
            "type": "object",
            "properties": {name: _closed_scalar(rng, numbers=numbers) for name in names},
            "additionalProperties": False,
        }
        if rng.random() < 0.7:
            schema["required"] = rng.sample(["a", "b"], rng.randint(0, len(names))) if len(names) == 2 else ["a"]
        return schema
    if kind < 4:
        schema = {"type": "array", "items": _closed_scalar(rng, numbers=numbers), "maxItems": rng.randint(0, 2)}
        if rng.random() < 0.4:
            schema["minItems"] = rng.randint(0, 2)
        if rng.random() < 0.4:
            schema["prefixItems"] = [_closed_scalar(rng, numbers=numbers) for _ in range(rng.randint(1, 2))]
        return schema
    if kind == 4:
        return {"anyOf": [closed_schema(rng, numbers=numbers), _closed_scalar(rng, numbers=numbers)]}
    return _closed_scalar(rng, numbers=numbers)


def _closed_scalar(rng: random.Random, *, numbers: bool) -> dict[str, object]:
    kind = rng.randrange(6)
    if kind == 0:
        return {"enum": rng.sample([None, "a", "b", "é", 0, 1, 12] if numbers else [None, "a", "é", True, False], 3)}
    if kind == 1:
        return {"const": rng.choice([None, "a", "é", 2, 10] if numbers else [None, "b", True])}
    if kind == 2 and numbers:
        low = rng.randint(0, 12)
        name = rng.choice(("maximum", "exclusiveMaximum"))
        return {"type": "integer", "minimum": low, name: min(low + rng.randint(0, 12), 22)}
    if kind == 3:
        return {"type": ["null"] if numbers else ["boolean", "null"]}
    string_schema: dict[str, object] = {"type": "string", "maxLength": rng.randint(0, 1)}
    if rng.random() < 0.5:
        string_schema["minLength"] = rng.randint(0, 1)
    if rng.random() < 0.5:
        string_schema["pattern"] = rng.choice(["a", "^[ab]", "é|b", "^[^a]$", r"^\w?$", "^$", "b$", "(?!a)b|^$"])
    return string_schema


def universe(alphabet: str, *, numbers: bool) -> list[str]:
    """Return every compact text of a null, boolean, integer to 22, string to one character, or an array of up to two
    of these, or an object of up to two members a and b, that `alphabet` can spell."""
    strings = ['""'] + [f'"{char}"' for char in alphabet if char not in '"\\']
    scalars = strings + (["null", *map(str, range(23))] if numbers else ["null", "true", "false"])
    scalars = [text for text in scalars if set(text) <= set(alphabet)]
    found = list(scalars) + ["[]", "{}"]
    for one in scalars:
        found += [f"[{one}]", f'{{"a":{one}}}', f'{{"b":{one}}}']
        for two in scalars:
            found += [f"[{one},{two}]", f'{{"a":{one},"b":{two}}}', f'{{"b":{two},"a":{one}}}']
    return found


LETTERS = string.ascii_lowercase
Sampler = Callable[[random.Random], ir.Grammar]
