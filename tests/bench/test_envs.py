import math

import pytest

from foresight.bench import envs as bench_envs
from foresight.bench.envs import measure, measure_all
from foresight.bench.peers import CAP, peers
from foresight.envs import make
from foresight.errors import ForesightError
from foresight.levels import open_set
from foresight.levels.solution import Game

LEVELS = "builtin/mini-train"


def test_every_kind_of_work_is_measured_and_plain_python_beside_it(monkeypatch):
    monkeypatch.setattr(bench_envs, "STEPS", 2)
    rows = list(measure_all(("sokoban",), (4,), LEVELS, seconds=0.01))
    assert [(row.implementation, row.work, row.batch) for row in rows][:4] == [
        ("foresight", "rules", 4),
        ("foresight", "observe", 4),
        ("foresight", "paint", 4),
        ("python", "rules", 4),
    ]
    assert all(row.steps_per_second > 0 for row in rows)


def test_costly_resets_are_measured_too(monkeypatch):
    monkeypatch.setattr(bench_envs, "STEPS", 2)
    assert measure(make("gridworld", size=6, sides=(1, 2)), "rules", 4, 0.01) > 0


def test_pictures_that_would_fill_the_memory_are_not_painted(monkeypatch):
    monkeypatch.setattr(bench_envs, "MOST_PICTURE_BYTES", 10)
    monkeypatch.setattr(bench_envs, "measure", lambda env, work, batch, seconds: 1.0)
    assert [row.work for row in measure_all(("boxworld",), (4,), LEVELS)] == ["rules", "observe"]


def test_an_unknown_domain_or_a_senseless_batch_is_refused():
    with pytest.raises(ForesightError, match="there is no domain 'chess'"):
        next(measure_all(("chess",)))
    with pytest.raises(ForesightError, match="must be positive"):
        next(measure_all(("sokoban",), (0,)))


@pytest.mark.parametrize("seconds", [0, math.nan, math.inf])
def test_seconds_that_say_no_time_are_refused(seconds):
    with pytest.raises(ForesightError, match="seconds must be positive"):
        next(measure_all(("sokoban",), (1,), seconds=seconds))


def test_plain_python_plays_the_steps_that_are_counted(monkeypatch):
    moves, move = [], Game.move
    monkeypatch.setattr(Game, "move", lambda self, action: moves.append(action) or move(self, action))
    name, steps, play = next(peers(open_set(LEVELS), 2))
    play()
    assert (name, steps) == ("python", 2 * CAP)
    assert len(moves) == steps
    assert set(moves) == set(range(5))


def test_plain_python_leaves_the_levels_it_begins_with_as_they_were(monkeypatch):
    made, init = [], Game.__init__
    monkeypatch.setattr(Game, "__init__", lambda self, cells: made.append((self, cells)) or init(self, cells))
    _, _, play = next(peers(open_set(LEVELS), 2))
    for _ in range(3):
        play()
    assert made
    assert all(game.boxes == Game(cells).boxes for game, cells in list(made))
