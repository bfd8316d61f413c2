"""Every example is short and does what it says; what it trains goes through every command."""

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import matplotlib
import numpy as np
import pytest

import foresight
from tests.app.small_runs import status_of

FOLDER = Path(__file__).parents[2] / "examples"
NAMES = ("own_environment", "own_network", "own_memory", "own_loss", "own_optimiser_and_schedule")
STEPS = 320 * 20  # one call


@pytest.fixture(autouse=True)
def in_the_folder(monkeypatch):
    monkeypatch.chdir(FOLDER)
    monkeypatch.syspath_prepend(FOLDER)


def test_there_is_an_example_of_every_part_and_each_is_short():
    assert {path.stem for path in FOLDER.glob("*.py")} == set(NAMES)
    assert all(len(path.read_text().splitlines()) <= 60 for path in FOLDER.glob("*.py"))


@pytest.mark.parametrize("name", NAMES)
def test_an_example_trains_and_its_run_loads_again(name, tmp_path):
    run = import_module(name).main(tmp_path / "run", steps=STEPS)
    last = run.metrics[-1]
    assert last["steps"] == STEPS
    assert all(np.isfinite(last[field]) for field in ("loss", "policy_loss", "value_loss", "entropy"))
    assert foresight.load_agent(tmp_path / "run").play(0, max_steps=3).steps == 3
    stored = json.loads((tmp_path / "run" / "config.json").read_text())["config"]
    assert f"{name}:" in json.dumps(stored)


SIZE = "--num-envs 4 --minibatch 4 --unroll 5 --iterations-per-call 2 --max-gradient-norm 1".split()
PARTS = [
    *("--net", "own_network:Tiny", "--net-set", "units=4", "--loss", "own_loss:plain"),
    *("--optimiser", "own_optimiser_and_schedule:rmsprop", "--schedule", "own_optimiser_and_schedule:warm_cosine"),
]


def test_parts_of_ones_own_go_through_every_command(tmp_path, capsys):
    out = str(tmp_path / "run")
    train = ["train", "own_environment:Corridor", *PARTS, *SIZE, "--env", "length=4", "--out", out, "--quiet"]
    assert status_of([*train, "--steps", "80"]) == 0
    assert status_of(["train", "--out", out, "--quiet"]) == 0  # finished, and found again by its folder alone
    assert "done: 4 iterations" in capsys.readouterr().err
    assert status_of(["evaluate", out, "--limit", "4", "--max-steps", "5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["domain"] == "own_environment:Corridor"
    assert status_of(["watch", out, "--index", "1", "--max-steps", "5", "--gif", str(tmp_path / "a.gif")]) == 0
    assert (tmp_path / "a.gif").read_bytes().startswith(b"GIF89a")
    assert status_of(["plot", out, "--out", str(tmp_path / "curve.png")]) == 0
    assert "Tiny" in capsys.readouterr().out


def test_an_interrupted_run_with_parts_of_ones_own_is_resumed(tmp_path):
    """In two calls what one call does."""
    own = import_module("own_optimiser_and_schedule")
    parts = {"env": own.Corridor, "net": own.Tiny, "optimiser": own.rmsprop, "schedule": own.warm_cosine}
    learn = foresight.LearnSettings(num_envs=4, minibatch=4, unroll=5, max_gradient_norm=1.0)
    config = foresight.RunConfig(
        steps=80, iterations_per_call=2, learn=learn, net=foresight.NetSettings(net_set=("units=4",))
    )

    class Stopped(Exception):
        pass

    def stop(state, records):
        raise Stopped

    whole = foresight.train(config, **parts, out=tmp_path / "whole", say=lambda text: None)
    with pytest.raises(Stopped):
        foresight.train(config, **parts, out=tmp_path / "cut", on_call=stop, say=lambda text: None)
    resumed = foresight.train(config, **parts, out=tmp_path / "cut", say=lambda text: None)
    weights = [run.agent.net.recurrent.weight for run in (whole, resumed)]
    np.testing.assert_array_equal(*weights)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", "own_environment:Corrridor"], "has no 'Corrridor' (did you mean 'Corridor'?)"),
        (["train", "nowhere.envs:Corridor"], "there is no module 'nowhere'"),
        (["train", "own_network:Tiny"], "is no environment: expected a subclass of foresight.envs.env:Env"),
        (["train", "own_environment:Corridor", "--net", "own_environment:Corridor"], "is no network"),
        (["train", "own_environment:Corridor", "--loss", "own_loss:plane"], "did you mean 'plain'?"),
        (
            ["train", "own_environment:Corridor", "--env", "size=3"],
            "there is no setting of corridor 'size'; there",
        ),
    ],
)
def test_what_is_no_such_part_is_said_before_anything_is_written(words, message, tmp_path, capsys):
    assert status_of([*words, *SIZE, "--steps", "20", "--out", str(tmp_path / "run"), "--quiet"]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_the_command_finds_parts_in_the_current_folder_in_a_process_of_its_own(tmp_path):
    program = (
        "import sys; sys.path = [p for p in sys.path if p]; from foresight.app.cli import main; main(sys.argv[1:])"
    )
    words = ["train", "own_environment:Corridorr", "--out", str(tmp_path / "run")]
    ended = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, cwd=FOLDER)
    assert "the module 'own_environment' has no 'Corridorr' (did you mean 'Corridor'?)" in ended.stderr


def test_the_notebook_runs_from_top_to_bottom(monkeypatch):
    matplotlib.use("Agg")
    notebook = json.loads((FOLDER / "watch_it_think.ipynb").read_text())
    code = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert not any(cell.get("outputs") for cell in notebook["cells"])
    smaller = {"LEVEL, THINK, MOST = 7, 4, 60": "LEVEL, THINK, MOST = 7, 2, 3", "LIMIT = 16": "LIMIT = 2"}
    names: dict = {}
    for cell in code:
        for large, small in smaller.items():
            cell = cell.replace(large, small)
        exec(compile(cell, "watch_it_think.ipynb", "exec"), names)
    assert names["episode"].thinking_values.shape == (2,)
    assert names["own"].steps <= 3
