from dataclasses import replace

import numpy as np
import pytest

from foresight.errors import ForesightError
from foresight.insight.channels import Channel, ablation, auc_of_ranks, label_channels
from foresight.insight.labels import C_A, label, moves_made
from tests.insight.made import wandering


def telling(seed: int):
    """A state h with three channels: the agent's steps to the right one square below, upside down; the next move
    up, everywhere; and noise."""
    episode = wandering(seed, steps=20)
    labels, moves = label("sokoban", episode.observations, C_A), moves_made("sokoban", episode.observations)
    state = np.random.default_rng(seed).standard_normal((20, 1, 1, 6, 6, 3)) * 0.01
    state[:, 0, 0, 1:, :, 0] -= labels[:, :-1] == 4
    state[:, 0, 0, :, :, 1] += (moves == 1)[:, None, None]
    return replace(episode, activations={"h": state.astype(np.float32)})


def test_channels_are_named_after_what_they_follow():
    right, up, noise = label_channels("sokoban", [telling(seed) for seed in range(6)], concepts=[C_A])
    assert right[:6] == (0, 0, "agent", "right", (1, 0), -1)
    assert up[:6] == (0, 1, "action", "up", (0, 0), 1)
    assert right.is_named
    assert up.is_named
    assert not noise.is_named


def test_units_of_an_lstm_are_named_after_the_next_move_alone():
    episodes = [telling(seed) for seed in range(6)]
    units = [replace(e, activations={"h": e.activations["h"].mean((3, 4))}) for e in episodes]
    _, up, _ = label_channels("sokoban", units, concepts=[C_A])
    assert up[:6] == (0, 1, "action", "up", (0, 0), 1)
    assert up.is_named


def test_channels_of_a_state_coarser_than_the_board_follow_its_squares():
    episodes = [telling(seed) for seed in range(6)]
    coarse = [replace(e, activations={"h": e.activations["h"][..., ::2, ::2, :]}) for e in episodes]
    right, up, _ = label_channels("sokoban", coarse, concepts=[C_A])
    assert right[:6] == (0, 0, "agent", "right", (1, 0), -1)
    assert up[:6] == (0, 1, "action", "up", (0, 0), 1)


def test_where_nothing_moves_there_is_nothing_to_follow():
    still = [replace(e, observations=e.observations[:1].repeat(21, 0)) for e in [telling(0)]]
    with pytest.raises(ForesightError, match="nothing moves in these episodes"):
        label_channels("sokoban", still, concepts=[C_A])


def test_the_auc_is_the_share_of_pairs_in_order():
    values, positive = np.array([1.0, 2, 2, 3, 0]), np.array([False, True, False, True, False])
    pairs = [(v > w) + 0.5 * (v == w) for v in values[positive] for w in values[~positive]]
    from scipy.stats import rankdata

    assert auc_of_ranks(rankdata(values), positive) == pytest.approx(np.mean(pairs))
    assert auc_of_ranks(rankdata(values), np.zeros(5, bool)) == 0.5


def test_an_ablation_edits_the_channels_of_each_layer():
    channels = [Channel(d, c, "box", "up", (0, 0), 1, 0.99) for d, c in ((0, 3), (2, 1), (0, 5))]
    edits = ablation(channels)
    assert [(edit.depths, edit.channels, edit.operation, edit.of) for edit in edits] == [
        ([0], [3, 5], "mean", "h"),
        ([2], [1], "mean", "h"),
    ]
