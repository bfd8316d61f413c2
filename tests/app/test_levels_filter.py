"""`foresight levels filter`: what is kept, what is recorded, and that it resumes."""

import json

import equinox as eqx
import jax
import numpy as np
import pytest

from foresight.levels import read_set
from foresight.runs import level_filter
from foresight.runs.agents import export_agent
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

    def play(env, net, numbers, *_):
        if numbers[0] == stop_at[0]:
            raise KeyboardInterrupt
        played.extend(numbers.tolist())
        return np.array([number % 2 == 0 for number in numbers])

    monkeypatch.setattr(level_filter, "solved_in_some_attempt", play)
    assert run(model, "--attempts", "1") == 130
    with open(tmp_path / "out.levels.progress", "ab") as file:
        file.write(b'{"solved": "8')  # a line that was not finished
    stop_at[0] = 9
    assert run(model, "--attempts", "1", "--json") == 0
    assert played == [0, 1, 2, 3]
    assert json.loads(capsys.readouterr().out)["tried"] == 4
    assert np.array_equal(read_set(tmp_path / "out.levels").cells(), LEVELS.cells([1, 3]))


@pytest.mark.parametrize(
    "damage", [(b'"solved": "00"', b'"solved": "80"'), (b'"count": 1', b'"count": 2'), (b"{", b"[")]
)
def test_a_damaged_journal_is_named_and_stays_as_it_is(model, tmp_path, capsys, monkeypatch, damage):
    def play(env, net, numbers, *_):
        if numbers[0] == 3:
            raise KeyboardInterrupt
        return numbers > 9

    monkeypatch.setattr(level_filter, "CHUNK", {"cpu": 1})
    monkeypatch.setattr(level_filter, "solved_in_some_attempt", play)
    assert run(model) == 130
    path = tmp_path / "out.levels.progress"
    header, first, second, third = path.read_bytes().splitlines(keepends=True)
    damaged = header + first + second.replace(*damage) + third
    path.write_bytes(damaged)
    assert run(model) == 2
    assert "out.levels.progress is damaged in line 3: remove it to start again" in capsys.readouterr().err
    assert path.read_bytes() == damaged
    path.write_bytes(header + second + first)
    assert run(model) == 2
    assert "out.levels.progress is damaged in line 2" in capsys.readouterr().err


def test_the_progress_of_another_filtering_is_not_mixed_in(model, tmp_path, capsys, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(level_filter, "solved_in_some_attempt", stop)
    assert run(model, "--seed", "1") == 130
    assert run(model, "--seed", "2") == 2
    assert (
        "out.levels.progress is the progress of another filtering: remove it, or give DST another name"
        in capsys.readouterr().err
    )


def test_the_progress_of_another_filtering_is_left_alone_also_where_the_agent_was_trained_further(
    model, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(level_filter, "CHUNK", {"cpu": 1})
    asked, played = FilterSettings(model[-1], attempts=1), []

    def play(env, net, numbers, *_):
        played.extend(numbers.tolist())
        if len(played) == 2:
            raise KeyboardInterrupt
        return numbers > 0

    monkeypatch.setattr(level_filter, "solved_in_some_attempt", play)
    with pytest.raises(KeyboardInterrupt):
        filter_levels(LEVELS, asked, tmp_path / "out.levels")
    before = (tmp_path / "out.levels.progress").read_bytes()
    agent = level_filter.load_agent_for(model[-1], LEVELS)
    further = jax.tree.map(lambda x: x + 1 if eqx.is_inexact_array(x) else x, agent.net)
    export_agent(agent._replace(net=further), tmp_path / "model.safetensors")
    assert run(model, "--attempts", "1") == 2
    assert "out.levels.progress is the progress of another filtering" in capsys.readouterr().err
    assert (tmp_path / "out.levels.progress").read_bytes() == before


def test_attempts_are_drawn_by_the_seed_and_their_number(model, monkeypatch):
    drawn = []

    def play(env, net, numbers, settings, keys, batch, note):
        drawn.append(jax.random.key_data(keys).tolist())
        return numbers > 0

    monkeypatch.setattr(level_filter, "solved_in_some_attempt", play)
    assert run(model, "--attempts", "3", "--seed", "5") == 0
    key = jax.random.key(5)
    assert drawn == [[jax.random.key_data(jax.random.fold_in(key, attempt)).tolist() for attempt in range(3)]]


def test_what_is_being_done_is_said_between_two_lines_of_the_journal(model, tmp_path, monkeypatch):
    said, settings = [], FilterSettings(model[-1], attempts=2)
    filter_levels(LEVELS, settings, tmp_path / "out.levels", lambda done, doing: said.append((done, doing)))
    assert said[0] == (0, "")
    assert said[1] == (0, "0 of the next 4")
    assert (0, "4 of the next 4") in said
    assert said[-1] == (4, "")


def test_nothing_to_keep_is_an_error_and_leaves_no_progress_in_the_way(model, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(level_filter, "solved_in_some_attempt", lambda env, net, numbers, *_: numbers >= 0)
    assert run(model) == 2
    assert "none of the 4 levels of drawn is unsolved: nothing to write" in capsys.readouterr().err
    assert not (tmp_path / "out.levels.progress").exists()
    assert run(model, "--keep", "solved", "--attempts", "1") == 0
    assert "solved by model in 1 attempt of 120 steps" in read_set(tmp_path / "out.levels").source


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
