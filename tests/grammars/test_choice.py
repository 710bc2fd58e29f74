import pickle
import time

import pytest
from grammar_oracle import accepts

from constrain.errors import EmptyLanguageError, GrammarSyntaxError, LimitExceededError
from constrain.grammars.choice import choice
from constrain.limits import Limits


def test_accepts_exactly_the_texts():
    grammar = choice(["yes", "no", "no", b"\xff", "né"])
    for text in [b"yes", b"no", b"\xff", "né".encode()]:
        assert accepts(grammar, text)
    for text in [b"", b"y", b"yesno", b"n\xe9"]:
        assert not accepts(grammar, text)
    assert grammar.report[0].note == "4 texts"


def test_empty_text_is_a_text():
    assert accepts(choice(["", "a"]), b"")
    assert accepts(choice(["", "a"]), b"a")
    assert accepts(choice([""]), b"")


def test_many_texts_are_quick():
    texts = [f"item number {i}" for i in range(100_000)]
    began = time.process_time()
    choice(texts)
    assert time.process_time() - began < 0.3


@pytest.mark.parametrize(
    ("texts", "kind", "message"),
    [
        ([], EmptyLanguageError, "nothing satisfies the choice"),
        (["\ud800"], GrammarSyntaxError, "lone surrogate"),
        ("abc", TypeError, "expected a list of texts"),
        ([1], TypeError, "texts.0.=1, of type int; expected a str or bytes"),
    ],
)
def test_bad_choices(texts, kind, message):
    with pytest.raises(kind, match=message):
        choice(texts)


def test_limit():
    with pytest.raises(LimitExceededError, match="max_literals=2"):
        choice(["a", "b", "c"], limits=Limits(max_literals=2))


def test_source_can_be_pickled():
    front_end, arguments = pickle.loads(pickle.dumps(choice(["a"]).source))
    assert front_end == "choice"
    assert accepts(choice(**arguments), b"a")
