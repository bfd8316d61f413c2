"""The CUDA core: what of it can be seen without a GPU, and (marked gpu) that it equals the plain path."""

import itertools
import re
import shutil
import subprocess

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foresight.errors import ForesightError
from foresight.nets.drc import build as kernel
from foresight.nets.drc import core_cuda as fused
from foresight.nets.drc.drc import DRC
from foresight.nets.drc.memories import CellAndOutput, ConvLSTM
from foresight.nets.layers import convolve_natively
from foresight.nets.net import reset_where
from foresight.runs.architectures import paper_network

DEPTH, GRID = 2, (4, 5)
SOKOBAN = kernel.Job((10, 10), 3)


@pytest.fixture(scope="module")
def weights():
    return jax.random.normal(jax.random.key(0), (DEPTH, 3, 3, 64, 128))


def small_drc(**settings):
    return DRC((*GRID, 3), 5, jax.random.key(1), depth=DEPTH, ticks=2, hidden=8, **settings)


def test_the_kernels_order_of_columns_keeps_a_channels_gates_together():
    columns = jnp.arange(128)
    f, i, o, g = (gate * 32 for gate in range(4))
    expected = [f + 6, i + 6, o + 6, g + 6, f + 7, i + 7, o + 7, g + 7]
    np.testing.assert_array_equal(fused.interleave(columns)[24:32], expected)
    np.testing.assert_array_equal(fused.separate(fused.interleave(columns)), columns)


def test_forward_tiles_hold_every_weight_where_the_tensor_cores_read_it(weights):
    tiles = np.asarray(fused.tiles_forward(weights), np.float32)
    rounded = np.asarray(weights.astype(jnp.bfloat16), np.float32).reshape(DEPTH, 9, 64, 4, 32)
    draw = np.random.default_rng(0)
    for d, tap, channel, gate, unit in zip(*(draw.integers(0, n, 500) for n in (DEPTH, 9, 64, 4, 32)), strict=True):
        own, k = channel // 32, channel % 16
        step = (1 - own) * 18 + tap * 2 + channel % 32 // 16
        row = unit % 16 // 4 * 16 + gate % 2 * 8 + gate // 2 * 4 + unit % 4  # four channels a warp
        assert tiles[d, step, unit // 16, k // 8, row, k % 8] == rounded[d, tap, channel, gate, unit]


def test_backward_tiles_hold_every_weight_where_the_tensor_cores_read_it(weights):
    tiles = np.asarray(fused.tiles_backward(weights), np.float32)
    rounded = np.asarray(fused.interleave(weights).astype(jnp.bfloat16), np.float32).reshape(DEPTH, 9, 64, 128)
    draw = np.random.default_rng(0)
    for d, tap, channel, column in zip(*(draw.integers(0, n, 500) for n in (DEPTH, 9, 64, 128)), strict=True):
        step, k = tap * 8 + column // 16, column % 16
        part, unit = channel // 32, channel % 32  # the module below, or the module's own
        row = unit // 8 * 16 + part * 8 + unit % 8
        assert tiles[d, step, k // 8, row, k % 8] == rounded[d, tap, channel, column]


def test_fragments_hold_every_weight_where_a_warp_of_the_other_source_reads_it(weights):
    """Of mma.m16n8k16's right operand a lane holds rows 2 (lane % 4) and one on, and 8 on, of column lane / 4."""
    forward = np.asarray(fused.fragments_forward(weights), np.float32)
    backward = np.asarray(fused.fragments_backward(weights), np.float32)
    rounded = np.asarray(weights.astype(jnp.bfloat16), np.float32).reshape(DEPTH, 9, 64, 4, 32)
    draw = np.random.default_rng(0)
    for d, tap, channel, gate, unit in zip(*(draw.integers(0, n, 500) for n in (DEPTH, 9, 64, 4, 32)), strict=True):
        weight, k, column = rounded[d, tap, channel, gate, unit], channel % 16, unit * 4 + gate
        within = gate % 2 * 4 + k // 8 * 2 + k % 2
        assert forward[d, tap * 4 + channel // 16, unit // 8, gate // 2, unit % 8 * 4 + k % 8 // 2, within] == weight
        part, k = channel // 32, column % 16
        lane, within = channel % 8 * 4 + k % 8 // 2, part * 4 + k // 8 * 2 + k % 2
        assert backward[d, tap * 8 + column // 16, channel % 32 // 8, lane, within] == weight


@pytest.mark.parametrize("settings", [{}, {"input_to_every_module": False, "boundary": False}])
def test_what_the_observation_adds_is_the_plain_paths_in_the_kernels_order(settings):
    net = jax.tree.map(lambda leaf: leaf + 0.1, small_drc(**settings))  # biases begin at zero
    encoded = jax.random.normal(jax.random.key(2), (*GRID, 32))
    plain = jnp.stack([fused.interleave(module.input_preactivation(encoded)) for module in net.stack.modules], axis=2)
    matrix = fused.push_matrix(net.stack, encoded.dtype)
    np.testing.assert_allclose(fused.input_preactivation(encoded, matrix), plain, atol=1e-5)


def test_connections_that_an_ablation_cuts_are_zeros():
    weights = fused.weights_of(small_drc(top_down=False, pool_and_inject=False).stack)
    assert weights.on_outputs.shape == (DEPTH, 3, 3, 64, 128)
    assert not weights.on_outputs[0, :, :, :32].any()
    assert weights.on_outputs[1, :, :, :32].any()
    assert not weights.on_pooled.any()


@pytest.mark.parametrize("memory", ["ConvLSTM", "GatedConvRNN", "SimpleConvRNN"])
def test_gates_that_a_memory_does_not_have_are_zeros_in_front_of_those_it_has(memory):
    stack = jax.tree.map(lambda leaf: leaf + 1, small_drc(memory=memory).stack)
    weights, gates = fused.weights_of(stack), stack.modules[0].memory.gates
    of_push = fused.separate(fused.push_matrix(stack, jnp.float32).reshape(-1, DEPTH, 128))[
        :-6, 0
    ]  # six rows are empty
    for columns, own in (
        (weights.on_outputs[0], stack.modules[0].on_outputs),
        (weights.on_pooled[0], stack.modules[0].on_pooled),
        (of_push[:288], stack.modules[0].on_input.reshape(288, -1)),
        (of_push[-1], stack.modules[0].bias),
    ):
        assert own.shape[-1] == 32 * gates
        assert not columns[..., : -32 * gates].any()
        np.testing.assert_array_equal(columns[..., -32 * gates :], own)


def test_a_memory_of_ones_own_is_not_covered_even_if_it_is_called_like_one_that_is(monkeypatch):
    monkeypatch.setattr(kernel, "chosen", lambda *asked, covered: covered)
    assert small_drc(dtype="bfloat16", memory="SimpleConvRNN").fused
    mine = type("ConvLSTM", (ConvLSTM,), {"next": lambda self, preactivations, state: state})
    assert not small_drc(dtype="bfloat16", memory=mine).fused


@pytest.mark.parametrize("memory", ["ConvLSTM", "GatedConvRNN", "SimpleConvRNN"])
def test_the_memory_that_comes_out_is_of_the_kind_that_went_in(monkeypatch, memory):
    monkeypatch.setattr(kernel, "chosen", lambda *asked, covered: covered)
    net = small_drc(dtype="bfloat16", memory=memory)
    given = (net.initial_memory(), jnp.zeros((*GRID, 3), jnp.uint8), jnp.zeros((), bool))
    after, _ = jax.eval_shape(lambda net: net.core_after_reset(given[0], net.encode(given[1]), given[2]), net)
    assert jax.tree.map(lambda x: (x.shape, x.dtype), after) == jax.tree.map(lambda x: (x.shape, x.dtype), given[0])
    program = str(jax.make_jaxpr(lambda net: net.core_after_reset(given[0], net.encode(given[1]), given[2]))(net))
    assert set(re.findall(r"foresight_drc_\w+", program)) == {f"foresight_drc_wgmma_infer_4x5_{memory}"}


def test_shifted_slots_are_the_convolution():
    """The kernel's scheme: one empty slot after each row, a margin before and after, a tap being another start."""
    height, width = GRID
    x, taps = np.random.default_rng(0).normal(size=(height, width, 3)), np.random.default_rng(1).normal(size=(9, 3, 2))
    margin, across = width + 2, width + 1
    slots = np.zeros((height * across + 2 * margin, 3))
    cells = [margin + y * across + x for y, x in itertools.product(range(height), range(width))]
    slots[cells] = x.reshape(-1, 3)
    shifts = [(tap // 3 - 1) * across + tap % 3 - 1 for tap in range(9)]
    ours = sum(slots[np.array(cells) + shift] @ taps[tap] for tap, shift in enumerate(shifts))
    native = convolve_natively(jnp.asarray(x, jnp.float32), jnp.asarray(taps.reshape(3, 3, 3, 2), jnp.float32))
    np.testing.assert_allclose(ours.reshape(height, width, 2), native, atol=1e-5)


def test_strips_that_see_their_neighbours_rows_are_the_whole_board():
    """A board that is too large for a block: each strip has the next rows of its neighbours in its margins."""
    height, width = 15, 19
    x, taps = np.random.default_rng(0).normal(size=(height, width, 3)), np.random.default_rng(1).normal(size=(9, 3, 2))
    strips = kernel.strips((height, width))
    tall, margin, across = -(-height // strips), width + 2, width + 1
    assert (strips, tall) == (3, 5)
    planes = np.zeros((strips, fused.rows_of_plane(width), 3))
    for strip, y, column in itertools.product(range(strips), range(-1, tall + 1), range(width)):
        if 0 <= strip * tall + y < height:
            planes[strip, margin + y * across + column] = x[strip * tall + y, column]
    shifts = [(tap // 3 - 1) * across + tap % 3 - 1 for tap in range(9)]
    cells = [margin + y * across + column for y, column in itertools.product(range(tall), range(width))]
    ours = sum(planes[:, np.array(cells) + shift] @ taps[tap] for tap, shift in enumerate(shifts))
    native = convolve_natively(jnp.asarray(x, jnp.float32), jnp.asarray(taps.reshape(3, 3, 3, 2), jnp.float32))
    np.testing.assert_allclose(ours.reshape(height, width, 2), native, atol=1e-5)


@pytest.mark.parametrize(("grid", "strips"), [((10, 10), 1), ((7, 5), 1), ((14, 14), 2), ((14, 10), 2), ((16, 16), 3)])
def test_a_board_has_as_many_strips_as_it_needs_slots(grid, strips):
    assert kernel.strips(grid) == strips


def test_without_a_gpu_the_plain_path_runs_and_asking_for_the_kernel_says_why_not():
    if jax.default_backend() == "gpu":
        pytest.skip("there is a GPU")
    assert not kernel.chosen("auto", SOKOBAN, covered=True)
    assert not kernel.chosen("xla", SOKOBAN, covered=True)
    with pytest.raises(ForesightError, match="there is no GPU"):
        kernel.chosen("cuda", SOKOBAN, covered=True)
    with pytest.raises(ForesightError, match=r"\(ConvLSTM, GatedConvRNN or SimpleConvRNN, 32 features, bfloat16\)"):
        kernel.chosen("cuda", SOKOBAN, covered=False)
    with pytest.raises(ForesightError, match="'auto', 'cuda' or 'xla', not 'gpu'"):
        kernel.known("gpu")


@pytest.mark.parametrize("form", ["wgmma", "mma"])
def test_the_environment_chooses_the_source(monkeypatch, form):
    monkeypatch.setenv(kernel.FORCED, form)
    assert kernel.target("infer", kernel.Job(GRID, 3)) == f"foresight_drc_{form}_infer_4x5_ConvLSTM"
    tiles = {"wgmma": (DEPTH, 36, 2, 2, 64, 8), "mma": (DEPTH, 36, 4, 2, 32, 8)}
    assert fused.pack(fused.weights_of(small_drc().stack)).on_outputs.shape == tiles[form]


@pytest.mark.parametrize(("depth", "variant"), [(1, "alone"), (2, ""), (3, ""), (4, "deep")])
def test_more_than_three_modules_and_one_are_for_other_forms_with_functions_of_their_own(monkeypatch, depth, variant):
    monkeypatch.setattr(kernel, "chosen", lambda *asked, covered: covered)
    net = DRC((*GRID, 3), 5, jax.random.key(1), depth=depth, ticks=1, hidden=8, dtype="bfloat16")
    program = str(jax.make_jaxpr(net)(net.initial_memory(), jnp.zeros((*GRID, 3), jnp.uint8), jnp.zeros((), bool)))
    assert re.findall(r"foresight_drc_wgmma_infer_4x5\w*", program) == [
        "foresight_drc_wgmma_infer_4x5_ConvLSTM" + "_" * bool(variant) + variant
    ]
    flags = kernel.flags_for("wgmma", kernel.Job(GRID, depth), "9.0")
    assert [f"-DDEEP={int(variant == 'deep')}", f"-DALONE={int(variant == 'alone')}"] == flags[6:8]


@pytest.mark.parametrize(
    ("capability", "forced", "obstacle"),
    [
        ("8.0", "wgmma", "this source is made for compute capability 9.0, and the GPU's is 8.0 (see FORESIGHT_KERNEL)"),
        ("7.5", None, "it is made for compute capability 8.0 and above, and the GPU's is 7.5"),
        ("gfx942", None, "it is made for compute capability 8.0 and above, and the GPU's is gfx942"),
        ("9.0", None, "there is no CUDA compiler (nvcc)"),
        ("8.6", None, "there is no CUDA compiler (nvcc)"),
        ("9.0", "mma", "there is no CUDA compiler (nvcc)"),
    ],
)
def test_a_source_runs_on_the_gpus_it_is_made_for(monkeypatch, capability, forced, obstacle):
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(kernel, "capability_here", lambda: capability)
    monkeypatch.setattr(shutil, "which", lambda command: None)
    monkeypatch.delenv(kernel.FORCED, raising=False)
    if forced:
        monkeypatch.setenv(kernel.FORCED, forced)
    assert kernel.obstacle_to.__wrapped__(SOKOBAN, "auto") == obstacle


@pytest.mark.parametrize(("capability", "form"), [("8.0", "mma"), ("9.0", "wgmma"), ("12.0", "mma"), ("0.0", "wgmma")])
def test_the_source_is_the_one_for_the_gpu_unless_the_environment_says(monkeypatch, capability, form):
    monkeypatch.setattr(kernel, "capability_here", lambda: capability)
    monkeypatch.delenv(kernel.FORCED, raising=False)
    assert kernel.form() == form
    monkeypatch.setenv(kernel.FORCED, "mma")
    assert kernel.form() == "mma"


@pytest.mark.parametrize(
    ("backend", "modules", "memory", "verdict", "obstacle"),
    [
        ("auto", 9, "ConvLSTM", None, None),
        ("auto", 9, "ConvLSTM", "wrong", "wrong"),
        ("cuda", 9, "ConvLSTM", "wrong", None),
        ("auto", 3, "ConvLSTM", "wrong", None),  # it has run on a GPU, so it is not asked about
        ("auto", 1, "ConvLSTM", "wrong", "wrong"),
        ("auto", 3, "GatedConvRNN", "wrong", "wrong"),
        ("auto", 3, "SimpleConvRNN", "wrong", "wrong"),
    ],
)
def test_a_kernel_that_does_not_agree_is_taken_by_those_alone_who_insist(
    monkeypatch, tmp_path, backend, modules, memory, verdict, obstacle
):
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(kernel, "capability_here", lambda: "9.0")
    monkeypatch.setattr(shutil, "which", lambda command: "/nvcc")
    monkeypatch.setattr(kernel, "load", lambda job: tmp_path / f"{job}.so")
    monkeypatch.setattr(kernel, "verdict_on", lambda library, job: verdict if library.stem == str(job) else "other")
    assert kernel.obstacle_to.__wrapped__(kernel.Job((10, 10), modules, memory), backend) == obstacle


def test_a_source_that_there_is_not_is_an_error(monkeypatch):
    monkeypatch.setenv(kernel.FORCED, "cuda")
    with pytest.raises(ForesightError, match="FORESIGHT_KERNEL is wgmma or mma, not 'cuda'"):
        kernel.form()


def test_what_a_source_does_not_cover_is_said():
    assert kernel.too_large("wgmma", (16, 16), 3) is None
    assert kernel.too_large("wgmma", (15, 19), 3) is None
    assert kernel.too_large("wgmma", (30, 30), 3) == "it is made for boards up to 16x16 or 15x19"
    for grid in ((10, 10), (16, 16), (15, 19)):
        assert kernel.too_large("wgmma", grid, 9) is None
    assert kernel.too_large("wgmma", (10, 10), 14) is None
    assert kernel.too_large("wgmma", (10, 10), 15) == "on a board of 10x10 cells it is made for up to 14 modules"
    assert kernel.too_large("mma", (10, 10), 3) is None
    assert kernel.too_large("mma", (10, 10), 4) == "this source is made for up to 3 modules"
    assert kernel.too_large("mma", (16, 16), 3) == "this source is made for up to 112 cells"


@pytest.mark.soak
@pytest.mark.parametrize(
    ("form", "capability", "modules", "memory"),
    [
        ("wgmma", "9.0", 3, "ConvLSTM"),
        ("wgmma", "9.0", 3, "GatedConvRNN"),
        ("wgmma", "9.0", 3, "SimpleConvRNN"),
        ("wgmma", "9.0", 1, "ConvLSTM"),
        ("wgmma", "9.0", 9, "ConvLSTM"),
        *(("mma", capability, 3, "ConvLSTM") for capability in ("8.0", "8.6", "8.9", "10.0", "12.0")),
        ("mma", "8.0", 3, "GatedConvRNN"),
        ("mma", "8.0", 3, "SimpleConvRNN"),
    ],
)
def test_the_sources_compile_for_each_gpu_with_few_or_no_registers_in_memory(
    tmp_path, form, capability, modules, memory
):
    compiler = shutil.which("nvcc")
    if compiler is None:
        pytest.skip("there is no CUDA compiler (nvcc)")
    flags = ["-cubin", "-Xptxas", "-v", "-o", tmp_path / "kernel.cubin"]
    flags += kernel.flags_for(form, kernel.Job((10, 10), modules, memory), capability)
    done = subprocess.run([compiler, *flags], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    spilled = [int(size) for size in re.findall(r"(\d+) bytes spill stores", done.stderr)]
    assert len(spilled) == {"wgmma": 3, "mma": 5}[form]
    assert max(spilled) <= {"wgmma": 128, "mma": 16}[form]  # bytes, of a thread


def test_a_prepared_network_packs_no_weights_when_it_acts(monkeypatch):
    monkeypatch.setattr(kernel, "chosen", lambda *asked, covered: covered)
    net = small_drc(dtype="bfloat16")
    step = (net.initial_memory(), jnp.zeros((*GRID, 3), jnp.uint8), jnp.zeros((), bool))
    unpacked, packed = f"{DEPTH},3,3,64,128]", f"bf16[{DEPTH},36,2,2,64,8]"
    plain, ready = (str(jax.make_jaxpr(lambda net: net(*step))(net)) for net in (net, net.prepared(None)))
    assert unpacked in plain
    assert unpacked not in ready
    assert packed in ready
    assert jax.tree.structure(jax.eval_shape(lambda net: net(*step), net)[2]) == jax.tree.structure(step[0])


def painted_sokoban_drc():
    """The paper's network on the kernel, with no weight at zero."""
    settings = {**paper_network("drc", "sokoban"), "backend": "cuda", "dtype": "bfloat16"}
    return moved(DRC((80, 80, 3), 5, jax.random.key(1), **settings), jax.random.key(2))


@pytest.mark.gpu
def test_a_prepared_network_acts_bit_for_bit_as_the_same_network_with_memories_made_fresh_beforehand():
    net = painted_sokoban_drc()
    memory = jax.tree.map(lambda x: jnp.broadcast_to(x, (150, *x.shape)), net.initial_memory())
    memory = moved(memory, jax.random.key(3))
    pictures = jax.random.randint(jax.random.key(4), (150, 80, 80, 3), 0, 256).astype(jnp.uint8)
    is_first = jax.random.bernoulli(jax.random.key(5), 0.3, (150,))

    def plain(net, memory, picture, is_first):
        return net(reset_where(is_first, net.initial_memory(), memory), picture)

    def ready(net, memory, pictures, is_first):
        return jax.vmap(net.prepared(None))(memory, pictures, is_first)

    expected = jax.jit(jax.vmap(plain, (None, 0, 0, 0)))(net, memory, pictures, is_first)
    assert_same_bits(jax.jit(ready)(net, memory, pictures, is_first), expected)


@pytest.mark.gpu
def test_the_last_step_of_an_unroll_may_be_taken_on_its_own():
    """The learner sees its bootstrap frame so."""
    net = painted_sokoban_drc()
    pictures = jax.random.randint(jax.random.key(4), (40, 5, 80, 80, 3), 0, 256).astype(jnp.uint8)
    is_first = jax.random.bernoulli(jax.random.key(5), 0.3, (40, 5))
    memory = jax.tree.map(lambda x: jnp.broadcast_to(x, (40, *x.shape)), net.initial_memory())

    features = jax.jit(lambda net: jax.vmap(jax.vmap(net.encode))(pictures))(net)

    @jax.jit
    def both(features):
        (last, core_output), _ = jax.vjp(lambda *a: jax.vmap(net.core_over_time)(*a, is_first), memory, features)
        before, final = (jax.tree.map(lambda x, at=at: x[:, at], features) for at in (slice(-1), -1))
        half, _ = jax.vmap(net.core_over_time)(memory, before, is_first[:, :-1])
        return (last, core_output[:, -1]), jax.vmap(net.core_after_reset)(half, final, is_first[:, -1])

    assert_same_bits(*both(features))


def assert_same_bits(ours, expected):
    """Every number of two trees is the same."""
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(expected), strict=True):
        np.testing.assert_array_equal(np.asarray(a, np.float32), np.asarray(b, np.float32))


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("domain", "picture", "settings"),
    [
        ("sokoban", (80, 80, 3), {}),
        ("sokoban", (80, 80, 3), {"depth": 1, "ticks": 1}),
        ("sokoban", (80, 80, 3), {"depth": 1, "ticks": 9}),
        ("sokoban", (80, 80, 3), {"depth": 9, "ticks": 1}),
        ("sokoban", (80, 80, 3), {"top_down": False, "pool_and_inject": False}),
        ("sokoban", (80, 80, 3), {"memory": "GatedConvRNN"}),
        ("sokoban", (80, 80, 3), {"memory": "SimpleConvRNN"}),
        ("gridworld", (32, 32, 1), {"memory": "GatedConvRNN", "depth": 4, "ticks": 1}),
        ("sokoban-cells", (7, 5, 7), {"depth": 2, "ticks": 2}),
        ("gridworld", (32, 32, 1), {"ticks": 2}),
        ("gridworld", (32, 32, 1), {"depth": 4, "ticks": 2}),
        ("minipacman", (15, 19, 3), {"ticks": 1}),
    ],
)
def test_the_kernel_is_as_near_to_float32_as_the_plain_path_in_bfloat16(domain, picture, settings):
    """Outputs and every gradient, over random weights and episode starts in the middle."""
    exact = core_and_gradients(domain, picture, settings, "xla", "float32")
    plain = core_and_gradients(domain, picture, settings, "xla", "bfloat16")
    fast = core_and_gradients(domain, picture, settings, "cuda", "bfloat16")
    errors = {
        name: (relative_error(fast[name], exact[name]), relative_error(plain[name], exact[name])) for name in exact
    }
    assert {name: pair for name, pair in errors.items() if pair[0] > 2 * pair[1] + 0.002} == {}
    assert np.exp(np.mean([np.log(ours / its) for ours, its in errors.values()])) < 1.2


def core_and_gradients(domain, picture, settings, backend, dtype):
    """What the recurrence gives, and the gradients of a sum of that with random factors, by name.

    The head is skipped: there a unit that falls on the other side of zero outweighs all that the core does.
    """
    net = DRC(picture, 5, jax.random.key(1), **paper_network("drc", domain), backend=backend, dtype=dtype, **settings)
    net = moved(net, jax.random.key(2))  # biases and first states begin at zero
    pictures = jax.random.randint(jax.random.key(3), (16, 6, *picture), 0, 256).astype(jnp.uint8)
    is_first = jax.random.bernoulli(jax.random.key(4), 0.3, (16, 6))
    memory = jax.tree.map(lambda x: jnp.broadcast_to(x, (16, *x.shape)), net.initial_memory())

    def loss(learned):
        net, memory = learned
        given = jax.vmap(net.core_over_time)(memory, jax.vmap(jax.vmap(net.encode))(pictures), is_first)
        given = jax.tree.map(lambda leaf: leaf.astype(jnp.float32), given)
        factors = moved(jax.tree.map(jnp.zeros_like, given), jax.random.key(5))
        return jax.tree.reduce(jnp.add, jax.tree.map(lambda x, factor: jnp.sum(x * factor), given, factors)), given

    with jax.default_matmul_precision("highest"):
        gradients, given = jax.jit(jax.grad(loss, has_aux=True))((net, memory))
    named = [(jax.tree_util.keystr(path), x) for path, x in jax.tree_util.tree_leaves_with_path((given, gradients))]
    return {name: leaf for name, leaf in named if ".head." not in name}


def moved(tree, key):
    """Every number a little further, at random."""
    leaves, structure = jax.tree.flatten(tree)
    keys = jax.random.split(key, len(leaves))
    noises = [0.02 * jax.random.normal(k, x.shape) for x, k in zip(leaves, keys, strict=True)]
    return structure.unflatten([x + noise.astype(x.dtype) for x, noise in zip(leaves, noises, strict=True)])


def relative_error(leaf, exact):
    """The distance to the exact numbers by their size."""
    exact = np.asarray(exact, np.float32)
    return np.linalg.norm(np.asarray(leaf, np.float32) - exact) / np.linalg.norm(exact)


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("domain", "picture", "grid", "depth", "ticks", "memory"),
    [
        ("sokoban", (80, 80, 3), (10, 10), 3, 3, "ConvLSTM"),
        ("sokoban", (80, 80, 3), (10, 10), 9, 1, "ConvLSTM"),
        ("sokoban", (80, 80, 3), (10, 10), 1, 9, "ConvLSTM"),
        ("sokoban", (80, 80, 3), (10, 10), 3, 3, "GatedConvRNN"),
        ("sokoban", (80, 80, 3), (10, 10), 3, 3, "SimpleConvRNN"),
        ("gridworld", (32, 32, 1), (16, 16), 3, 3, "ConvLSTM"),
        ("gridworld", (32, 32, 1), (16, 16), 4, 2, "ConvLSTM"),
    ],
)
def test_many_trajectories_of_several_networks_give_what_each_gives_alone(domain, picture, grid, depth, ticks, memory):
    """More than a GPU has multiprocessors, so that blocks take several and wait for each other."""
    networks, batch, time = 3, 100, 4
    settings, job = {"depth": depth, "ticks": ticks, "memory": memory}, kernel.Job(grid, depth, memory)
    assert kernel.chosen("cuda", job, covered=True)
    nets = eqx.filter_vmap(
        lambda key: DRC(picture, 5, key, **paper_network("drc", domain) | settings, backend="cuda", dtype="bfloat16")
    )(jax.random.split(jax.random.key(1), networks))
    weights = jax.vmap(lambda net: fused.weights_of(net.stack))(nets)
    shape = (networks, batch, depth, *grid, 32)
    memory = CellAndOutput(
        jax.random.normal(jax.random.key(4), shape), jax.random.normal(jax.random.key(5), shape).astype(jnp.bfloat16)
    )
    input_preactivations = jax.random.normal(jax.random.key(2), (networks, batch, time, *grid, depth, 128)).astype(
        jnp.bfloat16
    )
    is_first = jax.random.bernoulli(jax.random.key(3), 0.2, (networks, batch, time))

    def one(weights, memory, input_preactivations, is_first):
        (top, last), back = jax.vjp(
            lambda *a: fused.unroll(job, ticks, *a, is_first), weights, memory, input_preactivations
        )
        d_last = jax.tree.map(jnp.cos, last)
        return fused.unroll(job, ticks, weights, memory, input_preactivations, is_first), back((jnp.sin(top), d_last))

    many = jax.jit(jax.vmap(jax.vmap(one, (None, 0, 0, 0))))(weights, memory, input_preactivations, is_first)
    alone = jax.jit(one)
    for net, which in [(0, 0), (1, 31), (1, 32), (1, 99), (2, 0), (2, 98)]:
        here, ours = jax.tree.map(lambda x, at=(net, which): x[at], ((memory, input_preactivations, is_first), many))
        expected = alone(jax.tree.map(lambda x, net=net: x[net], weights), *here)
        assert_same_bits(ours, expected)
