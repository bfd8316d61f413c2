"""`foresight watch`: see a trained agent play a level, in the terminal and as an animation."""

import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
from tyro.conf import FlagCreatePairsOff, Positional, arg

from foresight.app.activity import shown_otherwise, working
from foresight.app.checks import check_count
from foresight.app.parse import parse_options
from foresight.errors import ForesightError

if TYPE_CHECKING:
    import jax

    from foresight.envs.env import Env
    from foresight.evaluation.replay import Thoughts
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
    plan: FlagCreatePairsOff[bool] = False
    """draw the plan that probes read off the agent's state: where it will step, and where boxes will be pushed"""
    probes: Path | None = None
    """with --plan: the file of probes that `foresight probe --out` wrote; a shipped agent has its own"""
    json: FlagCreatePairsOff[bool] = False
    """print one JSON document: how it went, the actions, and the network's probabilities and values at every look"""
    quiet: FlagCreatePairsOff[bool] = False
    """do not play in the terminal"""

    def __post_init__(self) -> None:
        check_count("max-steps", self.max_steps)
        check_count("think", self.think, least=0)


def main(arguments: list[str]) -> None:
    """Play, show, and write the animation."""
    options = parse_options(Watch, arguments, "foresight watch", EXAMPLE)
    with working("loading"):
        import jax

        from foresight.runs.agents import load_agents

        agent = load_agents(options.model, options.levels)[0]
    if agent.config.is_on_host:
        watch_episode(agent, options)
        return
    if options.plan:
        watch_plan(agent, options)
        return
    with working("compiling and playing"):
        key = jax.random.key(0)
        level, record = choose_level(agent, options, key)
        shown = look_again(agent, level, record, options.think, key)
    if options.gif:
        write_animation(agent.env, shown.seen, options.gif)
    if options.json:
        print(json.dumps(as_json(agent, level, record, shown, options), indent=1))
        return
    if sys.stdout.isatty() and not options.quiet:
        with shown_otherwise():
            show_in_terminal(agent.env, shown.seen, shown.captions)
    outcome = format_outcome(record.solved[0], record.steps[0], record.score[0], agent.config.is_scored)
    print(f"level {level}: {outcome}")
    if options.gif:
        print(f"animation in {options.gif}")


class Shown(NamedTuple):
    """A game that was played, move by move."""

    seen: np.ndarray  # observations [T + 1, ...]
    actions: list[str]  # T of them
    thoughts: "Thoughts"
    captions: list[list[str]]  # below each board: of every thinking step, every move, and the end


def look_again(agent: "Agent", level: int, record: "Record", think: int, key: "jax.Array") -> Shown:
    """What was seen and thought in the one level of a record."""
    from foresight.evaluation.replay import actions_taken, replay, thoughts

    seen = replay(agent.env, level, record.actions[0], key)
    thought = thoughts(agent.env, agent.net, seen, think)
    actions = [agent.env.action_names[action] for action in actions_taken(record.actions[0])]
    captions = []
    for number, (probabilities, value) in enumerate(zip(*thought, strict=True)):
        step = number - think
        doing = f"step {step + 1}" if step >= 0 else f"thinking {number + 1} of {think}"
        chosen = actions[step] if step >= 0 else ""
        captions.append(
            [f"{doing:<18} value {value:6.2f}", format_policy(agent.env.action_names, probabilities, chosen)]
        )
    captions.append([f"step {len(actions)}, the end", ""])
    return Shown(seen, actions, thought, captions)


def format_policy(names: Sequence[str], probabilities: np.ndarray, chosen: str) -> str:
    """The probability of each action in percent, the one that was taken in brackets."""
    shown = [f"{name} {100 * share:.0f} %" for name, share in zip(names, probabilities, strict=True)]
    return "  ".join(f"[{text}]" if name == chosen else f" {text} " for name, text in zip(names, shown, strict=True))


def as_json(agent: "Agent", level: int, record: "Record", shown: Shown, options: Watch) -> dict[str, Any]:
    """The game in plain values."""
    return {
        "model": str(agent.source),
        "domain": agent.config.domain,
        "set": agent.levels,
        "level": level,
        "think": options.think,
        "solved": bool(record.solved[0]),
        "steps": int(record.steps[0]),
        "score": round(float(record.score[0]), 4),
        "actions": shown.actions,
        "probabilities": np.round(shown.thoughts.probabilities.astype(float), 5).tolist(),
        "values": np.round(shown.thoughts.values.astype(float), 4).tolist(),
        "gif": str(options.gif) if options.gif else None,
    }


def watch_plan(agent: "Agent", options: Watch) -> None:
    """Show the level with the plan at every step, and at every tick of the animation."""
    import jax

    from foresight.insight.plans import format_steps, plan_frames, plan_probes, trace_plan
    from foresight.render.gif import write_gif
    from foresight.runs.evaluate import default_max_steps
    from foresight.runs.probe_files import probes_for

    probes = plan_probes(probes_for(agent.source, options.probes))
    check_index(agent, options.index)
    max_steps = options.max_steps or default_max_steps(agent)
    with working("compiling and playing"):
        level = options.index if options.index is not None else choose_level(agent, options, jax.random.key(0))[0]
        episode, plans = trace_plan(agent, level, probes, think=options.think, max_steps=max_steps)
    if options.gif:
        write_gif(options.gif, plan_frames(agent.env.palette, episode, plans, CELL))
    if options.json:
        outcome = {"solved": bool(episode.solved), "steps": int(episode.steps), "score": round(episode.score, 4)}
        print(json.dumps({"model": str(agent.source), "set": agent.levels, "level": level} | outcome))
        return
    if not options.quiet:
        for board in format_steps(agent.env.palette, episode, plans):
            print(board, end="\n\n", flush=True)
    outcome = format_outcome(episode.solved, episode.steps, episode.score, agent.config.is_scored)
    print(f"level {level}: {outcome}")
    if options.gif:
        print(f"animation in {options.gif}")


def format_outcome(solved: bool, steps: int, score: float, is_scored: bool) -> str:
    """How one level went; in some domains nothing is ever solved."""
    if is_scored:
        return f"score {score:.2f} in {steps} steps"
    return f"{'solved' if solved else 'not solved'} in {steps} steps, score {score:.2f}"


def watch_episode(agent: "Agent", options: Watch) -> None:
    """Play an episode of a game on the host, up to the step limit; its pictures can be had as an animation alone."""
    from foresight.evaluation.solve import PlaySettings
    from foresight.runs.evaluate import PAPER_MAX_STEPS, evaluate_episodes

    seen, number = [], options.index or 0
    check_count("index", number, least=0)
    settings = PlaySettings(options.max_steps or PAPER_MAX_STEPS, options.think)
    with working("compiling and playing"):
        record = evaluate_episodes(agent, settings, 1, number, 1, lambda finished: None, seen.append).record
    if options.gif:
        from foresight.render.gif import write_gif

        write_gif(options.gif, np.concatenate(seen), FRAME_SECONDS)
    if options.json:
        outcome = {"score": float(record.score[0]), "steps": int(record.steps[0])}
        print(json.dumps({"domain": agent.config.domain, "game": agent.env.name, "episode": number} | outcome))
        return
    print(f"{agent.env.name}, episode {number}: score {record.score[0]:g} in {record.steps[0]} steps")
    if options.gif:
        print(f"animation in {options.gif}")


def choose_level(agent: "Agent", options: Watch, key: "jax.Array") -> tuple[int, "Record"]:
    """The level asked for, or the first one solved of a few; and how it was played with this key."""
    import jax

    from foresight.evaluation.solve import PlaySettings, solve
    from foresight.runs.evaluate import check_moves, default_max_steps

    settings, count = PlaySettings(options.max_steps or default_max_steps(agent), options.think), agent.env.level_count
    check_index(agent, options.index)
    candidates = np.arange(min(count or TRIED, TRIED)) if options.index is None else np.array([options.index])
    check_moves(len(candidates), settings.max_steps)
    record = solve(agent.env, agent.net, candidates, settings, key, len(candidates))
    chosen = int(np.argmax(record.solved))
    return int(candidates[chosen]), jax.tree.map(lambda x: x[chosen : chosen + 1], record)


def check_index(agent: "Agent", index: int | None) -> None:
    """Reject the number of a level that is not there."""
    count = agent.env.level_count
    if index is not None and count is not None and not 0 <= index < count:
        raise ForesightError(f"--index {index}: there are {count} levels, numbered from 0")
    check_count("index", index, least=0)


def show_in_terminal(env: "Env", seen: np.ndarray, captions: list[list[str]], seconds: float = 0.15) -> None:
    """Every board with its caption, drawn over the one before; the first one stays while it is thought about.

    What is no board cannot be shown.
    """
    if seen.ndim != 3:
        return
    from foresight.app.terminal import abilities_of, format_picture

    able, size = abilities_of(os.environ, sys.stdout.encoding), os.get_terminal_size()
    still = len(captions) - len(seen)
    for number, caption in enumerate(captions):
        cells = seen[max(0, number - still)]
        board = format_picture(env.palette, cells, able, (size.columns, size.lines - 2 - len(caption)))
        lines = [*board, *(f"{line[: size.columns]}\x1b[K" for line in caption)]
        up = f"\x1b[{len(lines)}A" if number else ""
        print(up + "\n".join(lines), flush=True)
        time.sleep(seconds)


def write_animation(env: "Env", seen: np.ndarray, path: Path) -> None:
    """The boards as a GIF."""
    from foresight.envs.pictures import draw_all
    from foresight.render.gif import write_gif

    write_gif(path, draw_all(env, seen, CELL))
