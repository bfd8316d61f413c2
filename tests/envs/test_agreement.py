"""The fast domains against slow ones written from the rules: cell for cell, reward for reward, episode by episode."""

import os
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foresight.envs import make
from foresight.envs.episodes import start_each
from foresight.levels import LevelSet, open_set
from foresight.levels.acquire.sources import read_source
from foresight.levels.generator.shortest import shortest_solution
from tests.drawings import level, level_set
from tests.envs import reference_boxworld, reference_gridworld, reference_sokoban
from tests.envs.domains import draw_actions, play
from tests.envs.test_sokoban import random_boards

CAP = 120
ARCHIVE = os.environ.get("FORESIGHT_BOXOBAN")
NUM_ENVS = 48
REFERENCES = {
    "sokoban": reference_sokoban.Game,
    "gridworld": reference_gridworld.Game,
    "boxworld": reference_boxworld.Game,
}


def sokoban(height, width, most_boxes, walls):
    rng = np.random.default_rng(height * width)
    return make("sokoban", levels=level_set(*random_boards(rng, 500, height, width, most_boxes, walls)))


CASES = {
    "sokoban 5x5": lambda: sokoban(5, 5, 1, 0.0),
    "sokoban 10x10": lambda: sokoban(10, 10, 5, 0.15),
    "sokoban 7x16": lambda: sokoban(7, 16, 3, 0.1),
    "gridworld": lambda: make("gridworld", stay=True, obstacles=(4, 12), sides=(1, 6)),
    "boxworld": lambda: make("boxworld"),
}
# What must have happened in a quick run, so that no rule goes unseen: reward, and whether it ended the episode.
SEEN = {
    "sokoban 5x5": {(10.99, True), (-0.01, False)},
    "sokoban 10x10": {(0.99, False), (-1.01, False), (-0.01, False)},
    "sokoban 7x16": {(0.99, False), (-0.01, False)},
    "gridworld": {(1.0, True), (-1.0, True), (-0.01, False)},
    "boxworld": {(1.0, False), (-1.0, True), (0.0, False)},
}


def agree(env, steps, seed):
    """Play both for `steps` in each lane; how many episodes ended, and what rewards were seen."""
    first = jax.jit(start_each)(env, jax.random.split(jax.random.key(seed), NUM_ENVS))
    actions = draw_actions(env.actions, jax.random.key(seed + 1), steps, NUM_ENVS)
    boards = np.asarray(jax.vmap(env.observe)(first.state))
    given = jax.tree.map(np.asarray, play(env, first, actions)[1])
    episodes, seen = 0, set()
    for lane in range(NUM_ENVS):
        own = jax.tree.map(lambda leaf, lane=lane: leaf[:, lane], given)
        ended, rewards = replay(REFERENCES[env.name], boards[lane], np.asarray(actions[:, lane]).tolist(), own)
        episodes, seen = episodes + ended, seen | rewards
    return episodes, seen


def replay(reference, board, actions, given):
    """Follow one lane with the slow version; episodes ended, and the set of (reward, terminated) seen."""
    game, count, score, episodes, seen = reference(board), 0, np.float32(0), 0, set()
    for t, action in enumerate(actions):
        reward, terminated, solved = game.step(action)
        count, score = count + 1, np.float32(score + reward)
        truncated = count == CAP and not terminated
        assert np.array_equal(game.observation(), given.final_observation[t])
        assert given.reward[t] == pytest.approx(reward, abs=1e-6)
        assert (given.terminated[t], given.truncated[t], given.outcome.solved[t]) == (terminated, truncated, solved)
        assert given.outcome.steps[t] == count
        assert given.outcome.score[t] == pytest.approx(score, abs=1e-4)
        seen.add((round(float(reward), 2), terminated))
        if terminated or truncated:
            episodes += 1
            game, count, score = reference(given.observation[t]), 0, np.float32(0)
        else:
            assert np.array_equal(given.observation[t], given.final_observation[t])
    return episodes, seen


@pytest.mark.parametrize("case", CASES)
def test_a_slow_version_written_from_the_rules_gives_the_same(case):
    episodes, seen = agree(CASES[case](), 250, seed=0)
    assert episodes >= NUM_ENVS
    assert seen >= SEEN[case]


@pytest.mark.soak
@pytest.mark.parametrize("case", CASES)
def test_a_slow_version_gives_the_same_over_ten_thousand_episodes(case):
    env, episodes, seen, seed = CASES[case](), 0, set(), 1
    while episodes < 10_000:
        ended, rewards = agree(env, 1_000, seed)
        episodes, seen, seed = episodes + ended, seen | rewards, seed + 2
    assert seen >= SEEN[case]


def transitions_agree(env, levels, num_envs, steps):
    """Sokoban against the numpy version in every field, with new episodes checked to be levels of the set."""
    boards = {board.tobytes() for board in levels}
    playing = jax.jit(start_each)(env, jax.random.split(jax.random.key(2), num_envs))
    games = reference_sokoban.ManyGames(np.asarray(jax.vmap(env.observe)(playing.state)))
    counts, stretch = np.zeros(num_envs, int), 10
    for part in range(steps // stretch):
        actions = draw_actions(env.actions, jax.random.fold_in(jax.random.key(3), part), stretch, num_envs)
        playing, given = play(env, playing, actions)
        given = jax.tree.map(np.asarray, given)
        for t in range(stretch):
            rewards, solved = games.step(np.asarray(actions[t]))
            counts += 1
            truncated = (counts == CAP) & ~solved
            assert np.array_equal(given.final_observation[t], games.boards)
            assert np.allclose(given.reward[t], rewards, rtol=0, atol=1e-6)
            assert np.array_equal(given.terminated[t], solved)
            assert np.array_equal(given.truncated[t], truncated)
            assert np.array_equal(given.outcome.steps[t], counts)
            ended = solved | truncated
            games.replace(ended, given.observation[t])
            counts[ended] = 0
            assert np.array_equal(given.observation[t], games.boards)
            assert all(board.tobytes() in boards for board in given.observation[t][ended])


def test_the_two_slow_sokobans_agree():
    rng = np.random.default_rng(5)
    boards = random_boards(rng, 60, 6, 7, 3)
    many, single = reference_sokoban.ManyGames(boards), [reference_sokoban.Game(board) for board in boards]
    for _ in range(60):
        actions = rng.integers(0, 5, len(boards))
        rewards, solved = many.step(actions)
        alone = [game.step(int(action)) for game, action in zip(single, actions, strict=True)]
        assert np.allclose(rewards, [reward for reward, _, _ in alone], atol=1e-6)
        assert np.array_equal(solved, [ended for _, ended, _ in alone])
        assert np.array_equal(many.boards, [game.observation() for game in single])


def test_many_transitions_of_sokoban_agree_with_numpy_in_every_field():
    levels = random_boards(np.random.default_rng(9), 300, 10, 10, 4)
    transitions_agree(make("sokoban", levels=level_set(*levels)), levels, num_envs=256, steps=250)


@pytest.mark.soak
def test_a_hundred_million_transitions_of_sokoban_agree_with_numpy_in_every_field():
    levels = open_set("builtin/train")
    transitions_agree(make("sokoban", levels=levels), levels.cells(), num_envs=50_000, steps=2_000)


def solutions_replay(levels):
    """Replay a shortest solution of each level that has one, in both versions; returns how many had one."""
    boards = levels.cells()
    found = [shortest_solution(board) for board in boards]
    longest = max(len(actions) for actions in found if actions is not None)
    actions = np.array([(some or []) + [0] * (longest - len(some or [])) for some in found])
    states = jax.vmap(make("sokoban", levels=levels).reset_to)(jnp.arange(len(levels)))
    rewards, solved = (np.asarray(x) for x in step_all(make("sokoban", levels=levels), states, jnp.asarray(actions.T)))
    for index, some in enumerate(found):
        game = reference_sokoban.Game(boards[index])
        for t, action in enumerate(some or []):
            reward, _, ended = game.step(action)
            assert rewards[t, index] == pytest.approx(reward, abs=1e-6)
            assert solved[t, index] == ended == (t == len(some) - 1)
    return sum(some is not None for some in found)


@jax.jit
def step_all(env, states, actions):
    """Rewards and solved [T, N] of `actions` [T, N], with no end and no cap."""

    def step(states, actions):
        states, transition = jax.vmap(lambda s, a: env.step(s, a, jax.random.key(0)))(states, actions)
        return states, (transition.reward, transition.solved)

    return jax.lax.scan(step, states, actions)[1]


def test_shortest_solutions_solve_their_levels():
    levels = open_set("builtin/mini-test")
    first = LevelSet(levels.name, levels.height, levels.width, levels.boxes, levels.source, levels.records[:40])
    assert solutions_replay(first) == 40


def test_the_shortest_solution_of_a_drawn_level_is_found():
    assert shortest_solution(level("######", "#@ $.#", "######")) == [4, 4]
    assert shortest_solution(level("#####", "#.$ #", "#@  #", "#####")) == [4, 4, 1, 3]
    assert shortest_solution(level("#####", "#@ $#", "#. .#", "# $ #", "#####")) is None


@pytest.mark.soak
@pytest.mark.skipif(not ARCHIVE, reason="FORESIGHT_BOXOBAN does not name the published archive")
def test_shortest_solutions_of_all_3332_hard_levels_solve_them():
    assert solutions_replay(read_source(Path(ARCHIVE)).sets["hard"]) == 3_332
