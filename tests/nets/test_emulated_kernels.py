"""The kernel's two sources, run on a CPU thread by thread: against the plain path, and one form against another."""

import ctypes
import functools
import shutil

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foresight.bench import stamps
from foresight.nets.drc import agreement, build
from foresight.nets.drc import core_cuda as fused
from tests.nets.emulator.emulate import Emulator

SMALL, LARGE = (4, 5), (10, 10)
HALVED = (7, 10)  # cells that two blocks may share
CUT = {2: (9, 13), 3: (11, 19)}  # by strips; the last has fewer rows
NEAR = 0.004, 0.01  # to the plain path, where rounding moves no maximum: results, gradients
SHALLOW, DEEP, ALONE = (("-DDEEP=0", "-DALONE=0"), ("-DDEEP=1", "-DALONE=0"), ("-DDEEP=0", "-DALONE=1"))
CONVLSTM, GATED, SIMPLE = (f"-DMEMORY={memory}" for memory in build.MEMORIES)


@pytest.fixture(scope="module")
def emulator(tmp_path_factory):
    """Makes an emulator of a source for a size of board; the next time it is the same."""
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("there is no C++ compiler (g++)")
    return functools.cache(lambda *asked: Emulator(compiler, tmp_path_factory.mktemp("emulator"), *asked))


def disagreement(monkeypatch, kernel, form, job, ticks):
    """What `agreement` says of an emulated kernel."""
    monkeypatch.setenv(build.FORCED, form)
    monkeypatch.setattr(fused, "call", kernel.call)
    return agreement.disagreement(job, ticks)


@pytest.mark.parametrize(
    ("asked", "switch", "depth", "ticks"),
    [
        (("mma", SMALL, CONVLSTM), False, 2, 2),
        (("wgmma", SMALL, CONVLSTM, *SHALLOW), True, 2, 2),
        pytest.param(("mma", SMALL, CONVLSTM), True, 2, 2, marks=pytest.mark.soak),
        pytest.param(("wgmma", SMALL, CONVLSTM, *SHALLOW), False, 3, 1, marks=pytest.mark.soak),
        pytest.param(("wgmma", SMALL, CONVLSTM, *SHALLOW), True, 1, 3, marks=pytest.mark.soak),
        pytest.param(("wgmma", SMALL, CONVLSTM, *DEEP), True, 5, 1, marks=pytest.mark.soak),
        pytest.param(("wgmma", LARGE, CONVLSTM, *SHALLOW), False, 3, 2, marks=pytest.mark.soak),
        pytest.param(("wgmma", LARGE, CONVLSTM, *DEEP), True, 9, 1, marks=pytest.mark.soak),
    ],
)
def test_outputs_and_gradients_are_the_plain_paths(monkeypatch, emulator, asked, switch, depth, ticks):
    kernel = emulator(*asked)
    kernel.switch = switch
    assert disagreement(monkeypatch, kernel, asked[0], build.Job(asked[1], depth), ticks) is None


@pytest.mark.parametrize(
    ("strips", "form", "late", "depth", "ticks"),
    [
        (2, SHALLOW, True, 2, 1),
        (3, DEEP, True, 1, 1),
        (3, ALONE, True, 1, 2),
        pytest.param(2, SHALLOW, False, 3, 1, marks=pytest.mark.soak),
        pytest.param(2, DEEP, True, 2, 1, marks=pytest.mark.soak),
        pytest.param(2, ALONE, False, 1, 1, marks=pytest.mark.soak),
        pytest.param(3, SHALLOW, True, 3, 2, marks=pytest.mark.soak),
    ],
)
def test_a_board_cut_into_strips_is_the_plain_paths(monkeypatch, emulator, strips, form, late, depth, ticks):
    monkeypatch.setattr(agreement, "FAR", NEAR)  # what is lost once, at a start, changes little
    job = build.Job(CUT[strips], depth)
    assert build.strips(job.grid) == strips
    kernel = emulator("wgmma", job.grid, CONVLSTM, *form)
    kernel.switch = late
    assert disagreement(monkeypatch, kernel, "wgmma", job, ticks) is None


@pytest.mark.parametrize(
    ("form", "late", "depth", "ticks"),
    [
        (SHALLOW, True, 2, 2),
        (ALONE, True, 1, 2),
        pytest.param(SHALLOW, False, 3, 2, marks=pytest.mark.soak),
        pytest.param(SHALLOW, True, 1, 2, marks=pytest.mark.soak),
    ],
)
def test_halves_of_a_board_are_the_plain_paths(monkeypatch, emulator, form, late, depth, ticks):
    job = build.Job(HALVED, depth)
    assert build.halves(job)
    kernel = emulator("wgmma", job.grid, CONVLSTM, *form, f"-DSLOTS={build.HALF}")
    kernel.switch = late
    assert disagreement(monkeypatch, kernel, "wgmma", job, ticks) is None


@pytest.mark.parametrize(
    ("memory", "form"),
    [
        *((memory, ("wgmma", SMALL, *SHALLOW)) for memory in build.MEMORIES[1:]),
        *(pytest.param(memory, ("mma", SMALL), marks=pytest.mark.soak) for memory in build.MEMORIES[1:]),
        *(pytest.param(memory, ("wgmma", SMALL, *DEEP), marks=pytest.mark.soak) for memory in build.MEMORIES[1:]),
    ],
)
def test_every_memory_is_the_plain_paths(monkeypatch, emulator, memory, form):
    kernel, job = emulator(*form, f"-DMEMORY={memory}"), build.Job(SMALL, 2, memory)
    kernel.switch = True
    assert disagreement(monkeypatch, kernel, form[0], job, 2) is None


def test_gates_of_another_memory_are_seen(monkeypatch, emulator):
    kernel, job = emulator("wgmma", SMALL, CONVLSTM, *SHALLOW), build.Job(SMALL, 2, "GatedConvRNN")
    sentence = disagreement(monkeypatch, kernel, "wgmma", job, 2)
    assert sentence.startswith("it differs from the plain path: [0][0] by ")


@functools.cache
def outcome(kernel, depth, ticks, late):
    """Results and gradients, and every call of the kernel's functions with what it gave."""
    calls = []

    def call(*asked):
        calls.append((asked, kernel.call(*asked)))
        return calls[-1][1]

    kernel.switch = late
    stack, memory, inputs = agreement.drawn(build.Job(SMALL, depth), ticks)
    state = jnp.sin(jnp.arange(memory.cell.size, dtype=jnp.float32)).reshape(memory.cell.shape)
    top = jnp.stack([state[0], state[-1], state[0]])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fused, "call", call)
        return agreement.by_kernel(stack, memory, inputs, (top, type(memory)(state, state))), calls


def assert_same_bits(ours, expected):
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(expected), strict=True):
        np.testing.assert_array_equal(np.asarray(a, np.float32), np.asarray(b, np.float32))


@pytest.mark.parametrize(("depth", "ticks"), [(2, 2), (1, 2)])
def test_the_form_for_many_modules_gives_every_bit_of_the_other(emulator, depth, ticks):
    shallow, _ = outcome(emulator("wgmma", SMALL, CONVLSTM, *SHALLOW), depth, ticks, late=False)
    deep, _ = outcome(emulator("wgmma", SMALL, CONVLSTM, *DEEP), depth, ticks, late=True)
    assert_same_bits(deep, shallow)


def test_one_module_without_terms_of_what_is_below_gives_every_bit_of_the_form_with_zeros(emulator):
    with_zeros, _ = outcome(emulator("wgmma", SMALL, CONVLSTM, *SHALLOW), 1, 2, late=False)
    alone, _ = outcome(emulator("wgmma", SMALL, CONVLSTM, *ALONE), 1, 2, late=True)
    assert_same_bits(alone, with_zeros)


@pytest.mark.parametrize(
    ("form", "depth", "networks"),
    [
        (SHALLOW, 2, False),
        (DEEP, 2, True),
        (ALONE, 1, True),
        pytest.param(SHALLOW, 2, True, marks=pytest.mark.soak),
        pytest.param(ALONE, 1, False, marks=pytest.mark.soak),
    ],
)
def test_a_block_that_takes_several_trajectories_gives_what_each_gives_alone(emulator, form, depth, networks):
    """Of one network, or of another network each."""
    kernel = emulator("wgmma", SMALL, CONVLSTM, *form)
    _, calls = outcome(kernel, depth, 1, late=True)
    of_network = {"infer": 4, "forward": 4, "backward": 2}  # the first arguments
    for (name, results, job, ticks, *given), alone in calls:
        shared, own = given[: of_network[name]], given[of_network[name] :]
        twice = [jnp.stack([x, jnp.flip(x, axis=-1), x]) for x in own]
        shared = [jnp.stack([x, jnp.flip(x, axis=-1), x]) for x in shared] if networks else shared
        shapes = [jax.ShapeDtypeStruct((3, *x.shape), x.dtype) for x in results]
        if name == "backward":  # one of its results is a count of blocks
            shapes, alone = shapes[:-1], alone[:-1]
            shapes.append(jax.ShapeDtypeStruct((3, 1, 2), jnp.uint32))
        together = kernel.call(name, shapes, job, ticks, *shared, *twice)
        if name == "backward" and not networks:  # the weights' gradient is one of all trajectories of a network
            parts = [kernel.call(name, results, job, ticks, *shared, *(x[at] for x in twice))[0] for at in range(3)]
            np.testing.assert_allclose(together[0].sum(axis=0), sum(parts), rtol=1e-4, atol=1e-4)
            together, alone = together[1:], alone[1:]
        for made, expected in zip(together, alone, strict=False):
            written = ~np.isnan(np.asarray(expected, np.float32))  # the top's last hidden state is not wanted
            for at in (0, 2):
                np.testing.assert_array_equal(np.asarray(made[at])[written], np.asarray(expected)[written])


def test_stamps_are_made_at_the_end_of_every_phase_and_change_nothing(monkeypatch, emulator):
    """The emulated clock goes on by one at each look: so a phase takes as many cycles as it has stamps."""
    stamped, plain = (
        emulator("wgmma", SMALL, CONVLSTM, *SHALLOW, "-DSTAMPS=1"),
        emulator("wgmma", SMALL, CONVLSTM, *SHALLOW),
    )
    assert_same_bits(outcome(stamped, 2, 2, late=True)[0], outcome(plain, 2, 2, late=False)[0])
    stamps.read_stamps(stamped.library)

    monkeypatch.setattr(fused, "call", stamped.call_traced)
    case = stamps.Case(depth=2, ticks=1, board=SMALL, trajectories=2, unroll=2)
    rows = stamps.measure(case, stamped.library, calls=1)["rows"]
    groups = dict.fromkeys(("weights", "issue", "meanwhile", "products", "refill"), 12)
    once = dict.fromkeys(("else", "gates", "state", "barrier"), 1)
    expected = {
        "acting": {"cycles": 64, "swap": 0} | groups | once,
        "forward": {"cycles": 64, "swap": 0} | groups | once,
        "backward": {"cycles": 66, "swap": 1} | groups | once | {"barrier": 2},
    }
    assert rows == [
        {"pass": name, "team": team, "module_ticks": 4 if name == "backward" else 8} | of
        for name, of in expected.items()
        for team in (0, 1)
    ]


@pytest.mark.parametrize(("form", "depths"), [(SHALLOW, (2, 3)), (DEEP, (4, 9)), (ALONE, (1,))])
def test_how_much_shared_memory_a_block_takes_is_known(emulator, form, depths):
    bytes_of = emulator("wgmma", SMALL, CONVLSTM, *form).library.shared_bytes
    bytes_of.restype = ctypes.c_size_t
    for depth in depths:
        assert max(bytes_of(False, depth), bytes_of(True, depth)) == build.shared_bytes(SMALL, depth)
