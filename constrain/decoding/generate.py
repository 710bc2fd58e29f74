"""The entry points: `generate`, `generate_batch`, `stream`, and their asynchronous relatives.

All of them prepare jobs (`prepare`), run one loop (`loop.run`) and differ in what they hand out.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar, overload

from typing_extensions import Unpack

from constrain.arguments import is_whole, items, refuse, shown, whole
from constrain.decoding.answer import Job
from constrain.decoding.constraint import WANTED_NAMES, Constraint, Wanted, resolve
from constrain.decoding.loop import Cancel, run
from constrain.decoding.options import OPTION_NAMES, Options, OptionsDict
from constrain.errors import BudgetError

if TYPE_CHECKING:
    from constrain.compiled import CompiledGrammar
    from constrain.decoding.model import Model, Prompt
    from constrain.decoding.result import Event, Result
    from constrain.ir import Grammar

T = TypeVar("T")


class Keywords(OptionsDict, total=False):
    """Keyword arguments that all entry points take beside `schema`: those of `Options` and `Wanted`, and these.

    n: how many answers to each prompt. cancel: asked before each token; True ends generation.
    on_token: called with each event.
    """

    regex: str | None
    choice: Sequence[str] | None
    grammar: Grammar | None
    constraint: CompiledGrammar | Grammar | None
    json_options: Mapping[str, Any] | None
    n: int
    cancel: Cancel | None
    on_token: Callable[[Event[Any]], None] | None


@dataclass(frozen=True, slots=True)
class Request:
    """One prompt of a batch with a constraint of its own.

    Attributes:
        prompt: text, chat messages or token ids.
        wanted: its constraint; `Wanted()` for none.
        options: how to decode; None for the batch's.
        n: how many answers.
    """

    prompt: Prompt
    wanted: Wanted = field(default_factory=Wanted)
    options: Options | None = None
    n: int = 1


@overload
def generate(model: Model, prompt: Prompt, *, schema: type[T], **keywords: Unpack[Keywords]) -> Result[T]: ...
@overload
def generate(model: Model, prompt: Prompt, *, schema: None = None, **keywords: Unpack[Keywords]) -> Result[str]: ...
@overload
def generate(model: Model, prompt: Prompt, *, schema: Any, **keywords: Unpack[Keywords]) -> Result[Any]: ...
def generate(model: Model, prompt: Prompt, *, schema: Any = None, **keywords: Unpack[Keywords]) -> Result[Any]:
    """Return the model's answer to a prompt, exactly in the shape that is asked for.

    Args:
        model: from `constrain.load`, `constrain.from_transformers`, or any `Model`.
        prompt: text as it is, or chat messages (`[{"role": "user", "content": ...}]`), or token ids.
        schema: a pydantic model or any other type, or a JSON Schema.
        keywords: another constraint (`regex`, `choice`, `grammar`, `constraint`) and how to decode: see `Keywords`,
            `Wanted` and `Options`.
    Returns:
        The answer; with `n` above 1 the first one, all of them in `.samples`.
    Raises:
        BudgetError: no answer fits into `max_tokens`; raised before the model runs.
        GrammarError: the constraint is at fault.
        ValueError, TypeError: an option or the prompt is.
    """
    return generate_batch(model, [prompt], schema=schema, **keywords)[0]


def generate_batch(
    model: Model, prompts: Sequence[Prompt | Request], *, schema: Any = None, **keywords: Unpack[Keywords]
) -> list[Result[Any]]:
    """Return one answer to each prompt, decoded together. See `generate`.

    A `Request` among the prompts brings its own constraint, or none; the others share that of the call.
    """
    prompts = items("prompts", prompts, "a list of prompts")
    samples: list[list[tuple[int, Result[Any]]]] = [[] for _ in prompts]
    for event in _events(model, prompts, schema, keywords):
        if event.result is not None:
            samples[event.prompt].append((event.sample, event.result))
    return [_joined(found) for found in samples]


def stream(model: Model, prompt: Prompt, *, schema: Any = None, **keywords: Unpack[Keywords]) -> Iterator[Event[Any]]:
    """Yield an answer piece by piece, `Event.result` in the last one. See `generate`.

    Errors in the arguments are raised by the call itself, not by the first step. Closing the iterator cancels.
    """
    return _events(model, [prompt], schema, keywords)


async def generate_async(
    model: Model, prompt: Prompt, *, schema: Any = None, **keywords: Unpack[Keywords]
) -> Result[Any]:
    """Run `generate` in a thread; cancelling the task ends it before the next token."""
    stopped = _stoppable(keywords)
    try:
        return (await asyncio.to_thread(lambda: generate_batch(model, [prompt], schema=schema, **keywords)))[0]
    finally:
        stopped.set()


async def stream_async(
    model: Model, prompt: Prompt, *, schema: Any = None, **keywords: Unpack[Keywords]
) -> AsyncIterator[Event[Any]]:
    """Run `stream` in a thread; leaving the loop over it ends the thread before the next token."""
    loop, queue = asyncio.get_running_loop(), asyncio.Queue[Any]()
    stopped = _stoppable(keywords)

    def work() -> None:
        last: BaseException | None = None
        try:
            for event in stream(model, prompt, schema=schema, **keywords):
                loop.call_soon_threadsafe(queue.put_nowait, event)
        except BaseException as error:  # noqa: BLE001 - carried over to the caller
            last = error
        loop.call_soon_threadsafe(queue.put_nowait, (last,))

    worker = loop.run_in_executor(None, work)
    try:
        while not isinstance(item := await queue.get(), tuple):
            yield item
        if item[0] is not None:
            raise item[0]
    finally:
        stopped.set()
        await asyncio.shield(worker)


def _stoppable(keywords: Keywords) -> threading.Event:
    """Add an event to `cancel`, and return it."""
    stopped = threading.Event()
    cancel = keywords.get("cancel")
    keywords["cancel"] = lambda: stopped.is_set() or (cancel is not None and cancel())
    return stopped


def _events(model: Model, prompts: Sequence[Prompt | Request], schema: Any, keywords: Keywords) -> Iterator[Event[Any]]:
    given: dict[str, Any] = dict(keywords)
    cancel, on_token = (_callback(name, given.pop(name, None)) for name in ("cancel", "on_token"))
    jobs = prepare(model, prompts, {"schema": schema, **given})
    return _observed(run(model, jobs, cancel), on_token)


def _callback(name: str, value: Any) -> Any:
    return value if value is None or callable(value) else refuse(name, value, "a function, or None")


def _observed(events: Iterator[Event[Any]], on_token: Callable[[Event[Any]], None] | None) -> Iterator[Event[Any]]:
    for event in events:
        if on_token is not None:
            on_token(event)
        yield event


def _joined(found: list[tuple[int, Result[Any]]]) -> Result[Any]:
    first, *others = [result for _, result in sorted(found, key=lambda item: item[0])]
    return replace(first, others=tuple(others))


def prepare(model: Model, prompts: Sequence[Prompt | Request], keywords: Mapping[str, Any]) -> list[Job]:
    """Check everything that can be checked before the model runs; return the jobs.

    Args:
        keywords: fields of `Options` and `Wanted`, and `n`.
    """
    _check_model(model)
    given = dict(keywords)
    n = given.pop("n", 1)
    options = Options(**{name: given.pop(name) for name in OPTION_NAMES & given.keys()})
    if unknown := given.keys() - WANTED_NAMES:
        raise TypeError(f"unknown keyword argument {min(unknown)!r}; see constrain.decoding.generate.Keywords")
    wanted = Wanted(**given)
    requests = [item if isinstance(item, Request) else Request(item, wanted, options, n) for item in prompts]
    alone = len(requests) == 1
    return [
        _job(model, index, "prompt" if alone else f"prompts[{index}]", request, request.options or options)
        for index, request in enumerate(requests)
    ]


def _job(model: Model, index: int, name: str, request: Request, options: Options) -> Job:
    n = whole("n", request.n, 1)
    constraint = resolve(request.wanted, model.vocabulary)
    prompt = tuple(_encode(model, name, request.prompt))
    if not prompt:
        raise ValueError(
            f"{name}={shown(request.prompt)} has no tokens, and the tokenizer adds no beginning-of-text token; "
            "expected a text, chat messages, or token ids"
        )
    budget = _budget(model, name, len(prompt), constraint, options.max_tokens)
    return Job(index, prompt, constraint, options, budget, n)


def _encode(model: Model, name: str, prompt: Prompt) -> Sequence[int]:
    """Return the token ids of a prompt: text, chat messages or token ids."""
    if isinstance(prompt, str):
        return model.encode(_utf8(name, prompt))
    parts: Any = prompt
    if isinstance(parts, (bytes, bytearray)):
        parts = None  # a sequence of whole numbers, but not of ids
    if hasattr(parts, "tolist"):
        parts = parts.tolist()  # an array or tensor of ids
    if isinstance(parts, Sequence) and all(is_whole(part) for part in parts):
        size = model.vocabulary.vocab_size
        return [whole(f"{name}[{at}]", part, 0, size) for at, part in enumerate(parts)]
    if isinstance(parts, Sequence) and all(isinstance(part, Mapping) for part in parts):
        for at, message in enumerate(parts):
            _check_message(f"{name}[{at}]", message)
        return model.encode_chat(parts)
    return refuse(name, prompt, "a text, a list of chat messages, or token ids")


def _check_message(name: str, message: Mapping[str, Any]) -> None:
    if "role" not in message:
        raise ValueError(f"{name}={shown(message)}; expected a message with 'role'")
    for key, value in message.items():
        if isinstance(value, str):
            _utf8(f"{name}[{key!r}]", value)
        elif key in {"role", "content"} and not isinstance(value, (list, type(None))):
            refuse(f"{name}[{key!r}]", value, "a text")


def _utf8(name: str, text: str) -> str:
    """Return a text that UTF-8 can write, as tokenizers need it."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{name}={text!a:.80} holds a lone surrogate at character {error.start}; expected text that UTF-8 can write"
        ) from None
    return text


def _check_model(model: object) -> None:
    if not hasattr(model, "vocabulary") or not hasattr(model, "prefill"):
        refuse("model", model, "constrain.load(...) or constrain.from_transformers(...), or another Model")


def _budget(model: Model, name: str, prompt_size: int, constraint: Constraint | None, max_tokens: int) -> int:
    needed = 0 if constraint is None else constraint.compiled.distance(constraint.compiled.start)
    if needed > max_tokens:
        raise BudgetError(needed, max_tokens, "" if name == "prompt" else name)
    room = max_tokens if model.context_size is None else model.context_size - prompt_size
    if room < max(needed, min(1, max_tokens)):
        raise ValueError(
            f"{name} has {prompt_size} tokens, the model's context is {model.context_size}, and the answer needs "
            f"{max(needed, 1)} or more; expected a shorter prompt"
        )
    return min(room, max_tokens)
