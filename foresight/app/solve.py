"""`foresight solve`: search for solutions of Sokoban levels."""

import json
import time
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from tyro.conf import FlagCreatePairsOff, Positional, arg

from foresight.app.checks import check_count
from foresight.app.parse import parse_options
from foresight.app.progress import counting_bar
from foresight.errors import ForesightError
from foresight.levels import open_set
from foresight.levels.text import count_of
from foresight.runs.solutions import SolutionFile, about, solve_chosen
from foresight.search.solve import MOST_WEIGHT, SolveSettings
from foresight.storage.files import check_writable

if TYPE_CHECKING:
    from foresight.levels import LevelSet
    from foresight.runs.agents import Agent

EXAMPLES = """Search for solutions of the levels of a set, and print them as l u r d (a step) and L U R D (a push).

LEVELS is a text file, a packed set or a name such as builtin/test. Methods: `bfs` looks at all states breadth first,
so its solutions have the fewest pushes (or moves), and a level it exhausts has none; it needs no agent. `lts` is Levin
tree search with an agent's policy. `policy` plays the agent without search.

examples:
  foresight solve my-level.txt
  foresight solve builtin/test --agent drc33-100m --limit 20
  foresight solve hard --method bfs --shortest moves --out hard.jsonl
  foresight solve builtin/test --method policy --agent drc33-100m --sample --json"""

Flag = FlagCreatePairsOff[bool]
OF_METHODS = {  # which of them look at an option; others would pass it over in silence
    "agent": ("lts", "policy"),
    "shortest": ("bfs",),
    "memory": ("lts", "policy"),
    "repeats": ("lts", "policy"),
    "think": ("lts",),
    "mixing": ("lts",),
    "value_weight": ("lts",),
    "no_cuts": ("lts",),
    "dead_squares": ("bfs", "lts"),
    "sample": ("policy",),
    "max_steps": ("policy",),
    "seed": ("policy",),
    "batch": ("lts", "policy"),
    "width": ("lts",),
    "trees": ("lts",),
}
MOST_SHOWN = 20  # solutions printed for people; of more levels, a summary


@dataclass(frozen=True)
class Solve:
    """What to solve, and how."""

    levels: Annotated[str, Positional, arg(metavar="LEVELS")]
    """the set"""
    method: Literal["bfs", "lts", "policy"] | None = None
    """how to search; by default lts where an agent is given, otherwise bfs"""
    agent: str | None = None
    """whose network: a run folder, a checkpoint, a .safetensors file or the name of a shipped agent"""
    budget: int | None = None
    """expansions per level (policy: actions); by default 5,000,000 for bfs, 100,000 for lts"""
    time_limit: float | None = None
    """seconds per level, from when its search starts; levels searched side by side share the machine"""
    total_time: float | None = None
    """seconds for all levels together; those not done by then end by time"""
    level: int | None = None
    """solve only this level of the set, counted from 0"""
    limit: int | None = None
    """solve only the first levels, so many"""
    shortest: Literal["pushes", "moves"] = "pushes"
    """bfs: what solutions have the fewest of"""
    memory: Literal["carried", "reset"] = "carried"
    """the network's memory: carried along the path as in play, or reset at every board, which makes lts exact"""
    repeats: int = 3
    """with --memory reset: times the network sees a board"""
    think: int = 0
    """lts with memory carried: times the network sees the first board before the search begins"""
    mixing: float = 0.01
    """lts: share of the uniform policy"""
    value_weight: float = 0.0
    """lts: how much a value below the first board's raises a cost; 0 is Levin's order"""
    restart_after: int | None = None
    """lts: begin again, turned or mirrored, after so many expansions, and after all 8 symmetries with 8 times more"""
    no_cuts: Flag = False
    """lts: look again at states seen before"""
    dead_squares: Literal["on", "off"] | None = None
    """never push a box where it is lost; by default on for bfs, off for lts"""
    sample: Flag = False
    """policy: draw actions, attempt after attempt until the budget is used up"""
    max_steps: int = 120
    """policy: actions of one attempt"""
    seed: int = 0
    """policy: what the draws depend on"""
    batch: int | None = None
    """boards the network sees at once; without it, what suits the device"""
    width: int | None = None
    """lts, trees on the host: boards of one level among them; more than 1 asks ahead, without changing the order"""
    trees: Literal["host", "device"] | None = None
    """lts: where trees are kept; by default on the device, unless that is a CPU"""
    json: Flag = False
    """print one JSON document: a list with one entry a level"""
    out: Path | None = None
    """write the entries to this .jsonl file too, as they come; with those of the same search there, it resumes"""

    def __post_init__(self) -> None:
        for name in ("budget", "limit", "max_steps", "repeats", "batch", "width", "restart_after"):
            check_count(name, getattr(self, name))
        for name in ("level", "seed", "think"):
            check_count(name, getattr(self, name), least=0)
        if self.level is not None and self.limit is not None:
            raise ForesightError("--level and --limit exclude each other: give one of them")
        for name, value in (("--time-limit", self.time_limit), ("--total-time", self.total_time)):
            if value is not None and not value > 0:
                raise ForesightError(f"{name} must be more than 0 seconds, not {value}")
        if not 0 <= self.mixing <= 1:
            raise ForesightError(f"--mixing must be from 0 to 1, not {self.mixing}")
        if not 0 <= self.value_weight <= MOST_WEIGHT:
            raise ForesightError(f"--value-weight must be from 0 to {MOST_WEIGHT}, not {self.value_weight}")
        if self.method in ("lts", "policy") and self.agent is None:
            raise ForesightError(f"--method {self.method} needs an agent: give --agent, or take --method bfs")
        if self.out and self.out.suffix != ".jsonl":
            raise ForesightError(f"--out {self.out}: expected a name that ends in .jsonl")
        method = self.settings.method
        for name, methods in OF_METHODS.items():
            if method not in methods and getattr(self, name) != getattr(Solve, name):
                raise ForesightError(f"--{name.replace('_', '-')} is for --method {' or '.join(methods)}, not {method}")

    @property
    def settings(self) -> SolveSettings:
        """What the search itself needs to know."""
        return SolveSettings(
            method=self.method or ("bfs" if self.agent is None else "lts"),
            budget=self.budget,
            time_limit=self.time_limit,
            total_time=self.total_time,
            shortest=self.shortest,
            memory=self.memory,
            repeats=self.repeats,
            think=self.think,
            mixing=self.mixing,
            value_weight=self.value_weight,
            cuts=not self.no_cuts,
            dead_squares=None if self.dead_squares is None else self.dead_squares == "on",
            restart_after=self.restart_after,
            sample=self.sample,
            max_steps=self.max_steps,
            seed=self.seed,
            batch=self.batch,
            width=self.width,
            trees=self.trees,
        )

    def chosen(self, levels: "LevelSet") -> np.ndarray:
        """The numbers of the levels to solve."""
        if self.level is not None and self.level >= len(levels):
            raise ForesightError(f"{self.levels} has no level {self.level}, expected 0 to {len(levels) - 1}")
        return np.arange(len(levels))[: self.limit] if self.level is None else np.array([self.level])


def main(arguments: list[str]) -> None:
    """Solve and report."""
    options = parse_options(Solve, arguments, "foresight solve", EXAMPLES)
    if options.out:
        check_writable(options.out)
    levels = open_set(options.levels)
    numbers, agent = options.chosen(levels), agent_for(options, levels)
    kept = SolutionFile(options.out, about(levels, options.settings, agent), levels) if options.out else nullcontext()
    with kept as file:
        begun, first = time.perf_counter(), "searching" if agent is None else "compiling and searching"
        with counting_bar(f"levels, {options.settings.method}", len(numbers), first) as show:
            rows = solve_chosen(levels, numbers.tolist(), options.settings, agent, file, show)
        seconds = time.perf_counter() - begun
        if options.json:
            print(json.dumps(rows, indent=1), flush=True)
        else:
            print("\n".join(report(rows, options.settings.method, seconds)), flush=True)
        if file:  # last: should it fail, the results are there
            file.finish()


def agent_for(options: Solve, levels: "LevelSet") -> "Agent | None":
    """The agent, where the method asks one."""
    if options.settings.method == "bfs":
        return None
    from foresight.runs.agents import load_agent_for

    return load_agent_for(options.agent, levels)


HEADING = f"{'level':>6} {'outcome':<9} {'moves':>5} {'pushes':>6} {'expanded':>9} {'calls':>8} {'s':>8}  solution"


def report(rows: list[dict[str, Any]], method: str, seconds: float) -> list[str]:
    """What people read: every level where there are few, and a summary where there are several."""
    lines = [HEADING, *map(format_row, rows)] if len(rows) <= MOST_SHOWN else []
    return lines + summary(rows, method, seconds) if len(rows) > 1 else lines


def format_row(row: dict[str, Any]) -> str:
    """One level."""
    moves, pushes = ("" if row[name] is None else row[name] for name in ("moves", "pushes"))
    counts = f"{moves:>5} {pushes:>6} {row['expansions']:>9,} {row['network_calls']:>8,}"
    last = row["solution"] if row["solution"] is not None else row.get("note", "")
    return f"{row['level']:>6} {row['outcome']:<9} {counts} {row['seconds']:>8.3f}  {last}".rstrip()


def summary(rows: list[dict[str, Any]], method: str, seconds: float) -> list[str]:
    """How many were solved, at what effort."""
    outcomes, effort = Counter(row["outcome"] for row in rows), [row["expansions"] for row in rows]
    solved = [row for row in rows if row["outcome"] == "solved"]
    others = "".join(f", {outcomes[name]:,} {name}" for name in ("exhausted", "budget", "time") if outcomes[name])
    lines = [
        f"{method}: {outcomes['solved']:,} of {count_of(len(rows), 'level')} solved{others}, {seconds:.1f} s",
        f"  expansions     mean {np.mean(effort):,.1f}, median {np.median(effort):,g}, most {max(effort):,}",
        f"  network calls  mean {np.mean([row['network_calls'] for row in rows]):,.1f}",
    ]
    if solved:
        moves, pushes = (np.mean([row[name] for row in solved]) for name in ("moves", "pushes"))
        lines.append(f"  solutions      mean {moves:.1f} moves, {pushes:.1f} pushes")
    return lines
