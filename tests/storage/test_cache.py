"""The one cache folder, and what is kept of compiled programs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from foresight.errors import ForesightError
from foresight.storage.cache import cache_folder, keep_compiled_programs, prune


def test_there_is_one_folder_with_a_folder_for_each_kind():
    assert cache_folder("levels", {"FORESIGHT_CACHE": "/here"}) == Path("/here/levels")
    assert cache_folder("xla", {"XDG_CACHE_HOME": "/there"}) == Path("/there/foresight/xla")
    assert cache_folder("agents", {}) == Path.home() / ".cache/foresight/agents"


def test_programs_are_kept_unless_switched_off_or_kept_elsewhere_by_the_user(tmp_path):
    for given in ({"FORESIGHT_COMPILATION_CACHE": "off"}, {"JAX_COMPILATION_CACHE_DIR": "/mine"}):
        environment = {"FORESIGHT_CACHE": str(tmp_path)} | given
        assert keep_compiled_programs(environment) is None
        assert environment == {"FORESIGHT_CACHE": str(tmp_path)} | given
    environment = {"FORESIGHT_CACHE": str(tmp_path)}
    assert keep_compiled_programs(environment) == tmp_path / "xla"
    assert environment["JAX_COMPILATION_CACHE_DIR"] == str(tmp_path / "xla")


def test_what_was_not_used_for_longest_goes_first(tmp_path):
    for age, name in enumerate(["newest", "middle", "oldest"]):
        (tmp_path / name).write_bytes(bytes(10))
        os.utime(tmp_path / name, (1e9 - age, 1e9 - age))
    prune(tmp_path, 30)
    assert len(list(tmp_path.iterdir())) == 3
    prune(tmp_path, 15)
    assert [path.name for path in tmp_path.iterdir()] == ["newest"]
    prune(tmp_path / "nowhere", 0)


def test_what_one_process_has_compiled_the_next_one_finds(tmp_path):
    program = (
        "from foresight.storage.cache import keep_compiled_programs; keep_compiled_programs(); import jax;"
        "import jax.numpy as jnp; jax.jit(lambda x: jnp.sin(x) @ x)(jnp.ones((3, 3)))"
    )
    environment = os.environ | {"FORESIGHT_CACHE": str(tmp_path), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    for name in ("FORESIGHT_COMPILATION_CACHE", "JAX_COMPILATION_CACHE_DIR"):
        environment.pop(name, None)
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
    assert list((tmp_path / "xla").glob("*-cache"))


def test_programs_are_not_kept_where_nothing_can_be_written_and_that_is_said(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("text")
    environment, said = {"FORESIGHT_CACHE": str(tmp_path / "file")}, []
    assert keep_compiled_programs(environment, said.append) is None
    assert environment == {"FORESIGHT_CACHE": str(tmp_path / "file")}
    assert f"nothing can be written in {tmp_path}/file/xla" in said[0]
    monkeypatch.setattr(Path, "home", nobody)
    assert keep_compiled_programs({}, said.append) is None
    assert "compiled programs are not kept: this user has no home folder" in said[1]


def nobody():
    raise RuntimeError("Could not determine home directory.")


def test_a_user_without_a_home_folder_is_asked_for_another(monkeypatch):
    monkeypatch.setattr(Path, "home", nobody)
    with pytest.raises(ForesightError, match="name a folder for what is kept in FORESIGHT_CACHE"):
        cache_folder("levels", {})
    assert cache_folder("levels", {"FORESIGHT_CACHE": "/here"}) == Path("/here/levels")
