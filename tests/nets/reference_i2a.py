"""I2A's imagination in plain numpy: one rollout after another, one step after another."""

import numpy as np

from tests.nets.reference_layers import convolved, sigmoid


def relu(x):
    return np.maximum(x, 0)


def softmax(x):
    return np.exp(x - x.max()) / np.exp(x - x.max()).sum()


def strided_deconv(hidden, weight, bias, size):
    """The transposed convolution: every position paints its own block; weight [size, size, F, C]."""
    out = np.zeros((hidden.shape[0] * size, hidden.shape[1] * size, weight.shape[3]))
    for r in range(hidden.shape[0]):
        for c in range(hidden.shape[1]):
            for y in range(size):
                for x in range(size):
                    out[r * size + y, c * size + x] = hidden[r, c] @ weight[y, x] + bias
    return out


def imagine(frame, action, w, size):
    """The environment model: (next frame, chances of the three reward bins)."""
    hidden = relu(convolved(frame, w["look"], size) + w["look_bias"])
    tiled = np.broadcast_to(np.eye(w["actions"])[action], (*hidden.shape[:2], w["actions"]))
    hidden = relu(convolved(np.concatenate([hidden, tiled], axis=2), w["mix"]) + w["mix_bias"])
    for first, first_bias, second, second_bias in w["blocks"]:
        inner = relu(convolved(relu(hidden), first) + first_bias)
        hidden = hidden + convolved(inner, second) + second_bias
    hidden = relu(hidden)
    painted = relu(convolved(hidden, w["frame"]) + w["frame_bias"])
    judged = relu(convolved(hidden, w["reward"]) + w["reward_bias"])
    bins = judged.reshape(-1) @ w["bins"] + w["bins_bias"]
    return sigmoid(strided_deconv(painted, w["paint"], w["paint_bias"], size)) - 0.5, softmax(bins)


def process(frame, w, size):
    """Frame processing: a strided convolution, size-preserving ones, then a linear layer."""
    hidden = relu(convolved(frame, w["look"], size) + w["look_bias"])
    for weight, bias in w["convs"]:
        hidden = relu(convolved(hidden, weight) + bias)
    return relu(hidden.reshape(-1) @ w["out"] + w["out_bias"])


def rollout_logits(frame, w, size):
    return process(frame, w, size) @ w["logits"] + w["logits_bias"]


def rollout(frame, action, weights, noise, size):
    """The steps imagined after `action`, in order: (frame, reward bins, action). noise [steps - 1, A]."""
    steps = []
    for n in range(len(noise) + 1):
        frame, bins = imagine(frame, action, weights["model"], size)
        steps.append((frame, bins, action))
        if n < len(noise):
            action = int(np.argmax(rollout_logits(frame, weights["policy"], size) + noise[n]))
    return steps


def encode_rollout(steps, weights, size):
    """An LSTM from the last imagined step back to the first."""
    units = weights["lstm_hidden"].shape[0]
    cell, hidden = np.zeros(units), np.zeros(units)
    for frame, bins, action in reversed(steps):
        one_hot = np.eye(weights["model"]["actions"])[action]
        seen = np.concatenate([process(frame, weights["imagined"], size), bins, one_hot])
        gates = seen @ weights["lstm_input"] + hidden @ weights["lstm_hidden"] + weights["lstm_bias"]
        take, forget, show, new = np.split(gates, 4)
        cell = sigmoid(forget) * cell + sigmoid(take) * np.tanh(new)
        hidden = sigmoid(show) * np.tanh(cell)
    return hidden
