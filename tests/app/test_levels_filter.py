"""`foresight levels filter`: what is kept, what is recorded, and that it resumes."""

import json

import numpy as np
import pytest

from foresight.evaluation.solve import Record
from foresight.levels import read_set
from foresight.runs import level_filter
from foresight.runs.config import EnvSettings, RunConfig
from foresight.runs.level_filter import FilterSettings, filter_levels
from tests.app.small_runs import LEVELS, status_of, use_linear_networks, write_levels
from tests.runs.test_agents import write_weights


@pytest.fixture
def model(tmp_path, monkeypatch):
    """An agent and the drawn levels, as files; every network is linear in the meantime."""
    use_linear_networks(monkeypatch)
    config = RunConfig(env=EnvSettings(levels=write_levels(tmp_path), env=("view=planes",)))
    write_weights(tmp_path / "model.safetensors", config)
    return [config.env.levels, str(tmp_path / "out.levels"), "--agent", str(tmp_path / "model.safetensors")]


def run(model: list[str], *words: str) -> int:
    return status_of(["levels", "filter", *model, *words])


@pytest.mark.parametrize("words", [[], ["--reset-memory"], ["--reset-memory", "--looks", "2"]])
def test_what_is_solved_in_some_attempt_and_what_is_not_make_up_the_set(model, tmp_path, capsys, words):
    assert run(model, "--attempts", "30", "--max-steps", "20", "--keep", "unsolved", *words) == 0
    assert "1 level of 4 unsolved" in capsys.readouterr().out
    assert np.array_equal(read_set(tmp_path / "out.levels").cells(), LEVELS.cells(2))
    assert run(model, "--attempts", "30", "--max-steps", "20", "--keep", "solved", "--seed", "7", *words) == 0
    kept = read_set(tmp_path / "out.levels")
    assert np.array_equal(kept.cells(), LEVELS.cells([0, 1, 3]))
    reset = ", memory reset at every step" + " and 2 looks" * (len(words) > 1) if words else ""
    assert kept.source.endswith(f"; solved by model in 30 attempts of 20 steps drawn by seed 7{reset}")
    assert not (tmp_path / "out.levels.progress").exists()


def test_an_interrupted_filtering_resumes_where_it_stopped(model, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(level_filter, "CHUNK", {"cpu": 1})
    played, stop_at = [], [2]

    def play(env, net, numbers, settings, key, batch, note, only):
        if numbers[0] == stop_at[0]:
            raise KeyboardInterrupt
        played.extend(numbers.tolist())
        return Record(np.array([number % 2 == 0 for number in numbers]), None, None, None)

    monkeypatch.setattr(level_filter, "solve", play)
    assert run(model, "--attempts", "1") == 130
    with open(tmp_path / "out.levels.progress", "ab") as file:
        file.write(b'{"solved": "8')  # a line that was not finished
    stop_at[0] = 9
    assert run(model, "--attempts", "1", "--json") == 0
    assert played == [0, 1, 2, 3]
    assert json.loads(capsys.readouterr().out)["tried"] == 4
    assert np.array_equal(read_set(tmp_path / "out.levels").cells(), LEVELS.cells([1, 3]))


def test_the_progress_of_another_filtering_is_not_mixed_in(model, tmp_path, capsys, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(level_filter, "solve", stop)
    assert run(model, "--seed", "1") == 130
    assert run(model, "--seed", "2") == 2
    assert "out.levels.progress is the progress of another filtering: remove it" in capsys.readouterr().err


def test_a_level_solved_in_one_attempt_is_not_tried_again(model, monkeypatch):
    tried = []

    def play(env, net, numbers, settings, key, batch, note, only):
        tried.append(numbers[only].tolist())
        return Record(numbers == len(tried) - 1, None, None, None)

    monkeypatch.setattr(level_filter, "solve", play)
    assert run(model, "--attempts", "3") == 0
    assert tried == [[0, 1, 2, 3], [1, 2, 3], [2, 3]]


def test_what_is_being_done_is_said_between_two_lines_of_the_journal(model, tmp_path, monkeypatch):
    said, settings = [], FilterSettings(model[-1], attempts=2)
    filter_levels(LEVELS, settings, tmp_path / "out.levels", lambda done, doing: said.append((done, doing)))
    assert said[0] == (0, "")
    assert said[1] == (0, "attempt 1 of 2: 0 of 4 levels")
    assert (0, "attempt 1 of 2: 4 of 4 levels") in said
    assert any("attempt 2 of 2: 0 of" in doing for _, doing in said)
    assert said[-1] == (4, "")


def test_nothing_to_keep_is_an_error(model, capsys, monkeypatch):
    monkeypatch.setattr(
        level_filter, "solve", lambda env, net, numbers, *_, **__: Record(numbers >= 0, None, None, None)
    )
    assert run(model) == 2
    assert "none of the 4 levels of drawn is unsolved: nothing to write" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--attempts", "0"], "--attempts must be at least 1"),
        (["--seed", "-1"], "--seed must be at least 0, not -1"),
        (["--looks", "3"], "--looks belongs to --reset-memory"),
    ],
)
def test_what_cannot_be_asked_is_rejected_by_name(model, capsys, words, message):
    assert run(model, *words) == 2
    assert message in capsys.readouterr().err
