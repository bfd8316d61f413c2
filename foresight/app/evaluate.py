"""`foresight evaluate`: how well an agent plays levels or episodes, with and without time to think."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import FlagCreatePairsOff, Positional, arg

from foresight.app.activity import working
from foresight.app.checks import check_count
from foresight.app.parse import parse_options
from foresight.app.progress import counting_bar
from foresight.errors import ForesightError

if TYPE_CHECKING:
    from foresight.evaluation.solve import PlaySettings
    from foresight.runs.agents import Agent
    from foresight.runs.evaluate import Evaluation

EXAMPLES = """Play every level of a set once and count those solved; of Atari and MiniPacman, play episodes and
report the mean score.

MODEL is a run folder, RUN@STEPS for its first checkpoint at or after so many steps, a checkpoint folder, a
.safetensors file, or the name of a shipped agent. What is found of a run is also added to RUN/evaluations.jsonl, where
`plot` and `compare` find it.

examples:
  foresight evaluate runs/drc --levels unfiltered-valid --think 0,1,2,4,8,10
  foresight evaluate runs/quick --levels builtin/tiny-test --out played.npz --json
  foresight evaluate runs/gridworld --limit 10000
  foresight evaluate runs/breakout --limit 32 --sample"""

Flag = FlagCreatePairsOff[bool]


@dataclass(frozen=True)
class Evaluate:
    """What to play, and how."""

    model: Annotated[str, Positional, arg(metavar="MODEL")]
    """the agent"""
    levels: str | None = None
    """the set of levels to play (sokoban); without it those trained on, or builtin/test for a shipped agent
    where those are not here"""
    think: str = "0"
    """thinking steps before the first action; several settings with commas between, such as 0,1,2,4,8,10"""
    greedy: Flag = False
    """always take the likeliest action, as without --sample"""
    sample: Flag = False
    """draw actions from the policy"""
    seed: int = 0
    """what the draws depend on"""
    max_steps: int | None = None
    """steps after which a level counts as not solved; 120, or training's longest where that is longer"""
    limit: int | None = None
    """play only the first levels, so many; or so many episodes"""
    best: Flag = False
    """take a run folder's best checkpoint, not its last"""
    batch: int | None = None
    """levels or games played side by side; without it, what suits the device"""
    json: Flag = False
    """print one JSON document: a list, with one entry for each seed and thinking setting"""
    out: Path | None = None
    """write what happened on every level or in every episode to this file, .npz or .jsonl; replaces an earlier one"""

    def __post_init__(self) -> None:
        if self.greedy and self.sample:
            raise ForesightError("--greedy and --sample exclude each other: give one of them")
        for name in ("max_steps", "limit", "batch"):
            check_count(name.replace("_", "-"), getattr(self, name))
        check_count("seed", self.seed, least=0)

    @property
    def thinking(self) -> list[int]:
        """The thinking settings to try."""
        words = self.think.split(",")
        if not all(word.strip().isdecimal() and len(word) < 100 for word in words):
            raise ForesightError(f"--think {self.think}: expected numbers such as 4 or 0,1,2,4,8,10")
        for word in words:
            check_count("think", int(word), least=0)
        return [int(word) for word in words]


def main(arguments: list[str]) -> None:
    """Evaluate and report."""
    options = parse_options(Evaluate, arguments, "foresight evaluate", EXAMPLES)
    with working("loading"):
        from foresight.runs.agents import load_agents
        from foresight.runs.evaluate import about, check_moves, entry, level_count
        from foresight.runs.level_records import Pass, check_out, write_level_records

        if options.out:
            check_out(options.out)
        thinking = options.thinking
        agents = load_agents(options.model, options.levels, options.best)
    levels, rows, passes = level_count(agents[0], options.limit), [], []
    check_moves(levels, play_settings(agents[0], 0, options).max_steps)
    if not options.json:
        print(SCORE_HEADING if agents[0].config.is_scored else SOLVED_HEADING)
    for agent, settings, evaluation in evaluations(agents, thinking, levels, options):
        rows.append(entry(agent, settings, options.seed, evaluation))
        if options.out:
            passes.append(Pass(agent.seed, settings.think, evaluation.record))
        if not options.json:
            print(format_row(rows[-1]), flush=True)
    if options.json:
        print(json.dumps(rows, indent=1), flush=True)
    write_into_run(agents[0], rows)  # last: should it fail, the results are there
    if options.out:
        write_level_records(options.out, passes, about(agents[0], play_settings(agents[0], 0, options), options.seed))


def write_into_run(agent: "Agent", rows: list[dict[str, Any]]) -> None:
    """Add the results to the evaluations of the run that the agent is of, if it is of one."""
    from foresight.runs.evaluations import append_evaluations

    folder = agent.source.parent.parent  # of a checkpoint's folder
    if agent.source.parent.name == "checkpoints" and os.access(folder, os.W_OK) and (folder / "config.json").exists():
        append_evaluations(folder, rows)


def evaluations(
    agents: list["Agent"], thinking: list[int], levels: int, options: Evaluate
) -> Iterator[tuple["Agent", "PlaySettings", "Evaluation"]]:
    """Every agent at every thinking setting, with a bar that moves along."""
    from foresight.runs.evaluate import evaluate

    for agent in agents:
        for think in thinking:
            settings = play_settings(agent, think, options)
            what = "episodes" if agent.config.is_scored else "levels"
            with counting_bar(f"{what}, {think} thinking steps", levels) as show:
                evaluation = evaluate(agent, settings, levels, options.seed, options.batch, show)
            yield agent, settings, evaluation


def play_settings(agent: "Agent", think: int, options: Evaluate) -> "PlaySettings":
    """How the agent plays, by the options."""
    from foresight.evaluation.solve import PlaySettings
    from foresight.runs.evaluate import default_max_steps

    return PlaySettings(options.max_steps or default_max_steps(agent), think, not options.sample)


SOLVED_HEADING = (
    f"{'seed':>4} {'think':>5} {'solved':>8} {'of':>8} {'%':>6}  {'95 % interval':<13} {'steps':>6} {'s':>7}"
)
SCORE_HEADING = f"{'seed':>4} {'think':>5} {'episodes':>8} {'score':>9}  {'95 % interval':<21} {'steps':>8} {'s':>7}"


def format_row(entry: dict[str, Any]) -> str:
    """One line of the report."""
    who = f"{entry['seed']:>4} {entry['think']:>5}"
    if "episodes" in entry:
        return f"{who} {format_scores(entry)} {entry['steps_mean']:>8.1f} {entry['seconds']:>7.1f}"
    low, high = entry["ci95"]
    played = f"{who} {entry['solved']:>8,} {entry['levels']:>8,}"
    share = f"{entry['solved_percent']:>6.2f}  {low:>5.2f} - {high:<5.2f}"
    return f"{played} {share} {entry['steps_mean']:>6.1f} {entry['seconds']:>7.1f}"


def format_scores(entry: dict[str, Any]) -> str:
    """Episodes, their mean score and its interval, where there is one."""
    low, high = entry["ci95"] or (None, None)
    interval = "of one: none" if low is None else f"{low:,.2f} - {high:,.2f}"
    return f"{entry['episodes']:>8,} {entry['score_mean']:>9,.2f}  {interval:<21}"
