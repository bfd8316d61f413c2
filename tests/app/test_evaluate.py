"""`foresight evaluate`: what it reports, what it writes, what it rejects."""

import json
import re

import numpy as np
import pytest

from foresight.app.evaluate import Evaluate
from foresight.errors import ForesightError
from foresight.evaluation.solve import NOT_PLAYED
from foresight.runs.config import EnvSettings, RunConfig
from tests.app.small_runs import LEVELS, status_of, use_linear_networks, write_levels
from tests.envs.reference_sokoban import Game
from tests.runs.test_agents import write_weights


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Weights of two seeds, as a file; every network is linear in the meantime."""
    folder = tmp_path_factory.mktemp("evaluate")
    with pytest.MonkeyPatch.context() as monkeypatch:
        use_linear_networks(monkeypatch)
        config = RunConfig(seeds=2, env=EnvSettings(levels=write_levels(folder), env=("view=planes",)))
        write_weights(folder / "model.safetensors", config)
        yield str(folder / "model.safetensors")


def report(capsys, *words: str) -> list[dict]:
    assert status_of(["evaluate", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_there_is_an_entry_for_each_seed_and_thinking_setting(model, capsys):
    rows = report(capsys, model, "--think", "0,2", "--max-steps", "20")
    assert [(row["seed"], row["think"]) for row in rows] == [(0, 0), (0, 2), (1, 0), (1, 2)]
    for row in rows:
        assert row["levels"] == 4
        assert row["solved_percent"] == 25 * row["solved"]
        assert row["ci95"][0] <= row["solved_percent"] <= row["ci95"][1]
        assert {"steps_mean", "seconds", "score_mean"} <= set(row)
        assert (row["max_steps"], row["greedy"]) == (20, True)


def test_the_report_names_the_set_that_was_played(model, capsys, monkeypatch, tmp_path):
    other = write_levels(tmp_path)
    assert {row["set"] for row in report(capsys, model, "--levels", other)} == {other}
    monkeypatch.setattr("foresight.runs.agents.default_levels", lambda path, config: other)
    assert {row["set"] for row in report(capsys, model)} == {other}


def test_limit_plays_the_first_levels_only(model, capsys):
    assert [row["levels"] for row in report(capsys, model, "--limit", "3")] == [3, 3]


def test_the_usual_cap_is_the_papers(model, capsys):
    assert report(capsys, model)[0]["max_steps"] == 120


def test_a_table_is_printed_for_people(model, capsys):
    assert status_of(["evaluate", model, "--max-steps", "20"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:3] == ["seed", "think", "solved"]
    assert [line.split()[0] for line in lines[1:]] == ["0", "1"]


def replay(solved, steps, score, actions, board) -> None:
    """Play the actions by the plain rules and come to the same end."""
    game = Game(board)
    output = [game.step(int(action)) for action in actions[:steps]]
    assert sum(reward for reward, _, _ in output) == pytest.approx(score, abs=1e-4)
    assert [end for _, end, _ in output] == [False] * (steps - 1) + [solved]


def test_the_record_of_every_level_replays_from_an_npz_file(model, tmp_path, capsys):
    rows = report(capsys, model, "--think", "0,1", "--sample", "--max-steps", "20", "--out", str(tmp_path / "p.npz"))
    with np.load(tmp_path / "p.npz", allow_pickle=False) as file:
        played = dict(file)
    assert played["seed"].tolist() == [0, 0, 1, 1]
    assert played["think"].tolist() == [0, 1, 0, 1]
    assert played["solved"].sum(axis=1).tolist() == [row["solved"] for row in rows]
    assert played["solved"].any()
    assert json.loads(str(played["about"]))["greedy"] is False
    for i in range(4):
        for number, board in enumerate(LEVELS.cells()):
            steps = played["steps"][i, number]
            replay(played["solved"][i, number], steps, played["score"][i, number], played["actions"][i, number], board)
            assert (played["actions"][i, number, steps:] == NOT_PLAYED).all()


def test_the_record_of_every_level_replays_from_lines_of_json(model, tmp_path, capsys):
    report(capsys, model, "--sample", "--max-steps", "20", "--seed", "3", "--out", str(tmp_path / "p.jsonl"))
    about, *lines = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    assert about["about"]["play_seed"] == 3
    assert [(line["seed"], line["level"]) for line in lines] == [(s, n) for s in (0, 1) for n in range(4)]
    for line in lines:
        assert len(line["actions"]) == line["steps"]
        replay(line["solved"], line["steps"], line["score"], line["actions"], LEVELS.cells()[line["level"]])


def test_sampled_play_depends_on_the_seed_and_greedy_play_does_not(model, tmp_path):
    def actions(*words: str) -> np.ndarray:
        path = tmp_path / "played.npz"
        assert status_of(["evaluate", model, "--max-steps", "20", "--out", str(path), *words]) == 0
        return np.load(path, allow_pickle=False)["actions"]

    assert np.array_equal(actions("--seed", "1"), actions("--seed", "2", "--greedy"))
    assert not np.array_equal(actions("--sample", "--seed", "1"), actions("--sample", "--seed", "2"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--greedy", "--sample"], "--greedy and --sample exclude each other"),
        (["--think", "some"], "--think some: expected numbers such as 4"),
        (["--think", "-1"], "--think"),
        (["--think", ""], "--think is empty: expected a value"),
        (["--think", "9" * 20], f"--think must be at most 2147483647, not {'9' * 20}"),
        (["--think", "9" * 5000], "--think is too long: 5,000 characters"),
        (["--max-steps", "99999999999"], "--max-steps must be at most 2147483647, not 99999999999"),
        (
            ["--max-steps", "2147483647"],
            "4 levels of 2,147,483,647 steps are more than 2,147,483,647 moves: give a smaller",
        ),
        (["--seed", "9" * 20], f"--seed must be at most 2147483647, not {'9' * 20}"),
        (["--seed", "-1"], "--seed must be at least 0, not -1"),
        (["--best"], "--best is for a run folder, which keeps several checkpoints;"),
        (["--limit", "0"], "--limit must be at least 1"),
        (["--max-steps", "0"], "--max-steps must be at least 1"),
        (["--batch", "0"], "--batch must be at least 1"),
        (["--levels", "nowhere"], "no level set 'nowhere'"),
        (["--out", "played.txt"], "expected a name that ends in .npz or .jsonl"),
    ],
)
def test_what_cannot_be_asked_is_refused_by_name(model, capsys, words, message):
    assert status_of(["evaluate", model, *words]) == 2
    output = capsys.readouterr()
    assert message in output.err
    assert output.out == ""


@pytest.mark.parametrize("place", ["/proc/played.npz", "{tmp}/file/played.npz", "{tmp}/folder.npz"])
def test_a_place_that_cannot_be_written_is_refused_before_anything_is_played(model, tmp_path, capsys, place):
    (tmp_path / "file").touch()
    (tmp_path / "folder.npz").mkdir()
    out = place.format(tmp=tmp_path)
    assert status_of(["evaluate", model, "--max-steps", "20", "--json", "--out", out]) == 2
    output = capsys.readouterr()
    assert re.search(rf"foresight: cannot (read or )?write {out}: ", output.err)
    assert output.out == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder.npz"]


@pytest.mark.parametrize("name", ["metrics.jsonl", "empty.jsonl", "arrays.npz", "text.npz"])
def test_a_file_that_is_no_earlier_result_is_not_overwritten(model, tmp_path, capsys, name):
    (tmp_path / "metrics.jsonl").write_text('{"iteration": 1, "solved": 0.5}\n')
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "text.npz").write_text("not an archive")
    np.savez(tmp_path / "arrays.npz", solved=np.zeros(3))
    before = (tmp_path / name).read_bytes()
    assert status_of(["evaluate", model, "--max-steps", "20", "--out", str(tmp_path / name)]) == 2
    assert f"{tmp_path / name}: there is a file already, and not one that an" in capsys.readouterr().err
    assert (tmp_path / name).read_bytes() == before


@pytest.mark.parametrize("name", ["played.npz", "played.jsonl"])
def test_an_earlier_result_is_replaced(model, tmp_path, name):
    out = tmp_path / "new" / "folder" / name
    assert status_of(["evaluate", model, "--max-steps", "20", "--limit", "2", "--out", str(out)]) == 0
    before = out.read_bytes()
    assert status_of(["evaluate", model, "--max-steps", "20", "--limit", "3", "--out", str(out)]) == 0
    assert out.read_bytes() != before


def test_results_are_printed_although_the_file_cannot_be_written_in_the_end(model, tmp_path, capsys, monkeypatch):
    def fail(*_):
        raise ForesightError("cannot write: the disk is full by now")

    monkeypatch.setattr("foresight.runs.level_records.write_whole", fail)
    assert status_of(["evaluate", model, "--max-steps", "20", "--json", "--out", str(tmp_path / "played.npz")]) == 2
    output = capsys.readouterr()
    assert len(json.loads(output.out)) == 2
    assert "the disk is full by now" in output.err


def test_a_model_that_is_not_there_is_refused(capsys):
    assert status_of(["evaluate", "nobody"]) == 2
    assert "there is no 'nobody': expected a run folder" in capsys.readouterr().err


def test_thinking_settings_are_read_from_one_word():
    assert Evaluate("x", think="0, 1,10").thinking == [0, 1, 10]
    with pytest.raises(ForesightError):
        _ = Evaluate("x", think="1,,2").thinking


def test_a_domain_without_an_end_of_levels_wants_a_limit(tmp_path, capsys, monkeypatch):
    use_linear_networks(monkeypatch)
    config = RunConfig(domain="gridworld", env=EnvSettings(env=("size=8", "sides=[1,2]", "obstacles=[1,2]")))
    write_weights(tmp_path / "g.safetensors", config)
    assert status_of(["evaluate", str(tmp_path / "g.safetensors")]) == 2
    assert "gridworld makes levels without end: say how many to play with --limit" in capsys.readouterr().err


def test_a_domain_without_an_end_of_levels_is_played_on_the_first_of_them(tmp_path, capsys, monkeypatch):
    use_linear_networks(monkeypatch)
    config = RunConfig(domain="gridworld", env=EnvSettings(env=("size=8", "sides=[1,2]", "obstacles=[1,2]")))
    write_weights(tmp_path / "g.safetensors", config)
    (row,) = report(capsys, str(tmp_path / "g.safetensors"), "--limit", "5", "--max-steps", "9")
    assert (row["levels"], row["max_steps"], row["set"]) == (5, 9, None)
    assert row["solved_percent"] == 20 * row["solved"]


def test_minipacman_is_told_by_its_score(tmp_path, capsys, monkeypatch):
    use_linear_networks(monkeypatch)
    write_weights(tmp_path / "m.safetensors", RunConfig(domain="minipacman"))
    words = [str(tmp_path / "m.safetensors"), "--limit", "3", "--max-steps", "9"]
    (row,) = report(capsys, *words)
    assert (row["episodes"], "solved" in row) == (3, False)
    assert row["score_least"] <= row["score_mean"] <= row["score_most"]
    assert status_of(["evaluate", *words]) == 0
    assert capsys.readouterr().out.splitlines()[0].split()[:4] == ["seed", "think", "episodes", "score"]


def test_the_batch_size_changes_no_number(model, capsys):
    def counts(batch: str) -> list[tuple]:
        rows = report(capsys, model, "--sample", "--max-steps", "20", "--batch", batch)
        return [(row["solved"], row["steps_mean"], row["score_mean"]) for row in rows]

    assert counts("2") == counts("4")


def test_help_gives_an_example(capsys):
    assert status_of(["evaluate", "--help"]) == 0
    assert "foresight evaluate runs/drc --levels" in capsys.readouterr().out
