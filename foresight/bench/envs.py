"""How many steps a second the domains take on this machine's device."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array

from foresight.bench.peers import STEPS, peers
from foresight.bench.timing import carrying, time_call
from foresight.envs import DOMAINS, make
from foresight.envs.env import Env
from foresight.envs.episodes import EpisodeState, prefetch_if_faster, start_each, step_auto_reset_each
from foresight.errors import ForesightError, unknown
from foresight.levels import LevelSet, open_set

WORK = ("rules", "observe", "paint")  # each includes the ones before
MOST_PICTURE_BYTES = 2e9  # a batch of pictures larger than this is not painted
CPU_BATCHES = (1, 64, 256, 1024, 4096, 16384)
DEVICE_BATCHES = (256, 4096, 16384, 65536, 262144, 1048576)


@dataclass(frozen=True)
class Measurement:
    """Steps a second of one implementation at one batch size, by what a step includes."""

    implementation: str  # foresight, python or jumanji
    domain: str
    work: str  # one of WORK
    batch: int
    steps_per_second: float  # the median of the timings


def measure_all(
    domains: Sequence[str] = (), batches: Sequence[int] = (), levels: str = "builtin/train", seconds: float = 1.0
) -> Iterator[Measurement]:
    """Every domain at every batch size, and for Sokoban the other implementations that are installed."""
    for name in domains:
        if name not in DOMAINS:
            raise unknown("domain", name, DOMAINS)
    if any(batch < 1 for batch in batches) or not 0 < seconds < math.inf:
        raise ForesightError("batch sizes and seconds must be positive numbers")
    sokoban_levels = open_set(levels)
    for name in domains or DOMAINS:
        for batch in batches or (CPU_BATCHES if jax.default_backend() == "cpu" else DEVICE_BATCHES):
            yield from measure_domain(name, batch, sokoban_levels, seconds)


def measure_domain(name: str, batch: int, levels: LevelSet, seconds: float) -> Iterator[Measurement]:
    """One domain at one batch size, by kind of work; peers follow at once, so that they meet the same machine."""
    env = make(name, levels=levels) if name == "sokoban" else make(name)
    for work in WORK:
        if work != "paint" or batch * math.prod(env.picture_shape) <= MOST_PICTURE_BYTES:
            yield Measurement("foresight", name, work, batch, measure(env, work, batch, seconds))
    for peer, steps, play in peers(levels, batch) if name == "sokoban" else ():
        yield Measurement(peer, name, "rules", batch, steps / time_call(play, seconds).median)


def measure(env: Env, work: str, batch: int, seconds: float) -> float:
    """Steps a second with random actions, drawn beforehand."""
    actions = jax.random.randint(jax.random.key(1), (STEPS, batch), 0, env.actions, jnp.int32)
    playing = jax.jit(start_each)(env, jax.random.split(jax.random.key(0), batch))
    # Environments that began together would all end together: start them at different ages.
    playing = playing._replace(steps=jnp.arange(batch, dtype=jnp.int32) % playing.max_steps)
    first = product(env, work, jax.vmap(env.observe)(playing.state), jnp.zeros_like(playing.score))
    program = jax.jit(run, static_argnums=1)
    call = carrying(lambda carried: program(env, work, *carried, actions), (playing, first))
    return batch * STEPS / time_call(call, seconds).median


def run(env: Env, work: str, playing: EpisodeState, made: Array, actions: Array) -> tuple[EpisodeState, Array]:
    """Play `actions` [T, B]. What each step makes is carried on, so that it is really written to memory."""
    ahead = prefetch_if_faster(env, playing, len(actions))

    def step(carried: tuple[EpisodeState, Array], actions: Array) -> tuple[tuple[EpisodeState, Array], None]:
        playing, given = step_auto_reset_each(env, carried[0], actions, ahead)
        return (playing, product(env, work, given.observation, given.reward)), None

    return jax.lax.scan(step, (playing, made), actions)[0]


def product(env: Env, work: str, observations: Array, rewards: Array) -> Array:
    """What a step of this kind of work makes."""
    if work == "rules":
        return rewards
    return observations if work == "observe" else jax.vmap(env.paint)(observations)
