import json
from pathlib import Path

import numpy as np
import pytest

from foresight.app.watch import CELL
from foresight.insight.probes import Probe
from foresight.levels import write_set
from foresight.runs.agents import Agent, export_agent
from foresight.runs.config import EnvSettings, NetSettings, RunConfig
from foresight.runs.probe_files import write_probes
from tests.app.small_runs import status_of
from tests.drawings import level_set
from tests.insight.nets import BOARDS, small_drc, small_env
from tests.render.test_draw import decoded

SETTINGS = {"depth": 1, "ticks": 2, "features": 4}


@pytest.fixture(scope="module")
def agent(tmp_path_factory):
    """The file of a small agent that was never trained, and its levels."""
    folder = tmp_path_factory.mktemp("probe")
    levels = str(folder / "drawn.levels")
    write_set(level_set(*BOARDS), levels)
    env = small_env()
    net = small_drc(env, hidden=8, **SETTINGS)
    config = RunConfig(
        env=EnvSettings(levels=levels, env=("view=planes",)), net=NetSettings(**SETTINGS, net_set=("hidden=8",))
    )
    export_agent(Agent(net, env, config, 0, 1, 20, folder), folder / "small.safetensors")
    return str(folder / "small.safetensors"), levels


def probe(agent, *words: str) -> int:
    size = "--train 2 --test 1 --max-steps 4 --epochs 1 --batch 2 --kernels 1"
    return status_of(["probe", agent[0], "--levels", agent[1], *size.split(), *words])


def test_probe_reports_every_layer_concept_and_kernel_and_watch_draws_the_plan(agent, tmp_path, capsys):
    probes, gif = str(tmp_path / "p.safetensors"), tmp_path / "plan.gif"
    assert probe(agent, "--json", "--out", probes) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["concept"], row["layer"], row["kernel"]) for row in rows] == [("C_A", 1, 1), ("C_B", 1, 1)]
    assert all(0 <= row["macro_f1"] <= 1 and 0 <= row["baseline"] <= 1 for row in rows)
    assert (rows[0]["model"], rows[0]["train_episodes"], rows[0]["weights"]) == (agent[0], 2, "trained")

    words = ["watch", agent[0], "--levels", agent[1], "--index", "0", "--max-steps", "3", "--plan"]
    assert status_of([*words, "--probes", probes, "--gif", str(gif)]) == 0
    output = capsys.readouterr().out
    assert output.count("# # # # # # # ") == 2 * 4  # the first and last row of four boards
    assert "level 0: not solved in 3 steps" in output
    assert len(decoded(gif.read_bytes())) == 3 * 2 + 1  # a frame for each tick, and the end
    assert decoded(gif.read_bytes()).shape[1:3] == (6 * CELL, 7 * CELL)

    ahead = ["insight", agent[0], "ahead", "--levels", agent[1], "--limit", "1", "--skip", "1", "--max-steps", "3"]
    assert status_of([*ahead, "--batch", "1", "--probes", probes]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {(row["concept"], row["from"]) for row in rows} >= {("C_A", 1), ("C_A", 41), ("C_B", None)}

    inside = [
        "insight",
        agent[0],
        "ticks",
        "--levels",
        agent[1],
        *"--limit 1 --think 1 --max-steps 3 --batch 1".split(),
    ]
    assert status_of([*inside, "--probes", probes]) == 0
    printed = capsys.readouterr().out
    rows = [json.loads(line) for line in printed.splitlines()]
    assert [(row["concept"], row.get("tick")) for row in rows] == [(c, t) for c in ("C_A", "C_B") for t in (1, 2, None)]

    kept, figure = tmp_path / "rows.jsonl", tmp_path / "ticks.svg"
    kept.write_text(printed)
    assert status_of([*inside[:3], "--rows", str(kept), "--figure", str(figure)]) == 0
    assert "layer 1, 1x1" in figure.read_text()
    assert capsys.readouterr().out == ""

    stranger = tmp_path / "stranger.safetensors"
    write_probes(stranger, [Probe(np.zeros((1, 1, 32, 1, 1, 5), np.float32), layer=2)], {})
    for command in (words, ahead, inside):
        assert status_of([*command, "--probes", str(stranger)]) == 2
        assert (
            "a probe of layer 3 with 32 channels does not fit this network, which has 1 with 4"
            in capsys.readouterr().err
        )

    assert status_of(words) == 2
    assert "no probes come with" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--kernels", "2"], "--kernels 2: expected odd numbers"),
        (["--kernels", "129"], "expected odd numbers up to 127"),
        (["--kernels", "99999999999"], "expected odd numbers up to 127"),
        (["--train", "0"], "train"),
        (["--together", "--out", "p.safetensors"], "probes of all layers at once have no layer"),
        (["--test", "2"], "4 levels are asked for (--train, --test), and there are 3"),
    ],
)
def test_what_cannot_be_probed_is_rejected_with_its_option(agent, words, message, capsys):
    assert probe(agent, *words) == 2
    assert message in capsys.readouterr().err


def test_routes_are_of_the_movers_and_layers_asked_for(agent, monkeypatch, capsys):
    def rows(agent, probes, levels, strengths, draws, manner, together):
        yield {mover: len(own) for mover, own in levels.items()} | {"layers": [probe.layer for probe in probes]}
        yield {"strengths": strengths, "draws": draws, "batch": manner.batch, "together": together}

    probes = [Probe(np.zeros((1, 1, 4, 1, 1, 5)), concept, "c", d) for concept in ("C_A", "C_B") for d in (0, 1)]
    monkeypatch.setattr("foresight.runs.probe_files.probes_for", lambda source, chosen: probes)
    monkeypatch.setattr("foresight.insight.report.route_rows", rows)
    words = ["insight", agent[0], "routes", "--levels", agent[1], "--limit", "3", "--turns", "2"]
    assert status_of([*words, *"--mover box --layers 2 --strengths 0.5 1 --draws 4 --batch 8".split()]) == 0
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first == {"box": 6, "layers": [1, 1]}
    assert second == {"strengths": [0.5, 1.0], "draws": 4, "batch": 8, "together": False}
    assert status_of([*words, "--together", "--skip", "1"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[0]) == {"agent": 6, "box": 6, "layers": [0, 1, 0, 1]}


def test_insight_reads_the_plan_of_a_series_of_agents(agent, tmp_path, capsys):
    folder, figure = str(Path(agent[0]).parent), tmp_path / "training.svg"
    words = ["insight", folder, "training", "--levels", agent[1], "--figure", str(figure)]
    assert status_of([*words, *"--limit 3 --think 1 --max-steps 3 --batch 2".split()]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["steps"], row["concept"], row["layer"]) for row in rows] == [(20, "C_A", 1), (20, "C_B", 1)]
    assert "observation alone" in figure.read_text()
    assert status_of(["insight", agent[0], "training"]) == 2
    assert "is one agent: expected a run folder with checkpoints" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["pacing", "--figure", "p.png"], "there is none of pacing; there are of: ticks, routes, training"),
        (["ticks", "--rows", "r.jsonl"], "--rows are to be drawn: name a picture too (--figure)"),
        (["ticks", "--rows", "none.jsonl", "--figure", "p.png"], "cannot read none.jsonl: No such file"),
        (["routes", "--strengths", "1", "inf"], "--strengths must be at most 1e+06, not inf"),
    ],
)
def test_what_cannot_be_drawn_is_rejected_with_its_option(agent, words, message, capsys):
    assert status_of(["insight", agent[0], *words]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (100_000 * "[", ":1: not a line of JSON"),
        ('{"tick": NaN}', ":1: not a line of JSON"),
        ("[1]", "expected a JSON object on every line"),
        ('{"tick": 1}', "row 1 is none that is printed of ticks: it has no 'layer'"),
    ],
)
def test_rows_that_were_never_printed_are_rejected(line, message, tmp_path, capsys):
    kept, figure = tmp_path / "rows.jsonl", tmp_path / "ticks.svg"
    kept.write_text(f"{line}\n")
    assert status_of(["insight", "x", "ticks", "--rows", str(kept), "--figure", str(figure)]) == 2
    assert message in capsys.readouterr().err
    assert not figure.exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("pacing --skip 4 --limit 2", "no level to play: there are"),
        ("training --skip 4 --limit 2", "are asked for, and there are"),
    ],
)
def test_levels_that_are_not_there_are_not_played(words, message, agent, capsys):
    part, *more = words.split()
    model = str(Path(agent[0]).parent) if part == "training" else agent[0]
    assert status_of(["insight", model, part, "--levels", agent[1], *more, "--max-steps", "3"]) == 2
    assert message in capsys.readouterr().err
