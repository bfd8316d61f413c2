import jax
import numpy as np

from foresight.envs import make
from foresight.evaluation.replay import replay
from foresight.evaluation.solve import NOT_PLAYED


def test_a_replay_shows_the_first_board_and_one_after_every_action_played():
    env = make("sokoban", levels="builtin/mini-test")
    actions = np.full(10, NOT_PLAYED, np.uint8)
    actions[:3] = [1, 4, 0]
    seen = replay(env, 5, actions, jax.random.key(0))
    assert seen.shape == (4, 7, 7)
    state = env.reset_to(np.int32(5))
    np.testing.assert_array_equal(seen[0], env.observe(state))
    for number, action in enumerate([1, 4, 0], start=1):
        state, _ = env.step(state, np.int32(action), jax.random.key(0))
        np.testing.assert_array_equal(seen[number], env.observe(state))


def test_a_record_played_to_the_cap_is_replayed_to_its_end():
    env = make("sokoban", levels="builtin/mini-test")
    assert len(replay(env, 0, np.zeros(6, np.uint8), jax.random.key(0))) == 7
