"""DRC(D, N) in plain numpy, written from the equations of the paper's appendix "Model", one frame at a time."""

import numpy as np

from tests.nets.reference_layers import convolved, sigmoid


def gate_inputs(module, features: int, i_t: np.ndarray, below, own: np.ndarray) -> list[np.ndarray]:
    """W_i * i_t + W_h1 * h_{d-1} + W_h2 * h_d + W_b * boundary + W_p m + b, for each gate."""
    names = ("on_input", "on_outputs", "on_boundary", "on_pooled", "bias")
    w = {name: None if getattr(module, name) is None else np.asarray(getattr(module, name), float) for name in names}
    total = np.zeros((*own.shape[:2], w["bias"].size)) + w["bias"]
    if w["on_input"] is not None:
        total += convolved(i_t, w["on_input"])
    if below is not None:
        total += convolved(below, w["on_outputs"][:, :, :features])
    total += convolved(own, w["on_outputs"][:, :, -features:])
    if w["on_boundary"] is not None:
        edge = np.ones((*own.shape[:2], 1))
        edge[1:-1, 1:-1] = 0
        total += convolved(edge, w["on_boundary"])
    if w["on_pooled"] is not None:
        total += np.concatenate([own.max((0, 1)), own.mean((0, 1))]) @ w["on_pooled"]
    return np.split(total, total.shape[-1] // features, axis=-1)


def next_state(module, features: int, i_t: np.ndarray, below, state: tuple) -> tuple:
    """One memory module at one tick; the state is (c, h), or (h,) where there is no cell."""
    gates = gate_inputs(module, features, i_t, below, state[-1])
    kind = type(module.memory).__name__
    if kind == "ConvLSTM":
        f, i, o, new = gates
        c = sigmoid(f) * state[0] + sigmoid(i) * np.tanh(new)
        return c, sigmoid(o) * np.tanh(c)
    if kind == "GatedConvRNN":
        o, new = gates
        return (sigmoid(o) * np.tanh(new),)
    (new,) = gates
    return (np.tanh(new),)


def head(net, features: np.ndarray) -> tuple[np.ndarray, float]:
    """One hidden layer, then logits and value."""
    w = {name: np.asarray(getattr(net.head, name).weight, float) for name in ("hidden", "logits", "value")}
    b = {name: np.asarray(getattr(net.head, name).bias, float) for name in ("hidden", "logits", "value")}
    hidden = np.maximum(features.reshape(-1) @ w["hidden"] + b["hidden"], 0)
    return hidden @ w["logits"] + b["logits"], float((hidden @ w["value"] + b["value"])[0])


def encode(net, picture: np.ndarray) -> np.ndarray:
    """The encoder's convolutions with ReLU, on the picture from -0.5 to 0.5."""
    x = picture / 255 - 0.5
    for layer in net.encoder.layers:
        x = np.maximum(convolved(x, np.asarray(layer.weight, float), layer.stride) + np.asarray(layer.bias, float), 0)
    return x


def unroll(net, pictures: np.ndarray, is_first: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Logits [T, A] and values [T]; the first frame starts an episode."""
    features = net.stack.modules[0].memory.initial_output.shape[-1]
    initial = list(zip(*(np.asarray(leaf, float) for leaf in net.initial_memory()), strict=True))  # by module
    results, states = [], initial
    for picture, start in zip(pictures, is_first, strict=True):
        i_t = encode(net, picture)
        if start or net.reset_every_step:
            states = initial
        for _ in range(net.stack.ticks):
            below = states[-1][-1] if net.stack.top_down else None
            above = []
            for module, state in zip(net.stack.modules, states, strict=True):
                above.append(next_state(module, features, i_t, below, state))
                below = above[-1][-1]
            states = above
        core_output = states[-1][-1]
        results.append(head(net, np.concatenate([i_t, core_output], -1) if net.vision_shortcut else core_output))
    return np.array([logits for logits, _ in results]), np.array([value for _, value in results])
