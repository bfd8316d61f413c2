"""Which source and form of the kernel is taken where, what it covers, and that it compiles."""

import re
import shutil
import subprocess

import jax
import jax.numpy as jnp
import pytest

from foresight.errors import ForesightError
from foresight.nets.drc import build as kernel
from foresight.nets.drc import core_cuda as fused
from foresight.nets.drc.drc import DRC
from tests.nets.cores import DEPTH, GRID, small_drc

SOKOBAN = kernel.Job((10, 10), 3)


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
        ("9.0", None, "there is no CUDA compiler (nvcc; one comes with jax[cuda13])"),
        ("8.6", None, "there is no CUDA compiler (nvcc; one comes with jax[cuda13])"),
        ("9.0", "mma", "there is no CUDA compiler (nvcc; one comes with jax[cuda13])"),
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


def compiler_that(says, folder):
    """A program in the place of nvcc; it makes the file after `-o`, or says what it cannot."""
    folder.mkdir(parents=True)
    nvcc = folder / "nvcc"
    nvcc.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo "$0" && exit\n{says}\n')
    nvcc.chmod(0o755)
    return str(nvcc)


WORKS = 'while [ "$1" != -o ]; do shift; done; echo built > "$2"'


def test_a_compiler_that_came_with_jax_builds_where_the_machines_own_is_missing_or_too_old(monkeypatch, tmp_path):
    monkeypatch.setenv("FORESIGHT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'own'}:/usr/bin:/bin")
    monkeypatch.syspath_prepend(tmp_path / "wheels")
    (tmp_path / "wheels" / "nvidia").mkdir(parents=True)
    monkeypatch.setattr(shutil, "which", lambda path, which=shutil.which: None if "/usr/local" in path else which(path))
    assert kernel.compilers() == []
    of_wheels = compiler_that(WORKS, tmp_path / "wheels" / "nvidia" / "cu13" / "bin")
    assert kernel.compilers() == [of_wheels]
    too_old = compiler_that("echo no such architecture >&2; exit 1", tmp_path / "own")
    assert kernel.compilers() == [too_old, of_wheels]
    flags = kernel.flags_for("wgmma", SOKOBAN, "9.0")
    assert kernel.built_by_one([too_old, of_wheels], flags).read_text() == "built\n"
    with pytest.raises(subprocess.CalledProcessError) as error:
        kernel.built_by_one([too_old], flags)
    assert "no such architecture" in error.value.stderr


@pytest.mark.parametrize(("capability", "form"), [("8.0", "mma"), ("9.0", "wgmma"), ("12.0", "mma"), ("0.0", "wgmma")])
def test_the_source_is_the_one_for_the_gpu_unless_the_environment_says(monkeypatch, capability, form):
    monkeypatch.setattr(kernel, "capability_here", lambda: capability)
    monkeypatch.delenv(kernel.FORCED, raising=False)
    assert kernel.form() == form
    monkeypatch.setenv(kernel.FORCED, "mma")
    assert kernel.form() == "mma"


@pytest.mark.parametrize(
    ("capability", "backend", "modules", "verdict", "obstacle"),
    [
        ("8.6", "auto", 3, None, None),
        ("8.6", "auto", 3, "wrong", "wrong"),
        ("8.6", "cuda", 3, "wrong", None),
        ("9.0", "auto", 3, "wrong", None),  # it has run on such a GPU, so it is not asked about
        ("9.0", "auto", 9, "wrong", None),
    ],
)
def test_a_kernel_that_does_not_agree_is_taken_by_those_alone_who_insist(
    monkeypatch, tmp_path, capability, backend, modules, verdict, obstacle
):
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(kernel, "capability_here", lambda: capability)
    monkeypatch.setattr(shutil, "which", lambda command: "/nvcc")
    monkeypatch.setattr(kernel, "load", lambda job: tmp_path / f"{job}.so")
    monkeypatch.setattr(kernel, "verdict_on", lambda library, job: verdict if library.stem == str(job) else "other")
    assert kernel.obstacle_to.__wrapped__(kernel.Job((10, 10), modules), backend) == obstacle


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
    if not kernel.compilers():
        pytest.skip("there is no CUDA compiler (nvcc)")
    flags = ["-cubin", "-Xptxas", "-v", "-o", tmp_path / "kernel.cubin"]
    flags += kernel.flags_for(form, kernel.Job((10, 10), modules, memory), capability)
    done = subprocess.run([kernel.compilers()[0], *flags], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    spilled = [int(size) for size in re.findall(r"(\d+) bytes spill stores", done.stderr)]
    assert len(spilled) == {"wgmma": 3 + 3 * (modules <= kernel.SHALLOW), "mma": 5}[form]  # halves of boards are others
    assert max(spilled) <= {"wgmma": 128, "mma": 16}[form]  # bytes, of a thread
