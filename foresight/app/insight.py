"""`foresight insight`: how an agent's plan grows, what changing it does, how it paces, what its channels follow."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro
from tyro.conf import Positional, arg

from foresight.app.checks import check_count

if TYPE_CHECKING:
    from foresight.runs.agents import Agent

EXAMPLE = """Measure the inside of an agent, one part at a time; a line of JSON for each row.

ticks: how well the plan can be read at each tick while the agent thinks
routes: whether agent and box take a long way that is written into the state (sokoban, 10x10)
pacing: early cycles with and without thinking
channels: what single channels follow, and what is solved without them

example: foresight insight drc33-100m ticks --levels builtin/test --limit 100"""


@dataclass(frozen=True)
class InsightOptions:
    """Whose inside, and which part of the study."""

    model: Annotated[str, Positional, arg(metavar="MODEL")]
    """whose weights"""
    part: Annotated[Literal["ticks", "routes", "pacing", "channels"], Positional]
    """what to measure"""
    levels: str | None = None
    """the set of levels to play (sokoban); without it the agent's usual ones"""
    limit: int = 100
    """levels to play; for routes, of the 25 of each kind"""
    think: int = 6
    """thinking steps, of ticks and pacing"""
    strengths: tuple[float, ...] = (1.0, 2.0, 4.0)
    """by what the probes' vectors are multiplied, of routes"""
    turns: int = 8
    """symmetries of each level, of routes"""
    max_steps: int = 120
    """steps after which an episode is cut"""
    batch: int = 64
    """levels played side by side"""
    probes: Path | None = None
    """the file of probes that `foresight probe --out` wrote; a shipped agent has its own"""

    def __post_init__(self) -> None:
        for name in ("limit", "think", "turns", "cap", "batch"):
            check_count(name, getattr(self, name))


def main(arguments: list[str]) -> None:
    """Measure and print."""
    options = tyro.cli(InsightOptions, args=arguments, prog="foresight insight", description=EXAMPLE)
    from foresight.runs.agents import load_agents

    for row in rows_of(load_agents(options.model, options.levels)[0], options):
        print(json.dumps(row), flush=True)


def rows_of(agent: "Agent", options: InsightOptions) -> Iterator[dict[str, Any]]:
    """The rows of the chosen part, as they are measured."""
    import numpy as np

    from foresight.insight import report
    from foresight.runs.probe_files import probes_for

    levels = np.arange(min(options.limit, agent.env.level_count or options.limit))
    if options.part == "pacing":
        return report.pacing_rows(agent, levels, options.think, options.batch, options.max_steps)
    if options.part == "channels":
        return report.channel_rows(agent, levels, options.batch, options.max_steps)
    probes = probes_for(agent.source, options.probes)
    if options.part == "ticks":
        return report.tick_rows(agent, probes, levels, options.think, options.batch, options.max_steps)
    ways = report.route_levels(min(options.limit, 25), min(options.turns, 8))
    return report.route_rows(agent, probes, ways, options.strengths, options.batch)
