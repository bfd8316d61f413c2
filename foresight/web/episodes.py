"""One level played by an agent, with its plan at every tick: in slices for the worker, as plain values for the page."""

from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp
import numpy as np
from scipy.special import softmax

from foresight.envs.sokoban.rules import pack_set
from foresight.insight.edits import FOREVER, Edit
from foresight.insight.inside import shape_of
from foresight.insight.labels import CLASS_NAMES, CONCEPTS, label
from foresight.insight.playing import Part, Rules, episode_of, play_in_stretches, whole_episodes
from foresight.insight.probes import Probe, choose
from foresight.insight.records import Episode, Keep, Player
from foresight.levels import LevelSet
from foresight.levels.solution import format_lurd
from foresight.web.library import Mind
from foresight.web.worker import Job

STRENGTH = 0.75  # of wishes, times the probes' vectors in all layers: agents follow it most (docs/results/web.md)
MULTIPLE = 8  # plans are read of so many time-steps at a time, so that one program is compiled
FIRST_CODE = 48  # boards travel as text, a cell with code 0 as the character "0"
SHADES = 9  # how sure a probe is: 1 to 9


@dataclass(frozen=True)
class Wish:
    """An arrow that somebody wants in the plan: `concept` C_A (the agent's way) or C_B (a box's)."""

    row: int
    column: int
    concept: str
    direction: str  # one of CLASS_NAMES; "never" takes an arrow away


@dataclass(frozen=True)
class Request:
    """What is to be played."""

    mind: Mind
    level: int | np.ndarray  # a number of the agent's domain, or a Sokoban board of the agent's size
    think: int = 0
    wishes: tuple[Wish, ...] = ()
    since: int = 0  # the time-step from which on they are wished, thinking steps counted
    strength: float = STRENGTH
    beginning: bool = False  # of an episode, and no more: what the agent would do here

    @property
    def player(self) -> Player:
        """The network, on this one level in Sokoban: always of the same shape, so that one program serves all."""
        agent = self.mind.agent
        if isinstance(self.level, int):
            return Player(agent.net, agent.env)
        levels = LevelSet.from_cells(self.level[None], "drawn", "the page")
        return Player(agent.net, replace(agent.env, levels=jnp.asarray(pack_set(levels))))

    @property
    def number(self) -> int:
        """What the player calls the level."""
        return self.level if isinstance(self.level, int) else 0


def play(request: Request) -> Job:
    """The episode in plain values, one stretch of time-steps a slice."""
    if request.beginning:
        yield
        episode = play_beginning(request)
    else:
        episode = yield from play_whole(request, request.mind.keep)
    return (yield from as_json(request, episode))


def play_whole(request: Request, keep: Keep) -> Generator[None, None, Episode]:
    """The episode to its end."""
    for ended in whole_episodes(stretches_of(request, keep), keep):
        if ended:
            return ended[0][1]
        yield
    raise AssertionError("a level always ends")


def play_beginning(request: Request) -> Episode:
    """The first stretch of time-steps of an episode, by the program that plays whole ones."""
    ((_, level, rows, _),) = next(stretches_of(request, request.mind.keep))
    return episode_of(level, [rows], request.mind.keep)


def stretches_of(request: Request, keep: Keep) -> Iterator[list[Part]]:
    """What is to be played, stretch by stretch."""
    rules = Rules(request.mind.most_moves or request.mind.agent.default_max_steps, keep)
    edits, levels = edits_of(request), [request.number]
    return play_in_stretches(request.player, levels, edits=edits, think=request.think, rules=rules, batch=1)


def edits_of(request: Request) -> list[Edit] | None:
    """Two edits, of the agent's way and of the boxes', always of a square at least: one program serves all of them."""
    mind = request.mind
    if mind.plan is None:
        return None
    of, depths = mind.plan.agent.of, range(shape_of(mind.agent.net).depth)
    edits, times = [], (request.since, FOREVER)
    for concept in ("C_A", "C_B") if mind.plan.box else ("C_A",):
        probes = [choose(list(mind.probes), concept, depth, 1, of) for depth in depths]
        own = [wish for wish in request.wishes if wish.concept == concept]
        squares = [(wish.row, wish.column) for wish in own] or [(0, 0)]
        names = [wish.direction for wish in own] or [CLASS_NAMES[0]]
        value = np.stack([[probe.vector(name) for name in names] for probe in probes])
        edits.append(Edit("add", request.strength * bool(own) * value, of=of, squares=squares, times=times))
    return edits


def as_json(request: Request, episode: Episode) -> Generator[None, None, dict[str, Any]]:
    """An episode as the page gets it; boards and plans are texts with a character for each square.

    One stretch of its plan is read a slice.
    """
    mind, boards = request.mind, episode.observations
    looks = len(episode.actions)
    values = {
        "think": request.think,
        "solved": episode.solved,
        "moves": episode.steps,
        "score": round(episode.score, 2),
        "height": boards.shape[1],
        "width": boards.shape[2],
        "ticks": mind.ticks,
        "boards": [text_of(board) for board in boards],
        "actions": episode.actions.tolist(),
        "policy": np.round(softmax(episode.logits.astype(np.float64), axis=-1), 4).tolist(),
        "values": np.round(episode.values.astype(np.float64), 3).tolist(),
        "lurd": lurd_of(request, episode),
        "obeyed": [is_followed(request, wish, boards) for wish in request.wishes],
    }
    if mind.plan is not None:
        values["plan"] = {}
        for name, probe in (("agent", mind.plan.agent), ("box", mind.plan.box)):
            if probe is not None:
                held = episode.activations[probe.of][:looks, :, probe.layer]
                values["plan"][name] = yield from read_plan(probe, held)
    return values


def text_of(cells: np.ndarray) -> str:
    """Codes [H, W] as one text."""
    return (cells + FIRST_CODE).astype(np.uint8).tobytes().decode("latin-1")


def lurd_of(request: Request, episode: Episode) -> str | None:
    """The moves in letters, in Sokoban."""
    if isinstance(request.level, int):
        return None
    return format_lurd(request.level, np.maximum(episode.actions, 0))


def read_plan(probe: Probe, held: np.ndarray) -> Generator[None, None, list[list[list[str]]]]:
    """For every time-step and tick two texts: the class of each square, and how sure the probe is of it, 1 to 9."""
    steps, ticks = held.shape[:2]
    states = np.zeros((-(-steps // MULTIPLE) * MULTIPLE, *held.shape[1:]), np.float32)
    states[:steps] = held
    pairs = []
    for start in range(0, steps, MULTIPLE):
        if start:
            yield
        flat = states[start : start + MULTIPLE].reshape(-1, *states.shape[2:])
        shares = softmax(probe.logits(flat), axis=-1)
        classes, sure = shares.argmax(-1), np.ceil(shares.max(-1) * SHADES).astype(int)
        edge = np.ones(classes.shape[1:], bool)
        edge[probe.margin : edge.shape[0] - probe.margin, probe.margin : edge.shape[1] - probe.margin] = False
        classes[:, edge] = 0
        texts = [[text_of(part) for part in both] for both in zip(classes, sure, strict=True)]
        pairs += [texts[n : n + ticks] for n in range(0, len(texts), ticks)]
    return pairs[:steps]


def is_followed(request: Request, wish: Wish, boards: np.ndarray) -> bool:
    """Whether a wish came true: what happened next on that square, from when it was wished, was this."""
    after = boards[min(request.since, len(boards) - 2) :]
    happened = label(request.mind.agent.env.name, after, CONCEPTS[wish.concept])[0, wish.row, wish.column]
    return CLASS_NAMES[int(happened)] == wish.direction
