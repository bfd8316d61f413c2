"""Plans to look at: what probes read off an agent's state, as arrows on the board, in text and in pictures."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from foresight.errors import ForesightError
from foresight.insight.inside import shape_of
from foresight.insight.labels import DOWN, LEFT, NEVER, RIGHT, UP
from foresight.insight.probes import Probe, check_fit, choose
from foresight.insight.records import Agent, Episode, Keep
from foresight.insight.samples import as_squares
from foresight.insight.tracing import trace
from foresight.render.draw import draw
from foresight.render.palette import Palette

AGENT_ARROWS = " ↑↓←→↗↖↘↙"  # by class
BOX_ARROWS = " ⇑⇓⇐⇒"
AGENT_COLOUR = (32, 112, 255)
BOX_COLOUR = (255, 48, 160)
TURNS = {RIGHT: 0, UP: 1, LEFT: 2, DOWN: 3}  # quarter turns of an arrow that points to the right


class Plan(NamedTuple):
    """The class of every square, uint8 [..., H, W]: where the agent will step onto it, where a box will leave it."""

    agent: np.ndarray
    box: np.ndarray | None  # None where there is nothing to push


class PlanProbes(NamedTuple):
    """The probes that a plan is read with; both read the same activation."""

    agent: Probe
    box: Probe | None

    @property
    def keep(self) -> Keep:
        """The activations they need, at every tick."""
        depths = sorted({probe.layer for probe in self if probe is not None})
        return Keep((self.agent.of,), depths=tuple(depths))


def plan_probes(probes: list[Probe], kernel: int | None = None) -> PlanProbes:
    """The probes for a plan from those of an agent: of the top layer, with the largest kernel there is, or `kernel`."""
    if not probes:
        raise ForesightError("there is no probe to read a plan with")
    kernel = max(probe.kernel for probe in probes) if kernel is None else kernel
    top, of = max(probe.layer for probe in probes), probes[0].of
    has_boxes = any(probe.concept == "C_B" for probe in probes)
    return PlanProbes(
        choose(probes, "C_A", top, kernel, of), choose(probes, "C_B", top, kernel, of) if has_boxes else None
    )


def read_plans(probes: PlanProbes, episode: Episode) -> Plan:
    """The plan at every time-step and tick, [T, N, H, W], of an episode played with `probes.keep`."""
    held = episode.activations[probes.agent.of]  # [T, N, depths, h, w, C], or [T, N, depths, U] of an LSTM
    depths = probes.keep.depths

    def heads(probe: Probe) -> np.ndarray:
        return probe.read(as_squares(held[:, :, depths.index(probe.layer)]))

    return Plan(heads(probes.agent), None if probes.box is None else heads(probes.box))


def trace_plan(
    agent: Agent, level: int, probes: PlanProbes, think: int = 0, max_steps: int = 120
) -> tuple[Episode, Plan]:
    """Play one level, and read the plan at every time-step and tick."""
    check_fit([probe for probe in probes if probe is not None], shape_of(agent.net))
    keep = probes.keep
    episode = trace(agent, level, think=think, keep=keep.names, depths=keep.depths, max_steps=max_steps)
    return episode, read_plans(probes, episode)


def format_steps(palette: Palette, episode: Episode, plans: Plan) -> Iterator[str]:
    """The board of every time-step with the plan after its last tick, and the board at the end."""
    for step, cells in enumerate(episode.observations[:-1]):
        yield format_plan(palette, cells, plan_at(plans, step))
    nothing = Plan(np.zeros_like(plans.agent[0, 0]), None)
    yield format_plan(palette, episode.observations[-1], nothing)


def plan_frames(palette: Palette, episode: Episode, plans: Plan, scale: int = 24) -> np.ndarray:
    """Pictures uint8 [frames, H, W, 3]: one for each tick, and the board at the end."""
    steps, ticks = plans.agent.shape[:2]
    boards = episode.observations
    frames = [draw_plan(palette, boards[n], plan_at(plans, n, t), scale) for n in range(steps) for t in range(ticks)]
    return np.stack([*frames, draw(palette, boards[-1], scale)])


def plan_at(plans: Plan, step: int, tick: int = -1) -> Plan:
    """The plan of one time-step and tick."""
    return Plan(*(None if part is None else part[step, tick] for part in plans))


def format_plan(palette: Palette, cells: np.ndarray, plan: Plan) -> str:
    """A board [H, W] as text, two characters a square: what is there, and the plan; a box's arrow hides the agent's."""
    boxes = np.zeros_like(plan.agent) if plan.box is None else plan.box
    rows = []
    for codes, agents, pushed in zip(cells, plan.agent, boxes, strict=True):
        arrows = (BOX_ARROWS[b] if b else AGENT_ARROWS[a] for a, b in zip(agents, pushed, strict=True))
        rows.append("".join(palette[code].symbol + arrow for code, arrow in zip(codes, arrows, strict=True)))
    return "\n".join(rows)


def draw_plan(palette: Palette, cells: np.ndarray, plan: Plan, scale: int = 24) -> np.ndarray:
    """A board [H, W] as a picture uint8 [H * scale, W * scale, 3] with the plan as arrows."""
    picture = draw(palette, cells, scale).copy()
    parts = ((plan.agent, AGENT_COLOUR), (plan.box, BOX_COLOUR))
    for classes, colour in ((part, colour) for part, colour in parts if part is not None):
        for row, column in np.argwhere(classes != NEVER):
            tile = picture[row * scale : (row + 1) * scale, column * scale : (column + 1) * scale]
            tile[arrow_mask(int(classes[row, column]), scale)] = colour
    return picture


def arrow_mask(direction: int, scale: int) -> np.ndarray:
    """Where an arrow's ink is in a square of `scale` pixels, bool [scale, scale]."""
    across = (2 * np.arange(scale) + 1) / scale - 1
    x, y = np.meshgrid(across, across)
    if direction > max(TURNS):  # diagonal: along the rotated axes
        down, right = {5: (-1, 1), 6: (-1, -1), 7: (1, 1), 8: (1, -1)}[direction]
        x, y = (right * x + down * y) / 2**0.5, (right * y - down * x) / 2**0.5
        return arrow_shape(x, y)
    return np.rot90(arrow_shape(x, y), TURNS[direction])


def arrow_shape(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """An arrow that points along x, in a square from -1 to 1."""
    shaft = (np.abs(y) < 0.13) & (x > -0.7) & (x < 0.15)
    head = (x >= 0.1) & (x < 0.75) & (np.abs(y) < 0.75 - x)
    return shaft | head
