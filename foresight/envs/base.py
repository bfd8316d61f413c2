"""The contract every domain keeps, and what is the same for all: episodes, step caps, auto-reset."""

from abc import abstractmethod
from functools import partial
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from foresight.errors import ForesightError
from foresight.types import Outcome, State, TimeStep

# An episode's key gives its first state, its cap and its steps' keys. `split` and the draws of jax.random count
# up from 0, so what is folded in for cap and steps is kept out of their reach.
CAP = 0x7FFFFFFF
STEPS = 0x80000000
KEY_STEP = 0x9E3779B9  # from an episode's key to the next one's; odd, so that it can be divided by
MOST_DRAWN = 65_536  # levels drawn side by side beforehand, for the sake of memory
LANES = 8  # the fewest costly resets that `advance_each` makes at a time


class Transition(NamedTuple):
    """What the rules say of one move."""

    reward: Array  # float32 []
    terminated: Array  # bool []
    solved: Array  # bool [], the goal of the game was reached by this move


class Env(eqx.Module):
    """Rules for one instance of a game; arrays (level sets) are leaves, settings are static.

    Give an `Env` to a jitted function as an argument: closed over, its levels would be compiled in as constants.
    """

    name: ClassVar[str]
    action_names: eqx.AbstractClassVar[tuple[str, ...]]
    costly_reset: ClassVar[bool] = False  # true where a reset costs far more than a step; see `advance_each`

    caps: eqx.AbstractVar[tuple[int, int]]  # an episode's step cap is drawn from this range, both ends included

    def __check_init__(self):
        if not 1 <= self.caps[0] <= self.caps[1]:
            raise ForesightError(f"caps are {self.caps}; expected (least, most) with 1 <= least <= most")

    @property
    def actions(self) -> int:
        """How many actions there are."""
        return len(self.action_names)

    @property
    @abstractmethod
    def picture_shape(self) -> tuple[int, int, int]:
        """The shape [H, W, C] that `paint` gives."""

    @property
    def level_count(self) -> int | None:
        """How many levels `reset_to` can tell apart; None where there is no end of them."""
        return None

    @abstractmethod
    def reset(self, key: Array) -> State:
        """A first state, drawn with `key`."""

    def reset_to(self, index: Array) -> State:
        """The first state number `index`, int32 []: the same one at every call."""
        return self.reset(jax.random.fold_in(jax.random.key(0), index))

    @abstractmethod
    def step(self, state: State, action: Array, key: Array) -> tuple[State, Transition]:
        """The rules: one move. `key` is for games that roll dice."""

    @abstractmethod
    def observe(self, state: State) -> Array:
        """The compact observation, uint8: what trajectories store."""

    @abstractmethod
    def paint(self, observation: Array) -> Array:
        """The paper's picture of a compact observation, uint8 [H, W, C]."""


class Playing(NamedTuple):
    """An episode under way."""

    state: State
    key: Array  # this episode's
    steps: Array  # int32 [], taken so far
    cap: Array  # int32 []
    score: Array  # float32 []


def start(env: Env, key: Array) -> Playing:
    """Begin an episode."""
    return start_from(env, env.reset(key), key)


def start_from(env: Env, state: State, key: Array) -> Playing:
    """Begin an episode with a state of one's own choice."""
    low, high = env.caps
    fixed = jnp.full((), low, jnp.int32)
    return Playing(
        state=state,
        key=key,
        steps=jnp.zeros((), jnp.int32),
        cap=fixed if low == high else jax.random.randint(jax.random.fold_in(key, CAP), (), low, high + 1, jnp.int32),
        score=jnp.zeros((), jnp.float32),
    )


def next_key(key: Array) -> Array:
    """The key of the episode that follows the one with `key`."""
    # It needs only be unlike all others, since everything drawn from it is hashed: adding odd numbers to its words
    # walks through 2^32 different keys and costs nothing, where threefry would take most of a Sokoban step.
    return key_after(key, 1)


def key_after(key: Array, episodes: int | Array) -> Array:
    """The key of the episode that comes so many later."""
    words = jax.random.key_data(key) + jnp.uint32(KEY_STEP) * jnp.asarray(episodes, jnp.uint32)
    return jax.random.wrap_key_data(words, impl=jax.random.key_impl(key))


def move(env: Env, playing: Playing, action: Array) -> tuple[Playing, Transition, Array]:
    """One step without any reset, and whether the step cap cut the episode."""
    key = jax.random.fold_in(playing.key, jnp.uint32(STEPS) + playing.steps.astype(jnp.uint32))
    state, transition = env.step(playing.state, action, key)
    going = playing._replace(state=state, steps=playing.steps + 1, score=playing.score + transition.reward)
    return going, transition, (going.steps >= going.cap) & ~transition.terminated


def report(env: Env, going: Playing, transition: Transition, truncated: Array, following: Playing) -> TimeStep:
    """What a step gives, from the episode that took it and the one that goes on."""
    return TimeStep(
        observation=env.observe(following.state),
        reward=transition.reward,
        terminated=transition.terminated,
        truncated=truncated,
        final_observation=env.observe(going.state),
        outcome=Outcome(solved=transition.solved, steps=going.steps, score=going.score),
    )


class Ahead(NamedTuple):
    """The first states of episodes to come, drawn beforehand."""

    key: Array  # of the episode before them
    states: State  # [n, ...], of the n episodes that follow it

    def state(self, key: Array) -> State:
        """The first state of the episode with `key`, one of the n."""
        words, before = jax.random.key_data(key), jax.random.key_data(self.key)
        number = (words[0] - before[0]) * jnp.uint32(pow(KEY_STEP, -1, 2**32)) - 1
        return jax.tree.map(lambda leaf: leaf[number], self.states)


def advance(env: Env, playing: Playing, action: Array, ahead: Ahead | None = None) -> tuple[Playing, TimeStep]:
    """One step; where it ends the episode, the next one, from `ahead` if given, has begun in what is returned."""
    going, transition, truncated = move(env, playing, action)
    ended = transition.terminated | truncated
    key = next_key(playing.key)
    fresh = start_from(env, env.reset(key) if ahead is None else ahead.state(key), key)
    following = jax.tree.map(lambda new, old: jnp.where(ended, new, old), fresh, going)
    return following, report(env, going, transition, truncated, following)


def start_each(env: Env, keys: Array) -> Playing:
    """Begin an episode for each of `keys` [B]."""
    return jax.vmap(partial(start, env))(keys)


def prepare(env: Env, playing: Playing, steps: int) -> Ahead | None:
    """What `advance_each` may be given for the next `steps` steps, if that is faster than resets as they are needed.

    A reset that draws until a level is good is a loop whose end depends on what was drawn. A CPU runs it where an
    episode ended and nowhere else. A GPU asks the host after every round of it, so there the loops of all steps are run
    at once, beforehand: more levels are drawn than used, but no step has such a loop.
    """
    if not env.costly_reset or jax.default_backend() == "cpu":
        return None
    return draw_ahead(env, playing, steps)


def draw_ahead(env: Env, playing: Playing, episodes: int) -> Ahead:
    """The first states of each lane's next `episodes` episodes, [B]."""
    after = jax.vmap(key_after, in_axes=(None, 0))
    keys = jax.vmap(after, in_axes=(0, None))(playing.key, jnp.arange(1, episodes + 1))  # [B, episodes]
    states = jax.lax.map(env.reset, keys.ravel(), batch_size=min(keys.size, MOST_DRAWN))
    return Ahead(playing.key, jax.tree.map(lambda leaf: leaf.reshape(*keys.shape, *leaf.shape[1:]), states))


def advance_each(env: Env, playing: Playing, actions: Array, ahead: Ahead | None = None) -> tuple[Playing, TimeStep]:
    """`advance` for B episodes side by side [B]; costly resets are `ahead` [B] or made only where episodes ended."""
    if ahead is not None or not env.costly_reset:
        return jax.vmap(partial(advance, env))(playing, actions, ahead)
    going, transition, truncated = jax.vmap(partial(move, env))(playing, actions)
    following = restart_where(env, transition.terminated | truncated, going)
    return following, jax.vmap(partial(report, env))(going, transition, truncated, following)


def restart_where(env: Env, ended: Array, playing: Playing) -> Playing:
    """The next episode where `ended` [B], some lanes at a time."""
    lanes_at_once = min(len(ended), resets_at_once(len(ended)))

    def restart_some(pending_and_playing: tuple[Array, Playing]) -> tuple[Array, Playing]:
        pending, playing = pending_and_playing
        (lanes,) = jnp.nonzero(pending, size=lanes_at_once, fill_value=len(pending))  # the fill is dropped
        fresh = start_each(env, next_key(playing.key.at[lanes].get(mode="clip")))
        following = jax.tree.map(lambda all, new: all.at[lanes].set(new, mode="drop"), playing, fresh)
        return pending.at[lanes].set(False, mode="drop"), following

    return jax.lax.while_loop(lambda both: jnp.any(both[0]), restart_some, (ended, playing))[1]


def resets_at_once(lanes: int) -> int:
    """How many costly resets to make together, of which some will not be needed."""
    # Measured with Gridworld: on two CPU cores 8 are best at every batch size (256 lanes: 550k steps/s, 66k with 64 at
    # once); on an H200, where many cost as little as few, an eighth of the lanes (4,096: 1.5M steps/s, 0.25M with 8).
    return LANES if jax.default_backend() == "cpu" else max(LANES, lanes // 8)
