"""A study beyond the probes' scores, as rows of plain values: ticks, routes, pacing, channels, training."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from foresight.evaluation.summary import percent_interval
from foresight.insight.channels import Channel, ablation, groups, label_channels
from foresight.insight.interventions import CONCEPT_OF, outcome_of, play_routes, route_edits
from foresight.insight.labels import concepts_of
from foresight.insight.pacing import fall, pacing
from foresight.insight.playing import play
from foresight.insight.probes import FitSettings, Probe, score_of
from foresight.insight.records import Agent, Episode, Keep
from foresight.insight.routes import RouteLevel, agent_levels, box_levels, symmetries
from foresight.insight.study import Result, observed, state_of, study
from foresight.insight.ticks import confusions_by_tick, rise

Row = dict[str, Any]


def tick_rows(
    agent: Agent, probes: Sequence[Probe], levels: np.ndarray, think: int, batch: int, max_steps: int = 120
) -> Iterator[Row]:
    """The score of every probe at every tick of `think` looks at the first board, with probes of the last tick."""
    keep = Keep((probes[0].of,), steps=think, dtype="float16")
    episodes = play(agent, levels, think=think, keep=keep, batch=batch, max_steps=max_steps)
    for probe in probes:
        yield from ticks_of(agent.env.name, probe, episodes, think)


def ticks_of(domain: str, probe: Probe, episodes: Sequence[Episode], think: int) -> Iterator[Row]:
    """The score of one probe at every tick, and by how much it rises from the first one to the last."""
    about = {"concept": probe.concept, "layer": probe.layer + 1, "kernel": probe.kernel}
    counts = confusions_by_tick(domain, probe, episodes, think)
    for number, score in enumerate(map(score_of, counts)):
        yield about | {"tick": number + 1, "macro_f1": round(score.macro_f1, 4), "ci95": rounded(score.ci95)}
    difference, interval = rise(counts[0], counts[-1])
    yield about | {"ticks": len(counts), "rise": round(difference, 4), "ci95": rounded(interval)}


def route_levels(count: int, turns: int) -> dict[str, list[RouteLevel]]:
    """The first levels with ways for the agent and for a box, each in so many of its eight symmetries."""
    chance = np.random.default_rng(0)

    def some(levels: list[RouteLevel]) -> list[RouteLevel]:
        return [symmetries(level)[turn] for level in levels for turn in chance.permutation(8)[:turns]]

    return {"agent": some(agent_levels(count)), "box": some(box_levels(count))}


def route_rows(
    agent: Agent,
    probes: Sequence[Probe],
    levels: dict[str, list[RouteLevel]],
    strengths: Sequence[float],
    draws: int,
    batch: int,
) -> Iterator[Row]:
    """How often agent and box go the long way, at every layer and strength, by the probes' vectors and random ones."""
    for mover, own in levels.items():
        chosen = [p for p in probes if p.concept == CONCEPT_OF[mover] and p.kernel == 1]
        yield from strength_rows(agent, own, chosen[0], 0.0, 0, batch)
        for strength in strengths:
            for probe in chosen:
                yield from strength_rows(agent, own, probe, strength, draws, batch)


def strength_rows(
    agent: Agent, levels: list[RouteLevel], probe: Probe, strength: float, draws: int, batch: int
) -> Iterator[Row]:
    """One layer at one strength: a row for the probe's vectors, and one for all draws of random ones together."""
    seeds = [None, *range(draws)]
    edits = [edit for seed in seeds for edit in route_edits(levels, probe, strength, seed)]
    episodes = play_routes(agent, levels * len(seeds), edits, batch=batch)
    parts = [("probe" if strength else "none", 0, len(levels)), ("random", len(levels), len(episodes))]
    for vectors, first, end in parts[: 1 + (draws > 0)]:
        outcome = outcome_of((levels * len(seeds))[first:end], episodes[first:end])
        yield {
            "mover": levels[0].mover,
            "layer": probe.layer + 1,
            "strength": strength,
            "vectors": vectors,
            "episodes": outcome.levels,
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
    """What every named channel follows, then how many levels are solved without these and without others."""
    keep = Keep(("h",), ticks=(-1,), dtype="float16")
    episodes = play(agent, levels, keep=keep, batch=batch, max_steps=max_steps)
    channels = label_channels(agent.env.name, episodes, concepts=concepts_of(agent.env.name))
    for channel in channels:
        if channel.is_named:
            yield channel._asdict() | {"layer": channel.layer + 1, "auc": round(channel.auc, 4)}
    yield ablation_row("none", [], "none", episodes)
    for name, wiped in groups(channels).items():
        for operation in ("mean", "zero") if wiped else ():
            edits = ablation(wiped, operation=operation)
            without = play(agent, levels, edits=edits, batch=batch, max_steps=max_steps)
            yield ablation_row(name, wiped, operation, without)


def ablation_row(name: str, wiped: Sequence[Channel], operation: str, episodes: Sequence[Episode]) -> Row:
    """How many levels are solved without some channels."""
    row = {"wiped_out": name, "operation": operation, "channels": len(wiped), "levels": len(episodes)}
    hits = sum(episode.solved for episode in episodes)
    ci95 = rounded(percent_interval(hits, len(episodes)), 1)
    return row | {"solved": hits, "percent": round(100 * hits / len(episodes), 1), "ci95": ci95}


def training_rows(
    series: Iterable[tuple[int, Agent]],
    levels: np.ndarray,
    test_levels: np.ndarray,
    think: int,
    batch: int,
    max_steps: int = 120,
    settings: FitSettings = FitSettings(),
) -> Iterator[Row]:
    """The scores of 1x1 probes at every layer of agents after more and more steps, and their rise over ticks."""
    for steps, agent in series:
        fitted_to, tested = (observed(agent, own, max_steps=max_steps, batch=batch) for own in (levels, test_levels))
        results = study(agent.env.name, state_of(agent), fitted_to, tested, kernels=(1,), settings=settings)
        keep = Keep((state_of(agent),), steps=think, dtype="float16")
        thinking = play(agent, test_levels, think=think, keep=keep, batch=batch, max_steps=max_steps)
        for result in results:
            yield training_row(agent.env.name, steps, result, tested, thinking, think)


def training_row(
    domain: str, steps: int, result: Result, tested: Sequence[Episode], thinking: Sequence[Episode], think: int
) -> Row:
    """One layer and concept after so many steps."""
    counts = confusions_by_tick(domain, result.probe, thinking, think)
    difference, interval = rise(counts[0], counts[-1])
    hits = sum(episode.solved for episode in tested)
    over_ticks = {"ticks": len(counts), "rise": round(difference, 4), "rise_ci95": rounded(interval)}
    return {"steps": steps, **result.as_json(), "solved_percent": round(100 * hits / len(tested), 1), **over_ticks}


def rounded(interval: tuple[float, float], digits: int = 4) -> list[float]:
    """An interval for printing."""
    return [round(end, digits) for end in interval]
