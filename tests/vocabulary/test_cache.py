import multiprocessing
import os
import threading

import numpy as np
import pytest

from constrain.vocabularies import _cache
from constrain.vocabulary import Vocabulary

META = {"a": [1, "x"], "b": None}


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("CONSTRAIN_CACHE_DIR", str(tmp_path))
    return tmp_path / "kind"


@pytest.fixture
def arrays():
    rng = np.random.default_rng(0)
    return {
        "wide": rng.integers(-(2**40), 2**40, 1001),
        "table": np.arange(12, dtype=np.int32).reshape(3, 4),
        "empty": np.zeros(0, dtype=np.uint8),
        "bytes": rng.integers(0, 256, 77).astype(np.uint8),
    }


def test_what_is_stored_comes_back(place, arrays):
    assert _cache.load("kind", "key") is None
    _cache.store("kind", "key", META, arrays)
    meta, found = _cache.load("kind", "key")
    assert meta == META
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        assert found[name].flags.writeable
        assert found[name].flags.aligned
        np.testing.assert_array_equal(found[name], array)
    assert [file.name for file in place.iterdir()] == ["key.bin"]


def test_every_damaged_byte_is_noticed(place, arrays):
    _cache.store("kind", "key", META, arrays)
    file = place / "key.bin"
    whole = file.read_bytes()
    for at in [*range(400), *range(400, len(whole), 37)]:
        damaged = bytearray(whole)
        damaged[at] ^= 1 << at % 8
        file.write_bytes(damaged)
        assert _cache.load("kind", "key") is None, at
    for size in [0, 1, 15, 16, 17, 100, len(whole) - 1]:
        file.write_bytes(whole[:size])
        assert _cache.load("kind", "key") is None
    file.write_bytes(whole + b"\0")
    assert _cache.load("kind", "key") is None
    # A file under another's name is not taken for it.
    (place / "other.bin").write_bytes(whole)
    assert _cache.load("kind", "other") is None


def test_no_cache_where_none_is_wanted_or_possible(arrays, monkeypatch, tmp_path):
    monkeypatch.setenv("CONSTRAIN_CACHE_DIR", "")
    _cache.store("kind", "key", META, arrays)
    assert _cache.folder() is None
    assert _cache.load("kind", "key") is None
    blocked = tmp_path / "file"
    blocked.write_bytes(b"")
    monkeypatch.setenv("CONSTRAIN_CACHE_DIR", str(blocked))
    _cache.store("kind", "key", META, arrays)
    assert _cache.load("kind", "key") is None


@pytest.mark.skipif(os.geteuid() == 0 if hasattr(os, "geteuid") else True, reason="root writes anywhere")
def test_read_only_folder(place, arrays):
    place.mkdir()
    place.chmod(0o500)
    _cache.store("kind", "key", META, arrays)
    assert _cache.load("kind", "key") is None


def test_a_write_that_fails_leaves_nothing(place, arrays, monkeypatch):
    def fail(*_args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_cache.Path, "replace", fail)
    _cache.store("kind", "key", META, arrays)
    assert list(place.iterdir()) == []


def test_user_cache(monkeypatch, tmp_path):
    monkeypatch.delenv("CONSTRAIN_CACHE_DIR")
    monkeypatch.setattr(_cache.sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert _cache.folder() == tmp_path / "constrain"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert _cache.folder() == _cache.Path.home() / ".cache" / "constrain"
    monkeypatch.setattr(_cache.sys, "platform", "darwin")
    assert _cache.folder() == _cache.Path.home() / "Library" / "Caches" / "constrain"


def test_old_entries_go(place, monkeypatch):
    monkeypatch.setattr(_cache, "_MAX_FILES", 3)
    for i in range(6):
        _cache.store("kind", str(i), {}, {})
        os.utime(place / f"{i}.bin", (i, i))
    _cache.store("kind", "last", {}, {})
    assert sorted(file.name for file in place.iterdir()) == ["4.bin", "5.bin", "last.bin"]


def test_keys_tell_parts_apart():
    assert _cache.key(b"ab", b"c") != _cache.key(b"a", b"bc")
    assert _cache.key(b"ab") != _cache.key(b"ab", b"")


def test_writers_and_readers_at_once(place, arrays):
    wrong = []

    def work(i):
        for _ in range(30):
            _cache.store("kind", "key", META, arrays)
            entry = _cache.load("kind", "key")
            if entry is None or not np.array_equal(entry[1]["wide"], arrays["wide"]):
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert [file.name for file in place.iterdir()] == ["key.bin"]


def _load_fingerprint(path):
    return Vocabulary.from_tokenizer_json(path).fingerprint


def test_processes_at_once(place, tmp_path):
    path = write(tmp_path, {"a": 0, "b": 1})
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        found = pool.map(_load_fingerprint, [path] * 6, chunksize=1)
    assert len(set(found)) == 1


def write(folder, vocab):
    path = folder / "tokenizer.json"
    text = str(vocab).replace("'", '"')
    path.write_text(
        f'{{"added_tokens": [], "decoder": null, "model": {{"type": "BPE", "vocab": {text}, "merges": []}}}}'
    )
    return path


def test_a_vocabulary_is_read_once(place, tmp_path, monkeypatch):
    path = write(tmp_path, {"a": 0, "b": 1})
    (tmp_path / "generation_config.json").write_text('{"eos_token_id": 2}')
    first = Vocabulary.from_tokenizer_json(path)
    with monkeypatch.context() as patch:
        patch.setattr("constrain.vocabularies.tokenizer_json.parse", None)  # it must not be parsed again
        again = Vocabulary.from_tokenizer_json(path)
        assert again.fingerprint == first.fingerprint
        assert again.eos_token_ids == (2,)
        assert again.name == first.name
    # What lies beside the file is part of the key, and so is the file.
    (tmp_path / "generation_config.json").write_text('{"eos_token_id": 3}')
    assert Vocabulary.from_tokenizer_json(path).eos_token_ids == (3,)
    write(tmp_path, {"a": 0, "c": 1})
    assert Vocabulary.from_tokenizer_json(path).token_bytes(1) == b"c"


def test_a_damaged_vocabulary_is_made_again(place, tmp_path):
    path = write(tmp_path, {"a": 0, "b": 1})
    first = Vocabulary.from_tokenizer_json(path)
    (file,) = (tmp_path / "vocabulary").iterdir()
    whole = file.read_bytes()
    file.write_bytes(whole[:-8] + b"damaged!")
    assert Vocabulary.from_tokenizer_json(path).fingerprint == first.fingerprint
    assert file.read_bytes() == whole
