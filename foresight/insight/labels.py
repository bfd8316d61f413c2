"""Concepts: what will next happen on each square, read off the rest of the same episode.

A label is a direction, that of the move: "right" on a square means that the agent will step onto it by a move to the
right (C_A), or that a box will be pushed off it to the right (C_B). Class 0 is "never". No-ops, blocked moves and jumps
do not count; the last move of the episode does; solved or not makes no difference. The boards alone say what moved,
except in MiniPacman, where after a move that ends a level the player is seen where the next one begins: there the
actions say it.
"""

from dataclasses import dataclass

import numpy as np

from foresight.envs.boxworld import rules as boxworld
from foresight.envs.gridworld import rules as gridworld
from foresight.envs.minipacman import rules as minipacman
from foresight.errors import ForesightError
from foresight.levels.cells import BOX, BOX_ON_TARGET, PLAYER, PLAYER_ON_TARGET

NEVER, UP, DOWN, LEFT, RIGHT = range(5)
STRAIGHT = {(-1, 0): UP, (1, 0): DOWN, (0, -1): LEFT, (0, 1): RIGHT}  # (rows, columns) moved, and its class
DIAGONAL = {(-1, 1): 5, (-1, -1): 6, (1, 1): 7, (1, -1): 8}
CLASS_NAMES = ("never", "up", "down", "left", "right", "up-right", "up-left", "down-right", "down-left")

AGENT_CODES = {
    "sokoban": (PLAYER, PLAYER_ON_TARGET),
    "boxworld": (boxworld.AGENT,),
    "minipacman": (minipacman.PLAYER,),
    "gridworld": (gridworld.PLAYER,),
}
BOX_CODES = {"sokoban": (BOX, BOX_ON_TARGET)}


@dataclass(frozen=True)
class Concept:
    """Whose next movement over a square is asked for, and whether onto it or off it."""

    name: str
    mover: str  # agent or box
    event: str  # onto or off
    horizon: int | None = None  # time-steps from now within which it must happen; None for the whole episode


C_A = Concept("C_A", "agent", "onto")
C_B = Concept("C_B", "box", "off")
AGENT_OFF = Concept("agent_off", "agent", "off")
BOX_ONTO = Concept("box_onto", "box", "onto")
CONCEPTS = {concept.name: concept for concept in (C_A, C_B, AGENT_OFF, BOX_ONTO)}


def concepts_of(domain: str) -> tuple[Concept, ...]:
    """C_A, and C_B where there are boxes to push."""
    check_domain(domain)
    return (C_A, C_B) if domain in BOX_CODES else (C_A,)


def concept_named(name: str) -> Concept:
    """One of the concepts that have a name here, as a file of probes says it."""
    if name not in CONCEPTS:
        raise ForesightError(f"no concept is called '{name}'; there are: {', '.join(CONCEPTS)}")
    return CONCEPTS[name]


def class_count(domain: str) -> int:
    """How many classes the labels of a domain have: 9 where moves can be diagonal, otherwise 5."""
    return 1 + len(moves_of(domain))


def moves_of(domain: str) -> dict[tuple[int, int], int]:
    """The class of each (rows, columns) moved."""
    return STRAIGHT | DIAGONAL if domain == "gridworld" else STRAIGHT


def check_domain(domain: str) -> None:
    """Reject a domain without squares that an agent steps on."""
    if domain not in AGENT_CODES:
        raise ForesightError(f"there are no labels for '{domain}'; there are for: {', '.join(AGENT_CODES)}")


def label(domain: str, observations: np.ndarray, concept: Concept, actions: np.ndarray | None = None) -> np.ndarray:
    """Labels uint8 [T, H, W] of an episode's observations [T + 1, H, W] and, for MiniPacman, its actions [T]."""
    directions = moves_made(domain, observations, actions)
    boards = observations[:-1], boards_after(domain, observations, actions)
    before, after = (np.isin(board, codes_of(domain, concept.mover)) for board in boards)
    gone, come = before & ~after, ~before & after
    happens = (come if concept.event == "onto" else gone) & (directions != NEVER)[:, None, None]
    labels = np.zeros(happens.shape, np.uint8)
    following, since = np.zeros(before.shape[1:], np.uint8), np.zeros(before.shape[1:], int)
    for step in reversed(range(len(labels))):
        following = np.where(happens[step], directions[step], following)
        since = np.where(happens[step], 0, since + 1)
        labels[step] = following if concept.horizon is None else np.where(since < concept.horizon, following, NEVER)
    return labels


def codes_of(domain: str, mover: str) -> tuple[int, ...]:
    """The cell codes that show the mover."""
    check_domain(domain)
    codes = AGENT_CODES if mover == "agent" else BOX_CODES
    if domain not in codes:
        raise ForesightError(f"nothing is pushed in {domain}: labels of boxes are for: {', '.join(BOX_CODES)}")
    return codes[domain]


def moves_made(domain: str, observations: np.ndarray, actions: np.ndarray | None = None) -> np.ndarray:
    """The class of each step's move uint8 [T], as in `label`; NEVER where the agent did not move."""
    rows, columns = agent_places(domain, observations[:-1])
    rows_after, columns_after = agent_places(domain, boards_after(domain, observations, actions))
    moves, there = moves_of(domain), (rows >= 0) & (rows_after >= 0)
    pairs = zip(rows_after - rows, columns_after - columns, there, strict=True)
    return np.array([moves.get((int(r), int(c)), NEVER) if seen else NEVER for r, c, seen in pairs], np.uint8)


def boards_after(domain: str, observations: np.ndarray, actions: np.ndarray | None) -> np.ndarray:
    """The board [T, H, W] that each step leads to; in MiniPacman the player alone, where its action takes it."""
    if domain != "minipacman" or actions is None:
        return observations[1:]
    width, seen = observations.shape[2], observations[:-1].reshape(len(actions), -1)
    offsets = np.array([0, 1, -width, -1, width])  # stay, right, up, left, down
    steps, here = np.arange(len(seen)), (seen == minipacman.PLAYER).argmax(1)
    ahead = here + offsets[np.maximum(actions, 0)]  # while the network thinks, as if it stayed
    boards = np.zeros_like(seen)
    boards[steps, np.where(seen[steps, ahead] == minipacman.WALL, here, ahead)] = minipacman.PLAYER
    return boards.reshape(observations[1:].shape)


def agent_places(domain: str, observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Row and column of the agent in each observation [T, H, W]; -1 where it is not to be seen."""
    flat = np.isin(observations, codes_of(domain, "agent")).reshape(len(observations), -1)
    rows, columns = np.divmod(flat.argmax(1), observations.shape[2])
    there = flat.any(1)
    return np.where(there, rows, -1), np.where(there, columns, -1)
