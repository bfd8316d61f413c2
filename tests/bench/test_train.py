"""The bench of the whole training loop, with a linear network on drawn levels."""

import json
from functools import partial

import jax
import pytest

from foresight.app import bench_train as command
from foresight.app.bench_train import cases_of, parse_case
from foresight.bench import train as bench_train
from foresight.bench.stages import OPERATIONS_PER_FRAME
from foresight.bench.timing import Timing
from foresight.bench.train import Case, Training, default_cases, measure
from foresight.errors import ForesightError
from foresight.runs.config import EnvSettings, RunConfig
from foresight.runs.presets import default
from tests.app.small_runs import status_of, use_linear_networks, write_levels
from tests.bench.pretence import Pretence

ISSUE = ("path", "levels", "minibatch", "unroll", "seeds", "frames_per_second", "ms_per_gradient_step", "device")


def test_a_case_is_written_as_it_is_read():
    case = Case("cuda", 256, 32, 20, 5)
    assert parse_case("cuda:256:32:20:5") == case
    assert str(case) == "cuda:256:32:20:5"


@pytest.mark.parametrize("text", ["", "cuda", "cuda:1:2:3", "cuda:256:32:20:0", "tpu:1:1:1:1", "xla:a:1:1:1"])
def test_what_is_no_case_is_refused(text):
    with pytest.raises(ForesightError, match="expected path:levels:minibatch:unroll:seeds"):
        parse_case(text)


def test_the_default_cases_of_a_gpu_have_both_cores_at_every_size(monkeypatch):
    monkeypatch.setattr(bench_train.jax, "default_backend", lambda: "gpu")
    for backend in ("cuda", "xla"):
        sizes = {(case.minibatch, case.unroll, case.seeds) for case in default_cases() if case.path == backend}
        assert sizes == {(32, 20, 1), (32, 20, 3), (32, 20, 5), (512, 20, 1), (1024, 20, 1)}


def test_a_case_trains_what_it_says():
    config = Case("xla", 8, 4, 5, 3).config(default(), iterations=2)
    assert (config.learn.num_envs, config.learn.minibatch, config.learn.unroll) == (8, 4, 5)
    assert (config.seeds, config.iterations_per_call) == (3, 2)
    assert config.net.keywords()["backend"] == "xla"


def test_a_case_may_be_of_any_network():
    lstm, deep = (Case("xla", 8, 4, 5, 3, net).config(default(), 1).net for net in ("lstm,units=7", "drc,depth=9"))
    assert (lstm.net, lstm.keywords()) == ("lstm", {"dtype": "bfloat16", "units": 7})
    assert deep.keywords() == {"depth": 9, "ticks": 3, "dtype": "bfloat16", "backend": "xla"}
    assert str(Case("xla", 8, 4, 5, 3, "lstm")) == "lstm xla:8:4:5:3"


def test_networks_without_a_core_of_their_own_are_measured_on_the_plain_path():
    sizes = [Case("cuda", 8, 4, 5, 1), Case("xla", 8, 4, 5, 1)]
    cases = cases_of(["drc,depth=9", "vin"], sizes)
    assert [(case.net, case.path) for case in cases] == [
        ("drc,depth=9", "cuda"),
        ("drc,depth=9", "xla"),
        ("vin", "xla"),
    ]
    with pytest.raises(ForesightError, match="only drc has a CUDA core"):
        cases_of(["vin"], sizes[:1])
    with pytest.raises(ForesightError, match="network wine: no network is called 'wine'; there are: drc, lstm"):
        cases_of(["wine"], sizes)


def test_rows_of_two_networks_are_kept_apart(tmp_path, capsys, pretended):
    out = tmp_path / "speed.json"
    words = f"bench train --net drc lstm --cases xla:4:2:3:1 --repeats 1 --out {out}".split()
    assert status_of(words) == 0
    document = json.loads(out.read_text())
    assert [(row["net"], row["efficiency_percent"] is None) for row in document["rows"]] == [
        ("drc", False),
        ("lstm", True),
    ]
    assert set(document["stages"]) == {"xla", "lstm xla"}
    assert "     lstm       xla" in capsys.readouterr().out


def test_a_row_counts_frames_updates_and_arithmetic():
    """Two iterations of 8 levels x 5 steps by 3 seeds are 240 frames and 4 iterations, in a median of half a second."""
    training = Training(RunConfig(), env=None, frames=80, matmul_rate=480 * OPERATIONS_PER_FRAME)
    row = training.row(Case("xla", 8, 4, 5, 3), Timing((0.5, 0.4, 0.6)), 3 * 2**20)
    assert row["frames_per_second"] == 480
    assert row["ms_per_gradient_step"] == 125
    assert row["spread_percent"] == 40
    assert row["efficiency_percent"] == 100
    assert row["peak_memory_mb"] == 3
    assert set(ISSUE) <= set(row)


def test_training_is_measured_on_all_devices_that_are_here_as_a_run_uses_them(monkeypatch):
    """Twelve levels in minibatches of 6 suit two and three devices, and not five."""
    found = []
    monkeypatch.setattr(bench_train, "program", lambda config, env, mesh: found.append(mesh))
    training = Training(RunConfig(), env=None, frames=1)
    for count in (1, 2, 3):
        monkeypatch.setattr(jax, "devices", lambda count=count: [*range(count)])
        monkeypatch.setattr(jax, "make_mesh", lambda shape, *names, devices: (shape, devices))
        training.program(Case("xla", 12, 6, 5, 1))
    assert found == [None, ((2,), [0, 1]), ((3,), [0, 1, 2])]
    monkeypatch.setattr(jax, "devices", lambda: [*range(5)])
    with pytest.raises(ForesightError, match="multiples of the number of devices, 5"):
        training.program(Case("xla", 12, 6, 5, 1))


@pytest.fixture
def small(monkeypatch, tmp_path):
    use_linear_networks(monkeypatch)
    monkeypatch.setattr(bench_train, "matmul_rate", lambda: 1e9)
    env = EnvSettings(levels=write_levels(tmp_path), max_episode_steps=(5, 9), env=("view=planes",))
    return RunConfig(env=env)


def test_the_command_writes_every_round_and_reports(tmp_path, capsys, small, monkeypatch):
    monkeypatch.setattr(command, "base_config", lambda: small)
    out = tmp_path / "speed.json"
    words = f"bench train --cases xla:4:2:3:2 --repeats 2 --frames 24 --out {out} --json"
    assert status_of(words.split()) == 0
    output = capsys.readouterr()
    document = json.loads(output.out)
    assert document == json.loads(out.read_text())
    (row,) = document["rows"]
    assert (row["levels"], row["minibatch"], row["unroll"], row["seeds"]) == (4, 2, 3, 2)
    assert row["frames_per_second"] > 0
    assert set(document["stages"]["xla"]) == {"playing", "gradient", "optimiser"}
    assert "timed 1 of 2" in output.err
    assert "optimiser" in command.format_report(document)
    assert "used at most 2,000 MB" in command.format_report(document | {"memory_mb": 2000})


@pytest.fixture
def pretended(monkeypatch, small):
    """Cases and stages that take no time; those that were begun are kept."""
    pretence = Pretence(monkeypatch, Training)
    pretence.stages = []

    def stages(config):
        for number, name in enumerate(("playing", "gradient", "optimiser")):
            pretence.stages.append(name)
            yield name, float(number)

    monkeypatch.setattr(bench_train, "stages", stages)
    monkeypatch.setattr(command, "base_config", lambda: small)
    return pretence


def test_cases_take_turns_and_those_that_cannot_run_are_left_out(small, pretended, monkeypatch):
    def reject(lowerings, leave_out, say):
        first, *others = lowerings
        leave_out(first, "no such core")
        return {case: case for case in others}

    monkeypatch.setattr("foresight.bench.cases.compile_all", reject)
    small_size, large = [[Case(path, levels, 2, 3, 1) for path in ("cuda", "xla", "auto")] for levels in (4, 8)]
    documents = list(measure([*large[:1], *small_size, *large[1:]], small, repeats=2))
    assert pretended.timed == ["xla:8:2:3:1", "auto:8:2:3:1"] * 2 + ["xla:4:2:3:1", "auto:4:2:3:1"] * 2
    assert [len(known["rows"]) for known in documents] == [1, 2, 2, 2, 3, 4, 4, 4, 4]
    assert [known["timings"] for known in documents[2]["rows"]] == [2, 1]
    assert documents[0]["left_out"][0]["why"] == "no such core"
    assert "skipped: cuda:8:2:3:1: no such core" in command.format_report(documents[0])


@pytest.mark.parametrize("timings", [1, 2, 3, 4])
def test_whenever_it_is_cut_nothing_measured_is_lost_and_it_resumes(tmp_path, capsys, pretended, timings):
    """Two cases of two timings each: after so many of them it is cut."""
    out = tmp_path / "speed.json"
    pretended.cut_after = timings
    words = f"bench train --cases xla:4:2:3:1 xla:8:2:3:1 --repeats 2 --out {out} --json".split()
    assert status_of(words) == (130 if timings < 4 else 0)
    rows = json.loads(out.read_text())["rows"]
    assert sum(known["timings"] for known in rows) == timings
    pretended.cut_after = None
    pretended.compiled.clear()
    capsys.readouterr()
    assert status_of(words) == 0
    output = capsys.readouterr()
    assert json.loads(output.out) == json.loads(out.read_text())
    assert [known["timings"] for known in json.loads(output.out)["rows"]] == [2, 2]
    done = [known["levels"] for known in rows if known["timings"] == 2]
    assert pretended.compiled == [[f"xla:{levels}:2:3:1"] for levels in (4, 8) if levels not in done]
    assert ("known already: xla:4:2:3:1" in output.err) == (4 in done)


def test_stages_are_written_one_by_one_and_those_of_a_path_begun_again_if_cut(tmp_path, pretended, monkeypatch):
    out, stages = tmp_path / "speed.json", bench_train.stages

    def cut(config):
        yield next(stages(config))
        raise KeyboardInterrupt

    words = f"bench train --cases xla:4:2:3:1 --repeats 1 --out {out}".split()
    monkeypatch.setattr(bench_train, "stages", cut)
    assert status_of(words) == 130
    assert json.loads(out.read_text())["stages"] == {"xla": {"playing": 0.0}}
    monkeypatch.setattr(bench_train, "stages", stages)
    for begun in (["playing", "gradient", "optimiser"], []):
        pretended.stages.clear()
        assert status_of(words) == 0
        assert pretended.stages == begun
    assert json.loads(out.read_text())["stages"] == {"xla": {"playing": 0.0, "gradient": 1.0, "optimiser": 2.0}}


def test_a_file_of_something_else_is_refused(tmp_path, capsys, pretended):
    (tmp_path / "a.json").write_text('{"rows": []}')
    assert status_of(["bench", "train", "--out", str(tmp_path / "a.json")]) == 2
    assert "a.json is not a result of `foresight bench train --out`" in capsys.readouterr().err


def test_wrong_options_are_refused(capsys, monkeypatch):
    monkeypatch.setattr(command, "measure", partial(pytest.fail, "nothing should be measured"))
    for words, message in [("--cases xla:1", "--cases xla:1: expected"), ("--repeats 0", "--repeats must be")]:
        assert status_of(["bench", "train", *words.split()]) == 2
        assert message in capsys.readouterr().err
