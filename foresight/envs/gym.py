"""The domains as Gymnasium environments: one at a time, and a real vector environment on the jitted batch."""

from functools import cached_property, partial
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from foresight.envs import env_class, make
from foresight.envs.env import Env, Transition
from foresight.envs.episodes import EpisodeState, move, start, start_each, start_from, step_auto_reset_each
from foresight.envs.forks import check_process
from foresight.envs.gym_ids import register_all
from foresight.envs.level_select import state_of_level
from foresight.errors import ForesightError
from foresight.levels import LevelSet, open_set
from foresight.render.draw import draw, format_cells
from foresight.types import State, TimeStep

RENDER_MODES = ("rgb_array", "ansi")
OBSERVATIONS = ("picture", "cells")
DEFAULT_LEVELS = "builtin/train"


class Shared:
    """What the single and the vector environment have in common: the domain, its spaces, how it is shown."""

    def build(self, domain: str, render_mode: str | None, observation: str, scale: int, settings: dict) -> None:
        """Check the settings and make the spaces of one instance."""
        if render_mode is not None and render_mode not in RENDER_MODES:
            raise ForesightError(f"no render_mode '{render_mode}'; there are: {', '.join(RENDER_MODES)}")
        if observation not in OBSERVATIONS:
            raise ForesightError(f"no observation '{observation}'; there are: {', '.join(OBSERVATIONS)}")
        if env_class(domain).takes_level_sets:
            levels = settings.get("levels", DEFAULT_LEVELS)
            settings = {**settings, "levels": levels if isinstance(levels, LevelSet) else open_set(levels)}
        self.make_env = partial(make, domain, **settings)
        self.shapes: Env = jax.eval_shape(self.make_env)
        self.render_mode = render_mode
        self.scale = scale
        self.is_painted = observation == "picture"
        cells = jax.eval_shape(lambda env: env.observe(env.reset(jax.random.key(0))), self.shapes)
        self.one_observation = Box(0, 255, self.shapes.picture_shape if self.is_painted else cells.shape, np.uint8)
        self.one_action = Discrete(self.shapes.actions)

    @cached_property
    def env(self) -> Env:
        """The domain with its arrays; until it is wanted jax does not start, so a process can still be forked."""
        return self.make_env()

    def picture_or_text(self, cells: np.ndarray) -> np.ndarray | str:
        """One observation in the chosen render mode."""
        if self.render_mode == "ansi":
            return format_cells(self.shapes.palette, cells)
        return draw(self.shapes.palette, cells, self.scale)

    def chosen_level(self, options: dict[str, Any] | None) -> Any:
        """`options["level"]`, or None."""
        unknown = set(options or {}) - {"level"}
        if unknown:
            raise ForesightError(f"reset knows no option '{unknown.pop()}'; there is: level")
        return (options or {}).get("level")


class GymEnv(Shared, gymnasium.Env):
    """One game at a time. `options={"level": ...}` takes a level's number, or for Sokoban its text."""

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": 8}  # noqa: RUF012, Gymnasium's own form

    def __init__(
        self,
        domain: str,
        render_mode: str | None = None,
        observation: str = "picture",
        scale: int = 16,
        **settings: Any,
    ):
        """`settings` go to `foresight.envs.make`; observations are the paper's picture, or cell codes ("cells")."""
        self.build(domain, render_mode, observation, scale, settings)
        self.observation_space = self.one_observation
        self.action_space = self.one_action
        self.playing: EpisodeState | None = None
        self.cells: np.ndarray | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        """Begin an episode; the first observation and an empty info."""
        super().reset(seed=seed)
        check_process()
        key = jax.random.key(int(self.np_random.integers(2**32)))
        level = self.chosen_level(options)
        self.playing = start_one(self.env, key)
        if level is not None:
            self.playing = start_from(self.env, state_of_level(self.env, level), key)
        return self.observe(), {}

    def observe(self) -> np.ndarray:
        """What the user asked to see; the cells are kept for rendering."""
        cells = observe_one(self.env, self.playing.state)
        self.cells = np.array(cells)
        return np.array(paint_one(self.env, cells) if self.is_painted else cells)

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        """One move; info has what is known of the episode so far."""
        if self.playing is None:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        if not self.action_space.contains(action):
            raise ForesightError(wrong_action(self.env, action))
        self.playing, transition, truncated = move_one(self.env, self.playing, np.int32(action))
        playing = self.playing
        info = {"solved": bool(transition.solved), "steps": int(playing.steps), "score": float(playing.score)}
        return self.observe(), float(transition.reward), bool(transition.terminated), bool(truncated), info

    def render(self) -> np.ndarray | str | None:
        """The present state as an RGB array or as text."""
        if self.render_mode is None or self.cells is None:
            return None
        return self.picture_or_text(self.cells)


class GymVectorEnv(Shared, VectorEnv):
    """B games in one compiled program; an ended game begins again in the same step.

    As Gymnasium wants it for this mode, `infos["final_obs"]` and `infos["final_info"]` then hold how it ended, each
    with a mask (`_final_obs`) that says for which games.
    """

    metadata = {  # noqa: RUF012, Gymnasium's own form
        "render_modes": list(RENDER_MODES),
        "render_fps": 8,
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    def __init__(
        self,
        num_envs: int,
        domain: str,
        render_mode: str | None = None,
        observation: str = "picture",
        scale: int = 16,
        **settings: Any,
    ):
        """As `GymEnv`, for `num_envs` games."""
        self.build(domain, render_mode, observation, scale, settings)
        self.num_envs = num_envs
        self.single_observation_space = self.one_observation
        self.single_action_space = self.one_action
        self.observation_space = batch_space(self.one_observation, num_envs)
        self.action_space = batch_space(self.one_action, num_envs)
        self.playing: EpisodeState | None = None
        self.cells: np.ndarray | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        """Begin all episodes; a chosen level is one for all, or a sequence with one for each game."""
        super().reset(seed=seed)
        check_process()
        keys = jax.random.split(jax.random.key(int(self.np_random.integers(2**32))), self.num_envs)
        level = self.chosen_level(options)
        self.playing = start_all(self.env, keys)
        if level is not None:
            each = [level] * self.num_envs if isinstance(level, int | np.integer | str) else list(level)
            if len(each) != self.num_envs:
                raise ForesightError(f"{len(each)} levels were chosen for {self.num_envs} games")
            states = [state_of_level(self.env, one) for one in each]
            self.playing = self.playing._replace(state=jax.tree.map(lambda *each: jnp.stack(each), *states))
        cells = observe_all(self.env, self.playing.state)
        self.cells = np.array(cells)
        return np.array(paint_all(self.env, cells) if self.is_painted else cells), {}

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict]:
        """One move in each game."""
        if self.playing is None:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        actions = np.asarray(actions)
        if actions.shape != (self.num_envs,) or not np.issubdtype(actions.dtype, np.integer):
            raise ForesightError(
                f"actions are {actions.dtype} {list(actions.shape)}; {self.env.name} expects {self.num_envs} integers"
            )
        wrong = actions[(actions < 0) | (actions >= self.env.actions)]
        if len(wrong):
            raise ForesightError(wrong_action(self.env, wrong[0]))
        self.playing, step = advance_all(self.env, self.playing, actions.astype(np.int32))
        observation = np.array(paint_all(self.env, step.observation) if self.is_painted else step.observation)
        self.cells = np.array(step.observation)
        info = self.final_info(step)
        return observation, np.array(step.reward), np.array(step.terminated), np.array(step.truncated), info

    def final_info(self, step: TimeStep) -> dict:
        """How the games ended that did, in Gymnasium's form."""
        ended = np.array(step.terminated | step.truncated)
        if not ended.any():
            return {}
        final = np.full(self.num_envs, None, object)
        for lane in np.flatnonzero(ended):
            cells = step.final_observation[lane]
            final[lane] = np.array(paint_one(self.env, cells) if self.is_painted else cells)
        outcome = {
            name: np.where(ended, values, np.zeros_like(values)) for name, values in step.outcome._asdict().items()
        }
        masks = {f"_{name}": ended.copy() for name in outcome}
        return {
            "final_obs": final,
            "_final_obs": ended.copy(),
            "final_info": outcome | masks,
            "_final_info": ended.copy(),
        }

    def render(self) -> tuple | None:
        """The present state of each game."""
        if self.render_mode is None or self.cells is None:
            return None
        return tuple(self.picture_or_text(cells) for cells in self.cells)


def wrong_action(env: Env, action: Any) -> str:
    """What to say of an action that is none."""
    names = ", ".join(f"{number} {name}" for number, name in enumerate(env.action_names))
    return f"{env.name} has no action {action!r}; there are: {names}"


@jax.jit
def start_one(env: Env, key: jax.Array) -> EpisodeState:
    """`start`, compiled."""
    return start(env, key)


@jax.jit
def move_one(env: Env, playing: EpisodeState, action: jax.Array) -> tuple[EpisodeState, Transition, jax.Array]:
    """`move`, compiled."""
    return move(env, playing, action)


@jax.jit
def observe_one(env: Env, state: State) -> jax.Array:
    """The cells of one state [H, W]."""
    return env.observe(state)


@jax.jit
def paint_one(env: Env, cells: jax.Array) -> jax.Array:
    """The picture of one observation [H, W, C]."""
    return env.paint(cells)


@jax.jit
def start_all(env: Env, keys: jax.Array) -> EpisodeState:
    """`start_each`, compiled."""
    return start_each(env, keys)


@jax.jit
def advance_all(env: Env, playing: EpisodeState, actions: jax.Array) -> tuple[EpisodeState, TimeStep]:
    """`step_auto_reset_each`, compiled."""
    return step_auto_reset_each(env, playing, actions)


@jax.jit
def observe_all(env: Env, states: State) -> jax.Array:
    """The cells of B states [B, H, W]."""
    return jax.vmap(env.observe)(states)


@jax.jit
def paint_all(env: Env, cells: jax.Array) -> jax.Array:
    """The pictures of B observations [B, H, W, C]."""
    return jax.vmap(env.paint)(cells)


register_all()
