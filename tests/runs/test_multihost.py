"""Two processes train one run together: one writes, both stop and resume alike, and neither outlives the other."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from foresight.runs.checkpoints import STATE, read_checkpoint
from foresight.runs.metrics import read_metrics
from foresight.storage.arrays import to_arrays
from tests.runs import toy

ROOT = Path(__file__).parent.parent.parent
PROGRAM = """
import sys
import time
import jax
from jax.sharding import NamedSharding, PartitionSpec

address, process, folder, iterations = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
slow = float(sys.argv[5])
jax.config.update("jax_cpu_collectives_implementation", "gloo")

from foresight.runs.config import DeviceSettings
from foresight.runs.devices import join_processes
from foresight.runs.loop import SaveOptions, train_loop
from tests.runs import toy

join_processes(DeviceSettings(coordinator=address, processes=2, process_id=process))
mesh = jax.make_mesh((2,), ("envs",))
whole, split = (NamedSharding(mesh, PartitionSpec(*names)) for names in ((), ("envs",)))
shardings = jax.tree.map(lambda leaf: whole, jax.eval_shape(toy.begin))._replace(env_keys=split, memory=split)
functions = toy.FUNCTIONS | {
    "initial_state": jax.jit(toy.begin, out_shardings=shardings),
    "call": jax.jit(toy.call, out_shardings=(shardings, whole)),
}
outcome = train_loop(
    folder,
    {},
    **functions,
    total_iterations=iterations,
    options=SaveOptions(iterations=3),
    on_call=lambda state, records: time.sleep(slow),
)
assert not outcome.state.env_keys.is_fully_addressable
print(outcome.iterations)
sys.exit(outcome.exit_code)
"""


@contextmanager
def two_processes(folder: Path, iterations: int, slow: float = 0.0) -> Iterator[list[subprocess.Popen]]:
    """Both trainers, with so many seconds after each call; they do not outlive the block."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    environment = os.environ | {"PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu", "XLA_FLAGS": ""}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, address, str(process), str(folder), str(iterations), str(slow)],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for process in range(2)
    ]
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def train_in_two_processes(folder: Path, iterations: int) -> None:
    with two_processes(folder, iterations) as processes:
        for process in processes:
            output, errors = process.communicate(timeout=120)
            assert output.splitlines()[-1:] == [str(iterations)], errors


def test_two_processes_write_one_run_and_go_on_from_it(tmp_path):
    train_in_two_processes(tmp_path, 6)
    train_in_two_processes(tmp_path, 9)
    assert [record["iteration"] for record in read_metrics(tmp_path)] == list(range(1, 10))
    state = toy.begin()
    for _ in range(3):
        state, _ = toy.call(state)
    saved = read_checkpoint(tmp_path / "checkpoints" / "9").contents[STATE].arrays
    alone = to_arrays(state)
    assert saved["env_keys"].tobytes() == alone["env_keys"].tobytes()
    assert abs(saved["net/kernel"] - alone["net/kernel"]).max() < 1e-5


def wait_for_iteration(folder: Path, iteration: int) -> None:
    """Until a run has got so far."""
    last = time.monotonic() + 60
    while time.monotonic() < last:
        if (folder / "checkpoints" / str(iteration)).exists():
            return
        time.sleep(0.05)
    raise AssertionError("the run does not get on")


def check_the_end_of_the_other(folder: Path, lost: int, number: int, seconds: float) -> None:
    """Signal one process of a run; the other ends in time with one line, and the run can be resumed."""
    with two_processes(folder, 3000, slow=0.1) as processes:
        wait_for_iteration(folder, 6)
        processes[lost].send_signal(number)
        began = time.monotonic()
        _, errors = processes[1 - lost].communicate(timeout=60)
        assert time.monotonic() - began < seconds
        assert processes[1 - lost].returncode == 3, errors
        said = f"foresight: another process of this run was lost; the same command resumes {folder} where it stopped"
        assert said in errors
        assert "    @  " not in errors, "no stack in C++"
        assert "Traceback" not in errors


@pytest.mark.parametrize("lost", [0, pytest.param(1, marks=pytest.mark.soak)])
def test_when_one_process_is_killed_the_other_says_so_and_ends(tmp_path, lost):
    check_the_end_of_the_other(tmp_path, lost, signal.SIGKILL, seconds=10)


@pytest.mark.soak
@pytest.mark.parametrize("lost", [0, 1])
def test_when_one_process_stands_still_the_other_says_so_and_ends(tmp_path, lost):
    check_the_end_of_the_other(tmp_path, lost, signal.SIGSTOP, seconds=30)


@pytest.mark.parametrize("asked", [pytest.param(0, marks=pytest.mark.soak), 1])
def test_sigterm_to_one_process_stops_both_alike(tmp_path, asked):
    with two_processes(tmp_path, 3000, slow=0.1) as processes:
        wait_for_iteration(tmp_path, 6)
        processes[asked].send_signal(signal.SIGTERM)
        ends = [process.communicate(timeout=30) for process in processes]
        assert [process.returncode for process in processes] == [143, 143], ends
    iteration, there = (int(output.splitlines()[-1]) for output, _ in ends)
    assert iteration == there
    assert [record["iteration"] for record in read_metrics(tmp_path)] == list(range(1, iteration + 1))
    assert (tmp_path / "checkpoints" / str(iteration)).exists()
