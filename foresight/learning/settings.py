"""The numbers of a training run: how much is played, how it is learned from."""

import math
from dataclasses import dataclass
from typing import Any, Literal

from foresight.errors import ForesightError
from foresight.limits import check_ranges
from foresight.plain import check_kinds

RANGES = {  # of what may be any number between two
    "discount": (0, 1),
    "td_lambda": (0, 1),
    "rho_clip": (0, math.inf),
    "learning_rate": (0, math.inf),
    "anneal_steps": (0, math.inf),
    "anneal_hold": (0, 1),
    "anneal_power": (0, math.inf),
    "final_learning_rate": (0, math.inf),
    "beta1": (0, 1),
    "beta2": (0, 1),
    "epsilon": (0, math.inf),
    "max_gradient_norm": (0, math.inf),
    "value_loss_weight": (0, math.inf),
    "entropy_weight": (0, math.inf),
    "logit_l2": (0, math.inf),
    "regularisation_decay": (0, math.inf),
    "head_weight_l2": (0, math.inf),
    "auxiliary_loss_weight": (0, math.inf),
    "average_steps": (0, math.inf),
}
BELOW_ONE = ("beta1", "beta2")
ABOVE_ZERO = ("anneal_steps", "regularisation_decay")


@dataclass(frozen=True)
class LearnSettings:
    """How to play and learn. The defaults are the recipe that docs/learning.md explains."""

    num_envs: int = 256
    """levels played side by side, B"""
    unroll: int = 20
    """steps played by each environment between two iterations of learning, T"""
    minibatch: int = 32
    """trajectories of one gradient step; `num_envs` must be a multiple of it"""
    epochs: int = 1
    """how often each trajectory is learned from, in passes over all that an iteration played"""

    discount: float = 0.97
    """gamma"""
    td_lambda: float = 0.5
    """lambda of the lambda-returns: 0 bootstraps at once, 1 sums rewards as far as the unroll goes"""
    rho_clip: float = 1.0
    """V-trace clips importance ratios at this value"""
    time_limit: Literal["truncate", "terminate"] = "truncate"
    """what the step limit means: `truncate` bootstraps from the critic, `terminate` ends with value 0"""

    loss: str = "actor-critic"
    """what is minimised: actor-critic, imitation (of an expert), or a function of your own as package.module:name"""
    optimiser: str = "adam"
    """what turns gradients into steps: adam, or a function of your own as package.module:name"""
    schedule: str = "polynomial"
    """how the learning rate goes: polynomial, or a function of your own as package.module:name"""
    learning_rate: float = 6e-4
    """the learning rate at the start"""
    anneal_steps: float | None = None
    """environment steps over which the learning rate falls to `final_learning_rate`; None: the run's, or never"""
    anneal_hold: float = 0.5
    """the share of those steps during which the learning rate stays where it starts"""
    anneal_power: float = 1.0
    """power of the polynomial schedule; 1 is linear"""
    final_learning_rate: float = 0.0
    """the learning rate at the end of the schedule"""
    beta1: float = 0.9
    """Adam's decay of the mean"""
    beta2: float = 0.99
    """Adam's decay of the mean square"""
    epsilon: float = 1.5e-7
    """Adam's epsilon"""
    max_gradient_norm: float = 2.5e-4
    """the gradient is scaled down to this global norm; 0 leaves it alone"""

    value_loss_weight: float = 0.5
    """weight of half the squared error of the values"""
    entropy_weight: float = 0.01
    """weight of the policy's entropy"""
    logit_l2: float = 1e-3
    """weight of half the squared length of the logits"""
    regularisation_decay: float = 1.0
    """what is left of the entropy and logit L2 weights after `anneal_steps`; they fall by the same factor each step"""
    head_weight_l2: float = 1e-5
    """weight of half the squared length of the weights that give logits and value"""
    auxiliary_loss_weight: float = 1.0
    """weight of the loss that a network states for itself (I2A's model)"""

    average_steps: float = 0.0
    """environment steps over which weights are averaged for the agent that is evaluated and kept; 0: the last ones"""

    non_finite: Literal["stop", "skip"] = "stop"
    """what NaN or infinity in an iteration does: `stop` ends the run, `skip` skips that iteration and counts it"""

    def __post_init__(self) -> None:
        check_kinds(self)
        check_ranges(self)
        for name, (low, high) in RANGES.items():
            value = getattr(self, name)
            if value is None:
                continue
            if not (math.isfinite(value) and low <= value <= high):
                wanted = f"from {low:g} to {high:g}" if math.isfinite(high) else f"of at least {low:g}"
                raise ForesightError(f"`{name}` must be a number {wanted}, not {value:g}")
        for name in BELOW_ONE:
            if getattr(self, name) == 1:
                raise ForesightError(f"`{name}` must be below 1: an average that never moves divides by nothing")
        if self.num_envs % self.minibatch:
            raise ForesightError(f"`num_envs` ({self.num_envs}) must be a multiple of `minibatch` ({self.minibatch})")
        for name in ABOVE_ZERO:
            if getattr(self, name) == 0:
                raise ForesightError(f"`{name}` must be above 0")

    @property
    def steps_per_iteration(self) -> int:
        """Environment steps of one iteration: play an unroll on every environment, then learn from all of it."""
        return self.num_envs * self.unroll

    @property
    def minibatches_per_iteration(self) -> int:
        """How many minibatches what an iteration plays is split into."""
        return self.num_envs // self.minibatch

    @property
    def gradient_steps_per_iteration(self) -> int:
        """How many gradient steps an iteration takes: each minibatch once in every epoch."""
        return self.minibatches_per_iteration * self.epochs

    @property
    def steps_per_gradient_step(self) -> float:
        """Environment steps for each gradient step: the frames of a minibatch, shared by the epochs."""
        return self.minibatch * self.unroll / self.epochs

    @property
    def schedule_offset(self) -> int:
        """What to add to the gradient steps taken to know where the schedules are; phases of a run have one."""
        return 0

    def gradient_steps_at(self, iterations: Any) -> Any:
        """How many gradient steps have been taken after so many iterations, an int or an array."""
        return iterations * self.gradient_steps_per_iteration
