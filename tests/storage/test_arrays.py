"""Trees become named arrays and bytes, and come back exactly; what does not fit is named."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foresight.errors import ForesightError
from foresight.storage.arrays import Container, decode, encode, fill, key_kinds, name_leaves, to_arrays
from tests.runs import toy


def round_trip(arrays) -> Container:
    return decode(encode(arrays, {"step": 3}), "file")


AWKWARD = {
    "transposed": np.arange(12, dtype=np.float32).reshape(3, 4).T,
    "every second": np.arange(10, dtype=np.int32)[::2],
    "backwards": np.arange(5, dtype=np.uint8)[::-1],
    "column order": np.asfortranarray(np.arange(6, dtype=np.float64).reshape(2, 3)),
    "broadcast": np.broadcast_to(np.float32(2), (3, 3)),
    "scalar": np.float32(7),
    "empty": np.zeros((0, 4), np.int8),
    "bfloat16": np.asarray(jnp.arange(6, dtype=jnp.bfloat16).reshape(2, 3)),
    "bfloat16 transposed": np.asarray(jnp.arange(6, dtype=jnp.bfloat16).reshape(2, 3)).T,
    "truth": np.array([True, False]),
    "halves": np.array([0.5], np.float16),
    "with a nan": np.array([np.nan, -0.0, np.inf], np.float32),
}


@pytest.mark.parametrize("name", AWKWARD)
def test_an_array_comes_back_bit_for_bit_whatever_its_layout(name):
    tree = {name: AWKWARD[name]}
    back = round_trip(to_arrays(tree)).arrays[name]
    assert back.dtype == AWKWARD[name].dtype
    assert back.shape == AWKWARD[name].shape
    assert back.tobytes() == AWKWARD[name].tobytes()


def test_metadata_comes_back():
    assert round_trip({"a": np.zeros(1)}).metadata["step"] == 3


def test_the_same_arrays_give_the_same_bytes():
    arrays = to_arrays(toy.begin())
    assert encode(arrays, {"a": 1, "b": 2}) == encode(dict(reversed(arrays.items())), {"b": 2, "a": 1})


def test_a_training_state_with_typed_keys_comes_back_and_goes_on_alike():
    state, _ = toy.call(toy.begin())
    back = fill(toy.begin(), round_trip(to_arrays(state)).arrays, "file")
    assert jax.tree.structure(back) == jax.tree.structure(state)
    assert same(toy.call(back)[0], toy.call(state)[0])
    assert not same(back, toy.begin())


def same(a, b) -> bool:
    a, b = to_arrays(a), to_arrays(b)
    return a.keys() == b.keys() and all(a[name].tobytes() == b[name].tobytes() for name in a)


def test_the_kind_of_every_key_is_known():
    tree = {"a": jax.random.key(0), "b": jax.random.split(jax.random.key(0, impl="rbg")), "c": jnp.zeros(1)}
    assert key_kinds(tree) == {"a": "threefry2x32", "b": "rbg"}


def test_values_go_where_the_template_lives():
    from jax.sharding import NamedSharding, PartitionSpec

    sharding = NamedSharding(jax.make_mesh((1,), ("num_envs",)), PartitionSpec("num_envs"))
    template = {"x": jax.device_put(jnp.zeros(4), sharding), "y": jnp.zeros(2)}
    filled = fill(template, {"x": np.arange(4, dtype=np.float32), "y": np.ones(2, np.float32)}, "file")
    assert filled["x"].sharding == sharding
    assert not filled["y"].committed
    assert filled["x"].tolist() == [0, 1, 2, 3]


def test_an_abstract_template_is_enough_for_weights():
    template = jax.eval_shape(lambda: {"a": jnp.zeros(2)})
    assert fill(template, {"a": np.ones(2, np.float32)}, "file")["a"].tolist() == [1, 1]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"a": np.zeros(2, np.float32)}, "other.file does not fit: it has no array 'b'"),
        (
            {"a": np.zeros(2, np.float32), "b": np.zeros(1, np.int32), "c": np.zeros(1)},
            "other.file does not fit: nothing here has a place for its array 'c'",
        ),
        (
            {"a": np.zeros(3, np.float32), "b": np.zeros(1, np.int32)},
            r"other.file does not fit: array 'a' is float32\[3\], here it must be float32\[2\]",
        ),
        (
            {"a": np.zeros(2, np.float32), "b": np.zeros(1, np.uint32)},
            r"array 'b' is uint32\[1\], here it must be int32\[1\]",
        ),
    ],
)
def test_arrays_of_another_network_are_refused_with_the_first_one_named(arrays, message):
    template = {"a": jnp.zeros(2), "b": jnp.zeros(1, jnp.int32)}
    with pytest.raises(ForesightError, match=message):
        fill(template, arrays, "other.file")


def test_two_leaves_with_one_path_are_refused():
    with pytest.raises(ValueError, match="same path"):
        name_leaves({"a/b": 1, "a": {"b": 2}})


def test_a_flipped_bit_in_a_lone_file_is_seen():
    content = bytearray(encode({"a": np.zeros(8), "b": np.zeros(8)}, {}))
    content[-3] ^= 1
    with pytest.raises(ForesightError, match="file is damaged or not from foresight: array 'b' does not match"):
        decode(bytes(content), "file")
