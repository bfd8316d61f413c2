"""One level played by a network with everything it thought on the way: for people to look at."""

import base64
from dataclasses import dataclass
from functools import cached_property, partial
from html import escape
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from foresight.envs.env import Env
from foresight.envs.pictures import draw_all
from foresight.evaluation.solve import PlaySettings, step_keys
from foresight.learning.acting import draw_action
from foresight.nets.net import Net
from foresight.render.gif import format_gif, write_gif
from foresight.types import State

FRAME_SECONDS = 0.15


@dataclass(frozen=True, eq=False)
class Episode:
    """What happened in T steps, A actions being possible; before the first, K looks at the first picture.

    In a notebook it shows itself as an animation.
    """

    env: Env
    actions: np.ndarray  # int32 [T]
    probabilities: np.ndarray  # float32 [T, A], of the policy before each step
    values: np.ndarray  # float32 [T], what the network expected before each step
    rewards: np.ndarray  # float32 [T]
    observations: np.ndarray  # uint8 [T + 1, ...], compact
    thinking_probabilities: np.ndarray  # float32 [K, A], of the policy at each look before the first step
    thinking_values: np.ndarray  # float32 [K]
    solved: bool
    terminated: bool  # the game ended; otherwise the step limit did

    @property
    def steps(self) -> int:
        """T."""
        return len(self.actions)

    @property
    def score(self) -> float:
        """The sum of all rewards."""
        return float(self.rewards.sum())

    @property
    def action_names(self) -> list[str]:
        """The actions in words."""
        return [self.env.action_names[action] for action in self.actions]

    @cached_property
    def pictures(self) -> np.ndarray:
        """What there was to see, uint8 [T + 1, H, W, 3]."""
        return draw_all(self.env, self.observations)

    def save_gif(self, path: Path | str) -> None:
        """Write the pictures as an animation."""
        write_gif(Path(path), self.pictures, FRAME_SECONDS)

    def __repr__(self) -> str:
        return f"<{self.outcome}>"

    @property
    def outcome(self) -> str:
        """How it went, in a few words."""
        ended = "" if self.env.is_scored else "solved " if self.solved else "not solved "
        looks = f" after {len(self.thinking_values)} thinking steps" if len(self.thinking_values) else ""
        return f"{self.env.name}: {ended}in {self.steps} steps{looks}, score {self.score:.2f}"

    def _repr_html_(self) -> str:
        """The animation, as a notebook shows it."""
        data = base64.b64encode(format_gif(self.pictures, FRAME_SECONDS)).decode()
        image = f'<img src="data:image/gif;base64,{data}">'
        return f"<figure>{image}<figcaption>{escape(self.outcome)}</figcaption></figure>"


def play_episode(env: Env, net: Net, state: State, settings: PlaySettings, key: Array, number: int = 0) -> Episode:
    """Play from `state` to the end of the game or the step limit.

    The chance of a level is that of its `number`, as in `solve`: the same key gives the same game.
    """
    played = jax.tree.map(np.asarray, play(env, net, settings, state, key, jnp.int32(number)))
    steps = int(played.pop("steps"))
    by_step = {name: played.pop(name)[:steps] for name in ("actions", "probabilities", "values", "rewards")}
    observations = played.pop("observations")[: steps + 1]
    solved, terminated = bool(played.pop("solved")), bool(played.pop("terminated"))
    return Episode(env=env, observations=observations, solved=solved, terminated=terminated, **by_step, **played)


@eqx.filter_jit
def play(env: Env, net: Net, settings: PlaySettings, state: State, key: Array, number: Array) -> dict[str, Array]:
    """`settings.think` looks and at most `settings.max_steps` steps, in arrays of that length."""
    first = env.paint(env.observe(state))

    def look(memory: object, _: None) -> tuple[object, tuple[Array, Array]]:
        logits, value, memory = net(memory, first)
        return memory, (jax.nn.softmax(logits), value)

    def step(carry: tuple, now: Array) -> tuple[tuple, tuple]:
        state, memory, solved, ended = carry
        logits, value, after = net(memory, env.paint(env.observe(state)))
        action_key, env_key = step_keys(key, number, now)
        action = draw_action(logits, action_key, settings.greedy)
        moved, transition = env.step(state, action, env_key)
        state, memory = jax.tree.map(partial(jnp.where, ended), (state, memory), (moved, after))
        reward = jnp.where(ended, 0.0, transition.reward)
        seen = env.observe(state), action.astype(jnp.int32), jax.nn.softmax(logits), value, reward, ~ended
        return (state, memory, solved | (transition.solved & ~ended), ended | transition.terminated), seen

    memory, (thinking_probabilities, thinking_values) = jax.lax.scan(look, net.initial_memory(), length=settings.think)
    start = state, memory, jnp.zeros((), bool), jnp.zeros((), bool)
    (_, _, solved, ended), seen = jax.lax.scan(step, start, jnp.arange(settings.max_steps, dtype=jnp.int32))
    observations, actions, probabilities, values, rewards, taken = seen
    return {
        "observations": jnp.concatenate([env.observe(start[0])[None], observations]),
        "actions": actions,
        "probabilities": probabilities,
        "values": values,
        "rewards": rewards,
        "steps": jnp.sum(taken, dtype=jnp.int32),
        "solved": solved,
        "terminated": ended,
        "thinking_probabilities": thinking_probabilities,
        "thinking_values": thinking_values,
    }
