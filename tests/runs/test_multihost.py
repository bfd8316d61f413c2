"""Two processes train one run together: one writes, both stop and go on alike."""

import os
import socket
import subprocess
import sys
from pathlib import Path

from foresight.runs.checkpoints import STATE, read_checkpoint
from foresight.runs.metrics import read_metrics
from foresight.storage.arrays import to_arrays
from tests.runs import toy

ROOT = Path(__file__).parent.parent.parent
PROGRAM = """
import sys
import jax
from jax.sharding import NamedSharding, PartitionSpec

address, process, folder, iterations = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(address, num_processes=2, process_id=process)

from foresight.runs.loop import SaveOptions, train_loop
from tests.runs import toy

mesh = jax.make_mesh((2,), ("envs",))
whole, split = (NamedSharding(mesh, PartitionSpec(*names)) for names in ((), ("envs",)))
shardings = jax.tree.map(lambda leaf: whole, jax.eval_shape(toy.begin))._replace(env_keys=split, memory=split)
functions = toy.FUNCTIONS | {
    "initial_state": jax.jit(toy.begin, out_shardings=shardings),
    "call": jax.jit(toy.call, out_shardings=(shardings, whole)),
}
outcome = train_loop(folder, {}, **functions, total_iterations=iterations, options=SaveOptions(iterations=3))
assert not outcome.state.env_keys.is_fully_addressable
print(outcome.iterations)
"""


def train_in_two_processes(folder: Path, iterations: int) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    environment = os.environ | {"PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu", "XLA_FLAGS": ""}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, address, str(process), str(folder), str(iterations)],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for process in range(2)
    ]
    try:
        for process in processes:
            output, errors = process.communicate(timeout=120)
            assert output.splitlines()[-1:] == [str(iterations)], errors
    finally:
        for process in processes:
            process.kill()
            process.communicate()


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
