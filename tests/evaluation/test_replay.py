import jax
import numpy as np
import pytest

from foresight.envs import make
from foresight.evaluation.replay import replay
from foresight.evaluation.solve import NOT_PLAYED, PlaySettings, solve
from tests.envs.domains import DOMAINS
from tests.evaluation.witness import witness


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_replay_shows_what_the_network_saw_while_the_game_was_played(domain):
    env, key, number = DOMAINS[domain], jax.random.key(3), 2
    net, seen = witness(env.actions)
    record = solve(env, net, np.array([number]), PlaySettings(max_steps=12, greedy=False), key)
    jax.effects_barrier()
    frames = replay(env, number, record.actions[0], key)
    assert len(frames) == record.steps[0] + 1
    for step, frame in enumerate(frames[:-1]):  # the network need not see the last one
        np.testing.assert_array_equal(env.paint(frame), seen[step], err_msg=f"step {step}")


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
