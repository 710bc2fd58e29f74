"""A vocabulary whose tokens are the 256 bytes, and an end."""

from constrain.vocabulary import Vocabulary

BYTES = Vocabulary.from_tokens([*(bytes((byte,)) for byte in range(256)), None], eos_token_ids=[256])
