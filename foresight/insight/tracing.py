"""One episode with everything that was in the network at every time-step and tick."""

from collections.abc import Sequence

from foresight.insight.playing import Edits, play
from foresight.insight.records import Agent, Episode, Keep


def trace(
    agent: Agent,
    level: int = 0,
    *,
    think: int = 0,
    keep: Sequence[str] = ("c", "h"),
    ticks: Sequence[int] | None = None,
    depths: Sequence[int] | None = None,
    edits: Edits = None,
    max_steps: int = 120,
) -> Episode:
    """Play one level and keep the activations named, [T, N, D, ...]; `encoded` is [T, ...], `pooled` [T, N, D, 2 C]."""
    return play(agent, [level], edits=edits, think=think, keep=Keep(keep, ticks, depths), max_steps=max_steps, batch=1)[
        0
    ]
