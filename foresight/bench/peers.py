"""Other ways to play Sokoban, measured beside ours: plain Python and, where installed, jumanji and envpool."""

import importlib.util
import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import numpy as np

from foresight.levels import LevelSet
from foresight.levels.cells import BOX, FLOOR, PLAYER, SYMBOLS, TARGET, WALL

STEPS = 32
CAP = 120


def measure_peers(levels: LevelSet, batch: int, seconds: float) -> Iterator[tuple[str, float]]:
    """Name and steps a second of each implementation that is installed and can play these levels."""
    yield "python", measure_python(levels, batch, seconds)
    if importlib.util.find_spec("jumanji") and (levels.height, levels.width, levels.boxes) == (10, 10, 4):
        yield "jumanji", measure_jumanji(levels, batch, seconds)
    if importlib.util.find_spec("envpool") and batch <= 1024:  # it holds a thread-safe slot for each
        yield "envpool", measure_envpool(batch, seconds)


def time_per_call(call: Callable[[], object], seconds: float) -> float:
    """The median time of a call."""
    call()
    times, begin = [], time.perf_counter()
    while len(times) < 3 or time.perf_counter() - begin < seconds:
        before = time.perf_counter()
        call()
        times.append(time.perf_counter() - before)
    return median(times)


class PlainSokoban:
    """One board as a list of cell codes: the same rules, rewards and cap, without arrays."""

    def __init__(self, levels: LevelSet, rng: np.random.Generator):
        self.boards = levels.cells(rng.integers(0, len(levels), min(1_000, len(levels)))).reshape(
            -1, levels.height * levels.width
        )
        self.offsets = (0, -levels.width, levels.width, -1, 1)
        self.rng = rng
        self.reset()

    def reset(self) -> None:
        """A level at random."""
        self.cells = self.boards[self.rng.integers(0, len(self.boards))].tolist()
        self.player = next(place for place, code in enumerate(self.cells) if code >= PLAYER)
        self.missing = self.cells.count(BOX)
        self.steps = 0

    def step(self, action: int) -> tuple[float, bool]:
        """Reward, and whether the episode ended; then the next one has begun."""
        cells, offset, reward = self.cells, self.offsets[action], -0.01
        ahead, beyond = self.player + offset, self.player + 2 * offset
        if offset and cells[ahead] != WALL:
            if cells[ahead] >= BOX and cells[beyond] in (FLOOR, TARGET):
                gained = (cells[beyond] == TARGET) - (cells[ahead] != BOX)
                cells[ahead] -= BOX - FLOOR
                cells[beyond] += BOX - FLOOR
                self.missing -= gained
                reward += gained
            if cells[ahead] < BOX:
                cells[self.player] -= PLAYER - FLOOR
                cells[ahead] += PLAYER - FLOOR
                self.player = ahead
        self.steps += 1
        solved = self.missing == 0
        if solved or self.steps == CAP:
            self.reset()
        return reward + 10 * solved, solved


def measure_python(levels: LevelSet, batch: int, seconds: float) -> float:
    """Plain Python; games side by side are a loop, so a few stand for all."""
    rng = np.random.default_rng(0)
    games = [PlainSokoban(levels, rng) for _ in range(min(batch, 16))]
    iterations = 10 * STEPS
    actions = rng.integers(0, 5, (iterations, len(games))).tolist()

    def play() -> None:
        for row in actions:
            for game, action in zip(games, row, strict=True):
                game.step(action)

    return len(games) * iterations / time_per_call(play, seconds)


def measure_jumanji(levels: LevelSet, batch: int, seconds: float) -> float:
    """Jumanji's Sokoban with its own auto-reset wrapper, in one compiled scan, drawing from the same levels."""
    import jax
    import jax.numpy as jnp

    env = jumanji_sokoban(levels)
    actions = jax.random.randint(jax.random.key(1), (STEPS, batch), 0, 4, jnp.int32)

    def step(carried: tuple[Any, jax.Array], actions: jax.Array) -> tuple[tuple[Any, jax.Array], None]:
        state, given = env.step(carried[0], actions)
        return (state, carried[1] + given.reward), None

    run = jax.jit(lambda carried: jax.lax.scan(step, carried, actions)[0])
    state, _ = jax.jit(env.reset)(jax.random.split(jax.random.PRNGKey(0), batch))
    carried = jax.block_until_ready(run((state, jnp.zeros(batch))))

    def play() -> None:
        nonlocal carried
        carried = jax.block_until_ready(run(carried))

    return batch * STEPS / time_per_call(play, seconds)


def jumanji_sokoban(levels: LevelSet) -> Any:
    """Jumanji's batched Sokoban, drawing from `levels` as its own generator of Boxoban levels does."""
    import jax
    import jax.numpy as jnp
    from jumanji.environments.routing.sokoban import Sokoban
    from jumanji.environments.routing.sokoban.generator import Generator, convert_level_to_array
    from jumanji.environments.routing.sokoban.types import State
    from jumanji.wrappers import VmapAutoResetWrapper

    boards = levels.cells(np.arange(min(10_000, len(levels))))
    grids = [convert_level_to_array(["".join(SYMBOLS[code] for code in row) for row in board]) for board in boards]
    fixed, variable = (jnp.asarray(np.array(part, np.uint8)) for part in zip(*grids, strict=True))

    class SameLevels(Generator):
        """One of `levels`, uniformly."""

        def __call__(self, rng_key: jax.Array) -> State:
            key, index_key = jax.random.split(rng_key)
            index = jax.random.randint(index_key, (), 0, len(fixed))
            return State(
                key=key,
                fixed_grid=fixed[index],
                variable_grid=variable[index],
                agent_location=self.get_agent_coordinates(variable[index]),
                step_count=jnp.array(0, jnp.int32),
            )

    return VmapAutoResetWrapper(Sokoban(generator=SameLevels(), time_limit=CAP))


def measure_envpool(batch: int, seconds: float) -> float:
    """EnvPool's C++ Sokoban on its own levels; it always gives observations."""
    import envpool

    env = envpool.make_gymnasium("Sokoban-v0", num_envs=batch)
    env.reset()
    actions = np.random.default_rng(0).integers(0, 4, (STEPS, batch)).astype(np.int32)

    def play() -> None:
        for row in actions:
            env.step(row)

    return batch * STEPS / time_per_call(play, seconds)
