"""Value Iteration Networks as the paper's equations say them: plain numpy, one cell and one number at a time."""

import numpy as np

from tests.nets.reference_layers import convolved, sigmoid


def encoded(picture, encoder):
    """The encoder's convolutions on a picture scaled to -0.5 .. 0.5, each followed by ReLU."""
    image = picture / 255 - 0.5
    for layer in encoder.layers:
        image = np.maximum(convolved(image, np.asarray(layer.weight), layer.stride) + np.asarray(layer.bias), 0)
    return image


def two_convs(image, layers):
    """The paper's "two convolutional layers with a relu activation in between": layers = (W1, b1, W2)."""
    first, bias, second = layers
    return convolved(np.maximum(convolved(image, first) + bias, 0), second)


def iterate_concatenated(image, reward_layers, transition_layers, depth):
    """Q' = W * [R : V], V = max_a Q, `depth` times from V = 0; gives Q [H, W, abstract actions]."""
    reward = two_convs(image, reward_layers)
    value = np.zeros((*image.shape[:2], 1))
    for _ in range(depth):
        q = two_convs(np.concatenate([reward, value], axis=2), transition_layers)
        value = q.max(axis=2, keepdims=True)
    return q


def iterate_discounted(image, reward_layers, transition_layers, depth, gamma):
    """Q' = R + gamma (W * V), V = max_a Q, `depth` times from V = 0."""
    reward = two_convs(image, reward_layers)
    value = np.zeros((*image.shape[:2], 1))
    for _ in range(depth):
        q = reward + gamma * two_convs(value, transition_layers)
        value = q.max(axis=2, keepdims=True)
    return q


def attend(mask, q):
    """The sum over cells of mask times Q: one number for each abstract action."""
    total = np.zeros(q.shape[2])
    for row in range(q.shape[0]):
        for column in range(q.shape[1]):
            total += mask[row, column] * q[row, column]
    return total


def soft_mask(image, layers):
    """A = sigmoid(W * I), [H, W]."""
    return sigmoid(two_convs(image, layers)[:, :, 0])


def player_mask(picture):
    """One where the player is (the brightest cell), zero elsewhere."""
    brightness = picture.astype(int).sum(axis=2)
    mask = np.zeros(brightness.shape)
    mask[np.unravel_index(brightness.argmax(), brightness.shape)] = 1
    return mask
