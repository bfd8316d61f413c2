"""A pytree as named arrays, and named arrays as safetensors bytes; nothing read here can run code."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import safetensors
from safetensors.numpy import save

from foresight.errors import ForesightError

HEADER_LIMIT = 4 * 2**20  # ours are a few hundred kB; a header of gigabytes is an attack on memory
TYPES = {
    "BOOL": np.bool_,
    "U8": np.uint8,
    "I8": np.int8,
    "U16": np.uint16,
    "I16": np.int16,
    "U32": np.uint32,
    "I32": np.int32,
    "U64": np.uint64,
    "I64": np.int64,
    "F16": np.float16,
    "BF16": ml_dtypes.bfloat16,
    "F32": np.float32,
    "F64": np.float64,
}

Arrays = dict[str, np.ndarray]


class Container(NamedTuple):
    """What one safetensors file holds."""

    arrays: Arrays
    metadata: dict[str, Any]


def name_leaves(tree: Any) -> dict[str, Any]:
    """The leaves of a pytree by their path, such as `net/layers/0/kernel`."""
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    named = {jax.tree_util.keystr(path, simple=True, separator="/"): leaf for path, leaf in leaves}
    if len(named) != len(leaves):
        raise ValueError("two leaves of the tree have the same path")
    return named


def is_key(leaf: Any) -> bool:
    """True for an array of typed PRNG keys."""
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def to_arrays(tree: Any) -> Arrays:
    """Every leaf as a contiguous array on the host; PRNG keys as their words."""
    return {name: to_host(leaf) for name, leaf in name_leaves(tree).items()}


def to_host(leaf: Any) -> np.ndarray:
    """One leaf, gathered from all devices and machines that share it."""
    data = jax.random.key_data(leaf) if is_key(leaf) else leaf
    if isinstance(data, jax.Array) and not data.is_fully_addressable:
        from jax.experimental import multihost_utils

        data = multihost_utils.process_allgather(data, tiled=True)
    return np.asarray(data, order="C")  # safetensors scrambles arrays in any other order


def key_kinds(tree: Any) -> dict[str, str]:
    """The generator of every PRNG key in the tree, by path."""
    return {name: str(jax.random.key_impl(leaf)) for name, leaf in name_leaves(tree).items() if is_key(leaf)}


def fill(template: Any, arrays: Mapping[str, np.ndarray], source: Any) -> Any:
    """A tree like `template` with the values of `arrays`, placed on its devices; `source` is named if they differ."""
    named = name_leaves(template)
    check_same_names(list(named), list(arrays), source)
    filled = [fill_leaf(name, leaf, arrays[name], source) for name, leaf in named.items()]
    return jax.tree_util.tree_unflatten(jax.tree_util.tree_structure(template), filled)


def check_same_names(wanted: list[str], found: list[str], source: Any) -> None:
    """Reject arrays that are not those of the tree, naming the first one missing or left over."""
    for name in wanted:
        if name not in found:
            raise ForesightError(f"{source} does not fit: it has no array '{name}'")
    for name in found:
        if name not in wanted:
            raise ForesightError(f"{source} does not fit: nothing here has a place for its array '{name}'")


def fill_leaf(name: str, leaf: Any, array: np.ndarray, source: Any) -> jax.Array:
    """`array` in the place of `leaf`, which says its shape, type and devices."""
    words = jax.eval_shape(jax.random.key_data, leaf) if is_key(leaf) else leaf
    if array.shape != words.shape or array.dtype != words.dtype:
        raise ForesightError(
            f"{source} does not fit: array '{name}' is {array.dtype}{list(array.shape)}, "
            f"here it must be {words.dtype}{list(words.shape)}"
        )
    if not is_key(leaf):
        return place(array, leaf)
    return jax.random.wrap_key_data(place(array, jax.random.key_data(leaf)), impl=jax.random.key_impl(leaf))


def place(array: np.ndarray, like: Any) -> jax.Array:
    """A device array with the sharding of `like`; always a copy, so that it may be donated."""
    if not getattr(like, "committed", False):
        return jnp.array(array)
    return jax.make_array_from_callback(array.shape, like.sharding, lambda index: np.array(array[index]))


def encode(arrays: Mapping[str, np.ndarray], metadata: Mapping[str, Any]) -> bytes:
    """Safetensors bytes that carry the arrays, a digest of each, and `metadata` (JSON)."""
    noted = {**metadata, "digests": digests(arrays)}
    return save(dict(arrays), {"foresight": json.dumps(noted, sort_keys=True, allow_nan=False)})


def decode(content: bytes, source: Any) -> Container:
    """Arrays and metadata of safetensors bytes; rejects with `source` named whatever is not exactly that."""
    arrays = decode_arrays(content, source)
    metadata = decode_metadata(content)
    for name, digest in digests(arrays).items():
        if metadata.get("digests", {}).get(name) != digest:
            raise ForesightError(f"{source} is damaged or not from foresight: array '{name}' does not match its digest")
    return Container(arrays, metadata)


def decode_arrays(content: bytes, source: Any) -> Arrays:
    """The arrays of safetensors bytes, whatever their digests."""
    try:
        return {name: decode_array(view) for name, view in safetensors.deserialize(content)}
    except (safetensors.SafetensorError, KeyError, ValueError, OverflowError) as error:
        raise ForesightError(f"{source} is not a readable safetensors file: {error}") from error


def decode_array(view: Mapping[str, Any]) -> np.ndarray:
    """One array of what the safetensors reader found."""
    if view["dtype"] not in TYPES:
        raise ValueError(f"arrays of type {view['dtype']} are not used here")
    return np.frombuffer(view["data"], dtype=TYPES[view["dtype"]]).reshape(view["shape"])


def decode_metadata(content: bytes) -> dict[str, Any]:
    """Our metadata in safetensors bytes that were already found well formed; empty if there is none."""
    return metadata_of(parse_json(content[8 : 8 + int.from_bytes(content[:8], "little")]))


def metadata_of(header: dict[str, Any]) -> dict[str, Any]:
    """Our metadata in a header; empty if there is none."""
    texts = header.get("__metadata__")
    text = texts.get("foresight") if isinstance(texts, dict) else None
    metadata = parse_json(text) if isinstance(text, str) else None
    return metadata if isinstance(metadata, dict) and isinstance(metadata.get("digests"), dict) else {}


def parse_json(text: bytes | str) -> Any:
    """The value of a JSON text, None if it is not one (or nested too deep to be one of ours)."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def digests(arrays: Mapping[str, np.ndarray]) -> dict[str, str]:
    """SHA-256 of every array: type, shape and bytes."""
    return {name: array_digest(array) for name, array in arrays.items()}


def array_digest(array: np.ndarray) -> str:
    """SHA-256 of one array."""
    described = hashlib.sha256(f"{array.dtype}{array.shape}".encode())
    described.update(array.reshape(-1).view(np.uint8))
    return described.hexdigest()
