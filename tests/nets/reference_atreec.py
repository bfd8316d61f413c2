"""ATreeC's tree, one node at a time: each node is a dictionary, the backup is a recursion from the leaves."""

import numpy as np


def normalised(state):
    return state / np.sqrt(np.sum(state**2) + 1e-12)


def next_state(state, action, weights):
    """s + tanh(W s + b) + tanh(W_a s), scaled to length one."""
    shared = np.tanh(state @ weights["shared"] + weights["shared_bias"])
    own = np.tanh(state @ weights["by_action"][action])
    return normalised(state + shared + own)


def reward_of(state, action, weights):
    hidden = np.maximum(state @ weights["reward_hidden"] + weights["reward_hidden_bias"], 0)
    return (hidden @ weights["reward_out"] + weights["reward_out_bias"])[action]


def value_of(state, weights):
    return float(state @ weights["value"] + weights["value_bias"])


def largest(values):
    return max(values)


def softmax_weighted(values):
    weights = np.exp(np.array(values) - max(values))
    return float(np.sum(np.array(values) * weights / weights.sum()))


def q_value(state, action, depth, weights, aggregate, gamma, lam):
    """Q(s, a) with `depth` moves looked ahead, the one of a included."""
    after = next_state(state, action, weights)
    ahead = value_of(after, weights)
    if depth > 1:
        actions = range(len(weights["by_action"]))
        deeper = aggregate([q_value(after, a, depth - 1, weights, aggregate, gamma, lam) for a in actions])
        ahead = (1 - lam) * ahead + lam * deeper
    return reward_of(state, action, weights) + gamma * ahead
