"""The parts of a study beyond the probes' scores, as rows of plain values: ticks, routes, pacing, channels."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from foresight.insight.channels import ablation, label_channels
from foresight.insight.interventions import CONCEPT_OF, intervene
from foresight.insight.labels import concepts_of
from foresight.insight.pacing import fall, pacing
from foresight.insight.playing import play
from foresight.insight.probes import Probe
from foresight.insight.records import Agent, Episode, Keep
from foresight.insight.routes import RouteLevel, agent_levels, box_levels, symmetries
from foresight.insight.ticks import score_by_tick

Row = dict[str, Any]


def tick_rows(
    agent: Agent, probes: Sequence[Probe], levels: np.ndarray, think: int, batch: int, max_steps: int = 120
) -> Iterator[Row]:
    """The score of every probe at every tick of `think` looks at the first board, with probes of the last tick."""
    keep = Keep((probes[0].of,), steps=think, dtype="float16")
    episodes = play(agent, levels, think=think, keep=keep, batch=batch, max_steps=max_steps)
    for probe in probes:
        for number, score in enumerate(score_by_tick(agent.env.name, probe, episodes, think)):
            about = {"concept": probe.concept, "layer": probe.layer + 1, "kernel": probe.kernel, "tick": number + 1}
            yield about | {"macro_f1": round(score.macro_f1, 4), "ci95": rounded(score.ci95)}


def route_levels(count: int, turns: int) -> dict[str, list[RouteLevel]]:
    """The first levels with ways for the agent and for a box, each in so many of its eight symmetries."""
    chance = np.random.default_rng(0)

    def some(levels: list[RouteLevel]) -> list[RouteLevel]:
        return [symmetries(level)[turn] for level in levels for turn in chance.permutation(8)[:turns]]

    return {"agent": some(agent_levels(count)), "box": some(box_levels(count))}


def route_rows(
    agent: Agent, probes: Sequence[Probe], levels: dict[str, list[RouteLevel]], strengths: Sequence[float], batch: int
) -> Iterator[Row]:
    """How often agent and box go the long way, at every layer and strength, by the probes' vectors and random ones."""
    for mover, own in levels.items():
        chosen = [p for p in probes if p.concept == CONCEPT_OF[mover] and p.kernel == 1]
        for probe in chosen:
            for strength in strengths:
                for random_seed in (None, 0):
                    outcome = intervene(agent, own, probe, strength, random_seed=random_seed, batch=batch)
                    yield {
                        "mover": mover,
                        "layer": probe.layer + 1,
                        "strength": strength,
                        "vectors": "probe" if random_seed is None else "random",
                        "levels": outcome.levels,
                        "long_way": outcome.successes,
                        "percent": round(outcome.percent, 1),
                        "ci95": rounded(outcome.ci95, 1),
                        "solved": outcome.solved,
                    }


def pacing_rows(agent: Agent, levels: np.ndarray, think: int, batch: int, max_steps: int = 120) -> Iterator[Row]:
    """Early cycles without thinking and with it, and by which share they fall."""
    played = {steps: play(agent, levels, think=steps, batch=batch, max_steps=max_steps) for steps in (0, think)}
    for steps, episodes in played.items():
        counted = pacing(episodes)
        row = {"think": steps, "episodes": counted.episodes, "cycles": counted.cycles, "mean": round(counted.mean, 4)}
        yield row | {"ci95": rounded(counted.ci95), "solved": sum(episode.solved for episode in episodes)}
    share, interval = fall(played[0], played[think])
    yield {"fall": round(share, 4), "ci95": rounded(interval)}


def channel_rows(agent: Agent, levels: np.ndarray, batch: int, max_steps: int = 120) -> Iterator[Row]:
    """What every named channel follows, then how many levels are solved without these and without the others."""
    keep = Keep(("h",), ticks=(-1,), dtype="float16")
    episodes = play(agent, levels, keep=keep, batch=batch, max_steps=max_steps)
    channels = label_channels(agent.env.name, episodes, concepts=concepts_of(agent.env.name))
    for channel in channels:
        if channel.is_named:
            yield channel._asdict() | {"layer": channel.layer + 1, "auc": round(channel.auc, 4)}
    named = [channel for channel in channels if channel.is_named]
    others = [channel for channel in channels if not channel.is_named]
    for name, wiped in (("none", []), ("named", named), ("others", others)):
        kept = play(agent, levels, edits=ablation(wiped), batch=batch, max_steps=max_steps) if wiped else episodes
        yield {"wiped_out": name, "channels": len(wiped), "levels": len(kept), "solved": solved(kept)}


def solved(episodes: Sequence[Episode]) -> int:
    """How many were solved."""
    return sum(episode.solved for episode in episodes)


def rounded(interval: tuple[float, float], digits: int = 4) -> list[float]:
    """An interval for printing."""
    return [round(end, digits) for end in interval]
