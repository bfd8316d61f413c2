"""What is said where a GPU lies idle."""

import pytest

from foresight.app import accelerator, cli
from foresight.app.accelerator import compile_quickly, idle_gpu_warning
from tests.app.small_runs import status_of


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with a GPU, a driver of CUDA 13, and jax without CUDA."""
    monkeypatch.setattr(accelerator, "DEVICE", tmp_path)
    monkeypatch.setattr(accelerator, "DRIVER", tmp_path / "version")
    monkeypatch.setattr(accelerator, "find_spec", lambda name: None)
    (tmp_path / "version").write_text("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release\n")
    return tmp_path


def test_a_gpu_that_jax_cannot_use_is_warned_of_with_what_to_install(machine):
    assert "pip install 'foresight-drc[cuda13]'" in idle_gpu_warning({})
    (machine / "version").write_text("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun\n")
    assert "pip install 'foresight-drc[cuda12]'" in idle_gpu_warning({})
    (machine / "version").unlink()
    assert "foresight-drc[cuda12]" in idle_gpu_warning({})


def test_nothing_is_said_where_the_cpu_was_asked_for_or_cuda_is_there_or_no_gpu(machine, monkeypatch):
    assert idle_gpu_warning({"JAX_PLATFORMS": "cpu"}) is None
    assert idle_gpu_warning({"CUDA_VISIBLE_DEVICES": ""}) is None
    with monkeypatch.context() as patch:
        patch.setattr(accelerator, "find_spec", lambda name: name == "jax_cuda12_plugin")
        assert idle_gpu_warning({}) is None
    monkeypatch.setattr(accelerator, "DEVICE", machine / "nowhere")
    assert idle_gpu_warning({}) is None


def test_commands_that_compute_say_it_once_and_others_do_not(machine, monkeypatch, capsys):
    monkeypatch.delenv("JAX_PLATFORMS", raising=False)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert status_of(["evaluate", "--help"]) == 0
    assert capsys.readouterr().err.count("NVIDIA GPU") == 1
    assert status_of(["levels", "--help"]) == 0
    assert "NVIDIA" not in capsys.readouterr().err
    assert "levels" not in cli.COMPUTING


def test_what_the_user_says_of_the_compiler_is_kept():
    for before, after in (
        ({}, "--xla_backend_optimization_level=0"),
        ({"XLA_FLAGS": "--xla_some=1"}, "--xla_some=1 --xla_backend_optimization_level=0"),
        ({"XLA_FLAGS": "--xla_backend_optimization_level=2"}, "--xla_backend_optimization_level=2"),
    ):
        compile_quickly(before)
        assert before["XLA_FLAGS"] == after


@pytest.mark.parametrize(
    ("cores", "sizes", "wanted", "devices"),
    [
        (2, [(256, 32)], 0, 2),
        (1, [(256, 32)], 0, None),
        (64, [(256, 32)], 0, 8),  # four trajectories of a minibatch on each
        (6, [(256, 32)], 0, 4),
        (6, [(96, 24)], 0, 6),
        (8, [(256, 32), (1024, 24)], 0, 4),
        (8, [(7, 7)], 0, None),
        (8, [(256, 32)], 3, 3),
        (2, [(256, 32)], 99, 2),
        (8, [(256, 32)], 1, None),
    ],
)
def test_training_has_a_device_for_each_core_worth_using(cores, sizes, wanted, devices, monkeypatch):
    monkeypatch.setattr(accelerator, "usable_cores", lambda: cores)
    environment = {"XLA_FLAGS": "--xla_some=1"}
    accelerator.make_cores_devices(environment, sizes, wanted)
    _, *added = environment["XLA_FLAGS"].split()
    assert added[:1] == ([f"--xla_force_host_platform_device_count={devices}"] if devices else [])


def test_a_number_of_devices_that_is_given_stays():
    environment = {"XLA_FLAGS": "--xla_force_host_platform_device_count=3"}
    accelerator.make_cores_devices(environment, [(8, 8)], 0)
    assert environment == {"XLA_FLAGS": "--xla_force_host_platform_device_count=3"}
