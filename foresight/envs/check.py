"""Whether an environment keeps the contract: `check_env` plays it and says what is wrong."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from foresight.envs.env import Env, Transition
from foresight.envs.episodes import EpisodeState, start_each, step_auto_reset_each
from foresight.errors import ForesightError
from foresight.types import TimeStep

NUM_ENVS, STEPS = 8, 64
OF_TRANSITION = {"reward": jnp.float32, "terminated": jnp.bool, "solved": jnp.bool}


def check_env(env: Env, seed: int = 0) -> None:
    """Raise an error that says what is wrong with an environment; nothing, if it keeps the contract.

    Looks at names, shapes and types, then plays some games at random: one alone must go as it does in a batch, rewards
    must be finite, episodes must end at their limit and begin again, and a numbered level must be the same every time.

    >>> from foresight.envs import make
    >>> check_env(make("sokoban", levels="builtin/mini-train"))
    """
    check_kind(env)
    check_shapes(env)
    keys = jax.random.split(jax.random.key(seed), NUM_ENVS)
    actions = jax.random.randint(jax.random.fold_in(keys[0], 1), (STEPS, NUM_ENVS), 0, env.actions, jnp.int32)
    first = jax.jit(start_each)(env, keys)
    played = jax.tree.map(np.asarray, play(env, first, actions))
    check_alone_as_in_a_batch(env, first, actions, played)
    check_play(env, played)
    check_numbered(env)


def check_kind(env: Any) -> None:
    """It is an `Env` with names, and its arrays are leaves."""
    if not isinstance(env, Env):
        raise ForesightError(f"{env!r} is no environment: expected an instance of a subclass of foresight.Env")
    names = env.action_names
    if not (isinstance(names, tuple) and names and all(isinstance(name, str) for name in names)):
        raise wrong(env, f"`action_names` is {names!r}; expected a tuple of words")
    if len(set(names)) < len(names):
        raise wrong(env, f"`action_names` has a name twice: {', '.join(names)}")
    odd = [leaf for leaf in jax.tree.leaves(env) if not eqx.is_array(leaf)]
    if odd:
        raise wrong(env, f"the field with {odd[0]!r} is neither an array nor declared by eqx.field(static=True)")


def check_shapes(env: Env) -> None:
    """What the four functions give, without computing anything."""
    key, action = jax.random.key(0), jnp.zeros((), jnp.int32)
    state = shape_of(env, "reset", env.reset, key)
    observation = shape_of(env, "observe", env.observe, state)
    if observation.dtype != jnp.uint8:
        raise wrong(env, f"`observe` gives {observation.dtype}; expected uint8")
    picture = shape_of(env, "paint", env.paint, observation)
    if (picture.shape, picture.dtype) != (tuple(env.picture_shape), jnp.uint8):
        expected = f"`picture_shape` says uint8 {list(env.picture_shape)}"
        raise wrong(env, f"`paint` gives {picture.dtype} {list(picture.shape)}; {expected}")
    after, transition = shape_of(env, "step", env.step, state, action, key)
    if not isinstance(transition, Transition):
        raise wrong(env, f"`step` gives a {type(transition).__name__} beside the state; expected a Transition")
    for name, dtype in OF_TRANSITION.items():
        given = getattr(transition, name)
        if (jnp.shape(given), given.dtype) != ((), dtype):
            found = f"{given.dtype} {list(given.shape)}"
            raise wrong(env, f"`step` gives `{name}` as {found}; expected {jnp.dtype(dtype)} []")
    check_same(env, "`step` changes what a state is", state, after)
    numbered = shape_of(env, "reset_to", env.reset_to, action)
    check_same(env, "`reset_to` gives another kind of state than `reset`", state, numbered)


def shape_of(env: Env, name: str, function: Any, *arguments: Any) -> Any:
    """The shapes that a function gives; one that cannot be traced is an error of its author's."""
    try:
        return jax.eval_shape(function, *arguments)
    except (TypeError, ValueError, AttributeError, IndexError, jax.errors.JAXTypeError) as error:
        raise wrong(env, f"`{name}` cannot be compiled: {str(error).splitlines()[0]}") from error


def check_same(env: Env, what: str, one: Any, other: Any) -> None:
    """Two states are records of arrays of the same shapes and types."""
    if jax.tree.structure(one) != jax.tree.structure(other):
        raise wrong(env, f"{what}: {jax.tree.structure(one)} and {jax.tree.structure(other)}")
    for (path, a), b in zip(jax.tree_util.tree_leaves_with_path(one), jax.tree.leaves(other), strict=True):
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            name = jax.tree_util.keystr(path) or "it"
            raise wrong(env, f"{what}: {name} is {a.dtype} {list(a.shape)}, then {b.dtype} {list(b.shape)}")


@jax.jit
def play(env: Env, playing: EpisodeState, actions: Array) -> TimeStep:
    """All of `actions` [T, B], and what each step gave, [T, B, ...]."""
    return jax.lax.scan(lambda playing, action: step_auto_reset_each(env, playing, action), playing, actions)[1]


def check_alone_as_in_a_batch(env: Env, first: EpisodeState, actions: Array, played: TimeStep) -> None:
    """The last game again, by itself: what happens in one must not depend on the others."""
    alone = jax.tree.map(lambda leaf: leaf[-1:], first)
    again = jax.tree.map(np.asarray, play(env, alone, actions[:, -1:]))
    for name, one, many in zip(TimeStep._fields, again, played, strict=True):
        same = jax.tree.map(lambda a, b: np.array_equal(a, b[:, -1:]), one, many)
        if not all(jax.tree.leaves(same)):
            raise wrong(env, f"a game played alone gives another `{name}` than among others, or it changes by itself")


def check_play(env: Env, played: TimeStep) -> None:
    """Rewards are numbers, something happens, episodes end and begin again."""
    if not np.all(np.isfinite(played.reward)):
        raise wrong(env, "`step` gives a `reward` that is not finite")
    low, high = env.max_episode_steps
    ended = played.terminated | played.truncated
    if played.outcome.steps.max() > high or (high < STEPS and not ended.any()):
        raise wrong(env, f"an episode goes on beyond its step limit of {high}")
    if np.any(played.outcome.solved & ~played.terminated):
        raise wrong(env, "a `solved` game is not `terminated`")
    if np.all(played.final_observation == played.final_observation[:1]) and low > 1:
        raise wrong(env, f"{STEPS} random steps in {NUM_ENVS} games change nothing that `observe` shows")


def check_numbered(env: Env) -> None:
    """A level by its number is the same at every call."""
    count = min(env.level_count or 4, 4)
    numbered = jax.jit(lambda env, index: env.observe(env.reset_to(index)))
    for index in range(count):
        one, other = (np.asarray(numbered(env, jnp.int32(index))) for _ in range(2))
        if not np.array_equal(one, other):
            raise wrong(env, f"`reset_to` {index} is another level at every call")


def wrong(env: Env, what: str) -> ForesightError:
    """The error for an environment that breaks its contract."""
    return ForesightError(f"{getattr(env, 'name', type(env).__name__)}: {what}")
