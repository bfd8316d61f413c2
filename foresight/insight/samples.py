"""Boards with what a network held while it saw them, and what came to happen on each square: what probes learn from."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from foresight.errors import ForesightError
from foresight.insight.labels import Concept, label
from foresight.insight.records import Episode

MARGINS = {"sokoban": 1, "boxworld": 1, "minipacman": 1}  # squares along the edge that are walls always; 0 elsewhere


class Samples(NamedTuple):
    """S boards of E episodes, one after the other."""

    inputs: np.ndarray  # [S, D, H, W, C]: one activation at one tick; [S, D, 1, 1, U] of an LSTM
    observations: np.ndarray  # uint8 [S, H', W'], compact; the board may be finer than the network's state
    labels: dict[str, np.ndarray]  # uint8 [S, H', W'] by concept
    episode: np.ndarray  # int32 [S]: which one a board is from

    @property
    def codes(self) -> int:
        """How many cell codes the observations need."""
        return int(self.observations.max()) + 1


def samples_of(
    domain: str, episodes: Sequence[Episode], concepts: Sequence[Concept], of: str = "c", tick: int = -1
) -> Samples:
    """The boards of episodes whose activation `of` was kept, at one of the kept ticks; only steps that were kept."""
    lacking = [episode.level for episode in episodes if of not in episode.activations]
    if lacking:
        raise ForesightError(f"activation '{of}' of level {lacking[0]} was not kept; play with Keep(('{of}',))")
    names = [concept.name for concept in concepts]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ForesightError(f"two concepts are called '{twice[0]}'; expected a name for each")
    held = [as_squares(episode.activations[of][:, tick]) for episode in episodes]
    lengths = [len(one) for one in held]
    return Samples(
        inputs=np.concatenate(held),
        observations=np.concatenate([e.observations[:n] for e, n in zip(episodes, lengths, strict=True)]),
        labels={
            concept.name: np.concatenate(
                [label(domain, e.observations, concept, e.actions)[:n] for e, n in zip(episodes, lengths, strict=True)]
            )
            for concept in concepts
        },
        episode=np.repeat(np.arange(len(episodes), dtype=np.int32), lengths),
    )


def has_squares(samples: Samples) -> bool:
    """Whether the state lies on the board; an LSTM's does not, and a probe reads every square off all its units."""
    return samples.inputs.shape[2:4] != (1, 1)


def as_one_layer(episodes: Sequence[Episode]) -> list[Episode]:
    """The episodes with all layers' channels side by side, as those of one layer."""

    def merged(value: np.ndarray) -> np.ndarray:  # [T, N, D, ..., C]
        return np.concatenate([value[:, :, depth] for depth in range(value.shape[2])], axis=-1)[:, :, None]

    return [
        replace(episode, activations={name: merged(value) for name, value in episode.activations.items()})
        for episode in episodes
    ]


def as_squares(state: np.ndarray) -> np.ndarray:
    """States as probes read them: [T, D, U] or [T, N, U] of an LSTM, without squares, become one square each."""
    return state[..., None, None, :] if state.ndim == 3 else state


def planes(observations: np.ndarray, codes: int) -> np.ndarray:
    """Observations [S, H, W] as one plane a code, float16 [S, H, W, codes]: what the baseline reads."""
    return (observations[..., None] == np.arange(codes, dtype=observations.dtype)).astype(np.float16)
