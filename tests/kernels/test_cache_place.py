"""Where compiled kernels are kept when the usual places cannot be written."""

import tempfile
from pathlib import Path

import pytest

from constrain import kernels


@pytest.fixture
def locked(monkeypatch, tmp_path):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(kernels.sys, "modules", {**kernels.sys.modules, "numba": None})
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(kernels, "_HERE", Path("/proc/nowhere"))
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    monkeypatch.setenv("HOME", "/proc/nowhere")
    return tmp_path


def test_the_usual_places_are_left_to_numba(locked, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(locked))
    assert kernels.place_cache() is None
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    monkeypatch.setenv("NUMBA_CACHE_DIR", "/somewhere")
    assert kernels.place_cache() is None


def test_the_temporary_folder_is_used_again(locked):
    folder = kernels.place_cache()
    assert folder.parent == locked
    assert folder.stat().st_mode & 0o777 == 0o700
    kernels.os.environ.pop("NUMBA_CACHE_DIR")
    assert kernels.place_cache() == folder


def test_a_folder_that_others_can_write_is_not_used(locked, capsys):
    folder = kernels.place_cache()
    folder.chmod(0o777)
    kernels.os.environ.pop("NUMBA_CACHE_DIR")
    assert kernels.place_cache() != folder
    assert "for this process only" in capsys.readouterr().err
