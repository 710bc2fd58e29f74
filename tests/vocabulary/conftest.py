"""What the vocabulary tests share: a cache of their own, the real tokenizers, texts that are hard to tokenise."""

import random

import pytest

ROWS = [
    (0x20, 0x7F),
    (0x00, 0x20),
    (0x80, 0x250),
    (0x370, 0x530),
    (0x5D0, 0x700),
    (0x900, 0xD00),
    (0x2000, 0x2100),
    (0x3040, 0x3100),
    (0x4E00, 0x9FFF),
    (0xAC00, 0xD7A3),
    (0xE000, 0xE100),
    (0x1F300, 0x1FAFF),
    (0x10000, 0x10FFFF),
]
WORDS = [
    "hello",
    " world",
    "  ",
    "\n\n",
    "\t",
    "\r\n",
    " 12345",
    '{"a": [1, true]}',
    "Straße",
    "e\u0301",
    " the",
    "한국어",
]


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CONSTRAIN_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def tokenizer_file(data):
    """Return the path of a real tokenizer's file, skip the test if it is not here."""

    def find(name):
        path = data / "tokenizers" / name
        if not path.exists():
            pytest.skip(f"no {path}")
        return path

    return find


def random_text(rng, allowed=lambda _character: True):
    """Return words of English and JSON among characters of many scripts, `allowed` ones only."""
    parts = []
    for _ in range(rng.randrange(1, 30)):
        if rng.random() < 0.4:
            parts.append(rng.choice(WORDS))
        else:
            low, high = rng.choice(ROWS)
            parts.append("".join(chr(rng.randrange(low, high)) for _ in range(rng.randrange(1, 6))))
    return "".join(c for c in "".join(parts) if allowed(c))


@pytest.fixture(scope="session")
def texts():
    """Return a function that makes random texts, the same ones in each run."""

    def make(count, allowed=lambda _character: True):
        rng = random.Random(20240607)
        return [random_text(rng, allowed) for _ in range(count)]

    return make
