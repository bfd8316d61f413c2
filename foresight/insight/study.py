"""The study of one agent: play, fit probes at every layer, score them on other levels, with the baseline beside."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from foresight.insight.inside import shape_of
from foresight.insight.labels import Concept, class_count, concepts_of
from foresight.insight.playing import play
from foresight.insight.probes import FitSettings, Probe, Score, fit_many, score
from foresight.insight.records import Agent, Episode, Keep
from foresight.insight.samples import MARGINS, Samples, has_squares, planes, samples_of

KERNELS = (1, 3)


class Result(NamedTuple):
    """A probe, how well it reads the state, and how well the same probe reads the observation alone."""

    probe: Probe
    score: Score
    baseline: Score

    def as_json(self) -> dict[str, Any]:
        """Plain values, as `foresight probe --json` prints them."""
        return {
            "concept": self.probe.concept,
            "layer": self.probe.layer + 1,
            "kernel": self.probe.kernel,
            "of": self.probe.of,
            "macro_f1": round(self.score.macro_f1, 4),
            "ci95": [round(x, 4) for x in self.score.ci95],
            "baseline": round(self.baseline.macro_f1, 4),
            "baseline_ci95": [round(x, 4) for x in self.baseline.ci95],
            "f1": [round(x, 4) for x in self.score.f1],
        }


def observed(
    agent: Agent,
    levels: Sequence[int] | np.ndarray,
    *,
    think: int = 0,
    keep: Keep | None = None,
    max_steps: int = 120,
    batch: int = 64,
    on_progress: Callable[[int], None] = lambda finished: None,
) -> list[Episode]:
    """Episodes with the state after the last tick of every layer kept (c, or h where there is no c), in half size."""
    keep = keep or Keep((state_of(agent),), ticks=(-1,), dtype="float16")
    return play(agent, levels, think=think, keep=keep, max_steps=max_steps, batch=batch, on_progress=on_progress)


def state_of(agent: Agent) -> str:
    """The activation that probes read: the cell state where there is one."""
    return "c" if shape_of(agent.net).cells else "h"


def probe_count(agent: Agent, kernels: Sequence[int]) -> int:
    """How many probes a study of this agent fits: an LSTM's state, which has no squares, is read with 1x1 alone."""
    shape = shape_of(agent.net)
    return shape.depth * len(concepts_of(agent.env.name)) * (len(kernels) if len(shape.state) == 3 else 1)


def study(
    domain: str,
    of: str,
    training: Sequence[Episode],
    testing: Sequence[Episode],
    *,
    concepts: Sequence[Concept] | None = None,
    kernels: Sequence[int] = KERNELS,
    settings: FitSettings = FitSettings(),
    on_progress: Callable[[int], None] = lambda finished: None,
) -> list[Result]:
    """Probes for every concept, kernel and layer, fitted to some episodes and scored on others."""
    concepts = concepts_of(domain) if concepts is None else concepts
    seen, unseen = (samples_of(domain, episodes, concepts, of) for episodes in (training, testing))
    kernels = kernels if has_squares(seen) else (1,)
    results, count = [], len(concepts)
    for kernel in kernels:
        alone = fit_and_score(domain, "observation", seen, unseen, concepts, kernel, settings)
        of_state = fit_and_score(domain, of, seen, unseen, concepts, kernel, settings)
        layers = len(of_state) // count
        results += [Result(*fitted, alone[place // layers][1]) for place, fitted in enumerate(of_state)]
        on_progress(len(results))
    return sorted(results, key=lambda result: [concept.name for concept in concepts].index(result.probe.concept))


def fit_and_score(
    domain: str,
    of: str,
    seen: Samples,
    unseen: Samples,
    concepts: Sequence[Concept],
    kernel: int,
    settings: FitSettings,
) -> list[tuple[Probe, Score]]:
    """Probes of every layer's state or of the observation, for each concept one after the other."""
    codes = max(seen.codes, unseen.codes)
    inputs = [read_from(samples, of, codes) for samples in (seen, unseen)]
    labels = np.stack([seen.labels[concept.name] for concept in concepts])
    common = {"kernel": kernel, "classes": class_count(domain), "margin": MARGINS.get(domain, 0)}
    results = []
    for concept, probes in zip(concepts, fit_many(inputs[0], labels, settings=settings, **common), strict=True):
        for layer, fitted in enumerate(probes):
            probe = replace(fitted, concept=concept.name, of=of, layer=layer)
            results.append((probe, score(probe, inputs[1][:, layer], unseen.labels[concept.name], unseen.episode)))
    return results


def read_from(samples: Samples, of: str, codes: int) -> np.ndarray:
    """What probes read [S, D, h, w, C]: the state, or the observation (D = 1), all of it at once beside an LSTM's."""
    if of != "observation":
        return samples.inputs
    seen = planes(samples.observations, codes)
    return (seen if has_squares(samples) else seen.reshape(len(seen), 1, 1, -1))[:, None]
