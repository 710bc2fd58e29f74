"""Masks without torch, transformers or a model: what an inference server does at each step.

Run: python examples/masks_without_a_model.py [path/to/tokenizer.json]
"""

import sys

import numpy as np

import constrain


def load_vocabulary(arguments: list[str]) -> constrain.Vocabulary:
    if arguments:
        return constrain.Vocabulary.from_tokenizer_json(arguments[0])
    # Without a tokenizer: every byte is a token, and one more ends the answer.
    tokens = [bytes([byte]) for byte in range(256)] + [b"<end>"]
    return constrain.Vocabulary.from_tokens(tokens, eos_token_ids=[256])


def main() -> None:
    vocabulary = load_vocabulary(sys.argv[1:])
    grammar = constrain.regex(r"(yes|no), (0|[1-9][0-9]?)%")
    compiled = constrain.compile(grammar, vocabulary)

    matcher = compiled.matcher()
    bitmask = np.zeros((1, -(-vocabulary.vocab_size // 32)), dtype=np.int32)
    random = np.random.default_rng(7)
    logits = random.normal(size=vocabulary.vocab_size)  # a model would give these
    text = b""
    while not matcher.is_terminated():
        if matcher.fill_next_token_bitmask(bitmask):  # False: nothing is forbidden
            bits = np.unpackbits(bitmask.view(np.uint8), bitorder="little")[: vocabulary.vocab_size]
            masked = np.where(bits, logits, -np.inf)
        else:
            masked = logits
        token = int(masked.argmax())
        matcher.accept_token(token)
        text += vocabulary.token_bytes(token) or b""
        logits = random.normal(size=vocabulary.vocab_size)
    print(text.decode())


if __name__ == "__main__":
    main()
