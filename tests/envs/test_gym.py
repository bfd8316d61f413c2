"""The domains in Gymnasium's form: its own checker, vector environments, seeds, levels of one's choice."""

import sys
from subprocess import run

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, VectorEnv

import foresight.envs.gym
from foresight.envs.gym_ids import IDS
from foresight.errors import ForesightError

LEVELS = """\
; 0
#######
#@ $ .#
#     #
#######
; 1
#######
#     #
#@ $ .#
#######
; 2
#######
#.$@  #
#     #
#######
"""
RIGHT = 4


@pytest.fixture(scope="module")
def levels(tmp_path_factory):
    path = tmp_path_factory.mktemp("levels") / "three.txt"
    path.write_text(LEVELS)
    return str(path)


@pytest.fixture
def settings(request, levels):
    """What a domain needs beside its name, small enough to compile fast."""
    return {"sokoban": {"levels": levels}, "gridworld": {"size": 8, "obstacles": (1, 2), "sides": (1, 2)}}


@pytest.mark.parametrize("domain", IDS)
@pytest.mark.parametrize("render_mode", ["rgb_array", "ansi"])
def test_the_environment_checker_is_silent(domain, render_mode, settings):
    env = gymnasium.make(IDS[domain], render_mode=render_mode, **settings.get(domain, {}))
    check_env(env.unwrapped)  # every warning is an error here


@pytest.mark.parametrize("domain", IDS)
def test_make_vec_gives_a_real_vector_environment(domain, settings):
    envs = gymnasium.make_vec(IDS[domain], num_envs=3, **settings.get(domain, {}))
    assert isinstance(envs, VectorEnv)
    assert envs.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    first, info = envs.reset(seed=0)
    assert first in envs.observation_space
    assert info == {}
    envs.action_space.seed(0)
    observation, reward, terminated, truncated, _ = envs.step(envs.action_space.sample())
    assert observation in envs.observation_space
    assert (reward.shape, terminated.shape, truncated.shape) == ((3,), (3,), (3,))
    assert (reward.dtype, terminated.dtype, truncated.dtype) == (np.float32, bool, bool)


def test_the_paper_sees_sokoban_boxworld_minipacman_and_gridworld_in_these_sizes(tmp_path):
    board = ["##########", "#@ $ .   #", *["#        #"] * 7, "##########"]
    (tmp_path / "one.txt").write_text("\n".join(board))
    shapes = {"sokoban": (80, 80, 3), "boxworld": (14, 14, 3), "minipacman": (15, 19, 3), "gridworld": (32, 32, 1)}
    extra = {"sokoban": {"levels": str(tmp_path / "one.txt")}}
    for domain, shape in shapes.items():
        env = gymnasium.make(IDS[domain], **extra.get(domain, {}))
        assert env.observation_space.shape == shape


def test_the_same_seed_gives_the_same_episode():
    env = gymnasium.make(IDS["minipacman"]).unwrapped

    def episode(seed):
        observations = [env.reset(seed=seed)[0]]
        for action in [1, 2, 3, 4] * 5:
            observation, *_ = env.step(action)
            observations.append(observation)
        return np.stack(observations)

    assert np.array_equal(episode(7), episode(7))
    assert not np.array_equal(episode(7), episode(8))


def test_a_second_reset_without_a_seed_is_another_episode():
    env = gymnasium.make(IDS["minipacman"])
    first, _ = env.reset(seed=1)
    second, _ = env.reset()
    assert not np.array_equal(first, second)


def test_a_level_is_chosen_by_number_or_text(levels):
    env = gymnasium.make(IDS["sokoban"], levels=levels, render_mode="ansi")
    for number, text in enumerate(LEVELS.split("; ")[1:]):
        env.reset(options={"level": number})
        assert env.render() == text.split("\n", 1)[1].strip()
    own = "#####\n#@$.#\n#####"
    env.reset(options={"level": own})
    assert env.render().startswith("#######\n#@$.###\n#####"), "smaller boards are filled up with walls"
    _, reward, terminated, truncated, info = env.step(RIGHT)
    assert (terminated, truncated) == (True, False)
    assert reward == pytest.approx(10.99)
    assert info == {"solved": True, "steps": 1, "score": pytest.approx(10.99)}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 3}, "no level 3; sokoban here has levels 0 to 2"),
        ({"level": -1}, "no level -1"),
        ({"level": 1.5}, "number or its text"),
        ({"level": "#####\n#@$ #\n#####"}, "level:1"),
        ({"level": "###\n#@#\n"}, "level:1"),
        ({"level": "#########\n#@$.    #\n#########"}, "the level is 3x9, expected at most 4x7"),
        ({"level": LEVELS}, "holds 3 levels, expected one"),
        ({"lvl": 3}, "no option 'lvl'"),
    ],
)
def test_a_level_that_is_not_there_is_refused(levels, options, message):
    with pytest.raises(ForesightError, match=message):
        gymnasium.make(IDS["sokoban"], levels=levels).reset(options=options)


def test_levels_of_other_domains_have_numbers_only():
    env = gymnasium.make(IDS["minipacman"])
    one, other = (env.reset(options={"level": 5})[0] for _ in range(2))
    assert np.array_equal(one, other)
    with pytest.raises(ForesightError, match="only sokoban's can be given as text"):
        env.reset(options={"level": "####"})


@pytest.mark.parametrize("action", [5, -1, 1.5, "up"])
def test_a_wrong_action_is_refused_with_the_list_of_actions(levels, action):
    env = gymnasium.make(IDS["sokoban"], levels=levels).unwrapped
    env.reset(seed=0)
    with pytest.raises(ForesightError, match=r"no action .*; there are: 0 stay, 1 up, 2 down, 3 left, 4 right"):
        env.step(action)


@pytest.mark.parametrize(
    ("actions", "message"), [([0, 5], "no action"), ([0], "expects 2 integers"), ([0.0, 1.0], "expects 2 integers")]
)
def test_a_wrong_batch_of_actions_is_refused(levels, actions, message):
    envs = gymnasium.make_vec(IDS["sokoban"], num_envs=2, levels=levels)
    envs.reset(seed=0)
    with pytest.raises(ForesightError, match=message):
        envs.step(np.array(actions))


@pytest.mark.parametrize("settings", [{"render_mode": "human"}, {"observation": "smell"}, {"colour": 3}])
def test_a_wrong_setting_is_refused(settings):
    with pytest.raises((ForesightError, gymnasium.error.Error)):
        foresight.envs.gym.GymEnv("minipacman", **settings)


@pytest.mark.parametrize("make", [lambda: gymnasium.make_vec(IDS["minipacman"], num_envs=2),
                                  lambda: gymnasium.make(IDS["minipacman"]).unwrapped])  # fmt: skip
def test_stepping_before_reset_is_refused(make):
    with pytest.raises(gymnasium.error.ResetNeeded):
        make().step(np.array([0, 0]))


def test_a_vector_environment_plays_the_levels_it_is_given_and_begins_again_in_the_same_step(levels):
    envs = gymnasium.make_vec(IDS["sokoban"], num_envs=3, levels=levels, render_mode="ansi", observation="cells")
    envs.reset(seed=0, options={"level": [0, "#####\n#@$.#\n#####", 2]})
    assert envs.render()[1].startswith("#######\n#@$.###")
    observation, reward, terminated, _, info = envs.step(np.full(3, RIGHT))
    assert terminated.tolist() == [False, True, False]
    assert reward == pytest.approx([-0.01, 10.99, -0.01])
    assert info["_final_obs"].tolist() == info["_final_info"].tolist() == [False, True, False]
    assert info["final_obs"][0] is None
    assert info["final_obs"][1][1].tolist() == [0, 1, 5, 4, 0, 0, 0], "the solved board"
    assert info["final_info"]["score"] == pytest.approx([0, 10.99, 0])
    assert info["final_info"]["solved"].tolist() == [False, True, False]
    assert observation[1].max() == 5, "a new level with its box off target"
    assert envs.render()[1] in [text.split("\n", 1)[1].strip() for text in LEVELS.split("; ")[1:]]


def test_a_vector_environment_moves_each_game_as_the_single_one_does(levels):
    single = gymnasium.make(IDS["sokoban"], levels=levels).unwrapped
    envs = gymnasium.make_vec(IDS["sokoban"], num_envs=3, levels=levels)
    batch, _ = envs.reset(seed=0, options={"level": [0, 1, 2]})
    for level in range(3):
        first, _ = single.reset(options={"level": level})
        assert np.array_equal(first, batch[level])
    played = [envs.step(np.full(3, action)) for action in (2, 4, 1, 3)]
    for level in range(3):
        single.reset(options={"level": level})
        for action, (batch, rewards, *_) in zip((2, 4, 1, 3), played, strict=True):
            observation, reward, *_ = single.step(action)
            assert np.array_equal(observation, batch[level])
            assert reward == rewards[level]


def test_the_step_cap_truncates(levels):
    envs = gymnasium.make_vec(IDS["sokoban"], num_envs=2, levels=levels, max_episode_steps=(3, 3))
    envs.reset(seed=0)
    ends = [envs.step(np.zeros(2, int))[2:4] for _ in range(4)]
    assert [(t.any(), c.all()) for t, c in ends] == [(False, False), (False, False), (False, True), (False, False)]


def test_what_was_given_out_is_not_overwritten(levels):
    envs = gymnasium.make_vec(IDS["sokoban"], num_envs=2, levels=levels)
    first, _ = envs.reset(seed=0, options={"level": 0})
    kept = first.copy()
    first[0] = 0
    envs.step(np.full(2, RIGHT))
    assert np.array_equal(first[1], kept[1])


def test_rgb_arrays_have_the_scale_asked_for(levels):
    env = gymnasium.make(IDS["sokoban"], levels=levels, render_mode="rgb_array", scale=10)
    env.reset(seed=0)
    assert env.render().shape == (40, 70, 3)


ASYNC = """
import warnings
import gymnasium, jax, foresight.envs.gym

if __name__ == "__main__":
    warnings.simplefilter("ignore")  # jax warns of the fork
    {before}
    envs = gymnasium.make_vec(
        "foresight/Sokoban-v0", num_envs=2, vectorization_mode="async", vector_kwargs={vector}, levels={levels!r}
    )
    first, _ = envs.reset(seed=[0, 1])
    after, rewards, *_ = envs.step([1, 2])
    print(first.shape, after.shape, rewards)
    envs.close()
"""


@pytest.mark.parametrize(
    ("before", "vector"), [("", None), ("jax.numpy.zeros(1)", {"context": "spawn"}), ("jax.numpy.zeros(1)", None)]
)
def test_processes_of_a_vector_environment_play_or_say_at_once_how_to_start_them(levels, tmp_path, before, vector):
    script = tmp_path / "play.py"  # a file, since processes that are spawned run it again
    script.write_text(ASYNC.format(before=before, vector=vector, levels=levels))
    ended = run([sys.executable, script], check=False, capture_output=True, text=True, timeout=120)
    if before and not vector:
        assert ended.returncode == 1
        assert "vector_kwargs={'context': 'spawn'}" in ended.stderr.splitlines()[-1]
    else:
        assert ended.returncode == 0, ended.stderr
        assert ended.stdout == "(2, 32, 56, 3) (2, 32, 56, 3) [-0.01 -0.01]\n"


@pytest.mark.parametrize("imports", ["import foresight.envs.gym, gymnasium", "import gymnasium, foresight"])
def test_importing_the_package_after_gymnasium_makes_the_ids_known(imports):
    code = f"{imports}; gymnasium.spec('foresight/Gridworld-v0')"
    assert run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_package_alone_imports_neither_gymnasium_nor_jax():
    code = "import sys, foresight; sys.exit('gymnasium' in sys.modules or 'jax' in sys.modules)"
    assert run([sys.executable, "-c", code], check=False).returncode == 0
