"""Atari: the setup of Mnih et al. 2015, checked against the plain emulator."""

import sys

import numpy as np
import pytest

from foresight.envs.atari import ACTION_NAMES, GAMES, Atari
from foresight.envs.host import HostEnv
from foresight.errors import ForesightError, MissingExtra

FIRE, RIGHT, LEFT = (ACTION_NAMES.index(name) for name in ("fire", "right", "left"))


def play_at_random(env: Atari, steps: int, seed: int = 0):
    """The same actions whatever the seed, which is the games' own."""
    random = np.random.default_rng(0)
    env.reset(seed)
    for _ in range(steps):
        yield env.step(random.integers(0, env.actions, env.batch))


@pytest.mark.extra
@pytest.mark.parametrize("game", GAMES)
def test_every_game_of_the_paper_keeps_the_contract(game):
    env: HostEnv = Atari(game, batch=2)
    assert env.actions == len(env.action_names) == env.emulators.single_action_space.n == 18
    first = env.reset(seed=1)
    assert first.shape == (2, *env.picture_shape) == (2, 210, 160, 3)
    step = env.step(np.array([0, 1]))
    for picture in (first, step.observation, step.final_observation):
        assert picture.dtype == np.uint8
    assert (step.reward.dtype, step.outcome.score.dtype, step.outcome.steps.dtype) == (np.float32, np.float32, np.int32)
    assert step.terminated.dtype == step.truncated.dtype == step.outcome.solved.dtype == bool
    env.close()


@pytest.mark.extra
def test_actions_are_in_the_emulators_order():
    from ale_py import Action

    theirs = [Action(number).name.lower() for number in range(18)]
    ours = [name.replace("-", "") for name in ACTION_NAMES]
    assert ours == theirs


@pytest.mark.extra
def test_an_action_lasts_four_frames_and_the_picture_is_the_maximum_of_the_last_two():
    from ale_py import Action, ALEInterface, LoggerMode, roms

    ALEInterface.setLoggerMode(LoggerMode.Error)
    emulator = ALEInterface()
    emulator.setFloat("repeat_action_probability", 0.0)
    emulator.loadROM(roms.get_rom_path("breakout"))
    emulator.reset_game()
    env = Atari("breakout", batch=1, noop_starts=0)
    assert np.array_equal(env.reset(seed=0)[0], emulator.getScreenRGB())
    flickered = False
    for action in [FIRE, RIGHT, RIGHT, LEFT, FIRE] * 6:
        frames, reward = [], 0
        for _ in range(4):
            reward += emulator.act(Action(action))
            frames.append(emulator.getScreenRGB())
        step = env.step(np.array([action]))
        assert np.array_equal(step.observation[0], np.maximum(frames[-1], frames[-2]))
        assert step.reward[0] == np.sign(reward)
        flickered |= not np.array_equal(step.observation[0], frames[-1])
    assert flickered, "the last frame alone would have done"


@pytest.mark.extra
def test_episodes_start_with_up_to_so_many_frames_without_action():
    env = Atari("breakout", batch=8, noop_starts=2)
    counts = np.concatenate([(env.reset(seed), env.frames)[1] for seed in (0, 8, 16)])
    assert set(counts.tolist()) == {0, 1, 2}
    assert Atari("breakout", batch=1).noop_starts == 30


@pytest.mark.extra
def test_a_finished_game_begins_again_in_the_same_step_with_its_last_picture_kept():
    env = Atari("breakout", batch=4)
    seen = 0
    for step in play_at_random(env, 300):
        for lane in np.flatnonzero(step.terminated):
            seen += 1
            assert step.outcome.steps[lane] > 20
            assert env.steps[lane] == env.scores[lane] == 0
            assert not np.array_equal(step.final_observation[lane], step.observation[lane])
        going = ~(step.terminated | step.truncated)
        assert np.array_equal(step.final_observation[going], step.observation[going])
    assert seen > 0


@pytest.mark.extra
def test_the_frame_cap_truncates():
    env = Atari("breakout", batch=2, frame_cap=200)
    ends = [
        (int(step.outcome.steps[0]), bool(step.terminated[0])) for step in play_at_random(env, 60) if step.truncated[0]
    ]
    assert ends == [(50, False)]


@pytest.mark.extra
def test_rewards_are_clipped_and_scores_are_not():
    clipped, plain = Atari("mspacman", batch=2), Atari("mspacman", batch=2, clip_rewards=False)
    total = np.zeros(2)
    for one, other in zip(play_at_random(clipped, 200), play_at_random(plain, 200), strict=True):
        assert set(np.unique(one.reward)) <= {-1, 0, 1}
        assert np.array_equal(one.reward, np.sign(other.reward))
        total += other.reward
        assert np.array_equal(one.outcome.score, total)
        assert np.array_equal(other.outcome.score, total)
    assert total.max() > 50


@pytest.mark.extra
def test_a_lost_life_ends_nothing_unless_asked_and_then_not_the_game():
    for life_loss_ends, ends_expected in ((False, 1), (True, 5)):
        env = Atari("breakout", batch=1, life_loss_ends=life_loss_ends)
        ends, lasted = 0, 0
        for step in play_at_random(env, 500):
            ends, lasted = ends + step.terminated[0], lasted + 1
            assert step.outcome.steps[0] == lasted, "the game is counted on through lost lives"
            if env.finished[0]:
                break
        assert ends == ends_expected


@pytest.mark.extra
def test_the_same_seed_gives_the_same_game():
    runs = [list(play_at_random(Atari("alien", batch=2), 40, seed)) for seed in (5, 5, 6)]
    assert all(np.array_equal(a.observation, b.observation) for a, b in zip(runs[0], runs[1], strict=True))
    assert not all(np.array_equal(a.observation, b.observation) for a, b in zip(runs[0], runs[2], strict=True))


@pytest.mark.extra
@pytest.mark.parametrize("actions", [np.array([0]), np.array([0.0, 1.0]), np.array([0, 18]), np.array([-1, 0])])
def test_a_wrong_action_is_refused(actions):
    env = Atari("breakout", batch=2)
    with pytest.raises(ForesightError, match="before `reset`"):
        env.step(actions)
    env.reset(seed=0)
    with pytest.raises(ForesightError, match="actions"):
        env.step(actions)


def test_an_unknown_game_is_refused_with_the_list_of_games():
    with pytest.raises(ForesightError, match="no Atari game 'pong'; there are: alien"):
        Atari("pong", batch=1)


def test_without_the_extra_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ale_py.vector_env", None)
    with pytest.raises(MissingExtra, match=r"pip install 'foresight-drc\[atari\]'"):
        Atari("breakout", batch=1)
