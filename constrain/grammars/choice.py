"""A choice of fixed texts as a constraint."""

from __future__ import annotations

from collections.abc import Iterable

from constrain.arguments import items, refuse
from constrain.errors import EmptyLanguageError, GrammarSyntaxError, LimitExceededError
from constrain.ir import EPSILON, Grammar, Lexeme, Node, OneOf, ReportItem, optional
from constrain.limits import Limits, checked


def choice(texts: Iterable[str | bytes], *, limits: Limits | None = None) -> Grammar:
    """Return the constraint "the answer is one of `texts`", kept as a trie.

    Repeated texts count once. The empty text is a text like any other: the answer may then end at once.

    Args:
        texts: the answers, str (written in UTF-8) or bytes.
        limits: `max_literals` bounds their number.
    Raises:
        EmptyLanguageError: there are none.
        GrammarSyntaxError: a str holds a lone surrogate, which has no UTF-8 form.
        LimitExceededError: there are more than `max_literals`.
    Cost: about 0.1 us a text.
    """
    given = items("texts", texts, "a list of texts, not one text")
    limits = checked(limits)
    if not given:
        raise EmptyLanguageError("the choice", "it has no texts")
    if len(given) > limits.max_literals:
        raise LimitExceededError("max_literals", limits.max_literals, "in choice()")
    encoded = dict.fromkeys(_encode(given))
    report = (ReportItem("#", "choice", "exact", f"{len(encoded)} texts"),)
    return Grammar(Lexeme(one_of(encoded)), report=report, source=("choice", {"texts": given}), name="the choice")


def one_of(texts: Iterable[bytes]) -> Node:
    """Return the regular node of distinct texts, the empty one included if it is there."""
    found = tuple(texts)
    kept = tuple(text for text in found if text)
    if not kept:
        return EPSILON
    return optional(OneOf(kept)) if len(kept) < len(found) else OneOf(kept)


def _encode(texts: list[str | bytes]) -> Iterable[bytes]:
    kinds = set(map(type, texts))
    if kinds == {str}:
        try:
            return [text.encode() for text in texts]  # type: ignore[union-attr]
        except UnicodeEncodeError:
            pass  # the slow way below names the text
    for kind in kinds:
        if not issubclass(kind, (str, bytes)):
            at = next(at for at, text in enumerate(texts) if type(text) is kind)
            refuse(f"texts[{at}]", texts[at], "a str or bytes")
    return [text if isinstance(text, bytes) else _utf8(text) for text in texts]


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise GrammarSyntaxError(f"a lone surrogate in the text {text!a}", None, error.start) from None
