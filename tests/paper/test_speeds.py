"""Estimates of training time are those of the measured training loops."""

import pytest

from foresight.paper.agents import sokoban
from foresight.paper.speeds import frames_per_second


def test_a_measured_training_loop_is_estimated_as_it_was_measured_and_half_the_layers_take_half_as_long():
    assert frames_per_second(sokoban("drc", 3, 3), "cpu") == pytest.approx(399)
    assert frames_per_second(sokoban("drc", 3, 3), "gpu") == pytest.approx(204_914, rel=1e-3)
    assert frames_per_second(sokoban("drc", 3, 1), "cpu") == pytest.approx(3 * 399)


def test_what_became_faster_on_one_device_is_estimated_so_there_alone():
    cnn, drc = sokoban("cnn"), sokoban("drc", 3, 3)
    ratio = {device: frames_per_second(cnn, device) / frames_per_second(drc, device) for device in ("cpu", "gpu")}
    assert ratio["cpu"] == pytest.approx((190 / 177) * (2.49 / 1.35))
    assert ratio["gpu"] == pytest.approx(334_049 / 204_914, rel=1e-3)


@pytest.mark.parametrize(
    ("net", "measured"), [("lstm", 220_604), ("resnet", 90_786), ("vin", 238_020), ("atreec", 612_441)]
)
def test_the_rivals_are_estimated_as_they_were_measured(net, measured):
    sides = (3, 3) if net == "lstm" else ()
    assert frames_per_second(sokoban(net, *sides), "gpu") == pytest.approx(measured, rel=1e-3)


def test_nothing_is_estimated_of_what_was_not_measured():
    assert frames_per_second(sokoban("drc", 3, 3), "tpu") is None
