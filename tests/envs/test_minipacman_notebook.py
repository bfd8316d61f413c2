"""MiniPacman: random play has the statistics of the notebook that published the game.

Those are of the notebook's own environment: uniformly random actions, cap 3000, 2,500 episodes a mode.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foresight.envs.episodes import start
from foresight.envs.minipacman.modes import MODES
from foresight.envs.minipacman.rules import MiniPacman

NOTEBOOK = {  # mean return, its standard error, mean length, its standard error
    "regular": (9.55, 0.19, 63.7, 4.3),
    "avoid": (-16.95, 0.07, 50.5, 0.7),
    "hunt": (-20.04, 0.04, 49.5, 0.6),
    "ambush": (-21.09, 0.05, 49.5, 0.6),
    "rush": (0.35, 0.07, 59.1, 3.1),
}


def random_play(env: MiniPacman, episodes: int, key) -> tuple[np.ndarray, np.ndarray]:
    """Return and length of whole episodes of uniformly random play."""

    def one_more(carry):
        playing, ended, step = carry
        action = jax.random.randint(jax.random.fold_in(key, step), (episodes,), 0, 5)
        keys = jax.vmap(jax.random.fold_in)(playing.key, playing.steps)
        state, transition = jax.vmap(env.step)(playing.state, action, keys)
        steps = jnp.where(ended, playing.steps, playing.steps + 1)
        score = jnp.where(ended, playing.score, playing.score + transition.reward)
        return playing._replace(state=state, steps=steps, score=score), ended | transition.terminated, step + 1

    def going_on(carry):
        _, ended, step = carry
        return ~jnp.all(ended) & (step < env.max_episode_steps[1])

    @jax.jit
    def run():
        playing = jax.vmap(lambda key: start(env, key))(jax.random.split(key, episodes))
        playing, _, _ = jax.lax.while_loop(going_on, one_more, (playing, jnp.zeros(episodes, bool), 0))
        return playing.score, playing.steps

    score, steps = run()
    return np.asarray(score), np.asarray(steps)


def gap_in_standard_errors(values: np.ndarray, mean: float, error: float) -> float:
    return abs(values.mean() - mean) / np.hypot(error, values.std(ddof=1) / np.sqrt(len(values)))


@pytest.mark.parametrize("mode", MODES)
def test_random_play_gives_the_notebooks_returns_and_lengths(mode, new_key):
    check_random_play(mode, 250, new_key())


def check_random_play(mode, episodes, key):
    score, steps = random_play(MiniPacman(mode, exact=True), episodes, key)
    mean_return, return_error, mean_length, length_error = NOTEBOOK[mode]
    assert gap_in_standard_errors(score, mean_return, return_error) < 4
    assert gap_in_standard_errors(steps, mean_length, length_error) < 4


@pytest.mark.soak
@pytest.mark.parametrize("mode", MODES)
def test_random_play_gives_the_notebooks_returns_and_lengths_in_ten_thousand_episodes(mode, new_key):
    check_random_play(mode, 10_000, new_key())


@pytest.mark.soak
def test_with_the_papers_ghost_speed_random_play_is_as_short_as_the_notebooks(new_key):
    score, steps = random_play(MiniPacman(preset="paper", exact=True), 10_000, new_key())
    for values, notebook in ((score, 6.5), (steps, 35)):  # of 1,500 episodes, whose standard error is not known
        assert gap_in_standard_errors(values, notebook, values.std() / np.sqrt(1500)) < 4
