"""VIN against slow value iteration: with random weights, and with weights that make it solve a drawn maze."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foresight.errors import ForesightError
from foresight.nets.layers import convolve_natively
from foresight.nets.vin import VIN, PlayerAttention, TwoConvs, convolve_by_sums
from tests.nets import reference_vin as slow
from tests.nets.small import count, pictures, shapes, small

FREE, WALL, GOAL, PLAYER = 0, 85, 170, 255
MOVES = [(-1, 0), (1, 0), (0, -1), (0, 1)]
GAMMA = 0.9
SMALL = {"depth": 3, "features": 4, "channels": 5, "attention_channels": 3, "hidden": 8}
MAZE = [
    "..#....",
    ".##.##.",
    "......#",
    "####.#.",
    "g..#.#.",
    "##...#p",
]


def board(rows):
    """A drawing as Gridworld's picture: '.' free, '#' wall, 'g' goal, 'p' player."""
    levels = {".": FREE, "#": WALL, "g": GOAL, "p": PLAYER}
    return np.array([[[levels[cell]] for cell in row] for row in rows], np.uint8)


def arrays(pair):
    return [np.asarray(x, np.float64) for x in (pair.first.weight, pair.first.bias, pair.second.weight)]


@pytest.mark.parametrize(("gamma", "rewards"), [(None, 3), (0.7, 1), (0.7, 4)])
def test_value_iteration_agrees_with_the_paper_s_equations_cell_by_cell(gamma, rewards):
    sizes = {"depth": 4, "abstract_actions": 4, "reward_channels": rewards, "channels": 6, "hidden": 8}
    net = small("vin", domain="gridworld", picture=(6, 5, 1), gamma=gamma, **sizes)
    picture = np.asarray(pictures(picture=(6, 5, 1)))
    image = picture / 255 - 0.5
    layers = arrays(net.reward), arrays(net.rule.transition)
    if gamma is None:
        q, fewer = (slow.iterate_concatenated(image, *layers, depth) for depth in (4, 3))
    else:
        q, fewer = (slow.iterate_discounted(image, *layers, depth, gamma) for depth in (4, 3))
    close = {"rtol": 1e-5, "atol": 1e-5 * np.abs(q).max()}
    np.testing.assert_allclose(jax.jit(VIN.iterate)(net, jnp.asarray(image, jnp.float32)), q, **close)
    attended = slow.attend(slow.player_mask(picture), q)
    np.testing.assert_allclose(jax.jit(VIN.encode)(net, picture), attended, **close)
    assert not np.allclose(q, fewer, rtol=1e-3)


def test_the_learned_attention_is_a_sigmoid_mask_over_the_encoded_frame():
    net = small("vin", **SMALL)
    picture = np.asarray(pictures())
    image = slow.encoded(picture, net.encoder)
    q = slow.iterate_concatenated(image, arrays(net.reward), arrays(net.rule.transition), 3)
    expected = slow.attend(slow.soft_mask(image, arrays(net.attention.score)), q)
    np.testing.assert_allclose(jax.jit(VIN.encode)(net, picture), expected, rtol=1e-4, atol=1e-5 * np.abs(q).max())


@pytest.mark.parametrize("size", [1, 3])
def test_a_convolution_by_sums_equals_the_native_one_and_so_does_its_gradient(size, new_key):
    x, kernel = jax.random.normal(new_key(), (5, 7, 6)), jax.random.normal(new_key(), (size, size, 6, 2))
    weights = jax.random.normal(new_key(), (5, 7, 2))

    def answers(convolve):
        weighed = jax.grad(lambda x, kernel: jnp.sum(weights * convolve(x, kernel)), argnums=(0, 1))
        return convolve(x, kernel), *weighed(x, kernel)

    for ours, native in zip(answers(convolve_by_sums), answers(convolve_natively), strict=True):
        np.testing.assert_allclose(ours, native, rtol=1e-5, atol=1e-5)


def test_two_convolutions_are_the_same_on_a_gpu(monkeypatch, new_key):
    pair = TwoConvs(3, 6, 2, (3, 3), key=new_key())
    x = jax.random.normal(new_key(), (5, 7, 3))
    here = pair(x)
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    np.testing.assert_allclose(pair(x), here, rtol=1e-5, atol=1e-5)


def test_the_player_is_found_as_the_brightest_cell():
    picture = board(MAZE)
    mask = np.asarray(PlayerAttention()(picture, picture))
    assert mask.sum() == 1
    assert mask[5, 6] == 1


def tent(centre_value, width=0.1):
    """Hidden biases and output weights of three ReLUs that make a tent over one brightness."""
    at = centre_value / 255 - 0.5
    return [-(at - width), -at, -(at + width)], [1 / width, -2 / width, 1 / width]


def set_convs(pair, first, bias, second):
    parts = [jnp.asarray(x, jnp.float32) for x in (first, bias, second)]
    return eqx.tree_at(lambda p: (p.first.weight, p.first.bias, p.second.weight), pair, parts)


def one_cell(weights):
    """A 3x3 kernel that looks at its own cell only, from weights [C, O]."""
    kernel = np.zeros((3, 3, *np.shape(weights)))
    kernel[1, 1] = weights
    return kernel


def maze_solver(depth):
    """VIN whose weights are set by hand: Q_a(s) = [s free] gamma V(s after a) + [s goal], so V(s) = gamma ** distance.

    R has two channels, "this cell is the goal" and "nothing moves on from this cell" (wall or goal).
    """
    sizes = {"depth": depth, "abstract_actions": 4, "reward_channels": 2, "channels": 6}
    net = small("vin", domain="gridworld", picture=(6, 7, 1), **sizes)
    (goal_bias, goal), (wall_bias, wall) = tent(GOAL), tent(WALL)
    of_brightness = np.zeros((6, 2))
    of_brightness[:3, 0] = goal
    of_brightness[:3, 1] = goal
    of_brightness[3:, 1] = wall
    reward = set_convs(net.reward, one_cell(np.ones((1, 6))), goal_bias + wall_bias, one_cell(of_brightness))
    first, second = np.zeros((3, 3, 3, 6)), np.zeros((6, 4))  # inputs: goal, stuck, V
    for action, (down, right) in enumerate(MOVES):
        first[1 + down, 1 + right, 2, action] = GAMMA
        first[1, 1, 1, action] = -2  # ReLU then cuts the promise of a cell nothing moves on from
        second[action, action] = 1
    first[1, 1, 0, 4] = 1
    second[4] = 1
    transition = set_convs(net.rule.transition, first, np.zeros(6), one_cell(second))
    return eqx.tree_at(lambda n: (n.reward, n.rule.transition), net, (reward, transition))


def unroll_core(values, rows):
    """One Bellman backup of the maze: stand still on the goal (worth 1), never enter a wall."""
    new = {}
    for (row, column), _ in values.items():
        around = [values.get((row + down, column + right), 0.0) for down, right in MOVES]
        new[row, column] = 1.0 if rows[row][column] == "g" else GAMMA * max(around)
    return new


@pytest.mark.parametrize("depth", [1, 2, 30])
def test_with_hand_set_weights_every_iteration_is_one_bellman_backup_of_the_maze(depth):
    values = {(r, c): 0.0 for r, row in enumerate(MAZE) for c, cell in enumerate(row) if cell != "#"}
    for _ in range(depth):
        values = unroll_core(values, MAZE)
    q = np.asarray(jax.jit(VIN.iterate)(maze_solver(depth), jnp.asarray(board(MAZE) / 255 - 0.5, jnp.float32)))
    found = {cell: q[cell].max() for cell in values}
    assert all(abs(found[cell] - values[cell]) < 1e-5 for cell in values)
    assert all(abs(q[r, c].max()) < 1e-5 for r, row in enumerate(MAZE) for c, cell in enumerate(row) if cell == "#")


def test_with_hand_set_weights_the_attended_q_walks_the_shortest_way_to_the_goal():
    rows, steps = [list(row) for row in MAZE], 0
    net, encode = maze_solver(30), jax.jit(VIN.encode)
    reachable = board(MAZE).copy()
    reachable[0, 3] = PLAYER
    reachable[5, 6] = FREE
    here = (0, 3)
    while rows[here[0]][here[1]] != "g":
        best = int(np.argmax(encode(net, reachable)))
        after = (here[0] + MOVES[best][0], here[1] + MOVES[best][1])
        reachable[here], reachable[after] = FREE, (PLAYER if rows[after[0]][after[1]] != "g" else GOAL)
        here, steps = after, steps + 1
        assert rows[here[0]][here[1]] != "#"
    assert steps == 11


def test_the_parameter_counts_are_those_of_the_paper_s_table():
    assert count(shapes("vin", "sokoban", (80, 80, 3), 5)) == 62_506
    assert count(shapes("vin", "gridworld", (32, 32, 1), 9)) == 19_978
    assert count(shapes("vin", "gridworld", (32, 32, 1), 8)) == 19_978 - 257  # our Gridworld has no ninth action


def test_the_discounted_rule_refuses_rewards_that_cannot_be_added_to_q():
    with pytest.raises(ForesightError, match="1 reward channel or one for each of the 4 abstract actions, not 3"):
        shapes("vin", "gridworld", (6, 5, 1), 4, abstract_actions=4, reward_channels=3, gamma=0.9)
