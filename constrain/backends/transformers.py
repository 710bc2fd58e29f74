"""transformers' causal models as a `Model`: any architecture, on the CPU, CUDA or MPS."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

try:
    import torch
    import transformers
except ImportError as error:
    raise ImportError(f"{error}; models need the extra: pip install 'constrain[transformers]'") from error

from constrain.arguments import refuse
from constrain.backends.session import TransformersSession
from constrain.vocabulary import Vocabulary

if TYPE_CHECKING:
    import numpy.typing as npt

    from constrain.decoding.model import Message


def load(
    path_or_name: str | Path, *, device: str | torch.device | None = None, dtype: str | torch.dtype = "auto"
) -> TransformersModel:
    """Load a model and its tokenizer from a folder or from the Hugging Face hub.

    Args:
        path_or_name: a folder with `config.json` and weights, or a name on the hub.
        device: where it runs; None: CUDA or MPS where there is one, else the CPU.
        dtype: of the weights; "auto" is what they were saved in.
    Raises:
        OSError: there is no such model.
    """
    given: Any = path_or_name
    if given == "" or not isinstance(given, (str, Path)):
        refuse("path_or_name", given, "a folder, or a name on the hub")
    name = str(given)
    path = Path(name).expanduser()
    if path.is_dir():
        name = str(path)
    elif isinstance(path_or_name, Path) or path.is_absolute() or name.startswith((".", "~")):
        raise FileNotFoundError(f"no folder {name}; expected one with config.json and weights, or a name on the hub")
    # `torch_dtype` became `dtype` in 4.56, and warns since.
    version = tuple(int(part) for part in re.findall(r"\d+", transformers.__version__)[:2])
    keyword = {"dtype" if version >= (4, 56) else "torch_dtype": dtype}
    hf_model = transformers.AutoModelForCausalLM.from_pretrained(name, **keyword)
    tokenizer = transformers.AutoTokenizer.from_pretrained(name)
    return from_transformers(hf_model.to(device or _best_device()), tokenizer)


def _best_device() -> str:
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def from_transformers(hf_model: Any, hf_tokenizer: Any) -> TransformersModel:
    """Wrap a causal language model of transformers and its tokenizer; neither is changed, but for `eval()`.

    Raises:
        TypeError: one of them is something else.
        VocabularyError: the tokenizer is of a kind that is not known, or does not fit the model.
    """
    if not hasattr(hf_model, "get_output_embeddings") or not hasattr(hf_model, "config"):
        refuse("hf_model", hf_model, "a causal language model of transformers")
    if not hasattr(hf_tokenizer, "encode"):
        refuse("hf_tokenizer", hf_tokenizer, "a tokenizer of transformers")
    return TransformersModel(hf_model, hf_tokenizer)


def logits_width(hf_model: Any) -> int:
    """Return how many logits a model gives, padding included."""
    head = hf_model.get_output_embeddings()
    if head is not None and getattr(head, "weight", None) is not None:
        return int(head.weight.shape[0])
    return int(hf_model.config.get_text_config().vocab_size)


class TransformersModel:
    """A `constrain.decoding.model.Model` over transformers.

    Attributes:
        hf_model, tokenizer: what it wraps.
        vocabulary: as wide as the logits; its end tokens are the tokenizer's and the generation config's.
        context_size: the longest prompt and answer, or None.
        recurrent: it has layers that read every slot, so rows are computed one by one.
        sliding_window: the shortest attention window of its layers, or None.
    """

    def __init__(self, hf_model: Any, hf_tokenizer: Any) -> None:
        self.hf_model = hf_model.eval()
        self.tokenizer = hf_tokenizer
        generation_config = getattr(hf_model, "generation_config", None)
        self.vocabulary: Vocabulary = Vocabulary.from_transformers(
            hf_tokenizer, generation_config=generation_config, vocab_size=logits_width(hf_model)
        )
        config = hf_model.config.get_text_config()
        self.context_size: int | None = getattr(config, "max_position_embeddings", None)
        layers = getattr(config, "layer_types", None) or []
        self.recurrent = any("attention" not in kind or "linear" in kind for kind in layers) or bool(
            getattr(hf_model, "_is_stateful", False)
        )
        self.sliding_window: int | None = _sliding_window(config, layers)
        self._parameters = inspect.signature(hf_model.forward).parameters
        # `past_key_values` is called `cache` in later versions of 5.x.
        self._cache_name = next((name for name in ("cache", "past_key_values") if name in self._parameters), None)

    @property
    def device(self) -> torch.device:
        """Where inputs go."""
        device: torch.device = self.hf_model.device
        return device

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text as the tokenizer gives them, special tokens named in it included."""
        ids: list[int] = self.tokenizer.encode(text)
        begin = self.tokenizer.bos_token_id
        return ids or ([] if begin is None else [begin])

    def encode_chat(self, messages: Sequence[Message]) -> list[int]:
        """Return the tokens of a conversation by the tokenizer's chat template, up to where the answer begins.

        The text of special tokens in a message's content is text: a message cannot end its own turn.
        """
        if not getattr(self.tokenizer, "chat_template", None):
            raise ValueError(
                "the tokenizer has no chat template; expected a text prompt, or set tokenizer.chat_template"
            )
        contents = [message.get("content") for message in messages]
        if not any(isinstance(text, str) and self._names_special(text) for text in contents):
            ids: list[int] = self.tokenizer.encode(self._render(messages), add_special_tokens=False)
            return ids
        return self._encode_guarded(messages)

    def _render(self, messages: Sequence[Message]) -> str:
        import jinja2

        try:
            text: str = self.tokenizer.apply_chat_template(
                [dict(message) for message in messages], tokenize=False, add_generation_prompt=True
            )
        except jinja2.TemplateError as error:
            raise ValueError(f"the chat template refuses the messages: {error}") from error
        return text

    def _names_special(self, text: str) -> bool:
        return any(str(token) in text for token in self.tokenizer.added_tokens_decoder.values())

    def _encode_guarded(self, messages: Sequence[Message]) -> list[int]:
        """Tokenise the template and the contents apart, contents without special tokens."""
        contents: list[str] = []
        marked = []
        for message in messages:
            changed = dict(message)
            if isinstance(message.get("content"), str):
                changed["content"] = f"\ue000{len(contents)}\ue001"
                contents.append(message["content"])
            marked.append(changed)
        ids: list[int] = []
        for number, piece in enumerate(re.split("\ue000(\\d+)\ue001", self._render(marked))):
            if number % 2:
                ids += self.tokenizer.encode(contents[int(piece)], add_special_tokens=False, split_special_tokens=True)
            elif piece:
                ids += self.tokenizer.encode(piece, add_special_tokens=False)
        return ids

    def encode_continuation(self, context: Sequence[int], data: bytes) -> list[int]:
        """Return the tokens with which the tokenizer writes `data` after the tokens `context`, or none."""
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return []
        before = b"".join(self.vocabulary.token_bytes(token) or b"" for token in context).decode(errors="ignore")
        # What comes before only sets the scene; a line feed keeps SentencePiece from writing a space first.
        for scene in dict.fromkeys((before, "", "\n")):
            ids = self.tokenizer.encode(scene + text, add_special_tokens=False)
            found = self._ending(ids, data)
            if found:
                return found
        return []

    def _ending(self, ids: list[int], data: bytes) -> list[int]:
        """Return the last tokens of `ids` whose bytes are `data`, or none."""
        at, end = len(ids), len(data)
        while at and end > 0:
            at -= 1
            written = self.vocabulary.token_bytes(ids[at]) or b""
            if not written or data[max(0, end - len(written)) : end] != written:
                return []
            end -= len(written)
        return ids[at:] if end == 0 else []

    def prefill(self, prompts: Sequence[Sequence[int]]) -> TransformersSession:
        """Open a session with one row for each prompt; computing waits until logits are asked for."""
        return TransformersSession(self, prompts)

    def forward(
        self,
        ids: npt.NDArray[np.int64],
        mask: npt.NDArray[np.bool_],
        positions: npt.NDArray[np.int64],
        cache: Any,
        last: int,
    ) -> tuple[npt.NDArray[np.float32], Any]:
        """Run the model once.

        Args:
            ids: int64[rows, width]. positions: int64[rows, width].
            mask: bool[rows, slots + width], which slots are live.
            cache: what an earlier call returned, or None.
            last: how many positions' logits to return.
        Returns:
            float32[rows, last, vocab_size], and the cache, None where the model has none.
        """
        inputs: dict[str, Any] = {
            "input_ids": torch.from_numpy(ids).to(self.device),
            "attention_mask": torch.from_numpy(mask.astype(np.int64)).to(self.device),
            "use_cache": self._cache_name is not None,
        }
        if "position_ids" in self._parameters:
            inputs["position_ids"] = torch.from_numpy(positions).to(self.device)
        if "logits_to_keep" in self._parameters:
            inputs["logits_to_keep"] = last
        if self._cache_name is not None and cache is not None:
            inputs[self._cache_name] = cache
        outputs = self.hf_model(**inputs)
        logits = outputs.logits[:, -last:].float().cpu().numpy()
        return logits, None if self._cache_name is None else getattr(outputs, self._cache_name)


def _sliding_window(config: Any, layers: Sequence[str]) -> int | None:
    window = getattr(config, "sliding_window", None)
    if window is None or getattr(config, "use_sliding_window", True) is False:
        return None
    slides = any("sliding" in kind for kind in layers) if layers else True
    return int(window) if slides else None
