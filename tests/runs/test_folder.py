"""A run folder has one owner, and is never mistaken for anything else."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import threading

import pytest

from foresight.app.train import parse
from foresight.errors import ForesightError
from foresight.learning.settings import LearnSettings
from foresight.runs.config import RunConfig
from foresight.runs.folder import Run, digest_of, format_run, open_run, open_together, read_run
from foresight.runs.lock import check_free, own
from tests.runs.stored import change_config


def test_a_second_owner_is_refused_at_once_and_told_who_the_first_is(tmp_path):
    who = rf"{tmp_path} is in use by process {os.getpid()} on .* since 20"
    with own(tmp_path), pytest.raises(ForesightError, match=who), own(tmp_path):
        pass
    with own(tmp_path):
        pass


def test_looking_whether_a_folder_is_free_changes_nothing(tmp_path):
    check_free(tmp_path / "new")
    assert not (tmp_path / "new").exists()
    with own(tmp_path):
        before = (tmp_path / "lock").read_bytes()
        with pytest.raises(ForesightError, match=rf"{tmp_path} is in use by process {os.getpid()} on "):
            check_free(tmp_path)
        assert (tmp_path / "lock").read_bytes() == before
    check_free(tmp_path)
    with own(tmp_path):
        pass


def test_who_comes_while_somebody_looks_still_gets_the_folder(tmp_path):
    with own(tmp_path):
        pass
    looking = os.open(tmp_path / "lock", os.O_RDONLY)
    fcntl.flock(looking, fcntl.LOCK_SH)
    threading.Timer(0.01, os.close, [looking]).start()
    with own(tmp_path):
        pass


def test_a_damaged_lock_file_still_locks(tmp_path):
    with own(tmp_path):
        (tmp_path / "lock").write_bytes(b"\xff[")
        with pytest.raises(ForesightError, match="in use by another process"), own(tmp_path):
            pass


def kill_the_owner(folder, times: int) -> None:
    program = (
        "import sys, time; from pathlib import Path; from foresight.runs.lock import check_free, own\n"
        "with own(Path(sys.argv[1])): print('mine', flush=True); time.sleep(60)"
    )
    for _ in range(times):
        owner = subprocess.Popen([sys.executable, "-c", program, str(folder)], stdout=subprocess.PIPE)
        assert owner.stdout.readline() == b"mine\n"
        with pytest.raises(ForesightError, match=f"in use by process {owner.pid}"), own(folder):
            pass
        owner.send_signal(signal.SIGKILL)
        owner.wait()
        owner.stdout.close()
        with own(folder):
            assert json.loads((folder / "lock").read_text())["pid"] == os.getpid()


def test_an_owner_whose_lock_is_removed_or_replaced_finds_out(tmp_path):
    with own(tmp_path) as lock:
        lock.check()
        (tmp_path / "lock").unlink()
        with pytest.raises(ForesightError, match=r"lock is gone: another process may own"):
            lock.check()
        with own(tmp_path), pytest.raises(ForesightError, match=r"lock is not the file that this process locked"):
            lock.check()


def test_the_lock_of_a_killed_owner_is_free(tmp_path):
    kill_the_owner(tmp_path, 2)


@pytest.mark.soak
def test_the_locks_of_50_killed_owners_are_free(tmp_path):
    kill_the_owner(tmp_path, 50)


def test_a_folder_that_cannot_be_owned_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ForesightError, match=r"cannot write .*file/run/lock"), own(tmp_path / "file" / "run"):
        pass


def test_a_run_keeps_its_identity_and_settings(tmp_path):
    run = open_run(tmp_path, {"a": (1, 2)})
    assert run == read_run(tmp_path) == open_run(tmp_path, {"a": [1, 2]})
    assert run.config == {"a": [1, 2]}
    (tmp_path / "other").mkdir()
    assert open_run(tmp_path / "other", {"a": [1, 2]}).id != run.id


def stored_without(folder, name: str, **learn) -> bytes:
    """A run begun when learning had no setting `name`: the bytes of its config.json."""
    open_run(folder, RunConfig(learn=LearnSettings(**learn)).as_json())
    change_config(folder, lambda config: config["learn"].pop(name))
    return (folder / "config.json").read_bytes()


def test_a_run_begun_before_a_setting_existed_goes_on_with_its_default(tmp_path):
    before = stored_without(tmp_path, "non_finite", td_lambda=0.25)
    wanted = RunConfig(learn=LearnSettings(td_lambda=0.25))
    assert open_run(tmp_path, wanted.as_json()).id == read_run(tmp_path).id
    assert (tmp_path / "config.json").read_bytes() == before
    for words in (["--out", str(tmp_path)], ["--config", str(tmp_path / "config.json")]):
        assert parse(words).settings == wanted


def test_a_run_begun_before_a_setting_existed_is_not_gone_on_with_otherwise(tmp_path):
    stored_without(tmp_path, "non_finite")
    with pytest.raises(ForesightError, match=r"'learn\.non_finite' is stop there and skip here"):
        open_run(tmp_path, RunConfig(learn=LearnSettings(non_finite="skip")).as_json())


def test_a_setting_that_only_the_stored_run_has_is_refused_by_name(tmp_path):
    open_run(tmp_path, RunConfig().as_json() | {"moon": 1})
    with pytest.raises(ForesightError, match="'moon' is 1 there and absent here"):
        open_run(tmp_path, RunConfig().as_json())
    with pytest.raises(ForesightError, match="config has 'moon', which this version"):
        parse(["--out", str(tmp_path)])


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(ForesightError, match=r"is not a run folder \(it holds 'thesis.tex'\)"):
        open_together(tmp_path, {}).__enter__()
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(ForesightError, match=r"is not a run folder: it has no config.json"):
        read_run(tmp_path)


@pytest.mark.parametrize(
    ("text", "why"),
    [(text, "it is not JSON") for text in ("", '{"run": "a"', "[" * 100_000, "\x00")]
    + [(text, "it has no 'run' and 'config'") for text in ("[]", "{}", '{"format": 1, "run": "a"}')],
)
def test_a_config_that_is_not_ours_is_refused(tmp_path, text, why):
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(ForesightError, match=f"config.json is damaged or not from foresight: {why}"):
        open_run(tmp_path, {})
    assert (tmp_path / "config.json").read_text() == text


def test_a_config_of_a_later_format_is_refused(tmp_path):
    (tmp_path / "config.json").write_text('{"format": 3, "run": "a", "config": {}}')
    with pytest.raises(ForesightError, match=r"config.json has format 3; this version reads format 2"):
        read_run(tmp_path)


@pytest.mark.parametrize("history", [None, {}, ["x"], [{"extended": {}}], [{"extended": {"from_steps": 1}}], "absent"])
def test_a_config_whose_history_is_none_is_rejected_though_its_digest_is_right(tmp_path, history):
    stored = json.loads(format_run(Run(tmp_path, "0", RunConfig().as_json())))
    del stored["sha256"], stored["history"]
    stored |= {} if history == "absent" else {"history": history}
    (tmp_path / "config.json").write_text(json.dumps(stored | {"sha256": digest_of(stored)}))
    with pytest.raises(ForesightError, match="history"):
        read_run(tmp_path)
