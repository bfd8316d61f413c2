"""MiniPacman (Pill Eater): eat what lies in a maze while ghosts move at random.

The rules are those of the public Pill Eater notebook, which the paper names as its implementation. What chance decides
comes in as `Dice`, so that the rules themselves (`play`) are a plain function that a slow version can repeat.
"""

from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from foresight.envs.env import Env, Transition
from foresight.envs.minipacman.dice import (
    LEVEL_NUMBERS,
    MOST_GHOSTS,
    PILLS,
    Dice,
    LevelDice,
    draw_numbers,
    nth,
    roll,
    roll_level,
)
from foresight.envs.minipacman.maze import (
    ACTION_OFFSETS,
    CELLS,
    CORRIDOR_FACINGS,
    GHOST_OFFSETS,
    GHOST_START_COUNTS,
    GHOST_STARTS,
    HEIGHT,
    OPEN_CELLS,
    OPENINGS,
    WALLS,
    WIDTH,
)
from foresight.envs.minipacman.modes import GHOST_PRESETS, MODES, Ghosts, Mode, named
from foresight.errors import ForesightError
from foresight.render.palette import MINIPACMAN, Palette
from foresight.types import Mosaic, Tiles

POWER = 20  # steps a pill lasts, the one that ate it included
EMPTY, WALL, FOOD, PILL, PLAYER, GHOST = 0, 1, 2, 3, 4, 10  # codes of an observation; a ghost's is GHOST + power

PALETTE = np.zeros((GHOST + POWER + 1, 3), np.uint8)  # a colour for each code
PALETTE[[WALL, FOOD, PILL, PLAYER]] = [[255, 255, 255], [0, 0, 255], [0, 255, 255], [0, 255, 0]]
PALETTE[GHOST:] = [(255, round(255 * power / POWER), 0) for power in range(POWER + 1)]
TILES = Tiles(PALETTE[:, None, None])


class State(NamedTuple):
    """A level under way; a cell is one number, counted row by row."""

    player: Array  # int32 [], a cell
    ghosts: Array  # int32 [G], cells
    facings: Array  # int32 [G], 0 right, 1 up, 2 left, 3 down; -2 and -1 see `exact`
    alive: Array  # bool [G]
    food: Array  # bool [CELLS]
    pills: Array  # int32 [2], cells
    uneaten: Array  # bool [2], of the pills
    power: Array  # int32 [], steps for which ghosts can be eaten
    level: Array  # int32 [], from 1
    timer: Array  # int32 [], steps in this level


class MiniPacman(Env):
    """The stochastic game in one of its five reward modes; it is never solved, its score counts."""

    name: ClassVar[str] = "minipacman"
    action_names: ClassVar[tuple[str, ...]] = ("stay", "right", "up", "left", "down")
    is_scored: ClassVar[bool] = True
    palette: ClassVar[Palette] = MINIPACMAN
    costly_reset: ClassVar[bool] = True

    rewards: Mode = eqx.field(static=True)
    ghosts: Ghosts = eqx.field(static=True)
    exact: bool = eqx.field(static=True)
    max_episode_steps: tuple[int, int] = eqx.field(static=True)

    def __init__(
        self,
        mode: str = "regular",
        preset: str = "notebook",
        *,
        ghost_speed_init: float | None = None,
        ghost_speed_increase: float | None = None,
        random_turn: float | None = None,
        powered_factor: float | None = None,
        level_timer: int | None = None,
        exact: bool = False,
        max_episode_steps: tuple[int, int] = (3000, 3000),
    ):
        """`preset` gives the ghosts ("notebook" or "paper") and `mode` the rewards; what is not None replaces a part.

        `exact` keeps three quirks of the notebook: deaths counted more than once in a step, a first facing that is no
        direction at all for half of the ghosts, and a timed-out level that is still seen for one more step.
        """
        self.rewards = named(MODES, mode, "mode").replaced(timer=level_timer)
        self.ghosts = named(GHOST_PRESETS, preset, "preset").replaced(
            speed=ghost_speed_init,
            speed_increase=ghost_speed_increase,
            random_turn=random_turn,
            powered_factor=powered_factor,
        )
        self.exact = exact
        self.max_episode_steps = max_episode_steps
        if not 1 <= max_episode_steps[0] <= max_episode_steps[1]:
            raise ForesightError(
                f"max_episode_steps is {max_episode_steps}; expected (least, most), 1 <= least <= most"
            )

    @property
    def picture_shape(self) -> tuple[int, int, int]:
        """The maze, one pixel a cell."""
        return HEIGHT, WIDTH, 3

    def reset(self, key: Array) -> State:
        """Level 1."""
        return self.begin_level(jnp.ones((), jnp.int32), roll_level(draw_numbers(key, LEVEL_NUMBERS)))

    def step(self, state: State, action: Array, key: Array) -> tuple[State, Transition]:
        """Roll the dice, then play by the rules."""
        return self.play(state, action, roll(key))

    def play(self, state: State, action: Array, dice: Dice) -> tuple[State, Transition]:
        """One step in the order of the notebook; at most one new level begins in it."""
        rewards = self.rewards
        if self.exact:
            state = self.next_level_where(self.is_timed_out(state), state, dice.level)
        state = move_player(pass_time(state), action)
        state, eats_food = eat_food(state)
        if rewards.cleared_by == "food":
            state = self.next_level_where(eats_food & ~jnp.any(state.food), state, dice.level)
        state, eats_pill = eat_pill(state)
        if rewards.cleared_by == "pills":
            state = self.next_level_where(eats_pill & ~jnp.any(state.uneaten), state, dice.level)
        state, eats_ghost, deaths = self.move_ghosts(state, dice)
        if rewards.cleared_by == "ghosts":
            state = self.next_level_where(eats_ghost & ~jnp.any(state.alive), state, dice.level)
        if not self.exact:
            state = self.next_level_where(self.is_timed_out(state), state, dice.level)
        reward = (
            rewards.step
            + rewards.food * eats_food.astype(jnp.float32)
            + rewards.pill * eats_pill.astype(jnp.float32)
            + rewards.ghost * eats_ghost.astype(jnp.float32)
            + rewards.death * deaths.astype(jnp.float32)
        )
        return state, Transition(reward=reward, terminated=deaths > 0, solved=jnp.zeros((), bool))

    def is_timed_out(self, state: State) -> Array:
        """True when the level's time is over; a timer of 0 never is."""
        return (state.timer == self.rewards.timer) & (self.rewards.timer > 0)

    def begin_level(self, level: Array, dice: LevelDice) -> State:
        """Food everywhere, two pills, the player, and ghosts away from the player."""
        starts = jnp.asarray(GHOST_STARTS)[dice.player]
        rank = nth(dice.ghosts, jnp.asarray(GHOST_START_COUNTS)[dice.player])
        return State(
            player=jnp.asarray(OPEN_CELLS)[dice.player],
            ghosts=starts[rank],
            facings=dice.facings - 2 if self.exact else dice.facings,
            alive=jnp.arange(MOST_GHOSTS) < 1 + (level - 1) // 2,
            food=jnp.asarray(~WALLS),
            pills=jnp.asarray(OPEN_CELLS)[dice.pills],
            uneaten=jnp.ones(PILLS, bool),
            power=jnp.zeros((), jnp.int32),
            level=level,
            timer=jnp.zeros((), jnp.int32),
        )

    def next_level_where(self, cleared: Array, state: State, dice: LevelDice) -> State:
        """The next level if this one is cleared."""
        following = self.begin_level(state.level + 1, dice)
        return jax.tree.map(lambda new, old: jnp.where(cleared, new, old), following, state)

    def move_ghosts(self, state: State, dice: Dice) -> tuple[State, Array, Array]:
        """All ghosts in list order: the state, whether one was eaten, and how often the player died.

        A ghost depends on the others only in that none acts after one was eaten, so all are computed at once.
        """
        powered = state.power > 0
        speed = self.ghosts.speed + self.ghosts.speed_increase * (state.level - 1).astype(jnp.float32)
        moves = dice.moves < jnp.where(powered, self.ghosts.powered_factor * speed, speed)
        facings = self.turn(state, dice)
        ahead = state.ghosts + jnp.asarray(GHOST_OFFSETS)[facings + 2]
        ahead = jnp.where(jnp.asarray(WALLS)[ahead], state.ghosts, ahead)

        met_before = state.alive & (state.ghosts == state.player)
        met_after = state.alive & moves & (ahead == state.player)
        met = met_before | met_after
        stops = met & powered if self.exact else met
        acts = state.alive & (jnp.cumsum(stops) - stops.astype(jnp.int32) == 0)  # nothing stopped the list before it
        goes = acts & moves & ~(met_before & stops)
        eaten = acts & met & powered
        if self.exact:
            meetings = jnp.sum(acts & met_before) + jnp.sum(acts & met_after)
        else:
            meetings = jnp.any(acts & met).astype(jnp.int32)
        state = state._replace(
            ghosts=jnp.where(goes, ahead, state.ghosts),
            facings=jnp.where(goes, facings, state.facings),
            alive=state.alive & ~eaten,
        )
        return state, jnp.any(eaten), jnp.where(powered, 0, meetings)

    def turn(self, state: State, dice: Dice) -> Array:
        """The facing [G] each ghost would move in."""
        open_facings = jnp.asarray(OPENINGS)[state.ghosts]  # [G, 4]
        in_corridor = jnp.sum(open_facings, axis=1) == 2
        corridor = jnp.asarray(CORRIDOR_FACINGS)[state.ghosts, state.facings + 2]

        reverse = (state.facings + 2) % 4
        ways = open_facings & (jnp.arange(4)[None] != reverse[:, None])
        down = state.player // WIDTH - state.ghosts // WIDTH
        right = state.player % WIDTH - state.ghosts % WIDTH
        towards = jnp.stack([right, -down, -right, down], axis=1)
        wish = jnp.where(state.power > 0, -towards, towards)
        best = jnp.argmax(jnp.where(ways, wish, -CELLS), axis=1)  # the first of the best, as in the notebook
        chosen = nth(dice.choices, jnp.sum(ways, axis=1))
        at_random = jnp.argmax(jnp.cumsum(ways, axis=1) > chosen[:, None], axis=1)
        errs = (dice.turns < self.ghosts.random_turn) & (state.power == 0)
        junction = jnp.where(errs, at_random, best).astype(jnp.int32)
        junction = jnp.where(state.ghosts == state.player, state.facings, junction)
        return jnp.where(in_corridor, corridor, junction)

    def observe(self, state: State) -> Array:
        """Codes uint8 [H, W]; the player hides a ghost, a ghost a pill, a pill food."""
        codes = jnp.where(jnp.asarray(WALLS), WALL, jnp.where(state.food, FOOD, EMPTY)).astype(jnp.uint8)
        codes = codes.at[jnp.where(state.uneaten, state.pills, CELLS)].set(PILL, mode="drop")
        ghost = (GHOST + state.power).astype(jnp.uint8)
        codes = codes.at[jnp.where(state.alive, state.ghosts, CELLS)].set(ghost, mode="drop")
        return codes.at[state.player].set(PLAYER).reshape(HEIGHT, WIDTH)

    def paint(self, observation: Array) -> Array:
        """One colour a cell, uint8 [H, W, 3]."""
        return Mosaic(observation, TILES).paint()

    @property
    def tiles(self) -> Tiles:
        """A pixel of its own colour for each code."""
        return TILES


def pass_time(state: State) -> State:
    """The level grows older and the player's power wanes."""
    return state._replace(timer=state.timer + 1, power=jnp.maximum(state.power - 1, 0))


def move_player(state: State, action: Array) -> State:
    """The player goes one cell; a wall stops him."""
    ahead = state.player + jnp.asarray(ACTION_OFFSETS)[action]
    return state._replace(player=jnp.where(jnp.asarray(WALLS)[ahead], state.player, ahead))


def eat_food(state: State) -> tuple[State, Array]:
    """The player eats what lies on its cell: the state, and whether there was something."""
    return state._replace(food=state.food.at[state.player].set(False)), state.food[state.player]


def eat_pill(state: State) -> tuple[State, Array]:
    """The player eats one pill if it stands on any: the state, and whether it did."""
    here = state.uneaten & (state.pills == state.player)
    first = here & (jnp.cumsum(here) == 1)
    eats = jnp.any(here)
    return state._replace(uneaten=state.uneaten & ~first, power=jnp.where(eats, POWER, state.power)), eats
