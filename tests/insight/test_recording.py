from dataclasses import replace

import numpy as np
import pytest

from foresight.errors import ForesightError
from foresight.insight.recording import read_recording, write_recording
from tests.insight.made import knowing, wandering


def test_a_recording_gives_back_its_episodes_from_disk(tmp_path):
    episodes = [knowing(wandering(seed, steps=4 + seed, level=seed)) for seed in range(3)]
    episodes[1] = replace(episodes[1], activations={"c": episodes[1].activations["c"][:2]}, solved=True)
    write_recording(tmp_path / "r", iter(episodes), {"agent": "made"})
    back = read_recording(tmp_path / "r")
    for episode, other in zip(episodes, back, strict=True):
        assert (episode.level, episode.solved, episode.steps) == (other.level, other.solved, other.steps)
        np.testing.assert_array_equal(episode.observations, other.observations)
        np.testing.assert_array_equal(episode.actions, other.actions)
        np.testing.assert_array_equal(episode.activations["c"], other.activations["c"])
    assert isinstance(back[0].activations["c"], np.memmap)


def test_a_recording_that_breaks_off_leaves_nothing(tmp_path):
    def breaking():
        yield wandering(0)
        raise ForesightError("enough")

    with pytest.raises(ForesightError, match="enough"):
        write_recording(tmp_path / "r", breaking(), {})
    assert list(tmp_path.iterdir()) == []


def test_a_recording_is_not_written_over_and_damage_is_noticed(tmp_path):
    write_recording(tmp_path / "r", [wandering(0)])
    with pytest.raises(ForesightError, match="exists already"):
        write_recording(tmp_path / "r", [wandering(0)])
    path = tmp_path / "r" / "values.bin"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ForesightError, match=r"damaged: values\.bin has"):
        read_recording(tmp_path / "r")
    with pytest.raises(ForesightError, match="cannot read"):
        read_recording(tmp_path / "none")
