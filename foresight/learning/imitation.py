"""Imitation: an expert plays, a pupil learns to do what it did. The pupil sees every game from its own memory."""

from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax import Array

from foresight.envs.env import Env
from foresight.learning.settings import LearnSettings
from foresight.learning.sharding import on_each_device
from foresight.nets.net import Net
from foresight.types import Memory, Picture, Tiles, Trajectory


class ImitationParts(NamedTuple):
    """The terms of the loss, before weighting, and what they are for; float32 []."""

    cross_entropy: Array
    head_weights: Array
    accuracy: Array  # the share of frames in which the pupil's likeliest action is the expert's


class BothMemories(NamedTuple):
    """What the two remember of a game."""

    expert: Memory
    pupil: Memory


class Together(eqx.Module):
    """The expert plays, and the pupil watches: to the games they are one network."""

    expert: Net
    pupil: Net

    def initial_memory(self) -> BothMemories:
        """Both memories, as an episode starts with them."""
        return BothMemories(self.expert.initial_memory(), self.pupil.initial_memory())

    def prepared(self, tiles: Tiles | None) -> "Together":
        """Both, ready for many steps."""
        return Together(self.expert.prepared(tiles), self.pupil.prepared(tiles))

    def __call__(
        self, memory: BothMemories, picture: Picture, is_first: Array | None = None
    ) -> tuple[Array, Array, BothMemories]:
        """One step: the expert's logits and value, and what both remember."""
        logits, value, experts = self.expert(memory.expert, picture, is_first)
        _, _, pupils = self.pupil(memory.pupil, picture, is_first)
        return logits, value, BothMemories(experts, pupils)


def as_pupil(played: Trajectory) -> Trajectory:
    """What the two saw together as the pupil learns from it: with its own memory."""
    return played._replace(memory=played.memory.pupil)


def imitation_loss(
    net: Net, env: Env, played: Trajectory, settings: LearnSettings, left: Array | float = 1.0
) -> tuple[Array, ImitationParts]:
    """The mean cross-entropy of the policy and the actions taken, in trajectories [B, T]."""
    del left  # nothing of it falls over a run
    losses, same = on_each_device(frame_losses_each)((net, env), played)
    head_weights = sum((0.5 * jnp.sum(w**2) for w in net.head_weights()), start=jnp.zeros(()))
    parts = ImitationParts(jnp.mean(losses), head_weights, jnp.mean(same))
    return parts.cross_entropy + settings.head_weight_l2 * parts.head_weights, parts


def frame_losses_each(player: tuple[Net, Env], played: Trajectory) -> tuple[Array, Array]:
    """`frame_losses` of trajectories [B, T]."""
    return jax.vmap(partial(frame_losses, *player))(played)


def frame_losses(net: Net, env: Env, played: Trajectory) -> tuple[Array, Array]:
    """For one trajectory: cross-entropies [T], and 1 where the likeliest action is the one taken [T]."""
    pictures = jax.vmap(env.see)(played.observations[:-1])
    logits, _, _ = net.unroll(played.memory, pictures, played.is_first[:-1])
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, played.actions)
    return losses, (jnp.argmax(logits, axis=-1) == played.actions).astype(jnp.float32)
