"""Runs of Atari on the command line, with a corridor in the emulator's place."""

import json
import subprocess
import sys

import numpy as np
import pytest

from foresight.envs.atari import GAMES
from foresight.runs.metrics import read_metrics
from foresight.runs.weights import load_weights
from tests.app.small_runs import instead, status_of, use_linear_networks
from tests.learning.host_corridor import HostCorridor

SIZE = "--num-envs 4 --minibatch 2 --unroll 12 --iterations-per-call 1 --steps 96".split()


def corridor(batch: int, threads: int, frame_cap: int, game: str) -> HostCorridor:
    """A game as `build_host_env` asks for it."""
    assert game in GAMES
    env = HostCorridor(batch)
    env.max_steps = frame_cap // 4 if frame_cap < 100 else HostCorridor.max_steps
    return env


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished run, and its command line; the corridor stays in the emulator's place."""
    out = tmp_path_factory.mktemp("host") / "run"
    with pytest.MonkeyPatch.context() as monkeypatch:
        use_linear_networks(monkeypatch)
        monkeypatch.setattr("foresight.runs.build.Atari", corridor)
        words = ["train", "atari", "--env", "game=breakout", *SIZE, "--out", str(out)]
        assert status_of(words) == 0
        yield out, words


def test_a_run_of_atari_is_kept_and_gone_on_with(finished, capsys):
    out, words = finished
    assert [record["steps"] for record in read_metrics(out)] == [48, 96]
    stored = json.loads((out / "config.json").read_text())["config"]
    assert (stored["domain"], stored["env"]["env"], stored["env"]["max_episode_steps"]) == (
        "atari",
        ["game=breakout"],
        [27000] * 2,
    )
    assert load_weights(out).iteration == 2
    for again in (words, ["train", "--out", str(out)]):
        assert status_of(again) == 0
        assert "resuming from" in capsys.readouterr().err
    assert status_of(instead(words, ["--env", "game=alien"])) == 2
    assert "holds a run with other settings: 'env.env'" in capsys.readouterr().err


def test_weights_of_one_run_start_another(finished, tmp_path):
    out, words = finished
    still = [*words[:-1], str(tmp_path / "child"), "--learning-rate", "0", "--from-weights", str(out)]
    assert status_of(still) == 0
    parent, child = load_weights(out).arrays, load_weights(tmp_path / "child").arrays
    assert all(np.array_equal(parent[name], child[name]) for name in parent)


def test_several_processes_are_refused_before_they_try_to_meet(finished, tmp_path, capsys):
    _, words = finished
    several = "--coordinator 127.0.0.1:1 --processes 2 --process-id 1".split()
    assert status_of([*words[:-1], str(tmp_path / "run"), *several]) == 2
    assert "games on the host train in one process" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_evaluation_tells_of_episodes_their_scores_and_the_interval(finished, tmp_path, capsys):
    out, _ = finished
    words = ["evaluate", str(out), "--limit", "5", "--think", "0,2", "--sample", "--out", str(tmp_path / "p.jsonl")]
    assert status_of([*words, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["episodes"], row["think"], row["max_steps"], row["greedy"]) for row in rows] == [
        (5, 0, 27000, False),
        (5, 2, 27000, False),
    ]
    about, *episodes = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    assert about["about"]["domain"] == "atari"
    scores = [[line["score"] for line in episodes if line["think"] == think] for think in (0, 2)]
    assert [row["score_mean"] for row in rows] == pytest.approx([np.mean(part) for part in scores])
    assert all(row["ci95"][0] <= row["score_mean"] <= row["ci95"][1] for row in rows)
    assert all(len(line["actions"]) == line["steps"] for line in episodes)
    assert status_of(words) == 0
    heading, *lines = capsys.readouterr().out.splitlines()
    assert heading.split()[:4] == ["seed", "think", "episodes", "score"]
    assert [line.split()[:3] for line in lines] == [["0", "0", "5"], ["0", "2", "5"]]


def test_one_episode_is_told_without_an_interval(finished, capsys):
    out, _ = finished
    assert status_of(["evaluate", str(out), "--limit", "1"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[:3] == ["0", "0", "1"]
    assert status_of(["evaluate", str(out), "--limit", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["ci95"] is None


def test_the_cap_cuts_episodes(finished, tmp_path):
    out, _ = finished

    def steps(*words: str) -> np.ndarray:
        path = tmp_path / "played.npz"
        assert status_of(["evaluate", str(out), "--limit", "12", "--out", str(path), *words]) == 0
        return np.load(path, allow_pickle=False)["steps"][0]

    assert np.array_equal(steps("--max-steps", "2"), np.minimum(steps(), 2))
    assert steps().max() > 2


def test_evaluation_wants_a_limit_and_no_levels(finished, capsys):
    out, _ = finished
    for words, message in (([], "say how many to play with --limit"), (["--levels", "x"], "--levels is for sokoban")):
        assert status_of(["evaluate", str(out), *words]) == 2
        output = capsys.readouterr()
        assert message in output.err
        assert output.out == ""


def test_watching_tells_how_the_episode_went(finished, capsys):
    out, _ = finished
    assert status_of(["watch", str(out), "--index", "3"]) == 0
    assert "corridor, episode 3: score" in capsys.readouterr().out
    assert status_of(["watch", str(out), "--index=-1"]) == 2
    assert "--index must be at least 0, not -1" in capsys.readouterr().err


def test_an_unknown_network_is_refused_before_anything_is_written(finished, tmp_path, capsys):
    _, words = finished
    assert status_of([*words[:-1], str(tmp_path / "run"), "--net", "resnett"]) == 2
    assert "there is no network 'resnett' (did you mean 'resnet'?); there are: drc, lstm" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_the_settings_of_atari_need_neither_the_emulator_nor_jax():
    probe = """
import sys
from foresight.app.train import parse
assert parse(["atari", "--env", "game=breakout"]).settings.is_on_host
print({"jax", "ale_py", "gymnasium"} & set(sys.modules))
"""
    result = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, timeout=60, check=True)
    assert result.stdout == "set()\n"
