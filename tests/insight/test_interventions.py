from dataclasses import replace

import numpy as np
import pytest

from foresight.envs.boxworld.rules import Boxworld
from foresight.envs.sokoban.rules import Sokoban
from foresight.errors import ForesightError
from foresight.insight.interventions import (
    Outcome,
    directions_on,
    intervene,
    level_set,
    outcome_of,
    random_like,
    route_edit,
    route_edits,
    vectors_of,
)
from foresight.insight.labels import DOWN, LEFT, NEVER, RIGHT
from foresight.insight.probes import Probe
from foresight.insight.records import Player
from foresight.insight.routes import agent_levels, box_levels, symmetries
from foresight.levels.cells import BOX, BOX_ON_TARGET, PLAYER, TARGET, WALL, fault_of
from tests.drawings import level as drawn
from tests.drawings import level_set as level_set_of
from tests.insight.made import wandering
from tests.insight.nets import small_drc

PROBE = Probe(np.random.default_rng(0).standard_normal((1, 1, 4, 1, 1, 5)).astype(np.float32), "C_A", "c", 1, 1)


@pytest.mark.parametrize("levels", [agent_levels(999), box_levels(999)], ids=["agent", "box"])
def test_every_level_has_a_short_and_a_long_way_that_connect(levels):
    assert len(levels) == {"agent": 195, "box": 270}[levels[0].mover]
    whole = [turned for level in levels for turned in symmetries(level)]
    assert len({level.cells.tobytes() for level in whole}) == 8 * len(levels)
    assert not fault_of(np.stack([level.cells for level in whole])).any()
    for level in whole:
        for way in (level.short, level.long):
            squares = np.array([level.start, *way])
            assert np.all(np.abs(np.diff(squares, axis=0)).sum(1) == 1)
            assert np.all(level.cells[tuple(squares.T)] != 0)
        assert level.short[-1] == level.long[-1]
        assert len(level.short) < len(level.long)
        assert not set(level.short[:-1]) & set(level.long)
        assert np.sum(level.cells == BOX_ON_TARGET) == 3


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


def played(level, actions):
    """The episode of these moves, as if it had been solved."""
    env = Sokoban.make(level_set([level]))
    state = env.reset_to(np.int32(0))
    boards = [env.observe(state)]
    for action in actions:
        state, _ = env.step(state, np.int32(action), None)
        boards.append(env.observe(state))
    return replace(wandering(0), observations=np.stack(boards), solved=True)


def test_a_box_takes_the_long_way_if_it_is_pushed_along_it():
    level = box_levels(1)[0]  # agent at (1, 1), box at (2, 2), target at (2, 4), lower corridor along row 4
    ways = {"long": [4, 2, 2, 3, 2, 4, 4, 2, 4, 1, 1], "short": [2, 4, 4]}
    taken = {name: played(level, actions) for name, actions in ways.items()}
    assert all(np.asarray(episode.observations[-1])[2, 4] == BOX_ON_TARGET for episode in taken.values())
    assert outcome_of([level] * 2, [taken["long"], taken["short"]]).successes == 1


def test_a_box_has_no_third_way():
    """From the start, without the straight corridor, every solution goes along the long way."""
    for level in box_levels(999)[::30]:
        walled = level.cells.copy()
        blocked = level.short[0]
        if len(level.short) > 2:  # otherwise the square is the target's neighbour, which the agent may need
            walled[blocked] = WALL
            paths = box_paths(walled)
            assert paths
            assert all(path <= {level.start, *level.long} for path in paths)


def box_paths(cells):
    """The squares of the working box over all shortest solutions of a board with one such box, by trying all moves."""
    (box,), (target,) = (list(map(tuple, np.argwhere(cells == code))) for code in (BOX, TARGET))
    free = {tuple(square) for square in np.argwhere((cells != WALL) & (cells != BOX_ON_TARGET))}
    start = tuple(np.argwhere(cells == PLAYER)[0])
    frontier, seen = {(start, box): [frozenset([box])]}, {(start, box)}
    while frontier:
        done = [path for (_, box), paths in frontier.items() if box == target for path in paths]
        if done:
            return done
        following = {}
        for (agent, box), paths in frontier.items():
            for down, right in ((-1, 0), (1, 0), (0, -1), (0, 1)):
                ahead, beyond = (agent[0] + down, agent[1] + right), (agent[0] + 2 * down, agent[1] + 2 * right)
                moved = beyond if ahead == box else box
                if ahead in free and moved in free and (ahead, moved) not in seen:
                    following.setdefault((ahead, moved), []).extend(path | {moved} for path in paths)
        seen |= set(following)
        frontier = following
    return []


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
    assert directions_on(box, 3) == {(2, 2): DOWN, (3, 2): DOWN, (4, 2): RIGHT}
    assert LEFT not in directions_on(box, 9).values()


def test_random_vectors_have_the_lengths_of_the_probes_and_differ_from_level_to_level():
    real = vectors_of(PROBE)
    random = random_like(real, np.random.default_rng(1))
    np.testing.assert_allclose(np.linalg.norm(real, axis=1), np.linalg.norm(random, axis=1), rtol=1e-5)
    assert np.abs(real - random).max() > 0.1
    (first,), (second,) = route_edits([agent_levels(1)[0]] * 2, [PROBE], 2.0, random_seed=1)
    np.testing.assert_allclose(first.value[-1], 2 * random[RIGHT], rtol=1e-5)
    assert np.abs(first.value - second.value).max() > 0.1


def test_an_intervention_plays_every_level_with_its_own_edit():
    levels = agent_levels(2)
    env = Sokoban.make(level_set(levels), view="planes")
    player = Player(small_drc(env, ticks=1), env)
    outcome = intervene(player, levels, PROBE, 1.0, batch=2, max_steps=3)
    assert outcome == Outcome(2, 0, 0)
    with pytest.raises(ForesightError, match="a probe of C_A cannot speak of ways of the box"):
        intervene(player, box_levels(1), PROBE, 1.0)
    smaller = Player(player.net, Sokoban.make(level_set_of(drawn("####", "#@$#", "# .#", "####"))))
    for other, plays in ((smaller, "4x4 squares"), (Player(player.net, Boxworld()), "boxworld")):
        with pytest.raises(ForesightError, match=f"levels of sokoban of 10x10 squares; this agent plays .*{plays}"):
            intervene(other, levels, PROBE, 1.0)
