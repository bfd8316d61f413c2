"""Episodes on the host: each game plays its share, as the policy says, and the record replays."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foresight.evaluation.episodes import play_episodes
from foresight.evaluation.solve import NOT_PLAYED, PlaySettings
from foresight.nets.net import reset_where
from foresight.types import Outcome, TimeStep
from tests.learning.host_corridor import HostCorridor
from tests.learning.toys import CELLS, Running

CAP = HostCorridor.max_steps


@pytest.fixture(scope="module")
def net():
    return Running(jax.random.key(3))


class Uneven(HostCorridor):
    """Game b ends after b + 1 steps, over and over."""

    def step(self, actions: np.ndarray) -> TimeStep:
        self.steps += 1
        outcome = Outcome(np.zeros(self.batch, bool), self.steps.copy(), self.steps.astype(np.float32))
        self.finished = ended = self.steps > np.arange(self.batch)
        self.steps = np.where(ended, 0, self.steps)
        return TimeStep(self.pictures(), self.scores, ended, ~ended & False, self.pictures(), outcome)


def test_each_game_plays_its_share_so_that_short_episodes_are_not_favoured(net):
    output = []
    record = play_episodes(Uneven(4), net, 10, PlaySettings(CAP), 0, output.append)
    assert record.steps.tolist() == [1, 2, 3, 4, 1, 2, 3, 4, 1, 2]
    assert record.score.tolist() == record.steps.tolist()
    assert output == sorted(output)
    assert output[0] == 1
    assert output[-1] == 10


@pytest.mark.parametrize("greedy", [True, False])
def test_the_record_replays(net, greedy):
    batch, episodes, seed = 3, 7, 5
    record = play_episodes(HostCorridor(batch), net, episodes, PlaySettings(CAP, greedy=greedy), seed)
    env = HostCorridor(batch)
    env.reset(seed)
    episode, taken = np.arange(batch), np.zeros(batch, int)
    while (episode < episodes).any():
        here = np.where(episode < episodes, record.actions[np.minimum(episode, episodes - 1), taken], 0)
        step, taken = env.step(np.where(here == NOT_PLAYED, 0, here)), taken + 1
        for game in np.flatnonzero(env.finished & (episode < episodes)):
            number = episode[game]
            assert taken[game] == record.steps[number]
            assert (record.actions[number, taken[game] :] == NOT_PLAYED).all()
            assert step.outcome.solved[game] == record.solved[number]
            assert step.outcome.score[game] == record.score[number]
        episode, taken = np.where(env.finished, episode + batch, episode), np.where(env.finished, 0, taken)


class Fickle(Running):
    """Likes another action at every look."""

    def core(self, memory, features):
        return memory + 1, memory

    def read(self, features, output):
        return jnp.cos(output[:3] * jnp.arange(1.0, 4.0)), output[0]


@pytest.mark.parametrize("think", [0, 1, 3])
def test_greedy_play_takes_the_likeliest_action_after_looking_so_often_at_the_first_picture(think):
    net = Fickle(jax.random.key(0))
    record = play_episodes(HostCorridor(1), net, 4, PlaySettings(CAP, think), seed=2)
    env = HostCorridor(1)
    picture, memory, start, played = env.reset(2)[0], net.initial_memory(), True, []
    while len(played) < record.steps.sum():
        memory = reset_where(start, net.initial_memory(), memory)
        for _ in range(think if start else 0):
            memory = net(memory, picture)[2]
        logits, _, memory = net(memory, picture)
        played.append(int(np.argmax(logits)))
        picture, start = env.step(np.array(played[-1:])).observation[0], bool(env.finished[0])
    assert record.actions[record.actions != NOT_PLAYED].tolist() == played


def test_sampled_play_depends_on_the_seed(net):
    settings = PlaySettings(CAP, greedy=False)
    first, again, other = (play_episodes(HostCorridor(2), net, 6, settings, seed).actions for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_what_the_network_sees_is_shown(net):
    seen = []
    record = play_episodes(HostCorridor(1), net, 1, PlaySettings(CAP), 0, on_pictures=seen.append)
    assert len(seen) == record.steps[0]
    assert all(pictures.shape == (1, 1, CELLS, 1) for pictures in seen)
