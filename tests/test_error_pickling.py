"""Errors cross processes: every class of the tree, with the same message and fields."""

import copy
import inspect
import pickle

import pytest

import constrain
from constrain import errors

VALUES = {"int": 3, "float": 0.5, "str": "some text", "bytes | None": b"\xff", "str | None": "a\nb", "int | None": 2}
CLASSES = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.ConstrainError)]


def made(kind):
    parameters = inspect.signature(kind.__init__).parameters.values()
    named = [
        parameter
        for parameter in parameters
        if parameter.name != "self" and parameter.annotation is not parameter.empty
    ]
    return kind(*(VALUES[parameter.annotation] for parameter in named)) if named else kind("what is wrong")


def outcome(error):
    return type(error), str(error), error.args, dict(vars(error))


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
@pytest.mark.parametrize("kind", CLASSES)
def test_errors_survive(kind, again):
    error = made(kind)
    error.add_note("while testing") if hasattr(error, "add_note") else None
    back = again(error)
    assert back is not error
    assert outcome(back) == outcome(error)
    assert str(back)


def test_an_error_that_was_raised():
    with pytest.raises(constrain.GrammarSyntaxError) as caught:
        constrain.regex("a\n(b")
    back = pickle.loads(pickle.dumps(caught.value))
    assert outcome(back) == outcome(caught.value)
    assert "line 2, column 1" in str(back)


def test_all_classes_are_here():
    assert len(CLASSES) >= 9
    assert errors.TokenRejectedError in CLASSES
