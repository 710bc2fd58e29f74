"""What sequences of tokens can finish a text: oracles that know tokens and languages, and nothing of the engine.

Each is a function of the text so far, which ends where a token ends: is there a sequence of tokens (maybe empty) after
which the whole is a member? For regular nodes by search over derivatives, for rules by a fixpoint over the text and a
trie of the tokens, for listed languages by cutting the rest of each member.
"""

from __future__ import annotations

import random
from collections.abc import Hashable, Iterable

from oracles import naive

from constrain import ir
from constrain.vocabulary import Vocabulary


def vocabulary(rng: random.Random, alphabet: bytes, texts: tuple[str, ...] = (), most: int = 8) -> Vocabulary:
    """Return 2 to `most` tokens of 1 to 4 bytes, few of one byte, some that begin or end inside a character."""
    pieces = [bytes((byte,)) for byte in alphabet] + [text.encode() for text in texts]
    tokens: list[bytes | None] = []
    for _ in range(rng.randint(2, most)):
        token = b"".join(rng.choice(pieces) for _ in range(rng.choice((1, 2, 2, 3, 4))))
        start = rng.randrange(len(token)) if rng.random() < 0.3 else 0
        tokens.append(token[start : start + rng.choice((2, 2, 3, 3, 4, 4, 1))])
    return Vocabulary.from_tokens([*tokens, None], eos_token_ids=[len(tokens)])


class Cuts:
    """Which byte strings are concatenations of tokens."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.tokens = sorted({token for token in vocabulary.tokens() if token})

    def least(self, data: bytes) -> int | None:
        """Return the fewest tokens that spell `data`, None if none do."""
        cost: dict[int, int] = {0: 0}
        for at in range(len(data)):
            for token in self.tokens:
                if at in cost and data.startswith(token, at):
                    end = at + len(token)
                    cost[end] = min(cost.get(end, cost[at] + 1), cost[at] + 1)
        return cost.get(len(data))


class Regular:
    """A regular node: states are expressions, tokens lead from one to the next."""

    def __init__(self, node: ir.Node, vocabulary: Vocabulary) -> None:
        self.expr = naive.expression(node)
        self.tokens = Cuts(vocabulary).tokens
        self._least: dict[naive.Expr, int | None] = {}

    def member(self, text: bytes) -> bool:
        return naive.nullable(naive.after(self.expr, text))

    def least(self, text: bytes) -> int | None:
        """Return the fewest tokens after which `text` is a member; None if there are none."""
        root = naive.after(self.expr, text)
        if root not in self._least:
            self._least[root] = self._search(root)
        return self._least[root]

    def live(self, text: bytes) -> bool:
        return self.least(text) is not None

    def _search(self, root: naive.Expr) -> int | None:
        level, seen, depth = [root], {root}, 0
        while level:
            if any(naive.nullable(expr) for expr in level):
                return depth
            after = {naive.after(expr, token) for expr in level for token in self.tokens} - seen - {naive.NONE}
            seen |= after
            level, depth = list(after), depth + 1
        return None


class Listed:
    """A finite language, given by its members."""

    def __init__(self, members: Iterable[bytes], vocabulary: Vocabulary) -> None:
        self.members = frozenset(members)
        self._cuts = Cuts(vocabulary)

    def member(self, text: bytes) -> bool:
        return text in self.members

    def live(self, text: bytes) -> bool:
        rests = (member[len(text) :] for member in self.members if member.startswith(text))
        return any(self._cuts.least(rest) is not None for rest in rests)


class Rules:
    """A grammar without registers, intersections and complements: Bar-Hillel's product, as a fixpoint.

    The automaton reads the text, then any tokens: its states are positions in the text and prefixes of tokens.
    """

    def __init__(self, grammar: ir.Grammar, vocabulary: Vocabulary) -> None:
        self.grammar = grammar
        self.tokens = Cuts(vocabulary).tokens

    def member(self, text: bytes) -> bool:
        return self._reaches(text, ())

    def live(self, text: bytes) -> bool:
        return self._reaches(text, self.tokens)

    def _reaches(self, text: bytes, tokens: Iterable[bytes]) -> bool:
        steps: dict[tuple[Hashable, int], set[Hashable]] = {}
        for at, byte in enumerate(text):
            steps.setdefault((at, byte), set()).add(at + 1)
        end = len(text)
        for token in tokens:
            for at, byte in enumerate(token):
                before = token[:at] or end
                after = token[: at + 1]
                steps.setdefault((before, byte), set()).update({after} | ({end} if after == token else set()))
        return end in _Product(self.grammar, steps).ends()


class _Product:
    def __init__(self, grammar: ir.Grammar, steps: dict[tuple[Hashable, int], set[Hashable]]) -> None:
        self.grammar = grammar
        self.steps = steps
        self.rules: dict[tuple[Hashable, Hashable], set[Hashable]] = {}

    def ends(self) -> set[Hashable]:
        """Return where the start node can end: repeated until no rule ends anywhere new."""
        while True:
            before = {key: len(found) for key, found in self.rules.items()}
            ends = self.read(self.grammar.start, 0)
            for name, at in list(self.rules):
                self.rules[name, at] |= self.read(self.grammar.rules[name], at)
            if before == {key: len(found) for key, found in self.rules.items()}:
                return ends

    def read(self, node: ir.Node, at: Hashable) -> set[Hashable]:
        """Return where a node that begins at `at` can end, as far as is known of the rules."""
        if isinstance(node, ir.Literal):
            here = {at}
            for byte in node.data:
                here = set().union(*(self.steps.get((place, byte), set()) for place in here))
            return here
        if isinstance(node, ir.ByteClass):
            return set().union(*(self.steps.get((at, byte), set()) for byte in range(256) if node.mask >> byte & 1))
        if isinstance(node, ir.OneOf):
            return set().union(*(self.read(ir.Literal(text), at) for text in node.texts))
        if isinstance(node, ir.Lexeme):
            return self.read(node.pattern, at)
        if isinstance(node, ir.Ref):
            return set(self.rules.setdefault((node.name, at), set()))
        if isinstance(node, ir.Alt):
            return set().union(*(self.read(part, at) for part in node.parts))
        if isinstance(node, ir.Seq):
            return self._sequence(node.parts, at)
        assert isinstance(node, ir.Repeat), node
        here = self._sequence((node.body,) * node.minimum, at)
        found, rounds = set(here), 0
        while here and (node.maximum is None or rounds < node.maximum - node.minimum):
            here = set().union(*(self.read(node.body, place) for place in here)) - found
            found |= here
            rounds += 1
        return found

    def _sequence(self, parts: tuple[ir.Node, ...], at: Hashable) -> set[Hashable]:
        here = {at}
        for part in parts:
            here = set().union(*(self.read(part, place) for place in here))
        return here
