"""MiniPacman: a slow version of the rules agrees with the fast one, cell for cell and reward for reward."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foresight.envs.minipacman.dice import MOST_GHOSTS, Dice, LevelDice, roll, roll_level
from foresight.envs.minipacman.maze import WALLS, WIDTH
from foresight.envs.minipacman.modes import MODES
from foresight.envs.minipacman.rules import MiniPacman, State
from tests.envs.reference_minipacman import ONE, ZERO, Game, Ghost
from tests.hurry import in_a_hurry


def crowded(env: MiniPacman, key) -> State:
    """A state of any level with little left and all of it near: the rare events of random play, often."""
    keys = jax.random.split(key, 7)
    level = jax.random.randint(keys[0], (), 1, 40)
    state = env.begin_level(level, roll_level(jax.random.uniform(keys[1], (3 + 2 * MOST_GHOSTS,))))
    beside = state.player + jax.random.choice(keys[2], jnp.array([1, -1, WIDTH, -WIDTH]), (2 + MOST_GHOSTS,))
    beside = jnp.where(jnp.array(WALLS)[beside], state.player + 0 * beside, beside)
    chance = jax.random.uniform(keys[3], (2 + MOST_GHOSTS,))
    return state._replace(
        food=jnp.zeros_like(state.food).at[beside[0]].set(True),
        pills=jnp.where(chance[:2] < 0.6, beside[:2], state.pills),
        ghosts=jnp.where(chance[2:] < 0.3, beside[2:], state.ghosts),
        alive=state.alive & (jax.random.uniform(keys[4], (MOST_GHOSTS,)) < 0.3),
        timer=jax.random.randint(keys[5], (), 0, 128),
        power=jax.random.randint(keys[6], (), 0, 21),
    )


def either(env: MiniPacman, key) -> State:
    """A first state of the game, or a crowded one."""
    first, crowd = env.reset(key), crowded(env, jax.random.fold_in(key, 1))
    return jax.tree.map(lambda a, b: jnp.where(jax.random.bits(key) < 2**30, a, b), first, crowd)


@partial(in_a_hurry, static_argnums=(0, 1, 2))
def prefetch_if_faster(exact: bool, episodes: int, steps: int, key):
    """First states [B], actions and dice [B, T]: the same for all modes, so compiled once."""
    first_key, action_key, dice_key = jax.random.split(key, 3)
    first = jax.vmap(partial(either, MiniPacman(exact=exact)))(jax.random.split(first_key, episodes))
    actions = jax.random.randint(action_key, (episodes, steps), 0, 5)
    return first, actions, jax.vmap(jax.vmap(roll))(jax.random.split(dice_key, (episodes, steps)))


@in_a_hurry
def replay(env: MiniPacman, first: State, actions, dice: Dice):
    """Pictures, rewards and ends [B, T] of given episodes; rows after a death mean nothing."""

    def next_step(state, now):
        state, transition = env.play(state, *now)
        return state, (env.paint(env.observe(state)), transition.reward, transition.terminated)

    return jax.vmap(lambda *episode: jax.lax.scan(next_step, episode[0], episode[1:])[1])(first, actions, dice)


def game_like(env: MiniPacman, mode: str, state: State) -> Game:
    """The slow game in the same state."""
    place = lambda cell: divmod(int(cell), WIDTH)  # noqa: E731
    facing = {-2: ZERO, -1: ONE}
    return Game(
        mode,
        exact=env.exact,
        speed=env.ghosts.speed,
        speed_increase=env.ghosts.speed_increase,
        level=int(state.level),
        player=place(state.player),
        ghosts=[
            Ghost(i, place(state.ghosts[i]), facing.get(int(state.facings[i]), int(state.facings[i])))
            for i in np.flatnonzero(state.alive)
        ],
        pills=[place(c) for c, left in zip(state.pills, state.uneaten, strict=True) if left],
        food={place(c) for c in np.flatnonzero(state.food)},
        power=int(state.power),
        timer=int(state.timer),
    )


def plain(dice: Dice, index) -> Dice:
    """The dice of one step as Python lists."""
    one = jax.tree.map(lambda x: x[index].tolist(), dice._replace(level=None))
    return one._replace(level=LevelDice(*(x[index].tolist() for x in dice.level)))


def differences(env: MiniPacman, mode: str, episodes: int, steps: int, key) -> tuple[list[str], int]:
    """Where the fast game and the slow one part, and the number of levels cleared on the way."""
    prepared = prefetch_if_faster(env.exact, episodes, steps, key)
    first, actions, dice = jax.tree.map(np.asarray, prepared)
    pictures, rewards, ended = jax.tree.map(np.asarray, replay(env, *prepared))
    found, cleared = [], 0
    for episode in range(episodes):
        game = game_like(env, mode, jax.tree.map(lambda x, episode=episode: x[episode], first))
        begun_at = game.level
        for step in range(steps):
            index = (episode, step)
            reward, died = game.step(int(actions[index]), plain(dice, index))
            if abs(reward - rewards[index]) > 1e-5 or died != ended[index]:
                found.append(f"{mode} {index}: {reward} {died} against {rewards[index]} {ended[index]}")
            if not np.array_equal(game.picture, pictures[index]):
                found.append(f"{mode} {index}: the pictures differ")
            if died or found:
                break
        cleared += game.level - begun_at
    return found, cleared


@pytest.mark.parametrize(("mode", "exact"), [*((mode, False) for mode in MODES), ("avoid", True), ("hunt", True)])
def test_the_slow_version_agrees_cell_for_cell_and_reward_for_reward(mode, exact, new_key):
    found, cleared = differences(MiniPacman(mode, exact=exact), mode, episodes=60, steps=25, key=new_key())
    assert found == []
    assert cleared > 0, "no level was cleared, so the start of a next level was not compared"


def test_the_comparison_sees_a_wrong_rule(new_key):
    found, _ = differences(MiniPacman("hunt", powered_factor=1.0), "hunt", episodes=60, steps=25, key=new_key())
    assert found != []


@pytest.mark.soak
@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_the_slow_version_agrees_on_ten_thousand_episodes(mode, exact, new_key):
    for _ in range(5):
        found, cleared = differences(MiniPacman(mode, exact=exact), mode, episodes=200, steps=200, key=new_key())
        assert found == []
        assert cleared > 0
