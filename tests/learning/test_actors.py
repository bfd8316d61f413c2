"""Games on the host: actors play, the learner learns, and nothing is left running."""

import time
from dataclasses import replace

import jax
import numpy as np
import pytest

from foresight.envs.host import HostEnv
from foresight.errors import ForesightError
from foresight.learning.actors import actors, compile_gradient_step, init_actor, init_host_training, learn, play
from foresight.learning.optimisers import gradient_steps_taken
from foresight.learning.settings import LearnSettings
from tests.learning.host_corridor import HostCorridor, living_actors
from tests.learning.toys import CELLS, Running

SMALL = LearnSettings(num_envs=16, unroll=8, minibatch=8, learning_rate=3e-2, anneal_steps=1e9, max_gradient_norm=1.0)
IMPROVE = compile_gradient_step(SMALL)


@pytest.fixture
def net():
    return Running(jax.random.key(1))


def test_a_trajectory_is_what_was_played(net):
    env: HostEnv = HostCorridor(batch=4)
    actor, first = play(env, net, init_actor(env, net, seed=1), 12, jax.random.key(0))
    assert first.trajectory.is_first[:, 0].all()
    _, second = play(env, net, actor, 12, jax.random.key(1))
    for played in (first, second):
        trajectory = played.trajectory
        ended = trajectory.terminated | trajectory.truncated
        np.testing.assert_array_equal(trajectory.is_first[:, 1:], ended)
        cells = trajectory.observations[:, :, 0, :, 0].argmax(-1)
        moved = np.clip(cells[:, :-1] + np.array([0, -1, 1])[trajectory.actions], 0, CELLS - 1)
        np.testing.assert_array_equal(cells[:, 1:][~ended], moved[~ended])
        np.testing.assert_array_equal(trajectory.rewards == 1, trajectory.terminated)
        assert int(played.tally.episodes) == ended.sum() > 0
        assert int(played.tally.solved) == trajectory.terminated.sum()
        logits, _, _ = jax.vmap(net.unroll)(trajectory.memory, trajectory.observations, trajectory.is_first)
        np.testing.assert_allclose(logits[:, :-1], trajectory.logits, atol=1e-6)
    np.testing.assert_array_equal(second.trajectory.observations[:, 0], first.trajectory.observations[:, -1])
    np.testing.assert_array_equal(second.trajectory.is_first[:, 0], first.trajectory.is_first[:, -1])


def test_a_lost_life_is_an_end_to_learn_from_but_not_a_game_to_count(net):
    class Lives(HostCorridor):
        """Every second end is that of a game; the others are lost lives."""

        ends = 0

        def step(self, actions):
            step = super().step(actions)
            self.ends = self.ends + self.finished
            self.finished = self.finished & (self.ends % 2 == 0)
            return step

    env = Lives(batch=4)
    _, played = play(env, net, init_actor(env, net, seed=1), 40, jax.random.key(0))
    ends = (played.trajectory.terminated | played.trajectory.truncated).sum(axis=1)
    assert int(played.tally.episodes) == (ends // 2).sum() > 0
    np.testing.assert_array_equal(played.trajectory.is_first[:, 1:].sum(axis=1), ends)


def test_the_corridor_is_learned_from_actor_threads(net):
    with actors(HostCorridor, net, SMALL, seed=(0,)) as shared:
        assert living_actors() == ["actor-0", "actor-1"]
        state, metrics = learn(shared, SMALL, IMPROVE, init_host_training(net, SMALL), 60)
    score = [
        metrics.tally.score[part].sum() / metrics.tally.episodes[part].sum() for part in (slice(5), slice(-5, None))
    ]
    assert score[0] < 0.4
    assert score[1] > 0.6
    assert int(state.iterations) == len(metrics.loss) == 60
    assert living_actors() == []


def test_what_actors_played_is_learned_from_in_every_epoch(net):
    twice = replace(SMALL, epochs=2)
    with actors(HostCorridor, net, twice, seed=(0,)) as shared:
        state, metrics = learn(shared, twice, IMPROVE, init_host_training(net, twice), 3)
    assert gradient_steps_taken(state.optimiser) == 3 * twice.gradient_steps_per_iteration
    assert len(living_actors()) == 0
    assert metrics.loss.shape == (3,)


def test_actors_wait_for_a_slow_learner_and_still_end(net):
    closed = HostCorridor.closed
    with actors(HostCorridor, net, SMALL, seed=(0,)) as shared:
        deadline = time.monotonic() + 60
        while not shared.finished.full() and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.3)  # they have played on and now wait with what does not fit
        assert shared.finished.qsize() == SMALL.minibatches_per_iteration
    assert living_actors() == []
    assert HostCorridor.closed == closed + 2


@pytest.mark.parametrize("error", [KeyboardInterrupt, ForesightError])
def test_an_exception_or_control_c_in_the_learner_ends_the_actors(net, error):
    def learn_for_a_moment():
        with actors(HostCorridor, net, SMALL, seed=(0,)) as shared:
            shared.take()
            raise error

    with pytest.raises(error):
        learn_for_a_moment()
    assert living_actors() == []


def test_a_game_that_fails_stops_the_learner_with_its_error(net):
    with (
        pytest.raises(OSError, match="the emulator is gone"),
        actors(lambda: HostCorridor(fails_at=20), net, SMALL, seed=(0,)) as shared,
    ):
        learn(shared, SMALL, IMPROVE, init_host_training(net, SMALL), 1000)
    assert living_actors() == []


def test_games_that_cannot_be_made_stop_the_learner_with_the_reason(net):
    def refuse():
        raise ForesightError("no such game")

    with pytest.raises(ForesightError, match="no such game"), actors(refuse, net, SMALL, seed=(0,)) as shared:
        shared.take()
    assert living_actors() == []
