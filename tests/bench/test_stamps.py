"""Clock stamps of the kernel: the command, without a GPU; tests/nets/test_emulated_kernels.py makes stamps."""

import json
import subprocess
import sys

import jax
import numpy as np
import pytest

from foresight.app import bench_stamps as command
from foresight.bench import stamps
from tests.app.small_runs import status_of


def test_without_a_gpu_the_command_says_what_it_needs(capsys):
    if jax.default_backend() == "gpu":
        pytest.skip("there is a GPU")
    assert status_of(["bench", "stamps"]) == 2
    assert (
        capsys.readouterr().err == "foresight: clock stamps need a Hopper GPU (H100, H200) and nvcc: there is no GPU\n"
    )


def test_the_other_source_has_no_stamps(monkeypatch, capsys):
    monkeypatch.setattr(stamps, "lacking", lambda job: None)
    monkeypatch.setattr(stamps, "form", lambda: "mma")
    assert status_of(["bench", "stamps"]) == 2
    assert "kernel_mma.cu has no stamps" in capsys.readouterr().err


@pytest.mark.parametrize("case", ["3", "3:3:10:32:20", "3:3:10x10:32", "0:3:10x10:32:20", "3:3:10x10:32:²"])
def test_a_case_that_is_none_is_rejected(case, capsys):
    assert status_of(["bench", "stamps", "--case", case]) == 2
    assert "expected depth:ticks:board:trajectories:unroll such as 3:3:10x10:32:20" in capsys.readouterr().err


class Stamped:
    """A library whose kernels have each made four module-ticks."""

    def DrcStamps(self, to):
        numbers = np.arange(6 * 11).reshape(6, 11) * 4
        numbers[:, -1] = 4
        to_array = np.ctypeslib.as_array((np.ctypeslib.ctypes.c_uint64 * numbers.size).from_address(to.value))
        to_array[:] = numbers.ravel()
        return 0


def test_the_command_prints_mean_cycles_of_each_phase_and_keeps_them(monkeypatch, capsys, tmp_path):
    asked = []
    monkeypatch.setattr(command, "stamped_library", lambda case: Stamped())
    monkeypatch.setattr(stamps, "programs", lambda case: asked.append(case) or (lambda: 0, ()))
    words = "bench stamps --case 9:1:7x5:4:2 --memory GatedConvRNN --calls 2 --out"
    assert status_of([*words.split(), str(tmp_path / "stamps.json")]) == 0
    assert asked == [stamps.Case(9, 1, (7, 5), 4, 2, "GatedConvRNN")]
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("DRC(9,1), GatedConvRNN, 4 x 2 frames of 7x5 cells, on ")
    assert lines[0].endswith(": mean clock cycles of a module-tick")
    assert lines[1].split() == "acting 0 acting 1 forward 0 forward 1 backward 0 backward 1".split()
    assert lines[3].split() == ["weights", "1.0", "12.0", "23.0", "34.0", "45.0", "56.0"]
    assert lines[-2].split()[:2] == ["cycles", "45.0"]
    document = json.loads((tmp_path / "stamps.json").read_text())
    assert (
        document["rows"][2] | {"pass": "forward", "team": 0, "module_ticks": 4, "weights": 23.0} == document["rows"][2]
    )


@pytest.mark.gpu
def test_the_kernel_with_stamps_tells_cycles_of_every_phase():
    """In a process of its own: there the kernel without stamps has not been registered."""
    words = "bench stamps --calls 2 --json".split()
    done = subprocess.run([sys.executable, "-m", "foresight", *words], capture_output=True, text=True, check=True)
    rows = json.loads(done.stdout)["rows"]
    assert all(row["module_ticks"] == 2 * 20 * 9 for row in rows)
    assert all(
        row[phase] > 0 for row in rows for phase in stamps.PHASES if phase != "swap" or row["pass"] == "backward"
    )
