"""A run of several phases as one program: every phase is compiled when it comes, games go on from one to the next."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import Array
from jax.sharding import Mesh

from foresight.envs.env import Env
from foresight.errors import ForesightError
from foresight.learning.rollout import ActingState, init_acting
from foresight.learning.update import Metrics, TrainState
from foresight.nets.net import Net
from foresight.runs.build import build_env
from foresight.runs.config import RunConfig
from foresight.runs.devices import placement, within
from foresight.runs.phases import Phase
from foresight.runs.program import Program, iterations_done, program

NEW_GAMES = 0x67616D65  # folded into a run's key for the games that a phase with more environments begins


class PhasedProgram:
    """The phases of a run; the one under way is kept compiled."""

    def __init__(self, config: RunConfig, env: Env, mesh: Mesh | None):
        """`env` is the first phase's; the levels of all others are opened once, so that bad ones are found now."""
        self.config, self.mesh, self.env, self.levels = config, mesh, env, config.plan[0].levels
        for levels in {phase.levels for phase in config.plan} - {None, self.levels}:
            other = build_env(config, levels)
            if other.picture_shape != env.picture_shape:
                raise ForesightError(f"phase with levels {levels}: other boards than those that the run begins with")
        self.enter(config.plan[0])

    def enter(self, phase: Phase) -> None:
        """Make the program that of `phase`."""
        if phase.levels != self.levels:
            self.env, self.levels = build_env(self.config, phase.levels), phase.levels
        self.phase, self.program = phase, program(self.config, self.env, self.mesh, phase)

    def at(self, phase: Phase) -> Program:
        """The program of `phase`."""
        if phase != self.phase:
            self.enter(phase)
        return self.program

    def initial_state(self, iterations: int = 0) -> TrainState:
        """A state as it is after so many iterations, with the numbers of a first one."""
        return self.at(self.config.phase_at(iterations)).initial_state()

    def call(self, state: TrainState) -> tuple[TrainState, Metrics]:
        """The iterations of one call, in the phase that they belong to."""
        phase = self.config.phase_at(iterations_done(state) + 1)
        compiled = self.at(phase)
        if state.acting.playing.steps.shape[-1] != phase.settings.num_envs:
            state = state._replace(acting=self.regrow(state, compiled))
        return compiled.call(state)

    def compile_call(self, state: TrainState) -> Callable[[TrainState], tuple[TrainState, Metrics]]:
        """`call`, with the iterations of its first phase compiled."""
        phase = self.config.phase_at(iterations_done(state) + 1)
        if state.acting.playing.steps.shape[-1] == phase.settings.num_envs:
            first = self.at(phase)
            self.program = first._replace(call=first.compile_call(state))
        return self.call

    def regrow(self, state: TrainState, compiled: Program) -> ActingState:
        """The games of `state` in as many environments as the program has: some are dropped, or new ones begun."""
        num_envs, env = self.phase.settings.num_envs, self.env

        def grow(net: Net, key: Array, old: ActingState) -> ActingState:
            new = init_acting(env, net, num_envs, jax.random.fold_in(key, NEW_GAMES))
            kept = min(num_envs, len(old.playing.steps))
            return jax.tree.map(lambda ours, fresh: jnp.concatenate([ours[:kept], fresh[kept:]]), old, new)

        grow = jax.vmap(grow) if self.config.seeds > 1 else grow
        if self.mesh is None:
            return jax.jit(grow)(state.net, state.key, state.acting)
        _, shardings = placement(self.mesh, compiled.shape(), self.config.seeds)
        grow = within(self.mesh, jax.jit(grow, out_shardings=shardings.acting))
        return grow(state.net, state.key, state.acting)
