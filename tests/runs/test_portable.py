"""A run in one file: all of it but the games, which begin anew."""

import dataclasses
from pathlib import Path

import jax
import numpy as np
import pytest

from foresight.app.train import parse
from foresight.errors import ForesightError
from foresight.runs.checkpoints import STATE, read_checkpoint
from foresight.runs.evaluations import append_evaluations, read_evaluations
from foresight.runs.folder import read_run
from foresight.runs.metrics import read_metrics
from foresight.runs.portable import export_run, import_run
from foresight.runs.train import run_training
from foresight.runs.weights import load_weights
from foresight.runs.writer import SaveOptions
from tests.app.small_runs import status_of
from tests.runs.small_run import CONFIG

TWO_SEEDS = dataclasses.replace(CONFIG, seeds=2)


@pytest.fixture(scope="module")
def exported(tmp_path_factory) -> tuple[Path, Path]:
    """A run that stopped on its way, and the file it was written to."""
    folder = tmp_path_factory.mktemp("portable")

    def stop(state, records):
        if records[-1]["iteration"] == 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_training(TWO_SEEDS, folder / "run", SaveOptions(seconds=0), on_call=stop)
    append_evaluations(folder / "run", [{"iteration": 8, "trained_steps": 320, "seed": 0}])
    assert export_run(folder / "run", folder / "run.file").iteration == 8
    return folder / "run", folder / "run.file"


def arrays_of(folder: Path, iteration: int) -> dict[str, np.ndarray]:
    return read_checkpoint(folder / "checkpoints" / str(iteration)).contents[STATE].arrays


def test_everything_but_the_games_arrives_and_the_history_says_so(exported, tmp_path):
    run, file = exported
    import_run(file, tmp_path / "run")
    ours, theirs = arrays_of(tmp_path / "run", 8), arrays_of(run, 8)
    assert ours.keys() == theirs.keys()
    for name in theirs:
        assert name.startswith("acting/") or ours[name].tobytes() == theirs[name].tobytes(), name
    assert (ours["acting/playing/steps"] == 0).all()
    assert len(np.unique(ours["acting/playing/key"].reshape(-1, 2), axis=0)) == 16, "all games are different ones"
    assert (tmp_path / "run" / "metrics.jsonl").read_bytes() == (run / "metrics.jsonl").read_bytes()
    assert read_evaluations(tmp_path / "run") == read_evaluations(run)
    event = {"run": read_run(run).id, "iteration": 8, "steps": 320, "episodes": "begun anew"}
    assert read_run(tmp_path / "run").history == ({"imported": event},)


def test_the_command_that_takes_a_run_up_also_resumes_it(exported, tmp_path, capsys):
    words = ["train", "--resume-from", str(exported[1]), "--out", str(tmp_path / "run"), "--quiet"]
    assert parse(words[1:]).settings == TWO_SEEDS
    assert status_of(words) == 0
    assert [record["iteration"] for record in read_metrics(tmp_path / "run")] == [4, 8, 12]
    assert read_metrics(tmp_path / "run")[:2] == read_metrics(exported[0])[:2]
    assert load_weights(tmp_path / "run").iteration == 12
    capsys.readouterr()
    assert status_of(words) == 0
    assert "resuming from" in capsys.readouterr().err


def test_export_says_what_it_wrote(exported, tmp_path, capsys):
    assert status_of(["export", str(exported[0] / "checkpoints" / "4"), str(tmp_path / "x.run")]) == 0
    assert "MB, the run after 160 steps" in capsys.readouterr().out
    import_run(tmp_path / "x.run", tmp_path / "run")
    assert [record["iteration"] for record in read_metrics(tmp_path / "run")] == [4]


def test_a_folder_in_use_and_a_file_of_something_else_are_rejected(exported, tmp_path):
    run, file = exported
    with pytest.raises(ForesightError, match="holds something already"):
        import_run(file, run)
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    (tmp_path / "damaged").write_bytes(content)
    weights = run / "checkpoints" / "8" / "weights.safetensors"
    for path, why in ((tmp_path / "damaged", "does not match its digest"), (weights, "is not a run in a file")):
        with pytest.raises(ForesightError, match=why):
            import_run(path, tmp_path / "run")
    with pytest.raises(ForesightError, match="is not a file"):
        import_run(tmp_path / "absent", tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_seeds_begin_other_games_than_when_they_began_first(exported, tmp_path):
    import_run(exported[1], tmp_path / "run")
    first = read_checkpoint(exported[0] / "checkpoints" / "4").contents[STATE].arrays["acting/playing/key"]
    ours = arrays_of(tmp_path / "run", 8)["acting/playing/key"]
    assert not np.isin(ours, first).all()
    assert jax.random.key_data(jax.random.key(0)).shape == ours.shape[-1:]
