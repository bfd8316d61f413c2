"""`foresight insight`: how an agent's plan grows, what changing it does, how it paces, what its channels follow."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import FlagCreatePairsOff, Positional, arg

from foresight.app.checks import check_count
from foresight.app.parse import parse_options
from foresight.app.progress import counting_bar
from foresight.errors import ForesightError
from foresight.storage.files import read_at_most

if TYPE_CHECKING:
    from foresight.insight.report import Manner
    from foresight.insight.routes import RouteLevel
    from foresight.runs.agents import Agent

MOST_BYTES = 64 << 20  # of rows to draw

EXAMPLE = """Measure the inside of an agent, one part at a time; a line of JSON for each row.

ticks: how well the plan can be read at each tick while the agent thinks
ahead: how many squares are read rightly where something will happen soon, later or never
routes: whether agent and box take a long way that is written into the state (sokoban, 10x10)
pacing: early cycles with and without thinking
channels: what single channels follow, and what is solved without them
training: how well the plan can be read after more and more training steps; MODEL is a run folder that keeps its
checkpoints (`foresight train --checkpoint-at`), or a folder of agents' files

examples:
  foresight insight drc33-100m ticks --levels builtin/test --limit 100
  foresight insight runs/mine training --levels builtin/train --limit 400 --figure training.png
  foresight insight drc33-100m routes --rows routes.jsonl --figure routes.png"""


DRAWN = ("ticks", "routes", "training")  # the parts that there is a figure of


@dataclass(frozen=True)
class InsightOptions:
    """Whose inside, and which part of the study."""

    model: Annotated[str, Positional, arg(metavar="MODEL")]
    """the agent"""
    part: Annotated[Literal["ticks", "ahead", "routes", "pacing", "channels", "training"], Positional]
    """what to measure"""
    levels: str | None = None
    """the set of levels to play (sokoban); without it the agent's usual ones"""
    limit: int = 100
    """levels to play; for routes, of each kind before they are turned; for training, a quarter is scored on"""
    skip: int = 0
    """levels to leave out before these, such as those on which a strength was chosen"""
    think: int = 6
    """ticks, pacing, training: thinking steps"""
    strengths: tuple[float, ...] = (1.0, 2.0, 4.0)
    """routes: what the probes' vectors are multiplied by"""
    mover: Literal["agent", "box", "both"] = "both"
    """routes: whose ways"""
    layers: tuple[int, ...] = ()
    """routes: layers to change, counted from 1; all by default"""
    together: FlagCreatePairsOff[bool] = False
    """routes: change these layers at once, not one after the other"""
    ways: int = 0
    """training: levels of each kind to try at every checkpoint, as routes does, at the first strength"""
    turns: int = 8
    """routes: symmetries of each level"""
    draws: int = 1
    """routes: random vectors for each level, to compare with"""
    max_steps: int = 120
    """steps after which an episode is cut"""
    batch: int = 64
    """levels played side by side"""
    probes: Path | None = None
    """the file of probes that `foresight probe --out` wrote; a shipped agent has its own"""
    figure: Path | None = None
    """ticks, routes, training: draw the rows into this file (.png, .svg or .pdf)"""
    rows: Path | None = None
    """draw the rows in this file, which were printed before, and measure nothing"""

    def __post_init__(self) -> None:
        if self.figure is not None and self.part not in DRAWN:
            raise ForesightError(f"--figure: there is none of {self.part}; there are of: {', '.join(DRAWN)}")
        if self.rows is not None and self.figure is None:
            raise ForesightError("--rows are to be drawn: name a picture too (--figure)")
        for name in ("draws", "skip", "ways"):
            check_count(name, getattr(self, name), least=0)
        for name in ("limit", "think", "turns", "max_steps", "batch"):
            check_count(name, getattr(self, name))


def main(arguments: list[str]) -> None:
    """Measure, print and draw."""
    options = parse_options(InsightOptions, arguments, "foresight insight", EXAMPLE)
    rows = []
    for row in read_rows(options.rows) if options.rows else measured(options):
        rows.append(row)
        if not options.rows:
            print(json.dumps(row), flush=True)
    if options.figure:
        from foresight.analysis.figures import plot_panels
        from foresight.analysis.inside import panels_of

        plot_panels(panels_of(options.part, rows), options.figure)


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Rows that were printed before, one a line."""
    from foresight.runs.metrics import parse_records

    rows = list(parse_records(read_at_most(path, MOST_BYTES) + b"\n", f"--rows {path}", blank=True))
    if not all(isinstance(row, dict) for row in rows):
        raise ForesightError(f"--rows {path}: expected a JSON object on every line, as this command prints")
    return rows


def measured(options: InsightOptions) -> Iterator[dict[str, Any]]:
    """The rows of the chosen part, as they are measured."""
    from foresight.runs.agents import load_agents, load_series

    if options.part == "training":
        return training(load_series(options.model, options.levels), options)
    return rows_of(load_agents(options.model, options.levels)[0], options)


def training(series: "Iterator[Agent]", options: InsightOptions) -> Iterator[dict[str, Any]]:
    """The rows of training: three quarters of the levels are fitted to, the rest is scored on."""
    import numpy as np

    from foresight.insight import report
    from foresight.runs.agents import randomly_weighted

    cut = max(1, options.limit * 3 // 4)
    asked = report.TrainingStudy(
        levels=options.skip + np.arange(cut),
        test_levels=options.skip + np.arange(cut, max(options.limit, cut + 1)),
        think=options.think,
        manner=manner_of(options),
        ways=ways_of(options, options.ways) if options.ways else {},
        strength=options.strengths[0],
        layers=options.layers,
    )
    return report.training_rows(((agent.steps, agent) for agent in series), asked, randomly_weighted)


def manner_of(options: InsightOptions) -> "Manner":
    """How levels are played, with a bar on stderr."""
    from foresight.insight.report import Manner

    return Manner(options.batch, options.max_steps, counting_bar)


def ways_of(options: InsightOptions, count: int) -> "dict[str, list[RouteLevel]]":
    """Levels of the chosen movers."""
    from foresight.insight.report import route_levels

    ways = route_levels(count, min(options.turns, 8), options.skip)
    return {mover: levels for mover, levels in ways.items() if options.mover in (mover, "both")}


def rows_of(agent: "Agent", options: InsightOptions) -> Iterator[dict[str, Any]]:
    """The rows of one agent."""
    import numpy as np

    from foresight.insight import report
    from foresight.runs.probe_files import probes_for

    count = agent.env.level_count
    levels = np.arange(options.skip, options.skip + options.limit)
    levels = levels if count is None else levels[levels < count]
    manner = manner_of(options)
    if options.part == "pacing":
        return report.pacing_rows(agent, levels, options.think, manner)
    if options.part == "channels":
        return report.channel_rows(agent, levels, manner)
    probes = probes_for(agent.source, options.probes)
    if options.part == "ticks":
        return report.tick_rows(agent, probes, levels, options.think, manner)
    if options.part == "ahead":
        return report.ahead_rows(agent, probes, levels, manner)
    ways = ways_of(options, options.limit)
    chosen = report.of_layers(probes, options.layers)
    return report.route_rows(agent, chosen, ways, options.strengths, options.draws, manner, options.together)
