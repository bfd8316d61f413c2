"""The same run on one device, on four and in two processes has the same learning curve."""

import dataclasses
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np
import pytest

from foresight.errors import ForesightError
from foresight.learning.settings import LearnSettings
from foresight.runs.config import DeviceSettings
from foresight.runs.devices import env_mesh, join_processes
from foresight.runs.metrics import read_metrics
from foresight.runs.weights import load_weights
from tests.compiling import QUICKLY
from tests.runs.small_run import CONFIG, WITH_OWN_PART

ROOT = Path(__file__).parent.parent.parent


def begin(cache: Path, orders: list[dict], virtual_devices: int = 1) -> subprocess.Popen:
    """Start a process that carries out orders one after the other; `cache` keeps what it compiles."""
    flags = f"{QUICKLY} --xla_force_host_platform_device_count={virtual_devices}"
    environment = os.environ | {
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": flags,
        "JAX_COMPILATION_CACHE_DIR": str(cache),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }
    command = [sys.executable, "-W", "error", "-m", "tests.runs.small_run", *map(json.dumps, orders)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=pipe, stderr=pipe, text=True)


def end(*processes: subprocess.Popen) -> list[list[int]]:
    """The exit codes of the runs of each process."""
    try:
        results = [process.communicate(timeout=600) for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    assert all(process.returncode == 0 for process in processes), results
    return [json.loads(output.splitlines()[-1]) for output, _ in results]


def train_in_two_processes(cache: Path, order: dict) -> list[list[int]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    orders = [order | {"devices": {"coordinator": address, "processes": 2, "process_id": id}} for id in range(2)]
    return end(*(begin(cache, [order]) for order in orders))


class Runs(NamedTuple):
    one: Path  # two seeds on one device
    four: Path  # the same on four
    two: Path  # the first seed alone, in two processes


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Runs:
    folder = tmp_path_factory.mktemp("devices")
    runs = Runs(folder / "one", folder / "four", folder / "two")
    seeds = {"config": {"seeds": 2}}
    orders = [seeds | {"folder": str(runs.one), "devices": {"devices": 1}}, seeds | {"folder": str(runs.four)}]
    many = begin(folder / "cache", orders, virtual_devices=4)
    assert end(many) == [[0, 0]]
    assert train_in_two_processes(folder / "cache", {"folder": str(runs.two)}) == [[0], [0]]
    return runs


def test_the_lanes_are_shared_out_as_asked(runs):
    def spread(run: Path, process: int = 0) -> list[int]:
        return json.loads(Path(f"{run}.spread-{process}").read_text())

    num_envs = CONFIG.learn.num_envs
    assert spread(runs.one) == [1, num_envs], "though the machine has four"
    assert spread(runs.four) == [4, num_envs // 4]
    assert spread(runs.two, 0) == spread(runs.two, 1) == [2, num_envs // 2]


def curve(folder: Path) -> dict[str, np.ndarray]:
    """Each field of the records, [records] or [records, seeds]."""
    records = read_metrics(folder)
    return {name: np.array([record[name] for record in records]) for name in records[0]}


def check_same_curve(ours: dict[str, np.ndarray], theirs: dict[str, np.ndarray]) -> None:
    assert ours["iteration"].tolist() == [4, 8, 12]
    assert np.all(ours["episodes"] > 0)
    for name in theirs:
        np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-4, atol=1e-5, err_msg=name)


def test_four_devices_learn_as_one_does(runs):
    check_same_curve(curve(runs.four), curve(runs.one))
    ours, theirs = load_weights(runs.four).arrays, load_weights(runs.one).arrays
    for name, array in theirs.items():
        np.testing.assert_allclose(ours[name], array, rtol=1e-3, atol=1e-5, err_msg=name)


def check_first_seed(folder: Path, one: Path) -> None:
    """The run in `folder` is that of the first of two seeds in `one`."""
    first = {name: values[:, 0] if values.ndim == 2 else values for name, values in curve(one).items()}
    check_same_curve(curve(folder), first)
    for name, array in load_weights(one).arrays.items():
        np.testing.assert_allclose(load_weights(folder).arrays[name], array[0], rtol=1e-3, atol=1e-5, err_msg=name)


def test_two_processes_learn_as_one_device_does(runs):
    check_first_seed(runs.two, runs.one)


@pytest.mark.soak  # with a smaller trainer: tests/runs/test_multihost.py
def test_two_processes_stopped_and_resumed_learn_as_one_device_does(runs, tmp_path):
    order = {"folder": str(tmp_path / "run")}
    assert train_in_two_processes(tmp_path / "cache", order | {"stop_in": 1}) == [[143], [143]]
    assert load_weights(tmp_path / "run").iteration == 2 * CONFIG.iterations_per_call
    assert train_in_two_processes(tmp_path / "cache", order) == [[0], [0]]
    check_first_seed(tmp_path / "run", runs.one)


def test_each_seed_is_logged_on_its_own_and_learns_something_else(runs):
    for record in read_metrics(runs.four):
        assert len(record["loss"]) == len(record["solved"]) == 2
        assert record["loss"][0] != record["loss"][1]


def test_lanes_that_cannot_be_shared_out_evenly_are_refused(monkeypatch):
    monkeypatch.setattr(jax, "devices", lambda: [object()] * 3)
    with pytest.raises(ForesightError, match=r"`num_envs` \(6\) and `minibatch` \(2\) must be multiples of .* 3"):
        env_mesh(DeviceSettings(), LearnSettings(num_envs=6, minibatch=2))


def test_one_device_needs_no_mesh():
    assert env_mesh(DeviceSettings(devices=1), CONFIG.learn) is None


def test_more_devices_than_there_are_are_refused():
    with pytest.raises(ForesightError, match=r"`devices` 99: this machine has \d"):
        env_mesh(DeviceSettings(devices=99), CONFIG.learn)


def test_settings_that_do_not_go_together_are_refused():
    with pytest.raises(ForesightError, match="`coordinator`, HOST:PORT, which is missing"):
        DeviceSettings(processes=2, process_id=0)
    with pytest.raises(ForesightError, match="with `coordinator` all are used"):
        DeviceSettings(coordinator="auto", devices=1)


def test_where_there_is_no_cluster_to_ask_the_flags_to_give_are_named(monkeypatch):
    def initialize(*arguments, **timeouts):
        raise ValueError("coordinator_address should be defined.")

    monkeypatch.setattr(jax.distributed, "initialize", initialize)
    with pytest.raises(ForesightError, match=r"no cluster .* should be defined.*`coordinator` HOST:PORT"):
        join_processes(DeviceSettings(coordinator="auto"))


def test_where_a_run_computes_is_no_part_of_its_settings(runs):
    stored = [json.loads((run / "config.json").read_text())["config"] for run in (runs.one, runs.four)]
    assert stored[0] == stored[1] == dataclasses.replace(WITH_OWN_PART, seeds=2).as_json()


@pytest.mark.parametrize("host", ["no-such-host.invalid", "a" * 70, "..", "ü" * 64])
def test_a_host_that_does_not_exist_is_named_and_not_waited_for(host):
    with pytest.raises(ForesightError, match="the host cannot be found"):
        join_processes(DeviceSettings(coordinator=f"{host}:1234", processes=2, process_id=1))
