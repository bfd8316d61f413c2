"""`plot`, `compare` and `record` of what is no run and no record: one line, no traceback, no waiting for a pipe."""

import os
from pathlib import Path

import pytest

from foresight.app.cli import main
from foresight.runs.config import RunConfig
from foresight.runs.folder import Run, format_run

GOOD = '{"iteration": 1, "steps": 2, "solved": 0.5}\n'
METRICS = {  # what may be in the place of metrics.jsonl, and what is said of it
    "[1]\n": "metrics.jsonl:1: not a record",
    "3\n4\n": "metrics.jsonl:1: not a record",
    GOOD + '{"steps": "b", "solved": 1}\n': "metrics.jsonl:2: 'steps' is not a number",
    '{"iteration": 1, "steps": 2, "solved": {"a": 1}}\n': "'solved' is not a number",
    '{"iteration": 1, "steps": 2, "solved": []}\n': "'solved' is not a number",
    '{"iteration": 1, "steps": 1e400, "solved": 1}\n': "'steps' is not a number",
    '{"iteration": 1, "steps": 2, "solved": NaN}\n': "metrics.jsonl:1: not a line of JSON",
    f'{{"iteration": 1, "steps": {"9" * 400}, "solved": 1}}\n': "'steps' is not a number",
    GOOD + '{"iteration": 2, "steps": 3, "solved": [0.5, 0.1]}\n': "are not of one run",
    GOOD + '{"iteration": 2, "solved": 0.5}\n': "are not of one run",
    "": "has no records yet",
}
STUDIES = {
    '{"foresight": "study", "settings": {}, "runs": []}': "a record of no runs",
    '{"foresight": "study", "settings": 3, "runs": [{"settings": {}}]}': "is damaged",
    '{"foresight": "study", "settings": {}, "runs": 3}': "is damaged",
    "[1, 2]": "is not a record of a study",
    "\x00\x01": "is not a record of a study",
}


def make_run(folder: Path, metrics: str | None) -> Path:
    folder.mkdir()
    (folder / "config.json").write_bytes(format_run(Run(folder, "ab", RunConfig().as_json())))
    if metrics is not None:
        (folder / "metrics.jsonl").write_text(metrics)
    return folder


def answers(place: Path, capsys: pytest.CaptureFixture, commands: tuple[str, ...] = ("plot", "compare", "record")):
    """What each command says of it, all with status 2."""
    options = {
        "plot": ["--out", str(place.parent / "x.png")],
        "record": ["--study", "x", "--folder", str(place.parent)],
    }
    for command in commands:
        with pytest.raises(SystemExit) as ended:
            main([command, str(place), *options.get(command, [])])
        said = capsys.readouterr().err
        assert ended.value.code == 2, said
        assert len(said.splitlines()) == 1
        yield said


@pytest.mark.parametrize("metrics", METRICS)
def test_metrics_that_are_no_records_are_rejected_by_their_line(tmp_path, capsys, metrics):
    run = make_run(tmp_path / "run", metrics)
    assert all(METRICS[metrics] in said for said in answers(run, capsys))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"]


@pytest.mark.parametrize("study", STUDIES)
def test_a_file_that_is_no_record_of_a_study_is_rejected(tmp_path, capsys, study):
    (tmp_path / "study.json").write_text(study)
    assert all(STUDIES[study] in said for said in answers(tmp_path / "study.json", capsys, ("plot", "compare")))


@pytest.mark.parametrize("name", ["config.json", "metrics.jsonl", "evaluations.jsonl"])
def test_a_pipe_in_a_run_folder_is_not_waited_for(tmp_path, capsys, name):
    run = make_run(tmp_path / "run", GOOD)
    (run / name).unlink(missing_ok=True)
    os.mkfifo(run / name)
    assert all(f"cannot read {run / name}: " in said for said in answers(run, capsys))


def test_evaluations_without_numbers_are_rejected_by_their_line(tmp_path, capsys):
    run = make_run(tmp_path / "run", GOOD)
    (run / "evaluations.jsonl").write_text('{"iteration": 1, "trained_steps": "y", "seed": 0}\n')
    assert all("evaluations.jsonl:1: not an evaluation" in said for said in answers(run, capsys))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_without_permission_is_named(tmp_path, capsys):
    run = make_run(tmp_path / "run", GOOD)
    run.chmod(0)
    try:
        assert all("Permission denied" in said for said in answers(run, capsys))
    finally:
        run.chmod(0o700)
