"""Gridworld: walk around square obstacles to a goal, in eight directions."""

from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from foresight.envs.env import Env, Transition
from foresight.envs.fast_random import below, between
from foresight.envs.gridworld.barriers import Squares, are_parted, pack_rows, union_of_rows, unpack_rows
from foresight.errors import ForesightError
from foresight.render.palette import GRIDWORLD, Palette

FREE, OBSTACLE, GOAL, PLAYER = range(4)  # the codes of an observation
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
    palette: ClassVar[Palette] = GRIDWORLD
    costly_reset: ClassVar[bool] = True

    size: int = eqx.field(static=True, default=32)
    obstacles: tuple[int, int] = eqx.field(static=True, default=(12, 24))  # how many, least and most
    sides: tuple[int, int] = eqx.field(static=True, default=(2, 10))  # of an obstacle, in cells
    stay: bool = eqx.field(static=True, default=False)  # adds the action 8: no move
    max_episode_steps: tuple[int, int] = eqx.field(static=True, default=(120, 120))
    seed: int = eqx.field(static=True, default=0)  # of the levels that `reset_to` numbers
    # Of each code in a picture. Networks see free cells as about 0, and what matters most as -0.5 and 0.5: where
    # brightnesses are evenly spaced, the many obstacles drown out the goal, and learning to walk to it begins late.
    brightness: tuple[int, int, int, int] = eqx.field(static=True, default=(128, 160, 0, 255))

    def __check_init__(self):
        if len(self.brightness) != 4 or len({b for b in self.brightness if 0 <= b <= 255}) != 4:
            raise ForesightError(f"brightness is {self.brightness}; expected four different numbers from 0 to 255")
        if max(self.brightness) != self.brightness[PLAYER]:
            raise ForesightError(
                f"brightness is {self.brightness}; the player, which comes last, must be the brightest"
            )
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
        squares = self.draw_squares(words[2:])
        obstacles = lay_out(squares, self.size)
        free = jnp.sum(~obstacles, axis=1, dtype=jnp.int32)
        count = jnp.sum(free)
        player_rank, goal_rank = below(count, words[0]), below(count - 1, words[1])
        goal_rank += (goal_rank >= player_rank).astype(jnp.int32)  # among the free cells without the player's
        rows, columns = ranked_cells(~obstacles, jnp.stack([player_rank, goal_rank]))
        maze = Maze(obstacles, rows[0], columns[0], rows[1], columns[1])
        return maze, (count >= 2) & ~are_parted(squares, self.size, rows, columns)

    def draw_squares(self, words: Array) -> Squares:
        """Obstacles that lie fully inside and may overlap, from 1 + 3 * most random words."""
        most = self.obstacles[1]
        count, words = between(*self.obstacles, words[0]), words[1:].reshape(3, most)
        side = between(*self.sides, words[0])
        top, left = below((self.size - side + 1)[None], words[1:])
        return Squares(top, left, jnp.where(jnp.arange(most) < count, side, 0))

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
        return jnp.array(self.brightness, jnp.uint8)[observation][..., None]


def player(observation: Array) -> Array:
    """Row and column of the player in an observation [S, S]: int32 [2]."""
    cell = jnp.argmax(observation.ravel() == PLAYER).astype(jnp.int32)
    return jnp.stack(jnp.divmod(cell, jnp.int32(observation.shape[1])))


def check_range(name: str, bounds: tuple[int, int], smallest: int) -> None:
    """Reject a range (least, most) that is none."""
    if not smallest <= bounds[0] <= bounds[1]:
        raise ForesightError(f"{name} are {bounds}; expected (least, most) with {smallest} <= least <= most")


def lay_out(squares: Squares, size: int) -> Array:
    """The cells that squares fill, bool [S, S]."""
    cells = jnp.arange(size, dtype=jnp.int32)[None]
    rows = (squares.top[:, None] <= cells) & (cells < squares.bottom[:, None])  # bool [n, S]
    columns = (squares.left[:, None] <= cells) & (cells < squares.right[:, None])
    return unpack_rows(union_of_rows(rows.T, pack_rows(columns)), size)


def ranked_cells(free: Array, ranks: Array) -> tuple[Array, Array]:
    """Rows and columns [n] of the free cells of [S, S] with these `ranks` [n], counted row by row from 0."""
    up_to = jnp.cumsum(jnp.sum(free, axis=1, dtype=jnp.int32))  # free cells in a row and above
    rows = jnp.sum(up_to[None] <= ranks[:, None], axis=1, dtype=jnp.int32)
    rows = jnp.minimum(rows, len(free) - 1)  # where there is no such cell
    in_row = free[rows]
    ranks -= up_to[rows] - jnp.sum(in_row, axis=1, dtype=jnp.int32)
    return rows, jnp.sum(jnp.cumsum(in_row, axis=1, dtype=jnp.int32) <= ranks[:, None], axis=1, dtype=jnp.int32)
