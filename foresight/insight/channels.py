"""What single channels follow: labels found automatically, by how well a channel alone tells where something will be.

For each channel, the AUC of its value at a shifted square as a sign that the agent will step onto the square in a
direction, that a box will be pushed off it, or that the next action is a direction; the best one above a bar names it.
"""

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from foresight.errors import ForesightError
from foresight.insight.edits import Edit
from foresight.insight.labels import C_A, C_B, CLASS_NAMES, NEVER, Concept, moves_made
from foresight.insight.records import Episode
from foresight.insight.samples import MARGINS, Samples, has_squares, samples_of

OFFSETS = tuple(product((-1, 0, 1), repeat=2))
BAR = 0.95
KINDS = {C_A.name: "agent", C_B.name: "box"}
DRAWS = 3  # random sets of channels to compare with


class Channel(NamedTuple):
    """What one channel follows best."""

    layer: int  # from 0
    channel: int
    follows: str  # agent, box or action
    direction: str
    offset: tuple[int, int]  # of the square in the state, from the square spoken of; (0, 0) for an action
    sign: int  # 1 if high values speak for it, -1 if low ones do
    auc: float

    @property
    def is_named(self) -> bool:
        """Whether it follows something well enough to be called after it."""
        return self.auc > BAR


def label_channels(
    domain: str, episodes: Sequence[Episode], of: str = "h", concepts: Sequence[Concept] = (C_A, C_B), boards: int = 300
) -> list[Channel]:
    """The best label of every channel of every layer, from `boards` boards taken evenly of those in the episodes."""
    samples = samples_of(domain, episodes, concepts, of)
    actions = np.concatenate(
        [moves_made(domain, e.observations, e.actions)[: len(e.activations[of])] for e in episodes]
    )
    chosen = np.unique(np.linspace(0, len(actions) - 1, min(boards, len(actions))).astype(int))
    samples = Samples(
        samples.inputs[chosen],
        samples.observations[chosen],
        {name: labels[chosen] for name, labels in samples.labels.items()},
        samples.episode[chosen],
    )
    margin, (_, depth, *_, channels) = MARGINS.get(domain, 0), samples.inputs.shape
    labels = samples.labels if has_squares(samples) else {}
    found = []
    for layer, channel in product(range(depth), range(channels)):
        values = samples.inputs[:, layer, :, :, channel].astype(np.float32)
        options = [*follow_squares(values, labels, margin), *follow_actions(values, actions[chosen])]
        if not options:
            raise ForesightError("nothing moves in these episodes: there is nothing that channels could follow")
        follows, direction, offset, area = max(options, key=lambda option: abs(option[3] - 0.5))
        sign = 1 if area >= 0.5 else -1
        found.append(Channel(layer, channel, follows, direction, offset, sign, max(area, 1 - area)))
    return found


Option = tuple[str, str, tuple[int, int], float]  # what is followed, direction, offset, AUC


def follow_squares(values: np.ndarray, labels: dict[str, np.ndarray], margin: int) -> list[Option]:
    """The AUC of a channel's values [S, h, w] for each direction of each concept [S, H, W], at each offset.

    Where B x B' squares of the board lie on one of the state, each of these places there is followed by itself.
    """
    side = max(margin, 1)
    height, width = values.shape[1:]
    options = []
    for down, right in OFFSETS:
        shifted = values[:, side + down : height - side + down, side + right : width - side + right]
        ranks = rankdata(shifted)
        for name, label in apart(labels, height, width):
            inner = label[:, side : height - side, side : width - side].ravel()
            for kind in np.unique(inner[inner != NEVER]):
                area = auc_of_ranks(ranks.ravel(), inner == kind)
                options.append((KINDS.get(name, name), CLASS_NAMES[kind], (down, right), area))
    return options


def apart(labels: dict[str, np.ndarray], height: int, width: int) -> list[tuple[str, np.ndarray]]:
    """The labels [S, H, W] of each concept as boards of the state's size, one for each place on a square of it."""
    return [
        (name, label[:, row :: label.shape[1] // height, column :: label.shape[2] // width])
        for name, label in labels.items()
        for row, column in np.ndindex(label.shape[1] // height, label.shape[2] // width)
    ]


def follow_actions(values: np.ndarray, actions: np.ndarray) -> list[Option]:
    """The AUC of a channel's mean over the board for each next move."""
    ranks = rankdata(values.mean((1, 2)))
    kinds = [kind for kind in np.unique(actions) if kind != NEVER and not np.all(actions == kind)]
    return [("action", CLASS_NAMES[kind], (0, 0), auc_of_ranks(ranks, actions == kind)) for kind in kinds]


def auc_of_ranks(ranks: np.ndarray, positive: np.ndarray) -> float:
    """The chance that a positive has a higher value than a negative, ties counting half; 0.5 where one is missing."""
    hits, misses = int(positive.sum()), int((~positive).sum())
    if not hits or not misses:
        return 0.5
    return float((ranks[positive].sum() - hits * (hits + 1) / 2) / (hits * misses))


def ablation(channels: Sequence[Channel], of: str = "h", operation: str = "mean") -> list[Edit]:
    """Edits that wipe out where these channels are high: each becomes its mean over the board, at every tick."""
    layers = sorted({channel.layer for channel in channels})
    return [
        Edit(operation, of=of, depths=[layer], channels=[c.channel for c in channels if c.layer == layer])
        for layer in layers
    ]


def groups(channels: Sequence[Channel]) -> dict[str, list[Channel]]:
    """Sets of channels to wipe out: all named, those of each kind, and as many as are named drawn from the others."""
    named = [channel for channel in channels if channel.is_named]
    others = [channel for channel in channels if not channel.is_named]
    kinds = {kind: [c for c in named if c.follows == kind] for kind in sorted({c.follows for c in named})}
    chance = np.random.default_rng(0)
    drawn = {}
    for number in range(DRAWS):
        chosen = chance.permutation(len(others))[: len(named)]
        drawn[f"as many others, draw {number + 1}"] = [others[place] for place in sorted(chosen)]
    return {"all named": named, **kinds, **drawn, "all others": others}
