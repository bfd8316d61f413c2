"""The alphabet of axes, and the records that travel between layers.

Axes: T time, B instances side by side, H W grid, C channels, F features, A actions.
Environments and networks handle one instance; `learning` and `evaluation` add B and T by `vmap` and `scan`.
"""

from typing import Any, NamedTuple

from jax import Array

State = Any  # an environment's own record of arrays
Memory = Any  # a network's own record of arrays; () for a network without memory


class Outcome(NamedTuple):
    """How an episode went; meaningful on the step that ends it."""

    solved: Array  # bool []
    steps: Array  # int32 []
    score: Array  # float32 [], the undiscounted sum of rewards


class TimeStep(NamedTuple):
    """What one step gives. After the last step of an episode, `observation` is the next episode's first."""

    observation: Array  # uint8 [...], compact
    reward: Array  # float32 []
    terminated: Array  # bool [], the game itself ended
    truncated: Array  # bool [], the step limit cut the episode; never together with `terminated`
    final_observation: Array  # uint8 [...], what the step led to, before any reset
    outcome: Outcome


class Trajectory(NamedTuple):
    """T steps of one instance, as the learner sees them."""

    memory: Memory  # before the first observation
    observations: Array  # uint8 [T + 1, ...], compact; the last one is for bootstrapping only
    is_first: Array  # bool [T + 1], true where an observation is the first of its episode
    actions: Array  # int32 [T]
    logits: Array  # float32 [T, A], of the policy that acted
    rewards: Array  # float32 [T]
    terminated: Array  # bool [T]
    truncated: Array  # bool [T]
