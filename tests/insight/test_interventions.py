from dataclasses import replace

import numpy as np
import pytest

from foresight.envs.sokoban.rules import make
from foresight.errors import ForesightError
from foresight.insight.interventions import (
    Outcome,
    directions_on,
    intervene,
    level_set,
    outcome_of,
    route_edit,
    vectors_of,
)
from foresight.insight.labels import DOWN, LEFT, NEVER, RIGHT
from foresight.insight.probes import Probe
from foresight.insight.records import Player
from foresight.insight.routes import agent_levels, box_levels, symmetries
from foresight.levels.cells import fault_of
from tests.insight.made import wandering
from tests.insight.nets import small_drc

PROBE = Probe(np.random.default_rng(0).standard_normal((1, 1, 4, 1, 1, 5)).astype(np.float32), "C_A", "c", 1, 1)


@pytest.mark.parametrize("levels", [agent_levels(), box_levels()], ids=["agent", "box"])
def test_every_level_has_a_short_and_a_long_way_that_connect(levels):
    assert len(levels) == 25
    whole = [turned for level in levels for turned in symmetries(level)]
    assert len({level.cells.tobytes() for level in whole}) == 200
    assert not fault_of(np.stack([level.cells for level in whole])).any()
    for level in whole:
        for way in (level.short, level.long):
            squares = np.array([level.start, *way])
            assert np.all(np.abs(np.diff(squares, axis=0)).sum(1) == 1)
            assert np.all(level.cells[tuple(squares.T)] != 0)
        assert level.short[-1] == level.long[-1]
        assert len(level.short) < len(level.long)
        assert not set(level.short[:-1]) & set(level.long)


def walked(level, squares):
    """An episode in which the agent goes along these squares, and solves the level at their end."""
    boards = []
    for square in (level.start, *squares):
        board = np.where(level.cells == 5, 1, level.cells)
        board[square] = 5
        boards.append(board)
    return replace(wandering(0), observations=np.stack(boards), solved=True)


def test_success_is_the_long_way_and_no_other():
    level = agent_levels(1)[0]
    there_and_back = (*level.short[:1], level.start, *level.long)
    episodes = [walked(level, way) for way in (level.long, level.short, there_and_back, level.long[:-1])]
    episodes.append(replace(episodes[0], solved=False))
    assert outcome_of([level] * 5, episodes) == Outcome(levels=5, successes=1, solved=4)
    low, high = Outcome(5, 1, 4).ci95
    assert low < 20 < high


def test_a_box_takes_the_long_way_if_it_is_pushed_along_it():
    level = box_levels(1)[0]  # box at (3, 2), target at (3, 4)
    env = make(level_set([level]))
    ways = {"long": [2, 3, 2, 4, 4, 2, 4, 1], "short": [3, 2, 4, 4]}
    taken = {}
    for name, actions in ways.items():
        state = env.reset_to(np.int32(0))
        boards = [env.observe(state)]
        for action in actions:
            state, _ = env.step(state, np.int32(action), None)
            boards.append(env.observe(state))
        taken[name] = replace(wandering(0), observations=np.stack(boards), solved=True)
    assert np.asarray(taken["long"].observations[-1])[3, 4] == 4
    assert outcome_of([level] * 2, [taken["long"], taken["short"]]).successes == 1


def test_the_edit_says_never_on_the_short_way_and_a_direction_on_the_long_one():
    level = agent_levels(1)[0]
    vectors = 2 * vectors_of(PROBE)
    edit = route_edit(level, PROBE, vectors)
    values = dict(zip(edit.squares, edit.value, strict=True))
    assert set(values) == {*level.short[:-1], level.long[0]}
    np.testing.assert_array_equal(values[level.short[0]], vectors[NEVER])
    np.testing.assert_array_equal(values[level.long[0]], vectors[RIGHT])
    assert (edit.of, edit.depths) == ("c", [1])
    box = box_levels(1)[0]
    assert directions_on(box, 2) == {(3, 2): DOWN, (4, 2): RIGHT}
    assert LEFT not in directions_on(box, 9).values()


def test_random_vectors_have_the_lengths_of_the_probes():
    real, random = vectors_of(PROBE), vectors_of(PROBE, random_seed=1)
    np.testing.assert_allclose(np.linalg.norm(real, axis=1), np.linalg.norm(random, axis=1), rtol=1e-5)
    assert np.abs(real - random).max() > 0.1


def test_an_intervention_plays_every_level_with_its_own_edit():
    levels = agent_levels(2)
    env = make(level_set(levels), view="planes")
    player = Player(small_drc(env, ticks=1), env)
    outcome = intervene(player, levels, PROBE, 1.0, batch=2, max_steps=3)
    assert outcome == Outcome(2, 0, 0)
    with pytest.raises(ForesightError, match="a probe of C_A cannot speak of ways of the box"):
        intervene(player, box_levels(1), PROBE, 1.0)
