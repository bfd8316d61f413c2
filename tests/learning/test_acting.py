"""Choosing actions for many games is asking the network about each of them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foresight.learning.acting import choose_action
from foresight.nets.net import Net
from tests.learning.toys import CELLS, Corridor, Running

GAMES = 4
KEYS = jax.random.split(jax.random.key(2), GAMES)


def considered_one_by_one(net: Net, memory, observation, is_first, think):
    """Logits, values and memories of the games, by plain loops."""
    for game in range(GAMES):
        now = net.initial_memory() if is_first[game] else memory[game]
        picture = Corridor().paint(observation[game])
        for _ in range(think if is_first[game] else 0):
            *_, now = net(now, picture)
        yield net(now, picture)


@pytest.mark.parametrize("think", [None, 3])
@pytest.mark.parametrize(("greedy", "key"), [(True, KEYS[0]), (False, KEYS[0]), (False, KEYS)])
def test_an_action_is_chosen_from_what_the_network_says_of_each_game(greedy, key, think):
    net = Running(jax.random.key(0))
    memory = jax.random.normal(jax.random.key(1), (GAMES, CELLS))
    observation = jnp.eye(GAMES, CELLS, dtype=jnp.uint8)
    is_first = jnp.array([True, False, False, True])
    looks = None if think is None else jnp.int32(think)
    choice = choose_action((Corridor(), net), memory, observation, is_first, key, greedy=greedy, think=looks)
    one_by_one = considered_one_by_one(net, memory, observation, is_first, think or 0)
    logits, value, after = map(jnp.stack, zip(*one_by_one, strict=True))
    for ours, expected in ((choice.logits, logits), (choice.value, value), (choice.memory, after)):
        np.testing.assert_allclose(ours, expected, rtol=1e-5, atol=1e-6)
    if greedy:
        expected = jnp.argmax(choice.logits, axis=1)
    elif key.ndim:
        expected = [jax.random.categorical(*each) for each in zip(key, choice.logits, strict=True)]
    else:
        expected = jax.random.categorical(key, choice.logits)
    assert choice.action.tolist() == [int(action) for action in expected]
