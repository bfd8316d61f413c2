import json

import numpy as np

from foresight.app.levels_report import difficulty_lines
from foresight.search.difficulty import difficulty
from tests.app.small_runs import status_of, use_linear_networks, write_levels
from tests.levels.drawings import cells
from tests.search.boards import EASY, UNSOLVABLE


def test_shortest_solutions_are_measured_over_the_levels_that_have_one():
    easy = cells("#######", "#@$.  #", "#     #", "#     #", "#######")
    measured = difficulty(np.stack([easy, EASY, UNSOLVABLE]))
    assert (measured.levels, measured.solved, measured.unsolvable, measured.given_up) == (3, 2, 1, 0)
    assert (measured.pushes_mean, measured.pushes_max) == (2.5, 4)
    assert (measured.moves_mean, measured.moves_max) == ((1 + 10) / 2, 10)


def test_searches_that_were_stopped_are_counted_apart():
    measured = difficulty(EASY[None], budget=1)
    assert (measured.solved, measured.unsolvable, measured.given_up, measured.moves_mean) == (0, 0, 1, None)


def test_levels_whose_fewest_moves_are_not_found_within_the_budget_are_counted(monkeypatch):
    room = cells("#######", "#@    #", "#  $  #", "#    .#", "#######")
    monkeypatch.setattr("foresight.search.breadth_first.BUDGET", 20)
    measured = difficulty(np.stack([room, cells("#######", "#@ $ .#", *["#######"] * 3)]))
    assert (measured.solved, measured.given_up, measured.moves_given_up, measured.moves_max) == (2, 0, 1, 3)
    lines = "\n".join(difficulty_lines(measured._asdict()))
    assert "(fewest moves; not found for 1 level)" in lines
    assert "(fewest pushes)" in lines


def test_info_reports_the_difficulty_of_a_set_and_an_agents_share(tmp_path, capsys, monkeypatch):
    from foresight.runs.config import EnvSettings, RunConfig
    from tests.runs.test_agents import write_weights

    use_linear_networks(monkeypatch)
    levels = write_levels(tmp_path)
    write_weights(tmp_path / "m.safetensors", RunConfig(env=EnvSettings(levels=levels, env=("view=planes",))))
    words = ["levels", "info", levels, "--difficulty", "--agent", str(tmp_path / "m.safetensors")]
    assert status_of([*words, "--json"]) == 0
    output = json.loads(capsys.readouterr().out)["difficulty"]
    assert (output["solved"], output["unsolvable"], output["pushes_max"]) == (3, 1, 1)
    assert output["agent_solved_percent"] in (25, 50, 75)
    assert status_of(words) == 0
    assert "solvable     3 of 4, 1 not" in capsys.readouterr().out
    assert status_of(["levels", "info", levels, "--limit", "2"]) == 2
    assert "--agent and --limit belong to --difficulty" in capsys.readouterr().err
