"""ATreeC's tree against a recursion over single nodes, and what its settings change."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foresight.errors import ForesightError
from foresight.nets.atreec import normalised
from tests.nets import reference_atreec as slow
from tests.nets.reference_vin import encoded
from tests.nets.small import count, pictures, shapes, small

SMALL = {"embedding": 10, "features": 4, "reward_units": 6}
FRAME = pictures()


@jax.jit
def look(net, picture):
    """The root's state, the logits and the value."""
    state = net.encode(picture)
    return state, *net.heads(state, ())


def weights_of(net):
    tree = net.tree
    named = {
        "shared": tree.shared.weight, "shared_bias": tree.shared.bias, "by_action": tree.by_action,
        "reward_hidden": tree.reward_hidden.weight, "reward_hidden_bias": tree.reward_hidden.bias,
        "reward_out": tree.reward.weight, "reward_out_bias": tree.reward.bias,
        "value": tree.value.weight[:, 0], "value_bias": tree.value.bias[0],
    }  # fmt: skip
    return {name: np.asarray(array, np.float64) for name, array in named.items()}


@pytest.mark.parametrize(("depth", "backup"), [(1, "max"), (2, "softmax"), (3, "max"), (3, "softmax")])
def test_the_backed_up_q_agrees_with_the_recursion_over_single_nodes(depth, backup):
    net = small("atreec", **SMALL, depth=depth, backup=backup, td_lambda=0.9, gamma=0.95)
    state, logits, value = look(net, FRAME)
    weights, root = weights_of(net), np.asarray(state, np.float64)
    aggregate = {"max": slow.largest, "softmax": slow.softmax_weighted}[backup]
    expected = [slow.q_value(root, a, depth, weights, aggregate, 0.95, 0.9) for a in range(4)]
    np.testing.assert_allclose(logits, expected, rtol=1e-5, atol=1e-5)
    critic = root @ np.asarray(net.critic.weight)[:, 0] + np.asarray(net.critic.bias)[0]
    np.testing.assert_allclose(value, critic, rtol=1e-5)


def test_the_root_is_the_embedded_frame_scaled_to_length_one():
    net = small("atreec", **SMALL)
    image = encoded(np.asarray(FRAME), net.encoder)
    embedded = np.maximum(image.reshape(-1) @ np.asarray(net.embed.weight) + np.asarray(net.embed.bias), 0)
    np.testing.assert_allclose(look(net, FRAME)[0], slow.normalised(embedded), rtol=1e-4, atol=1e-6)


def test_a_state_of_zeros_stays_finite_and_so_does_its_gradient():
    gradient = jax.grad(lambda s: jnp.sum(normalised(s)))(jnp.zeros(4))
    assert np.all(np.isfinite(gradient))
    assert np.all(np.asarray(normalised(jnp.zeros(4))) == 0)


def test_each_setting_of_the_backup_changes_the_logits_and_nothing_else():
    settings = [{}, {"depth": 3}, {"backup": "max"}, {"td_lambda": 0.9}, {"gamma": 0.9}]
    outputs = [look(small("atreec", **SMALL, **setting), FRAME) for setting in settings]
    for (_, one, _), (_, other, _) in itertools.combinations(outputs, 2):
        assert not np.allclose(one, other, rtol=1e-4)
    assert len({float(value) for _, _, value in outputs}) == 1


def test_with_lambda_zero_only_the_children_s_own_values_count():
    shallow, deep = small("atreec", **SMALL, depth=1), small("atreec", **SMALL, depth=3, td_lambda=0.0)
    expected = look(shallow, FRAME)[1]
    np.testing.assert_allclose(look(deep, FRAME)[1], expected, rtol=1e-5)


def test_the_parameter_counts_are_the_paper_s_less_the_unexplained_two():
    sokoban = "atreec", "sokoban", (80, 80, 3), 5
    assert count(shapes(*sokoban)) == 3_269_065 - 2
    assert count(shapes(*sokoban, depth=3)) == 3_269_065 - 2
    narrow = 22_592 + 3201 * 128 + 129 * 128 + 5 * 128**2 + 129 * 64 + 65 * 5 + 2 * 129
    assert count(shapes(*sokoban, embedding=128)) == narrow


def test_an_unknown_backup_is_refused_by_name():
    with pytest.raises(ForesightError, match="no backup 'mean'; there are: max, softmax"):
        small("atreec", **SMALL, backup="mean")


def test_logits_train_the_tree_and_the_value_trains_the_critic():
    net = small("atreec", **SMALL, depth=2)

    def learned_from(output):
        return jax.jit(jax.grad(lambda net: jnp.sum(jnp.sin(look(net, FRAME)[output]))))(net)

    def moved(*parts):
        return [bool(np.any(np.asarray(leaf) != 0)) for leaf in jax.tree.leaves(parts)]

    by_logits, by_value = learned_from(1), learned_from(2)
    assert all(moved(by_logits.encoder, by_logits.embed, by_logits.tree))
    assert not any(moved(by_logits.critic))
    assert all(moved(by_value.encoder, by_value.embed, by_value.critic))
    assert not any(moved(by_value.tree))
