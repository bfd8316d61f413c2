"""LSTM(D, N) in plain numpy, one frame at a time."""

import numpy as np

from tests.nets.reference_drc import encode, head
from tests.nets.reference_layers import sigmoid


def next_state(module, i_t: np.ndarray, seen: list[np.ndarray], cell: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The textbook LSTM on [i_t, outputs seen]."""
    weight = np.concatenate([np.asarray(module.on_input, float), np.asarray(module.on_outputs, float)])
    f, i, o, new = np.split(np.concatenate([i_t, *seen]) @ weight + np.asarray(module.bias, float), 4)
    c = sigmoid(f) * cell + sigmoid(i) * np.tanh(new)
    return c, sigmoid(o) * np.tanh(c)


def unroll(net, pictures: np.ndarray, is_first: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Logits [T, A] and values [T]; the first frame starts an episode."""
    results, states = [], None
    for picture, start in zip(pictures, is_first, strict=True):
        i_t = encode(net, picture).reshape(-1)
        if net.compress is not None:
            i_t = np.maximum(i_t @ np.asarray(net.compress.weight, float) + np.asarray(net.compress.bias, float), 0)
        if start:
            states = [(np.asarray(m.initial_cell, float), np.asarray(m.initial_output, float)) for m in net.modules]
        for _ in range(net.ticks):
            for d, module in enumerate(net.modules):
                below = [states[d - 1][1]] if d else []
                seen = [*below, states[d][1]] if net.compress is not None else [h for _, h in states]
                states[d] = next_state(module, i_t, seen, states[d][0])
        results.append(head(net, np.concatenate([i_t, *(h for _, h in states)])))
    return np.array([logits for logits, _ in results]), np.array([value for _, value in results])
