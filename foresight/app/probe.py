"""`foresight probe`: how well an agent's plan can be read off its state."""

import json
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import FlagCreatePairsOff, Positional, arg

from foresight.app.checks import check_count
from foresight.app.parse import parse_options
from foresight.app.progress import counting_bar
from foresight.errors import ForesightError, printable

if TYPE_CHECKING:
    from foresight.insight.study import Result
    from foresight.runs.agents import Agent

SIDES = range(1, 128, 2)  # of kernels: no board is larger

EXAMPLE = """Fit linear probes to an agent's state and score them on levels they were not fitted to.

C_A is the direction in which the agent will next step onto a square, C_B the one in which a box will next be pushed
off it. The baseline is the same probe on the observation alone.

MODEL is a run folder, a checkpoint folder, a .safetensors file, or the name of a shipped agent.

example: foresight probe drc33-100m --levels builtin/train --test-levels builtin/test --train 300 --test 100"""


@dataclass(frozen=True)
class ProbeOptions:
    """Whose state is read, on which levels."""

    model: Annotated[str, Positional, arg(metavar="MODEL")]
    """whose weights"""
    levels: str | None = None
    """the set of levels to play (sokoban); without it the agent's usual ones"""
    test_levels: str | None = None
    """the set to score on; without it the levels of the same set that follow those fitted to"""
    train: int = 300
    """episodes to fit to"""
    test: int = 100
    """episodes to score on"""
    kernels: str = "1,3"
    """sides of the probes' kernels, odd numbers with commas between"""
    epochs: int = 10
    """passes over the boards"""
    seed: int = 0
    """of the order in which boards are seen"""
    think: int = 0
    """how often the agent looks before its first move"""
    max_steps: int = 120
    """steps after which an episode is cut"""
    batch: int = 64
    """levels played side by side"""
    random: FlagCreatePairsOff[bool] = False
    """read the state of a network with random weights that watches the agent play, to compare with"""
    together: FlagCreatePairsOff[bool] = False
    """read all layers at once, with one probe for all their channels"""
    json: FlagCreatePairsOff[bool] = False
    """print one JSON document: a list with a row for each concept, kernel and layer"""
    out: Path | None = None
    """write the probes to this file (.safetensors), for `foresight watch --plan`"""
    figure: Path | None = None
    """draw the scores by layer into this file (.png, .svg or .pdf)"""

    def __post_init__(self) -> None:
        if self.together and self.out is not None:
            raise ForesightError("--out: probes of all layers at once have no layer that a plan could be read from")
        for name in ("train", "test", "epochs", "max_steps", "batch"):
            check_count(name, getattr(self, name))
        for name in ("think", "seed"):
            check_count(name, getattr(self, name), least=0)
        words = self.kernels.split(",")
        if not all(re.fullmatch(r" *[0-9]{1,3} *", word) and int(word) in SIDES for word in words):
            raise ForesightError(
                f"--kernels {printable(self.kernels, 40)}: expected odd numbers up to {SIDES[-1]}, such as 1 or 1,3"
            )

    @property
    def sides(self) -> list[int]:
        """The kernels to try."""
        return [int(word) for word in self.kernels.split(",")]


def main(arguments: list[str]) -> None:
    """Play, fit, score and report."""
    options = parse_options(ProbeOptions, arguments, "foresight probe", EXAMPLE)
    from foresight.insight.labels import check_domain
    from foresight.insight.report import how_it_went
    from foresight.insight.samples import as_one_layer
    from foresight.runs.agents import load_agents

    agent = load_agents(options.model, options.levels)[0]
    other = load_agents(options.model, options.test_levels)[0] if options.test_levels else None
    if agent.config.is_on_host:
        raise ForesightError(f"{options.model} plays {agent.config.domain}, whose levels cannot be told apart")
    check_domain(agent.env.name)
    began = time.monotonic()
    training = played(agent, 0, options.train, options, "to fit to")
    testing = played(other or agent, 0 if other else options.train, options.test, options, "to score on")
    if options.random:
        training, testing = (seen_by_random(agent, episodes, options) for episodes in (training, testing))
    if options.together:
        training, testing = (as_one_layer(episodes) for episodes in (training, testing))
    began_fitting = time.monotonic()
    results = fitted(agent, training, testing, options)
    spent = {"play_seconds": began_fitting - began, "fit_seconds": time.monotonic() - began_fitting}
    about = describe(agent, other, options) | {name: round(seconds, 1) for name, seconds in spent.items()}
    about |= {f"test_{name}": value for name, value in how_it_went(agent, testing).items()}
    if options.together:
        about["layers"] = "all at once"
    report(results, about, options)
    if options.figure:
        from foresight.analysis.figures import plot_panels
        from foresight.analysis.inside import panels_of

        plot_panels(panels_of("layers", [result.as_json() for result in results]), options.figure)
    if options.out:
        from foresight.runs.probe_files import write_probes

        write_probes(options.out, [result.probe for result in results], about)


def fitted(agent: "Agent", training: list[Any], testing: list[Any], options: ProbeOptions) -> list["Result"]:
    """Probes for every concept, kernel and layer with their scores."""
    from foresight.insight.probes import FitSettings
    from foresight.insight.study import probe_count, state_of, study

    of, settings = state_of(agent), FitSettings(epochs=options.epochs, seed=options.seed)
    with counting_bar("probes", probe_count(agent, options.sides)) as show:
        return study(agent.env.name, of, training, testing, kernels=options.sides, settings=settings, on_progress=show)


def seen_by_random(agent: "Agent", episodes: list[Any], options: ProbeOptions) -> list[Any]:
    """The same episodes with the state of a network that has random weights, and only watched them."""
    from foresight.insight.records import Keep
    from foresight.insight.retracing import retrace
    from foresight.insight.study import state_of
    from foresight.runs.agents import randomly_weighted

    keep = Keep((state_of(agent),), ticks=(-1,), dtype="float16")
    with counting_bar("episodes watched", len(episodes)) as show:
        return retrace(randomly_weighted(agent, options.seed), episodes, keep, options.batch, show)


def played(agent: "Agent", first: int, count: int, options: ProbeOptions, what: str) -> list[Any]:
    """Episodes of `count` levels from number `first` on, with the state kept."""
    import numpy as np

    from foresight.insight.study import observed

    there = agent.env.level_count
    if there is not None and first + count > there:
        raise ForesightError(f"{first + count} levels are asked for (--train, --test), and there are {there}")
    with counting_bar(f"episodes {what}", count) as show:
        numbers = np.arange(first, first + count)
        return observed(
            agent, numbers, think=options.think, max_steps=options.max_steps, batch=options.batch, on_progress=show
        )


def describe(agent: "Agent", other: "Agent | None", options: ProbeOptions) -> dict[str, Any]:
    """Who was probed on what, in plain values."""
    return {
        "model": options.model,
        "weights": "random" if options.random else "trained",
        "domain": agent.env.name,
        "set": agent.levels,
        "test_set": (other or agent).levels,
        "train_episodes": options.train,
        "test_episodes": options.test,
        "think": options.think,
        "epochs": options.epochs,
        "seed": options.seed,
    }


def report(results: list["Result"], about: dict[str, Any], options: ProbeOptions) -> None:
    """Print the scores as a table or as JSON."""
    rows = [about | result.as_json() for result in results]
    if options.json:
        print(json.dumps(rows, indent=1), flush=True)
        return
    print(f"{'concept':<8} {'layer':>5} {'kernel':>6} {'macro F1':>9}  {'95 % interval':<13} {'baseline':>8}")
    for row in rows:
        low, high = row["ci95"]
        kernel, interval = f"{row['kernel']}x{row['kernel']}", f"{low:.3f} - {high:.3f}"
        who = f"{row['concept']:<8} {row['layer']:>5} {kernel:>6}"
        print(f"{who} {row['macro_f1']:>9.3f}  {interval:<13} {row['baseline']:>8.3f}")
