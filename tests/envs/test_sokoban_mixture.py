"""Several sets of levels in one Sokoban: each episode's set is drawn by its share, and its level evenly from that."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foresight.envs.sokoban.rules import Sokoban, mixed
from foresight.errors import ForesightError
from foresight.levels import open_set
from foresight.levels.mixture import Part, parse_mixture

SETS = ("builtin/mini-train", "builtin/mini-test")


def numbers_drawn(env, count: int) -> np.ndarray:
    """Which level each of so many episodes begins with."""
    first = jax.jit(jax.vmap(env.reset))(jax.random.split(jax.random.key(0), count))
    drawn = np.stack([*first.walls, *first.boxes, *first.targets], axis=1)
    player = np.asarray(first.row * env.inner[1] + first.column)[:, None]
    every = {row.tobytes(): number for number, row in enumerate(np.asarray(env.levels).astype(np.uint32))}
    return np.array([every[row.tobytes()] for row in np.concatenate([drawn, player], axis=1).astype(np.uint32)])


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.8, 0.2), (0.0, 1.0), (3, 1)])
def test_sets_are_drawn_by_their_shares_and_their_levels_evenly(shares):
    env = Sokoban.make(",".join(f"{name}:{share}" for name, share in zip(SETS, shares, strict=True)), view="planes")
    counts = [len(open_set(name)) for name in SETS]
    assert env.level_count == sum(counts)
    episodes = 40_000
    numbers = numbers_drawn(env, episodes)
    share = shares[0] / sum(shares)
    spread = np.sqrt(share * (1 - share) / episodes)
    assert abs(np.mean(numbers < counts[0]) - share) <= 4 * spread
    for chosen, begin, count in (
        (numbers[numbers < counts[0]], 0, counts[0]),
        (numbers[numbers >= counts[0]], *counts),
    ):
        if len(chosen):
            often = np.bincount(np.minimum((chosen - begin) * 8 // count, 7), minlength=8)  # in eighths of the set
            assert abs(often / len(chosen) - 1 / 8).max() < 5 * np.sqrt(1 / 8 / len(chosen))


def test_levels_keep_their_numbers_and_draws_depend_on_the_key_alone():
    env = Sokoban.make(f"{SETS[0]}:0.5,{SETS[1]}:0.5", view="planes")
    alone = [Sokoban.make(name, view="planes") for name in SETS]
    np.testing.assert_array_equal(env.levels, np.concatenate([each.levels for each in alone]))
    np.testing.assert_array_equal(numbers_drawn(env, 100), numbers_drawn(env, 100))


def test_a_single_set_is_drawn_from_as_ever():
    one, also = Sokoban.make(SETS[0], view="planes"), Sokoban.make(f"{SETS[0]}:0.3", view="planes")
    assert one.mixture is None
    assert also.mixture is None
    np.testing.assert_array_equal(numbers_drawn(one, 50), numbers_drawn(also, 50))


def test_a_share_that_fills_all_words_is_never_exceeded():
    bounds = mixed((0.25, 0.75, 0.0), (5, 6, 7)).bounds
    assert bounds.tolist() == [2**30, 2**32 - 1]
    assert int(jnp.sum(jnp.uint32(2**32 - 2) >= bounds)) == 1


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a", [("a", 1.0)]),
        ("a:1,b:3", [("a", 0.25), ("b", 0.75)]),
        ("c:/levels.txt", [("c:/levels.txt", 1.0)]),
        ("a:0,b:2", [("a", 0.0), ("b", 1.0)]),
    ],
)
def test_names_and_shares_are_read(text, parts):
    assert parse_mixture(text) == [Part(*part) for part in parts]


def test_a_file_with_a_comma_in_its_name_is_a_file(tmp_path):
    path = tmp_path / "a,b:1"
    path.write_text("")
    assert parse_mixture(str(path)) == [Part(str(path), 1.0)]


@pytest.mark.parametrize(
    "text", ["a,b", "a:0.5,b", "a:0.5,", "a:x,b:1", ":1,b:1", "a:-1,b:2", "a:0,b:0", "a:inf,b:1", "a:nan,b:1"]
)
def test_what_is_no_mixture_is_rejected(text):
    with pytest.raises(ForesightError, match=r"levels '.*'"):
        parse_mixture(text)


def test_boards_of_two_sizes_cannot_be_mixed():
    with pytest.raises(ForesightError, match=r"boards of builtin/test are 10x10, not \d+x\d+"):
        Sokoban.make("builtin/mini-train:0.5,builtin/test:0.5")
