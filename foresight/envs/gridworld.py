"""Gridworld: walk around square obstacles to a goal, in eight directions."""

from math import ceil
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from foresight.envs.base import Env, Transition
from foresight.envs.chance import below, between
from foresight.errors import ForesightError

FREE, OBSTACLE, GOAL, PLAYER = range(4)  # the codes of an observation
BRIGHTNESS = 85  # of a picture, for each code: 0, 85, 170, 255
MOVES = ("north", "south", "east", "west", "north-east", "north-west", "south-east", "south-west")
DOWN = (-1, 1, 0, 0, -1, -1, 1, 1, 0)  # by action; the last is "stay"
RIGHT = (0, 0, 1, -1, 1, -1, 1, -1, 0)


class Maze(NamedTuple):
    """A level under way; rows and columns count from 0 at the top left."""

    obstacles: Array  # bool [S, S]
    row: Array  # int32 [], the player's
    column: Array  # int32 []
    goal_row: Array  # int32 []
    goal_column: Array  # int32 []


class Gridworld(Env):
    """The rules, and levels drawn afresh for every episode."""

    name: ClassVar[str] = "gridworld"
    costly_reset: ClassVar[bool] = True

    size: int = eqx.field(static=True, default=32)
    obstacles: tuple[int, int] = eqx.field(static=True, default=(12, 24))  # how many, least and most
    sides: tuple[int, int] = eqx.field(static=True, default=(2, 10))  # of an obstacle, in cells
    stay: bool = eqx.field(static=True, default=False)  # adds the action 8: no move
    caps: tuple[int, int] = eqx.field(static=True, default=(120, 120))
    seed: int = eqx.field(static=True, default=0)  # of the levels that `reset_to` numbers

    def __check_init__(self):
        check_range("obstacles", self.obstacles, 0)
        check_range("sides", self.sides, 1)
        if self.sides[1] > self.size:
            raise ForesightError(f"obstacles of side {self.sides[1]} do not fit into a gridworld of size {self.size}")
        if self.size**2 - self.sides[0] ** 2 * min(1, self.obstacles[0]) < 2:
            raise ForesightError(f"a gridworld of size {self.size} has no two free cells; expected a larger size")

    @property
    def action_names(self) -> tuple[str, ...]:
        """The eight moves in the order of Value Iteration Networks, and `stay` where it is allowed."""
        return (*MOVES, "stay") if self.stay else MOVES

    @property
    def picture_shape(self) -> tuple[int, int, int]:
        """One brightness for each cell."""
        return self.size, self.size, 1

    def reset(self, key: Array) -> Maze:
        """A level whose goal can be reached: drawn again until it can."""

        def draw_again(attempt: tuple[Array, Maze, Array]) -> tuple[Array, Maze, Array]:
            tried, _, _ = attempt
            maze, possible = self.draw_maze(jax.random.fold_in(key, tried))
            return tried + 1, maze, possible

        zero = jnp.zeros((), jnp.int32)
        blank = Maze(jnp.zeros((self.size, self.size), bool), zero, zero, zero, zero)
        return jax.lax.while_loop(lambda a: ~a[2], draw_again, (zero, blank, jnp.zeros((), bool)))[1]

    def reset_to(self, index: Array) -> Maze:
        """Level number `index` of those that `seed` gives."""
        return self.reset(jax.random.fold_in(jax.random.key(self.seed), index))

    def draw_maze(self, key: Array) -> tuple[Maze, Array]:
        """Obstacles, player and goal at random; and whether the goal can be reached."""
        words = jax.random.bits(key, (3 + 3 * self.obstacles[1],))
        obstacles = self.draw_obstacles(words[2:])
        free = jnp.cumsum(~obstacles.ravel(), dtype=jnp.int32)
        player_rank, goal_rank = below(free[-1], words[0]), below(free[-1] - 1, words[1])
        goal_rank += (goal_rank >= player_rank).astype(jnp.int32)  # among the free cells without the player's
        places = jnp.searchsorted(free, jnp.stack([player_rank, goal_rank]) + 1).astype(jnp.int32)
        (row, goal_row), (column, goal_column) = jnp.divmod(places, jnp.int32(self.size))
        maze = Maze(obstacles, row, column, goal_row, goal_column)
        return maze, (free[-1] >= 2) & can_reach_goal(maze)

    def draw_obstacles(self, words: Array) -> Array:
        """Squares that lie fully inside and may overlap, bool [S, S], from 1 + 3 * most random words."""
        most = self.obstacles[1]
        count, words = between(*self.obstacles, words[0]), words[1:].reshape(3, most)
        side = between(*self.sides, words[:1])
        first = below(self.size - side + 1, words[1:])  # row and column of each one's top left cell
        cells = jnp.arange(self.size, dtype=jnp.int32)[None, None]
        rows, columns = (first[..., None] <= cells) & (cells < (first + side)[..., None])  # bool [most, S] each
        rows &= (jnp.arange(most) < count)[:, None]
        return jnp.any(rows[:, :, None] & columns[:, None, :], axis=0)

    def step(self, state: Maze, action: Array, key: Array) -> tuple[Maze, Transition]:
        """One move; off the board is no move, onto an obstacle or the goal ends the episode."""
        del key
        row, column = state.row + jnp.array(DOWN)[action], state.column + jnp.array(RIGHT)[action]
        inside = (row >= 0) & (row < self.size) & (column >= 0) & (column < self.size)
        row, column = jnp.where(inside, row, state.row), jnp.where(inside, column, state.column)
        crashed = state.obstacles[row, column]
        solved = (row == state.goal_row) & (column == state.goal_column)
        reward = jnp.where(solved, jnp.float32(1), jnp.where(crashed, jnp.float32(-1), jnp.float32(-0.01)))
        return state._replace(row=row, column=column), Transition(reward, terminated=solved | crashed, solved=solved)

    def observe(self, state: Maze) -> Array:
        """Codes uint8 [S, S]; the player is seen whatever it stands on."""
        rows = jnp.arange(self.size, dtype=jnp.int32)[:, None]
        columns = jnp.arange(self.size, dtype=jnp.int32)[None]
        goal = (rows == state.goal_row) & (columns == state.goal_column)
        player = (rows == state.row) & (columns == state.column)
        return jnp.where(player, jnp.uint8(PLAYER), jnp.where(goal, jnp.uint8(GOAL), state.obstacles.astype(jnp.uint8)))

    def paint(self, observation: Array) -> Array:
        """The paper's one channel, uint8 [S, S, 1]."""
        return (observation * jnp.uint8(BRIGHTNESS))[..., None]


def player(observation: Array) -> Array:
    """Row and column of the player in an observation [S, S]: int32 [2]."""
    cell = jnp.argmax(observation.ravel() == PLAYER).astype(jnp.int32)
    return jnp.stack(jnp.divmod(cell, jnp.int32(observation.shape[1])))


def check_range(name: str, bounds: tuple[int, int], smallest: int) -> None:
    """Refuse a range (least, most) that is none."""
    if not smallest <= bounds[0] <= bounds[1]:
        raise ForesightError(f"{name} are {bounds}; expected (least, most) with {smallest} <= least <= most")


def can_reach_goal(maze: Maze) -> Array:
    """True when the eight moves lead from the player to the goal past the obstacles."""
    # The cells reached are bits, a row of the board being a few words: one step grows all of them at once.
    free = pack_rows(~maze.obstacles)
    places = jnp.arange(len(maze.obstacles), dtype=jnp.int32)
    at_player = (places[:, None] == maze.row) & (places[None] == maze.column)
    at_goal = (places[:, None] == maze.goal_row) & (places[None] == maze.goal_column)
    goal = pack_rows(at_goal)

    def is_open(grown_and_before: tuple[Array, Array]) -> Array:
        grown, before = grown_and_before
        return jnp.any(grown != before) & ~jnp.any(grown & goal)

    def grow_more(grown_and_before: tuple[Array, Array]) -> tuple[Array, Array]:
        grown = before = grown_and_before[0]
        for _ in range(4):  # a round of the loop costs about as much as four steps in it
            grown = grow(grown) & free
        return grown, before

    reached, _ = jax.lax.while_loop(is_open, grow_more, (pack_rows(at_player), jnp.zeros_like(goal)))
    return jnp.any(reached & goal)


def pack_rows(flags: Array) -> Array:
    """Flags bool [S, S] as bits uint32 [S, words], the lowest bit first."""
    size = len(flags)
    words = ceil(size / 32)
    flags = jnp.pad(flags, ((0, 0), (0, 32 * words - size))).reshape(size, words, 32).astype(jnp.uint32)
    return jnp.sum(flags << jnp.arange(32, dtype=jnp.uint32)[None, None], axis=2, dtype=jnp.uint32)


def grow(bits: Array) -> Array:
    """Each set bit of [S, words] spread to its eight neighbours; beyond the last column it may spill."""
    from_left = jnp.pad(bits >> 31, ((0, 0), (1, 0)))[:, :-1]
    from_right = jnp.pad(bits << 31, ((0, 0), (0, 1)))[:, 1:]
    wide = bits | (bits << 1) | (bits >> 1) | from_left | from_right
    return wide | jnp.pad(wide, ((1, 0), (0, 0)))[:-1] | jnp.pad(wide, ((0, 1), (0, 0)))[1:]
