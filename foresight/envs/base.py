"""The contract every domain keeps, and what is the same for all: episodes, step caps, auto-reset."""

from abc import abstractmethod
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from foresight.types import Outcome, State, TimeStep

NEXT_EPISODE = 0xFFFFFFFF  # folded into an episode's key, it gives the next episode's; no step counts this far


class Transition(NamedTuple):
    """What the rules say of one move."""

    reward: Array  # float32 []
    terminated: Array  # bool []
    solved: Array  # bool [], the goal of the game was reached by this move


class Env(eqx.Module):
    """Rules for one instance of a game; arrays (level sets) are leaves, settings are static."""

    name: ClassVar[str]
    action_names: ClassVar[tuple[str, ...]]

    caps: eqx.AbstractVar[tuple[int, int]]  # an episode's step cap is drawn from this range, both ends included

    @property
    def actions(self) -> int:
        """How many actions there are."""
        return len(self.action_names)

    @property
    @abstractmethod
    def picture_shape(self) -> tuple[int, int, int]:
        """The shape [H, W, C] that `paint` gives."""

    @abstractmethod
    def reset(self, key: Array) -> State:
        """A first state, drawn with `key`."""

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
    reset_key, cap_key, episode_key = jax.random.split(key, 3)
    return Playing(
        state=env.reset(reset_key),
        key=episode_key,
        steps=jnp.zeros((), jnp.int32),
        cap=jax.random.randint(cap_key, (), env.caps[0], env.caps[1] + 1, jnp.int32),
        score=jnp.zeros((), jnp.float32),
    )


def advance(env: Env, playing: Playing, action: Array) -> tuple[Playing, TimeStep]:
    """One step; where it ends the episode, the next episode has begun in what is returned."""
    state, transition = env.step(playing.state, action, jax.random.fold_in(playing.key, playing.steps))
    going = playing._replace(state=state, steps=playing.steps + 1, score=playing.score + transition.reward)
    truncated = (going.steps >= going.cap) & ~transition.terminated
    ended = transition.terminated | truncated
    fresh = start(env, jax.random.fold_in(playing.key, NEXT_EPISODE))
    following = jax.tree.map(lambda new, old: jnp.where(ended, new, old), fresh, going)
    return following, TimeStep(
        observation=env.observe(following.state),
        reward=transition.reward,
        terminated=transition.terminated,
        truncated=truncated,
        final_observation=env.observe(state),
        outcome=Outcome(solved=transition.solved, steps=going.steps, score=going.score),
    )
