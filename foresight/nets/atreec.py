"""ATreeC (Farquhar et al. 2018): a tree of imagined states, unfolded for every action and backed up to the root.

The encoded frame becomes a state of length one; a learned transition gives the state after each action, a reward
network what the move earns, a value what a state is worth. The backed-up Q of the root's actions are the logits.
"""

import math
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from foresight.errors import ForesightError
from foresight.limits import MOST_LEAVES
from foresight.nets.encoders import Encoder, EncoderNet, Plan, default_encoder
from foresight.nets.layers import Linear, at_least_one, compute_dtype, from_0_to_1, lecun_normal
from foresight.nets.net import FeedForward
from foresight.types import Picture

Aggregate = Callable[[Array], Array]  # Q of a state's actions [..., A] to the state's value [...]


def largest(q: Array) -> Array:
    """The best action's value: max over the last axis."""
    return jnp.max(q, axis=-1)


def softmax_weighted(q: Array) -> Array:
    """The value of the policy softmax(q): the sum of q weighted by it."""
    return jnp.sum(q * jax.nn.softmax(q, axis=-1), axis=-1)


BACKUPS: dict[str, Aggregate] = {"max": largest, "softmax": softmax_weighted}


def aggregation(name: str) -> Aggregate:
    """The aggregation of the backup called `name`."""
    if name not in BACKUPS:
        raise ForesightError(f"ATreeC has no backup '{name}'; there are: {', '.join(BACKUPS)}")
    return BACKUPS[name]


class Tree(eqx.Module):
    """The learned model: transition, reward and value of states [E]."""

    shared: Linear  # E -> E, the same for every action
    by_action: Array  # [A, E, E]
    reward_hidden: Linear
    reward: Linear
    value: Linear

    def __init__(self, embedding: int, actions: int, reward_units: int, *, key: Array):
        shared_key, action_key, hidden_key, reward_key, value_key = jax.random.split(key, 5)
        self.shared = Linear(embedding, embedding, key=shared_key)
        self.by_action = lecun_normal(action_key, (actions, embedding, embedding), embedding)
        self.reward_hidden = Linear(embedding, reward_units, key=hidden_key)
        self.reward = Linear(reward_units, actions, key=reward_key)
        self.value = Linear(embedding, 1, key=value_key)

    def next_states(self, state: Array) -> Array:
        """The states [A, E] that the actions lead to from `state` [E]."""
        common = state + jnp.tanh(self.shared(state))
        own = jnp.tanh(jnp.einsum("e,aef->af", state, self.by_action.astype(state.dtype)))
        return jax.vmap(normalised)(common[None] + own)

    def rewards(self, state: Array) -> Array:
        """What each action earns in `state`, float32 [A]."""
        hidden = jax.nn.relu(self.reward_hidden(state))
        return self.reward(hidden.astype(jnp.float32))

    def q_values(self, state: Array, depth: int, aggregate: Aggregate, gamma: float, td_lambda: float) -> Array:
        """Q [A] of `state`, looking `depth` moves ahead.

        Below the root a state's value is its own estimate and what its actions promise, mixed by lambda.
        """
        after = self.next_states(state)
        ahead = jax.vmap(self.value)(after.astype(jnp.float32))[:, 0]
        if depth > 1:
            deeper = jax.vmap(lambda s: self.q_values(s, depth - 1, aggregate, gamma, td_lambda))(after)
            ahead = (1 - td_lambda) * ahead + td_lambda * aggregate(deeper)
        return self.rewards(state) + gamma * ahead


class ATreeC(EncoderNet, FeedForward):
    """An encoder, a tree for the logits, and a linear critic for the value."""

    encoder: Encoder
    embed: Linear
    tree: Tree
    critic: Linear
    depth: int = eqx.field(static=True)
    aggregate: Aggregate = eqx.field(static=True)
    gamma: float = eqx.field(static=True)
    td_lambda: float = eqx.field(static=True)
    dtype: str = eqx.field(static=True)

    def __init__(
        self,
        picture_shape: tuple[int, int, int],
        actions: int,
        key: Array,
        *,
        encoder: Plan | None = None,  # None for one that suits the picture
        depth: int = 2,  # moves looked ahead; the paper tried 2 and 3
        embedding: int = 512,  # numbers in a state; the paper tried 128 and 512
        backup: str = "softmax",  # how a state's value comes from its actions: max or softmax
        td_lambda: float = 0.8,  # 0: a state's own estimate alone, 1: the leaves alone; the paper tried 0.8 and 0.9
        gamma: float = 0.99,  # the tree's own discount
        reward_units: int = 64,  # hidden units of the reward network
        features: int = 32,  # channels of the encoded frame
        dtype: str = "float32",
    ):
        compute_dtype(dtype)
        at_least_one("ATreeC", depth=depth, embedding=embedding, reward_units=reward_units, features=features)
        if depth > math.log(MOST_LEAVES, max(actions, 2)):
            raise ForesightError(
                f"depth is {depth}; a tree of {actions} actions that deep has over {MOST_LEAVES:,} leaves"
            )
        from_0_to_1("ATreeC", td_lambda=td_lambda, gamma=gamma)
        encoder_key, embed_key, tree_key, critic_key = jax.random.split(key, 4)
        plan = (default_encoder(picture_shape) if encoder is None else encoder).scaled(features)
        self.encoder = Encoder(plan, picture_shape[-1], key=encoder_key)
        height, width, channels = self.encoder.output_shape(picture_shape)
        self.embed = Linear(height * width * channels, embedding, key=embed_key)
        self.tree = Tree(embedding, actions, reward_units, key=tree_key)
        self.critic = Linear(embedding, 1, key=critic_key)
        self.depth = depth
        self.aggregate = aggregation(backup)
        self.gamma = gamma
        self.td_lambda = td_lambda
        self.dtype = dtype

    def encode(self, picture: Picture) -> Array:
        """The root's state [E], of length one."""
        image = self.encoder.look(picture, compute_dtype(self.dtype))
        return normalised(jax.nn.relu(self.embed(image.reshape(-1))))

    def heads(self, features: Array, core_output: tuple[()]) -> tuple[Array, Array]:
        """Logits: the root's backed-up Q. Value: the critic's."""
        del core_output
        logits = self.tree.q_values(features, self.depth, self.aggregate, self.gamma, self.td_lambda)
        return logits, self.critic(features.astype(jnp.float32))[0]

    def head_weights(self) -> list[Array]:
        """Those of the layers that give rewards and values, of which the logits are made, and the critic's."""
        return [self.tree.reward.weight, self.tree.value.weight, self.critic.weight]


def normalised(state: Array) -> Array:
    """A state [E] scaled to length one; the tiny number keeps an all-zero state (and its gradient) finite."""
    wide = state.astype(jnp.float32)
    return (wide * jax.lax.rsqrt(jnp.sum(wide**2) + 1e-12)).astype(state.dtype)
