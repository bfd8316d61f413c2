"""Estimates of training time are those of the measured training loops."""

import pytest

from foresight.paper.agents import sokoban
from foresight.paper.speeds import frames_per_second


def test_a_measured_training_loop_is_estimated_as_it_was_measured_and_half_the_layers_take_half_as_long():
    assert frames_per_second(sokoban("drc", 3, 3), "cpu") == pytest.approx(399)
    assert frames_per_second(sokoban("drc", 3, 3), "gpu") == pytest.approx(148_700, rel=1e-3)
    assert frames_per_second(sokoban("drc", 3, 1), "cpu") == pytest.approx(3 * 399)


def test_a_network_that_became_faster_on_a_cpu_by_more_than_drc_is_estimated_so_there_alone():
    cnn, drc = sokoban("cnn"), sokoban("drc", 3, 3)
    ratio = {device: frames_per_second(cnn, device) / frames_per_second(drc, device) for device in ("cpu", "gpu")}
    assert ratio["cpu"] == pytest.approx((190 / 177) * (2.49 / 1.35))
    assert ratio["gpu"] == pytest.approx(536_793 / 297_395)


def test_nothing_is_estimated_of_what_was_not_measured():
    assert frames_per_second(sokoban("drc", 3, 3), "tpu") is None
