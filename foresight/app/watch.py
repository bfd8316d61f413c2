"""`foresight watch`: see a trained agent play a level, in the terminal and as an animation."""

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import tyro
from tyro.conf import FlagCreatePairsOff, Positional, arg

from foresight.app.checks import check_count
from foresight.errors import ForesightError

if TYPE_CHECKING:
    import jax

    from foresight.envs.env import Env
    from foresight.evaluation.solve import Record
    from foresight.runs.agents import Agent

EXAMPLE = """Let a trained agent play one level, and watch it.

MODEL is a run folder, a checkpoint folder, a .safetensors file, or the name of a shipped agent.

example: foresight watch drc33-100m --levels builtin/test --index 7 --gif solved.gif"""
TRIED = 32  # levels, of which the first one solved is shown
CELL = 24  # pixels of the animation's side of a cell
FRAME_SECONDS = 0.07  # of an Atari step, which is four frames of a sixtieth


@dataclass(frozen=True)
class Watch:
    """Who plays what."""

    model: Annotated[str, Positional, arg(metavar="MODEL")]
    """whose weights"""
    levels: str | None = None
    """the set of levels to choose from (sokoban); without it those trained on, or builtin/test for a shipped agent
    where those are not here"""
    index: int | None = None
    """which level; where none is named, the first one that the agent solves among the first 32, or the first if none"""
    think: int = 0
    """how often the agent may look before its first move"""
    max_steps: int | None = None
    """steps after which the agent has failed; 120, or training's longest where that is longer (of Atari 120 always)"""
    gif: Path | None = None
    """write an animation to this file"""
    quiet: FlagCreatePairsOff[bool] = False
    """do not play in the terminal"""

    def __post_init__(self) -> None:
        check_count("max-steps", self.max_steps)
        check_count("think", self.think, least=0)


def main(arguments: list[str]) -> None:
    """Play, show, and write the animation."""
    options = tyro.cli(Watch, args=arguments, prog="foresight watch", description=EXAMPLE)
    import jax

    from foresight.evaluation.replay import replay
    from foresight.runs.agents import load_agents

    agent = load_agents(options.model, options.levels)[0]
    if agent.config.is_on_host:
        watch_episode(agent, options)
        return
    key = jax.random.key(0)
    level, record = choose_level(agent, options, key)
    seen = replay(agent.env, level, record.actions[0], key)
    if sys.stdout.isatty() and not options.quiet:
        show_in_terminal(agent.env, seen)
    print(f"level {level}: {format_outcome(record, agent.config.is_scored)}")
    if options.gif:
        write_animation(agent.env, seen, options.gif)
        print(f"animation in {options.gif}")


def format_outcome(record: "Record", is_scored: bool) -> str:
    """How the one level of a record went; in some domains nothing is ever solved."""
    steps, score = record.steps[0], record.score[0]
    if is_scored:
        return f"score {score:.2f} in {steps} steps"
    return f"{'solved' if record.solved[0] else 'not solved'} in {steps} steps, score {score:.2f}"


def watch_episode(agent: "Agent", options: Watch) -> None:
    """Play an episode of a game on the host, up to the step limit; its pictures can be had as an animation alone."""
    from foresight.evaluation.solve import PlaySettings
    from foresight.runs.evaluate import PAPER_MAX_STEPS, evaluate_episodes

    seen, number = [], options.index or 0
    check_count("index", number, least=0)
    settings = PlaySettings(options.max_steps or PAPER_MAX_STEPS, options.think)
    record = evaluate_episodes(agent, settings, 1, number, 1, lambda finished: None, seen.append).record
    print(f"{agent.env.name}, episode {number}: score {record.score[0]:g} in {record.steps[0]} steps")
    if options.gif:
        from foresight.render.gif import write_gif

        write_gif(options.gif, np.concatenate(seen), FRAME_SECONDS)
        print(f"animation in {options.gif}")


def choose_level(agent: "Agent", options: Watch, key: "jax.Array") -> tuple[int, "Record"]:
    """The level asked for, or the first one solved of a few; and how it was played with this key."""
    import jax

    from foresight.evaluation.solve import PlaySettings, solve
    from foresight.runs.evaluate import check_moves, default_max_steps

    settings, count = PlaySettings(options.max_steps or default_max_steps(agent), options.think), agent.env.level_count
    if options.index is not None and count is not None and not 0 <= options.index < count:
        raise ForesightError(f"--index {options.index}: there are {count} levels, numbered from 0")
    check_count("index", options.index, least=0)
    candidates = np.arange(min(count or TRIED, TRIED)) if options.index is None else np.array([options.index])
    check_moves(len(candidates), settings.max_steps)
    record = solve(agent.env, agent.net, candidates, settings, key, len(candidates))
    chosen = int(np.argmax(record.solved))
    return int(candidates[chosen]), jax.tree.map(lambda x: x[chosen : chosen + 1], record)


def show_in_terminal(env: "Env", seen: np.ndarray, seconds: float = 0.15) -> None:
    """Every board in its turn, drawn over the one before; what is no board cannot be shown."""
    if seen.ndim != 3:
        return
    from foresight.app.terminal import abilities_of, format_board

    able, size = abilities_of(os.environ, sys.stdout.encoding), os.get_terminal_size()
    for number, cells in enumerate(seen):
        board = format_board(env.palette, cells, able, (size.columns, size.lines - 2))
        up = f"\x1b[{len(board)}A" if number else ""
        print(up + "\n".join(board), flush=True)
        time.sleep(seconds)


def write_animation(env: "Env", seen: np.ndarray, path: Path) -> None:
    """The boards as a GIF."""
    from foresight.envs.pictures import draw_all
    from foresight.render.gif import write_gif

    write_gif(path, draw_all(env, seen, CELL))
