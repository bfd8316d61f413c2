"""Damaged checkpoints are rejected before use, with the file named, and the previous good one is taken."""

import contextlib
import dataclasses
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from foresight.errors import ForesightError
from foresight.runs.checkpoints import (
    MANIFEST,
    STATE,
    WEIGHTS,
    Damaged,
    format_manifest,
    newest_good,
    parse_manifest,
    read_checkpoint,
)
from foresight.runs.folder import last_checkpoint, read_run
from foresight.runs.loop import SaveOptions, train_loop
from foresight.runs.weights import load_weights
from tests.runs import toy
from tests.runs.damages import FILES, check_each_is_refused
from tests.runs.stored import change_config
from tests.storage.test_arrays import same


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory) -> Path:
    """A run with good checkpoints 3 and 6."""
    folder = tmp_path_factory.mktemp("damage") / "run"
    train_loop(folder, {"seed": 1}, **toy.FUNCTIONS, total_iterations=6, options=SaveOptions(iterations=3, keep=2))
    return folder


def test_every_damaged_file_is_refused_and_named_and_the_previous_checkpoint_taken(run_folder):
    assert check_each_is_refused(run_folder, cuts=60, flips=240, pages=60) >= 350


@pytest.mark.soak
def test_10_000_damaged_files_are_refused(run_folder):
    assert check_each_is_refused(run_folder, cuts=1200, flips=6000, pages=3000) >= 10_000


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_refused(run_folder, tmp_path, name):
    shutil.copytree(run_folder / "checkpoints" / "6", tmp_path / "6")
    (tmp_path / "6" / name).unlink()
    with pytest.raises(Damaged, match=rf"{name} is damaged: .*No such file"):
        read_checkpoint(tmp_path / "6")


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_another_checkpoint_is_refused(run_folder, tmp_path, name):
    shutil.copytree(run_folder / "checkpoints" / "6", tmp_path / "6")
    shutil.copy(run_folder / "checkpoints" / "3" / name, tmp_path / "6" / name)
    with pytest.raises(Damaged, match="damaged"):
        read_checkpoint(tmp_path / "6")


def test_the_message_says_which_array_differs(run_folder, tmp_path):
    shutil.copytree(run_folder / "checkpoints" / "6", tmp_path / "6")
    path = tmp_path / "6" / WEIGHTS
    content = bytearray(path.read_bytes())
    content[-1] ^= 128
    path.write_bytes(content)
    with pytest.raises(Damaged) as refused:
        read_checkpoint(tmp_path / "6")
    assert str(refused.value) == f"{path} is damaged: array 'kernel' does not match its digest"
    path.write_bytes(content[:-1])
    with pytest.raises(Damaged, match=rf"is damaged: {len(content) - 1} bytes, its manifest says {len(content)}"):
        read_checkpoint(tmp_path / "6")


def test_the_message_names_a_file_once(run_folder, tmp_path):
    shutil.copytree(run_folder / "checkpoints" / "6", tmp_path / "6")
    path = tmp_path / "6" / WEIGHTS
    path.write_bytes(bytes(len(path.read_bytes())))
    with pytest.raises(Damaged) as refused:
        read_checkpoint(tmp_path / "6")
    assert str(refused.value).startswith(f"{path} is damaged: it is not a readable safetensors file: ")
    path.unlink()
    with pytest.raises(Damaged) as refused:
        read_checkpoint(tmp_path / "6")
    assert str(refused.value) == f"{path} is damaged: cannot read it: No such file or directory"


def test_a_pipe_in_the_place_of_a_file_does_not_make_us_wait(run_folder, tmp_path):
    shutil.copytree(run_folder / "checkpoints" / "6", tmp_path / "6")
    (tmp_path / "6" / WEIGHTS).unlink()
    os.mkfifo(tmp_path / "6" / WEIGHTS)
    with pytest.raises(Damaged, match=r"weights.safetensors is damaged"):
        read_checkpoint(tmp_path / "6")


def test_another_format_is_refused(run_folder, tmp_path):
    shutil.copytree(run_folder / "checkpoints" / "6", tmp_path / "6")
    manifest = json.loads((tmp_path / "6" / MANIFEST).read_text())
    (tmp_path / "6" / MANIFEST).write_text(json.dumps(manifest | {"format": 99}))
    with pytest.raises(Damaged, match=r"manifest.json has format 99; this version reads format 2"):
        read_checkpoint(tmp_path / "6")


NONSENSE = [
    {"files": {}},
    {"files": []},
    {"files": {WEIGHTS: None, STATE: None}},
    {"files": {WEIGHTS: {"bytes": "1", "sha256": "", "arrays": {}}, STATE: {"bytes": 1, "sha256": "", "arrays": {}}}},
    {"iteration": "6"},
    {"iteration": None},
    {"steps": 1.5},
    {"kept": 1},
    {"metrics_sha256": None},
    {"score": "high"},
    {"run": 5},
    {"metrics_bytes": 1.5},
    {"metrics_bytes": -1},
    {"iteration": -1},
    {"files": {name: {"bytes": -1, "sha256": "", "arrays": {}} for name in (WEIGHTS, STATE)}},
    {"files": {name: {"bytes": 1, "sha256": "", "arrays": {}} for name in (WEIGHTS, STATE)} | {"x": {}}},
]


@pytest.mark.parametrize("nonsense", NONSENSE, ids=str)
def test_a_manifest_with_a_good_digest_and_bad_content_is_refused(run_folder, tmp_path, nonsense):
    manifest = dataclasses.replace(read_checkpoint(run_folder / "checkpoints" / "6").manifest, **nonsense)
    with pytest.raises(Damaged, match=r"manifest.json is damaged"):
        parse_manifest(format_manifest(manifest), tmp_path / MANIFEST)


def test_swapped_checkpoints_are_refused(run_folder, tmp_path):
    shutil.copytree(run_folder / "checkpoints" / "6", tmp_path / "7")
    checkpoint, refused = newest_good(tmp_path, lambda checkpoint: None)
    assert checkpoint is None
    assert "7 is misnamed: its manifest says iteration 6" in str(refused[0])


@pytest.fixture
def copy(run_folder, tmp_path) -> Path:
    return Path(shutil.copytree(run_folder, tmp_path / "run"))


def damage(folder: Path, step: int) -> None:
    path = folder / "checkpoints" / str(step) / STATE
    path.write_bytes(path.read_bytes()[:-10])


def train(folder: Path, iterations: int, said: list[str]):
    options = SaveOptions(iterations=3, keep=2)
    return train_loop(
        folder, {"seed": 1}, **toy.FUNCTIONS, total_iterations=iterations, options=options, say=said.append
    )


def test_resume_takes_the_previous_checkpoint_says_so_and_ends_as_if_nothing_had_been(run_folder, copy):
    damage(copy, 6)
    said = []
    outcome = train(copy, 9, said)
    assert "6/state.safetensors is damaged" in said[0]
    assert said[0].endswith("checkpoints/3")
    state = toy.begin()
    for _ in range(3):
        state, _ = toy.call(state)
    assert same(outcome.state, state)
    assert (copy / "checkpoints" / "6.damaged").exists()
    lines = (copy / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["iteration"] for line in lines] == list(range(1, 10))


def test_with_no_good_checkpoint_nothing_starts_and_nothing_is_touched(copy):
    damage(copy, 6)
    damage(copy, 3)
    before = sorted((path, path.stat().st_size) for path in copy.rglob("*") if path.name != "lock")
    with pytest.raises(ForesightError, match=r"no checkpoint to resume from: .*6/state.*3/state.*`from_weights`"):
        train(copy, 9, [])
    assert sorted((path, path.stat().st_size) for path in copy.rglob("*") if path.name != "lock") == before


def test_a_run_whose_checkpoints_are_gone_does_not_start_from_scratch(copy):
    shutil.rmtree(copy / "checkpoints")
    with pytest.raises(ForesightError, match=r"metrics.jsonl has records but .*checkpoints is empty"):
        train(copy, 9, [])


def test_a_checkpoint_of_another_run_is_refused(copy, tmp_path):
    other = tmp_path / "other"
    train(other, 9, [])
    shutil.copytree(other / "checkpoints" / "9", copy / "checkpoints" / "9")
    said = []
    assert last_checkpoint(read_run(copy), said.append).manifest.iteration == 6
    assert "9 is foreign: it belongs to run" in said[0]
    shutil.rmtree(copy / "checkpoints" / "9.damaged")


def test_weights_of_another_run_are_not_taken_for_this_ones(copy, tmp_path):
    train(tmp_path / "other", 9, [])
    shutil.copytree(tmp_path / "other" / "checkpoints" / "9", copy / "checkpoints" / "9")
    said = []
    assert load_weights(copy, say=said.append).iteration == 6
    assert "9 is foreign: it belongs to run" in said[0]


def test_every_flipped_bit_of_the_settings_is_found(copy):
    path = copy / "config.json"
    content = path.read_bytes()
    for place in np.random.default_rng(0).choice(8 * len(content), 200, replace=False):
        flipped = bytearray(content)
        flipped[place // 8] ^= 1 << (place % 8)
        path.write_bytes(flipped)
        with contextlib.suppress(ForesightError):  # only spaces may differ
            assert read_run(copy).config == json.loads(content)["config"]


def test_a_changed_setting_is_named_whether_or_not_the_digest_is_put_right(copy):
    text = (copy / "config.json").read_text()
    assert '"seed": 1' in text
    (copy / "config.json").write_text(text.replace('"seed": 1', '"seed": 2'))
    with pytest.raises(ForesightError, match=r"config.json was changed .*'seed' is 2 in it and 1 in .*checkpoints/6"):
        read_run(copy)
    (copy / "config.json").write_text(text)
    change_config(copy, lambda config: config.update(seed=2))
    for use in (lambda: last_checkpoint(read_run(copy), print), lambda: load_weights(copy)):
        with pytest.raises(ForesightError, match=r"config.json and .*checkpoints/6 disagree: 'seed' is 2 .* and 1"):
            use()


def test_metrics_of_the_right_length_and_other_content_are_found(copy):
    path = copy / "metrics.jsonl"
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)
    said = []
    assert last_checkpoint(read_run(copy), said.append).manifest.iteration == 3
    assert "metrics.jsonl is damaged: its first" in said[0]


def test_a_run_of_which_only_the_beginning_is_good_does_not_start_from_scratch(tmp_path):
    folder, options = tmp_path / "run", SaveOptions(iterations=3, keep=9)
    train_loop(folder, {"seed": 1}, **toy.FUNCTIONS, total_iterations=6, options=options)
    (folder / "metrics.jsonl").write_bytes(len((folder / "metrics.jsonl").read_bytes()) * b"x")
    before = sorted(folder.rglob("*"))
    with pytest.raises(ForesightError, match=r"could only be begun anew: .*metrics.jsonl is damaged"):
        train_loop(folder, {"seed": 1}, **toy.FUNCTIONS, total_iterations=9, options=options)
    assert sorted(folder.rglob("*")) == before


def test_metrics_cut_short_take_the_checkpoint_before_the_cut(copy):
    path = copy / "metrics.jsonl"
    path.write_bytes(path.read_bytes()[:-5])
    said = []
    assert last_checkpoint(read_run(copy), said.append).manifest.iteration == 3
    assert "metrics.jsonl is damaged" in said[0]


def test_reading_weights_takes_the_previous_checkpoint_and_says_so(copy, capsys):
    path = copy / "checkpoints" / "6" / WEIGHTS
    path.write_bytes(path.read_bytes()[:-10])
    assert load_weights(copy).iteration == 3
    output = capsys.readouterr().err
    assert output.startswith(f"foresight: {path} is damaged: ")
    assert output.endswith(f"; using {copy / 'checkpoints' / '3'}\n")
    shutil.rmtree(copy / "checkpoints" / "3")
    with pytest.raises(ForesightError, match=r"has no good checkpoint: .*6/weights.safetensors is damaged"):
        load_weights(copy)
