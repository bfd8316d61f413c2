"""The program that a GPU with the kernel would run, as far as it can be seen without one: lowered, not compiled."""

import re

import jax
import pytest

from foresight.learning.settings import LearnSettings
from foresight.learning.update import init_training, train
from foresight.nets.drc import build as kernel
from foresight.nets.drc.drc import DRC
from foresight.runs.architectures import architecture
from tests.envs.domains import DOMAINS

ENV = DOMAINS["sokoban"]
SIZES = {"depth": 2, "ticks": 1, "hidden": 8, "dtype": "bfloat16"}
SETTINGS = LearnSettings(num_envs=4, unroll=5, minibatch=2)


@pytest.fixture(scope="module")
def program():
    """The text of an iteration of training with several seeds."""

    def begin(seed):
        net = DRC(
            ENV.picture_shape,
            ENV.actions,
            seed,
            **architecture("drc", ENV),
            depth=2,
            ticks=1,
            hidden=8,
            dtype="bfloat16",
        )
        return init_training(ENV, net, SETTINGS, seed)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "chosen", lambda *asked, covered: covered)
        states = jax.eval_shape(jax.vmap(begin), jax.random.split(jax.random.key(0), 3))
        iterations = jax.jit(jax.vmap(lambda env, state: train(env, SETTINGS, state, 1), in_axes=(None, 0)))
        return iterations.trace(ENV, states).lower(lowering_platforms=("cuda",)).as_text()


def calls(program, name):
    """The shapes that a function of the kernel is given, one list for each call of it."""
    lines = re.findall(rf"@foresight_drc_wgmma_{name}_\w+\(.* : \((.*)\) ->", program)
    return [re.findall(r"tensor<([^>]*)>", line) for line in lines]


def test_the_kernel_acts_learns_and_looks_at_the_bootstrap_frame(program):
    """Seeds 3, environments 4, minibatch 2, boards of 4 x 6: of a trajectory's 6 frames, 5 have a backward pass."""
    acting, bootstrap = sorted(calls(program, "infer"), reverse=True)
    (forward,), (backward,) = calls(program, "forward"), calls(program, "backward")
    assert acting[6:] == ["3x4x1x4x6x2x128xbf16", "3x4x1xi1"]
    assert bootstrap[6:] == ["3x2x1x4x6x2x128xbf16", "3x2x1xi1"]
    assert forward[6:] == ["3x2x5x4x6x2x128xbf16", "3x2x5xi1"]
    assert backward[7] == "3x2x5x4x6x32xbf16"
    for call in (acting, bootstrap, forward):
        assert call[0] == "3x1x2x36x2x2x64x8xbf16"  # packed once for each seed, not for each environment


def test_weights_are_packed_before_the_loop_of_acting(program):
    acting = re.search(r"@foresight_drc_wgmma_infer_\w+\(.*tensor<3x4x1xi1>\)", program).start()
    loop = program.rindex("stablehlo.while", 0, acting)
    packing = "x36x2x2x64x8xf32>"
    assert packing in program[:loop]
    assert packing not in program[loop:acting]
