from dataclasses import replace

import numpy as np
import pytest

from foresight.insight.pacing import Cycle, early_cycles, fall, pacing
from foresight.insight.records import THINKING
from tests.insight.made import wandering


def along(*boards: int, thinking: int = 0):
    """An episode whose boards are these numbers, after some thinking at the first."""
    numbers = np.array([boards[0]] * thinking + list(boards), np.uint8)
    actions = np.array([THINKING] * thinking + [1] * (len(boards) - 1), np.int8)
    return replace(wandering(0, steps=1), observations=numbers[:, None, None], actions=actions)


@pytest.mark.parametrize(
    ("boards", "cycles"),
    [
        ((1, 2, 3, 4), []),
        ((1, 1, 2, 3), []),  # the same board one move later is no cycle
        ((1, 2, 1, 3), [Cycle(0, 2)]),
        ((1, 2, 3, 2, 1, 4, 5, 4), [Cycle(0, 4), Cycle(5, 7)]),
        ((1, 2, 1, 2, 1, 3), [Cycle(0, 4)]),
    ],
)
def test_a_cycle_is_the_same_board_at_least_two_moves_later(boards, cycles):
    assert early_cycles(along(*boards)) == cycles


def test_thinking_steps_are_no_cycles_and_late_cycles_do_not_count():
    assert early_cycles(along(1, 2, 3, thinking=4)) == []
    assert early_cycles(along(1, 2, 3, 4, 3), within=1) == []
    assert early_cycles(along(1, 2, 3, 4, 3), within=2) == [Cycle(2, 4)]


def test_the_fall_is_the_share_of_cycles_that_vanish():
    before = [along(1, 2, 1), along(1, 2, 1), along(1, 2, 3), along(1, 2, 1, 4, 5, 4)]
    after = [along(1, 2, 3), along(1, 2, 1), along(1, 2, 3), along(1, 2, 3)]
    counted = pacing(before)
    assert (counted.cycles, counted.mean) == (4, 1.0)
    assert counted.ci95[0] <= 1 <= counted.ci95[1]
    share, (low, high) = fall(before, after)
    assert share == 0.75
    assert low <= share <= high
    assert fall(before[2:3], after[:1]) is None  # nothing there that could fall
