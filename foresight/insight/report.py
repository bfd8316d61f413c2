"""A study beyond the probes' scores, as rows of plain values: ticks, routes, pacing, channels, training."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from foresight.errors import ForesightError
from foresight.evaluation.summary import percent_interval
from foresight.insight.channels import Channel, ablation, groups, label_channels
from foresight.insight.inside import shape_of
from foresight.insight.interventions import CONCEPT_OF, outcome_of, play_routes, route_edits
from foresight.insight.labels import NEVER, concept_named, concepts_of, label
from foresight.insight.pacing import fall, interval, pacing
from foresight.insight.playing import play
from foresight.insight.probes import FitSettings, Probe, check_fit, inside, score_of
from foresight.insight.records import Agent, Episode, Keep
from foresight.insight.retracing import retrace
from foresight.insight.routes import RouteLevel, agent_levels, box_levels, symmetries
from foresight.insight.samples import as_squares
from foresight.insight.study import Result, probe_count, state_of, study
from foresight.insight.ticks import confusions_by_tick, rise

Row = dict[str, Any]
Show = Callable[[int], None]  # takes how many are done
AHEAD = (5, 10, 20, 40, 10_000)  # time-steps until something happens on a square, as the ends of ranges


@contextmanager
def unseen(_what: str, _total: int) -> Iterator[Show]:
    """Nothing shows how it gets on."""
    yield lambda _done: None


@dataclass(frozen=True)
class Manner:
    """How levels are played, and what shows meanwhile how many of what have been done."""

    batch: int = 64
    max_steps: int = 120
    bar: Callable[[str, int], AbstractContextManager[Show]] = unseen


def played(agent: Agent, levels: np.ndarray, manner: Manner, **more: Any) -> list[Episode]:
    """The episodes of these levels; `more` is for `play`."""
    with manner.bar("episodes", len(levels)) as show:
        return play(agent, levels, batch=manner.batch, max_steps=manner.max_steps, on_progress=show, **more)


def tick_rows(
    agent: Agent, probes: Sequence[Probe], levels: np.ndarray, think: int, manner: Manner = Manner()
) -> Iterator[Row]:
    """The score of every probe at every tick of `think` looks at the first board, with probes of the last tick."""
    check_fit(probes, shape_of(agent.net))
    keep = Keep((probes[0].of,), steps=think, dtype="float16")
    episodes = played(agent, levels, manner, think=think, keep=keep)
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


def ahead_rows(agent: Agent, probes: Sequence[Probe], levels: np.ndarray, manner: Manner = Manner()) -> Iterator[Row]:
    """Of the squares where something will happen soon, later or never, how many each probe reads rightly."""
    check_fit(probes, shape_of(agent.net))
    keep = Keep((probes[0].of,), ticks=(-1,), dtype="float16")
    episodes = played(agent, levels, manner, keep=keep)
    for probe in probes:
        yield from ahead_of(agent.env.name, probe, episodes)


def ahead_of(domain: str, probe: Probe, episodes: Sequence[Episode]) -> Iterator[Row]:
    """The squares of one probe by how many time-steps are left until it happens there."""
    concept, counts = concept_named(probe.concept), np.zeros((len(episodes), len(AHEAD) + 1, 2), int)
    for number, episode in enumerate(episodes):
        read = probe.read(as_squares(episode.activations[probe.of][:, -1, probe.layer]))
        seen, actions = episode.observations, episode.actions
        true = label(domain, seen, concept, actions)
        left = sum((label(domain, seen, replace(concept, horizon=end), actions) == NEVER) for end in AHEAD[:-1])
        left = np.where(true == NEVER, len(AHEAD), left)
        places, right = inside(left, probe.margin).ravel(), inside(read == true, probe.margin).ravel()
        counts[number] = np.stack([np.bincount(p, minlength=len(AHEAD) + 1) for p in (places, places[right])], axis=1)
    begins = [1, *(end + 1 for end in AHEAD[:-1]), None]
    for place, (begin, end) in enumerate(zip(begins, (*AHEAD[:-1], None, None), strict=True)):
        squares, right = counts[:, place].sum(0).tolist()
        about = {"concept": probe.concept, "layer": probe.layer + 1, "kernel": probe.kernel, "from": begin, "to": end}
        share = round(100 * right / squares, 1) if squares else None
        yield about | {"squares": squares, "read_rightly": right, "percent": share}


def route_levels(count: int, turns: int, skip: int = 0) -> dict[str, list[RouteLevel]]:
    """Levels with ways for the agent and for a box after the first `skip`, each in so many of its eight symmetries."""
    chance = np.random.default_rng(0)

    def some(levels: list[RouteLevel]) -> list[RouteLevel]:
        turned = [[symmetries(level)[turn] for turn in chance.permutation(8)[:turns]] for level in levels]
        return [level for own in turned[skip:] for level in own]

    return {"agent": some(agent_levels(skip + count)), "box": some(box_levels(skip + count))}


def of_layers(probes: Sequence[Probe], layers: Sequence[int]) -> list[Probe]:
    """The probes of some layers, numbered from 1; all where none is named."""
    there = sorted({probe.layer + 1 for probe in probes})
    for layer in layers:
        if layer not in there:
            raise ForesightError(f"`layers` {layer}: the probes are of layers {', '.join(map(str, there))}")
    return [probe for probe in probes if not layers or probe.layer + 1 in layers]


def route_rows(
    agent: Agent,
    probes: Sequence[Probe],
    levels: dict[str, list[RouteLevel]],
    strengths: Sequence[float],
    draws: int,
    manner: Manner = Manner(),
    together: bool = False,
) -> Iterator[Row]:
    """How often agent and box go the long way, at every layer or all `together`, by probes' vectors and random ones."""
    for mover, own in levels.items():
        chosen = [p for p in probes if p.concept == CONCEPT_OF[mover] and p.kernel == 1]
        yield from strength_rows(agent, own, chosen[:1], 0.0, 0, manner)
        for strength in strengths:
            for at_once in [chosen] if together else [[probe] for probe in chosen]:
                yield from strength_rows(agent, own, at_once, strength, draws, manner)


def strength_rows(
    agent: Agent, levels: list[RouteLevel], probes: Sequence[Probe], strength: float, draws: int, manner: Manner
) -> Iterator[Row]:
    """Some layers at one strength: a row for the probes' vectors, and one for all draws of random ones together."""
    seeds = [None, *range(draws)]
    edits = [own for seed in seeds for own in route_edits(levels, probes, strength, seed)]
    with manner.bar("episodes", len(edits)) as show:
        episodes = play_routes(agent, levels * len(seeds), edits, batch=manner.batch, on_progress=show)
    parts = [("probe" if strength else "none", 0, len(levels)), ("random", len(levels), len(episodes))]
    layers = [probe.layer + 1 for probe in probes]
    for vectors, first, end in parts[: 1 + (draws > 0)]:
        outcome = outcome_of((levels * len(seeds))[first:end], episodes[first:end])
        yield {
            "mover": levels[0].mover,
            "layer": layers[0] if len(layers) == 1 else "+".join(map(str, layers)),
            "strength": strength,
            "vectors": vectors,
            "episodes": outcome.levels,
            "long_way": outcome.successes,
            "percent": round(outcome.percent, 1),
            "ci95": rounded(outcome.ci95, 1),
            "solved": outcome.solved,
        }


def pacing_rows(agent: Agent, levels: np.ndarray, think: int, manner: Manner = Manner()) -> Iterator[Row]:
    """Early cycles without thinking and with it, and by which share they fall."""
    by_thinking = {steps: played(agent, levels, manner, think=steps) for steps in (0, think)}
    for steps, episodes in by_thinking.items():
        counted = pacing(episodes)
        row = {"think": steps, "episodes": counted.episodes, "cycles": counted.cycles, "mean": round(counted.mean, 4)}
        yield row | {"ci95": rounded(counted.ci95)} | how_it_went(agent, episodes)
    fallen = fall(by_thinking[0], by_thinking[think])
    yield {"fall": fallen and round(fallen[0], 4), "ci95": fallen and rounded(fallen[1])}


def how_it_went(agent: Agent, episodes: Sequence[Episode]) -> Row:
    """How many levels were solved; where nothing ever is, the mean score."""
    if agent.env.is_scored:
        return {"score": round(float(np.mean([episode.score for episode in episodes])), 2)}
    return {"solved": sum(episode.solved for episode in episodes)}


def channel_rows(agent: Agent, levels: np.ndarray, manner: Manner = Manner()) -> Iterator[Row]:
    """What every named channel follows, then how many levels are solved without these and without others."""
    keep = Keep(("h",), ticks=(-1,), dtype="float16")
    episodes = played(agent, levels, manner, keep=keep)
    channels = label_channels(agent.env.name, episodes, concepts=concepts_of(agent.env.name))
    for channel in channels:
        if channel.is_named:
            yield channel._asdict() | {"layer": channel.layer + 1, "auc": round(channel.auc, 4)}
    yield ablation_row(agent, "none", [], "none", episodes)
    operations = ("mean", "zero") if len(shape_of(agent.net).state) == 3 else ("zero",)  # an LSTM's unit has no board
    for name, wiped in groups(channels).items():
        for operation in operations if wiped else ():
            without = played(agent, levels, manner, edits=ablation(wiped, operation=operation))
            yield ablation_row(agent, name, wiped, operation, without)


def ablation_row(agent: Agent, name: str, wiped: Sequence[Channel], operation: str, episodes: Sequence[Episode]) -> Row:
    """How many levels are solved without some channels, or which score is left."""
    row = {"wiped_out": name, "operation": operation, "channels": len(wiped), "levels": len(episodes)}
    if agent.env.is_scored:
        ci95 = rounded(interval(np.array([episode.score for episode in episodes])), 2)
        return row | how_it_went(agent, episodes) | {"ci95": ci95}
    hits = sum(episode.solved for episode in episodes)
    ci95 = rounded(percent_interval(hits, len(episodes)), 1)
    return row | {"solved": hits, "percent": round(100 * hits / len(episodes), 1), "ci95": ci95}


@dataclass(frozen=True)
class TrainingStudy:
    """What is measured at every agent of a series."""

    levels: np.ndarray  # to fit to
    test_levels: np.ndarray  # to score on
    think: int = 5
    manner: Manner = Manner()
    ways: dict[str, list[RouteLevel]] = field(default_factory=dict)  # to write into the state, by mover
    strength: float = 1.0
    layers: tuple[int, ...] = ()  # to write into, from 1; all where there are none
    settings: FitSettings = field(default_factory=FitSettings)


def training_rows(
    series: Iterable[tuple[int, Agent]], asked: TrainingStudy, randomly: Callable[[Agent], Agent]
) -> Iterator[Row]:
    """The scores of 1x1 probes at every layer of agents after more and more steps, and their rise over ticks.

    Beside each the score of a network with random weights, which `randomly` gives, that watched the same episodes.
    """
    for steps, agent in series:
        of, manner = state_of(agent), asked.manner
        last_ticks = Keep((of,), ticks=(-1,), dtype="float16")
        seen = [played(agent, own, manner, keep=last_ticks) for own in (asked.levels, asked.test_levels)]
        watched = [retrace(randomly(agent), own, last_ticks) for own in seen]
        results, beside = (fitted(agent, episodes, asked) for episodes in (seen, watched))
        every_tick = Keep((of,), steps=asked.think, dtype="float16")
        thinking = played(agent, asked.test_levels, manner, think=asked.think, keep=every_tick)
        for result, random in zip(results, beside, strict=True):
            row = training_row(agent, steps, result, seen[1], thinking, asked.think)
            yield row | {"random": round(random.score.macro_f1, 4), "random_ci95": rounded(random.score.ci95)}
        probes = of_layers([result.probe for result in results], asked.layers)
        for row in route_rows(agent, probes, asked.ways, [asked.strength], 1, manner):
            yield {"steps": steps} | row


def fitted(agent: Agent, episodes: Sequence[Sequence[Episode]], asked: TrainingStudy) -> list[Result]:
    """1x1 probes fitted to the first episodes and scored on the others."""
    with asked.manner.bar("probes", probe_count(agent, (1,))) as show:
        name, of = agent.env.name, state_of(agent)
        return study(name, of, *episodes, kernels=(1,), settings=asked.settings, on_progress=show)


def training_row(
    agent: Agent, steps: int, result: Result, tested: Sequence[Episode], thinking: Sequence[Episode], think: int
) -> Row:
    """One layer and concept after so many steps."""
    counts, went = confusions_by_tick(agent.env.name, result.probe, thinking, think), how_it_went(agent, tested)
    difference, ci95 = rise(counts[0], counts[-1])
    if "solved" in went:
        went = {"solved_percent": round(100 * went["solved"] / len(tested), 1)}
    over_ticks = {"ticks": len(counts), "rise": round(difference, 4), "rise_ci95": rounded(ci95)}
    return {"steps": steps, **result.as_json(), **went, **over_ticks}


def rounded(interval: tuple[float, float], digits: int = 4) -> list[float]:
    """An interval for printing."""
    return [round(end, digits) for end in interval]
