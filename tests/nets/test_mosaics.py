"""Convolutions of pictures made of tiles, by products with a table, against the plain convolution of the picture."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foresight.envs import make
from foresight.nets.encoders import ENCODERS, Encoder, Plan, centre
from foresight.nets.layers import convolve_natively
from foresight.nets.mosaics import Span, convolve_mosaic, narrowest
from foresight.types import Mosaic, Tiles, painted
from tests.envs.domains import DOMAINS, LEVELS

ENVS = DOMAINS | {f"sokoban-{view}": make("sokoban", levels=LEVELS, view=view) for view in ("pixels", "planes")}
BOARD = (3, 4)
SPRITES = ENVS["sokoban"].tiles


def board(tiles: Tiles, *lead: int, seed: int = 0):
    """Codes drawn at random: any tile may lie anywhere, along the edges too."""
    return jnp.asarray(np.random.default_rng(seed).integers(0, len(tiles.pixels), (*lead, *BOARD)), jnp.uint8)


@partial(jax.jit, static_argnums=2)
def looked(encoder, picture, dtype):
    """What an encoder makes of a picture."""
    return encoder.look(picture, dtype)


def shrunk(plan: Plan) -> Plan:
    """A plan with few channels."""
    return plan._replace(channels=(3, 2, *plan.channels[2:])[: len(plan.channels)])


@pytest.mark.parametrize("name", ENVS)
@pytest.mark.parametrize(("size", "stride"), [(8, 4), (4, 2), (3, 1), (2, 1), (1, 1), (8, 8)])
def test_a_convolution_of_tiles_is_that_of_their_picture(name, size, stride):
    """In float64, with the gradient of the weights; strides that do not divide a tile are not asked for."""
    tiles = ENVS[name].tiles
    if tiles.side % stride:
        assert stride > 1
        return
    with jax.enable_x64(True):
        codes, channels = board(tiles), tiles.pixels.shape[-1]
        weight = jnp.asarray(np.random.default_rng(1).normal(size=(size, size, channels, 2)))
        frame = centre(Mosaic(codes, tiles).paint(), jnp.float64)
        forms = (
            lambda weight: convolve_mosaic(codes, weight, tiles, stride),
            lambda weight: convolve_natively(frame, weight, stride),
        )
        ours, plain = (jax.value_and_grad(lambda w, f=f: jnp.sum(jnp.sin(f(w))))(weight) for f in forms)
        np.testing.assert_allclose(forms[0](weight), forms[1](weight), rtol=0, atol=1e-12)
        np.testing.assert_allclose(ours[1], plain[1], rtol=0, atol=1e-12)


def test_two_tiles_meet_in_a_block_of_the_papers_first_layer():
    assert Span(8, 4, 8, shift=1) == narrowest(8, 4, 8)
    assert (narrowest(8, 4, 8).first, narrowest(8, 4, 8).reach) == (-1, 2)
    assert narrowest(8, 8, 8).reach == 1
    assert narrowest(3, 1, 1).reach == 3


@pytest.mark.parametrize("plan", [ENCODERS["sokoban"], Plan((4, 3, 2), (8, 3, 3), (4, 2, 1))], ids=str)
def test_an_encoder_makes_of_tiles_what_it_makes_of_their_picture(plan):
    """All layers and every gradient, in float64."""
    with jax.enable_x64(True):
        encoder = Encoder(shrunk(plan), 3, key=jax.random.key(0))
        encoder = jax.tree.map(lambda x: jnp.asarray(np.random.default_rng(x.size).normal(size=x.shape)), encoder)
        mosaic = Mosaic(board(SPRITES), SPRITES)
        assert encoder.span(SPRITES) is not None

        def loss(encoder, picture):
            return jnp.sum(jnp.sin(encoder.look(picture, jnp.float64)))

        of_tiles, of_picture = (looked(encoder, picture, jnp.float64) for picture in (mosaic, mosaic.paint()))
        assert of_tiles.shape == of_picture.shape
        np.testing.assert_allclose(of_tiles, of_picture, rtol=0, atol=1e-12 * float(jnp.max(of_picture)))
        gradients = [jax.jit(jax.grad(loss))(encoder, picture) for picture in (mosaic, mosaic.paint())]
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11), *gradients)


def test_in_bfloat16_tiles_are_no_further_from_float32_than_pictures():
    encoder = Encoder(ENCODERS["sokoban"], 3, key=jax.random.key(0))
    mosaic = Mosaic(board(SPRITES), SPRITES)
    exact = np.asarray(looked(encoder, mosaic.paint(), jnp.float32))
    tiles, picture = (np.asarray(looked(encoder, form, jnp.bfloat16), np.float32) for form in (mosaic, mosaic.paint()))
    errors = [np.linalg.norm(form - exact) / np.linalg.norm(exact) for form in (tiles, picture)]
    assert 0 < errors[0] < 1.1 * errors[1]


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16])
def test_tables_made_beforehand_change_nothing(dtype):
    encoder = Encoder(ENCODERS["sokoban"].scaled(4), 3, key=jax.random.key(0))
    mosaic = Mosaic(board(SPRITES), SPRITES)
    ready = encoder.prepared(SPRITES, dtype)
    assert ready.tabled is not None
    np.testing.assert_array_equal(looked(ready, mosaic, dtype), looked(encoder, mosaic, dtype))
    assert "192,4]" not in str(jax.make_jaxpr(lambda e: e.look(mosaic, dtype))(ready))  # the weights are not looked at


@pytest.mark.parametrize("name", ENVS)
def test_tables_are_used_where_they_are_less_work(name):
    env = ENVS[name]
    plan = ENCODERS["sokoban-cells" if "-" in name else name]
    encoder = Encoder(shrunk(plan), env.tiles.pixels.shape[-1], key=jax.random.key(0))
    assert (encoder.span(env.tiles) is not None) == (name == "sokoban")
    mosaic = Mosaic(board(env.tiles), env.tiles)
    seen = looked(encoder, mosaic, jnp.float32)
    np.testing.assert_allclose(seen, looked(encoder, painted(mosaic), jnp.float32), atol=1e-5)


def test_a_form_of_convolution_that_is_asked_for_is_used():
    encoder = Encoder(ENCODERS["sokoban"].scaled(4), 3, form="native", key=jax.random.key(0))
    assert encoder.span(SPRITES) is None


def test_tiles_are_the_same_if_they_hold_the_same():
    assert Tiles(SPRITES.pixels.copy()) == SPRITES
    assert hash(Tiles(SPRITES.pixels.copy())) == hash(SPRITES)
    assert Tiles(SPRITES.pixels[::-1]) != SPRITES
