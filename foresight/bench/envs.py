"""How many steps a second the domains take on this machine's device.

Where the command line's packages are not installed: `python -m foresight.bench.envs` measures everything
and prints the same JSON document as `foresight bench envs --json`.
"""

import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from foresight.bench.peers import measure_peers
from foresight.bench.programs import device
from foresight.envs import DOMAINS, make
from foresight.envs.env import Env
from foresight.envs.episodes import EpisodeState, prefetch_if_faster, start_each, step_auto_reset_each
from foresight.errors import ForesightError
from foresight.levels import LevelSet, open_set

WORK = ("rules", "observe", "paint")  # each includes the ones before
STEPS = 32  # in one call of a compiled program
MOST_PICTURE_BYTES = 2e9  # a batch of pictures larger than this is not painted
CPU_BATCHES = (1, 64, 256, 1024, 4096, 16384)
DEVICE_BATCHES = (256, 4096, 16384, 65536, 262144, 1048576)


@dataclass(frozen=True)
class Measurement:
    """Steps a second of one implementation at one batch size, by what a step includes."""

    implementation: str  # foresight, python, jumanji or envpool
    domain: str
    work: str  # one of WORK
    batch: int
    steps_per_second: float  # the median over calls


def default_batches() -> tuple[int, ...]:
    """Batch sizes that suit the device."""
    return CPU_BATCHES if jax.default_backend() == "cpu" else DEVICE_BATCHES


def measure_all(
    domains: Sequence[str] = (), batches: Sequence[int] = (), levels: str = "builtin/train", seconds: float = 1.0
) -> Iterator[Measurement]:
    """Every domain at every batch size, and for Sokoban the other implementations that are installed."""
    for name in domains:
        if name not in DOMAINS:
            raise ForesightError(f"unknown domain '{name}'; there are: {', '.join(DOMAINS)}")
    if any(batch < 1 for batch in batches) or not 0 < seconds < math.inf:
        raise ForesightError("batch sizes and seconds must be positive numbers")
    sokoban_levels = open_set(levels)
    for name in domains or DOMAINS:
        for batch in batches or default_batches():
            yield from measure_domain(name, batch, sokoban_levels, seconds)


def measure_domain(name: str, batch: int, levels: LevelSet, seconds: float) -> Iterator[Measurement]:
    """One domain at one batch size, by kind of work; peers follow at once, so that they meet the same machine."""
    env = make(name, levels=levels) if name == "sokoban" else make(name)
    picture_bytes = batch * jnp.prod(jnp.array(env.picture_shape)).item()
    for work in WORK:
        if work != "paint" or picture_bytes <= MOST_PICTURE_BYTES:
            yield Measurement("foresight", name, work, batch, measure(env, work, batch, seconds))
    if name == "sokoban":
        for peer, rate in measure_peers(levels, batch, seconds):
            yield Measurement(peer, name, "rules", batch, rate)


def measure(env: Env, work: str, batch: int, seconds: float) -> float:
    """Steps a second with random actions, drawn beforehand."""
    actions = jax.random.randint(jax.random.key(1), (STEPS, batch), 0, env.actions, jnp.int32)
    playing = jax.jit(start_each)(env, jax.random.split(jax.random.key(0), batch))
    # Lanes that began together would all end together: start them at different ages.
    playing = playing._replace(steps=jnp.arange(batch, dtype=jnp.int32) % playing.max_steps)
    result = result_of(env, work, playing)
    program = jax.jit(run, static_argnums=1)

    def call(carried: Any) -> Any:
        return program(env, work, *carried, actions)

    return batch * STEPS / time_calls(call, (playing, result), seconds)


def run(env: Env, work: str, playing: EpisodeState, result: Array, actions: Array) -> tuple[EpisodeState, Array]:
    """Play `actions` [T, B]. What each step makes is carried on, so that it is really written to memory."""

    ahead = prefetch_if_faster(env, playing, len(actions))

    def step(carried: tuple[EpisodeState, Array], actions: Array) -> tuple[tuple[EpisodeState, Array], None]:
        playing, given = step_auto_reset_each(env, carried[0], actions, ahead)
        if work == "rules":
            return (playing, carried[1] + given.reward), None
        if work == "observe":
            return (playing, given.observation), None
        return (playing, jax.vmap(env.paint)(given.observation)), None

    return jax.lax.scan(step, (playing, result), actions)[0]


def result_of(env: Env, work: str, playing: EpisodeState) -> Array:
    """What a step of this kind of work makes, as zeros."""
    if work == "rules":
        return jnp.zeros_like(playing.score)
    observations = jax.vmap(env.observe)(playing.state)
    return jnp.zeros_like(observations if work == "observe" else jax.vmap(env.paint)(observations))


def time_calls(call: Callable[[Any], Any], carried: Any, seconds: float) -> float:
    """The median time of a call that takes what the last one gave, after two calls to compile and settle."""
    for _ in range(2):
        carried = jax.block_until_ready(call(carried))
    times, begin = [], time.perf_counter()
    while len(times) < 5 or time.perf_counter() - begin < seconds:
        before = time.perf_counter()
        carried = jax.block_until_ready(call(carried))
        times.append(time.perf_counter() - before)
    return median(times)


def document(rows: Sequence[Measurement]) -> dict[str, Any]:
    """The measurements with what they were made on."""
    return {"device": device(), "jax": jax.__version__, "rows": [asdict(row) for row in rows]}


if __name__ == "__main__":
    print(json.dumps(document(list(measure_all())), indent=1))
