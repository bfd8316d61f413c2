"""The modes and settings of MiniPacman."""

import pytest

from foresight.envs.minipacman.modes import MODES
from foresight.envs.minipacman.rules import MiniPacman
from foresight.errors import ForesightError
from tests.envs.test_minipacman import GO_RIGHT, drawn, played


def test_the_five_modes_pay_what_the_table_says():
    state = drawn({3: "#    @.        G. #"}, power=9)
    on_food = {mode: float(played(state, GO_RIGHT, env=MiniPacman(mode))[1].reward) for mode in MODES}
    assert on_food == pytest.approx({"regular": 1, "avoid": 0, "hunt": 0, "ambush": -0.1, "rush": -0.1})
    state = drawn({3: "#    @8       G . #"}, power=9)
    on_pill = {mode: float(played(state, GO_RIGHT, env=MiniPacman(mode))[1].reward) for mode in MODES}
    assert on_pill == pytest.approx({"regular": 2, "avoid": -4.9, "hunt": 1, "ambush": 0, "rush": 10})
    state = drawn({3: "#    @G       G . #"}, power=9)
    on_ghost = {mode: float(played(state, GO_RIGHT, env=MiniPacman(mode))[1].reward) for mode in MODES}
    assert on_ghost == pytest.approx({"regular": 5, "avoid": -9.9, "hunt": 10, "ambush": 10, "rush": 0})
    state = drawn({3: "#    @G         . #"})
    on_death = {mode: float(played(state, GO_RIGHT, env=MiniPacman(mode))[1].reward) for mode in MODES}
    assert on_death == pytest.approx({"regular": 0, "avoid": -19.9, "hunt": -20, "ambush": -20, "rush": 0})


@pytest.mark.parametrize(
    ("row", "cleared_in"),
    [
        ("#    @.     oG    #", {"regular", "avoid"}),
        ("#    @o      G .  #", {"rush"}),
        ("#    @G     o  .  #", {"hunt", "ambush"}),
        ("#    @      oG .  #", set()),
    ],
)
def test_each_mode_is_cleared_by_its_own_thing(row, cleared_in):
    state = drawn({3: row}, power=9)
    after = {mode: played(state, GO_RIGHT, env=MiniPacman(mode))[0] for mode in MODES}
    assert {mode for mode, state in after.items() if state.level == 2} == cleared_in
    for mode in cleared_in:
        assert after[mode].food.sum() >= 137
        assert after[mode].alive.sum() == 1
        assert after[mode].timer == 0


def test_a_new_level_shows_at_once_when_the_time_is_up():
    env = MiniPacman("avoid")
    state = drawn({3: "#    @    G    .  #"}, timer=126)
    state, _ = played(state, env=env)
    assert state.level == 1
    assert state.timer == 127
    state, transition = played(state, env=env)
    assert state.level == 2
    assert state.timer == 0
    assert state.food.sum() == 138
    assert not transition.terminated


def test_in_the_exact_mode_a_timed_out_level_is_seen_once_more():
    env = MiniPacman("avoid", exact=True)
    state, _ = played(drawn({3: "#    @    G    .  #"}, timer=127), env=env)
    assert state.level == 1
    state, _ = played(state, env=env)
    assert state.level == 2
    assert state.timer == 1


def test_the_level_timer_is_a_parameter():
    env = MiniPacman("hunt", level_timer=80)
    assert played(drawn({3: "#    @    G    .  #"}, timer=79), env=env)[0].level == 2
    assert played(drawn({3: "#    @    G    .  #"}, timer=79), env=MiniPacman("hunt"))[0].level == 1


def test_ghost_settings_replace_parts_of_a_preset():
    env = MiniPacman(preset="paper", ghost_speed_init=0.25, random_turn=0.5)
    assert (env.ghosts.speed, env.ghosts.speed_increase, env.ghosts.random_turn) == (0.25, 0, 0.5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mode": "chase"}, "no mode 'chase'; there are: regular, avoid, hunt, ambush, rush"),
        ({"preset": "i2a"}, "there are: notebook, paper"),
        ({"ghost_speed_init": 1.5}, "ghost_speed_init is 1.5"),
        ({"powered_factor": -1}, "powered_factor is -1"),
        ({"level_timer": 1}, "level_timer is 1"),
        ({"max_episode_steps": (0, 5)}, "max_episode_steps"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, message):
    with pytest.raises(ForesightError, match=message):
        MiniPacman(**settings)
