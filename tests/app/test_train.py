"""`foresight train`: settings from presets, flags and stored runs; going on; refusals before anything is written."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from foresight.app.flags import with_flags
from foresight.app.train import parse, said
from foresight.errors import ForesightError
from foresight.runs.config import NetSettings
from foresight.runs.metrics import read_metrics
from foresight.runs.presets import PRESETS, quick
from foresight.runs.weights import load_weights
from tests.app.small_runs import arguments, instead, modules_of, status_of, use_linear_networks, write_levels
from tests.compiling import QUICKLY
from tests.runs.stored import write_config

COMMAND = [sys.executable, "-c", "from foresight.app.cli import main; main()"]


def settings(*words: str):
    return parse(list(words)).settings


def test_without_flags_the_settings_are_the_default_preset():
    assert settings() == PRESETS["default"]()


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_gives_the_settings_and_flags_override_them(name):
    assert settings("sokoban", "--preset", name) == PRESETS[name]()
    changed = settings("sokoban", "--preset", name, "--steps", "1e6", "--depth", "2", "--learning-rate", "0.5")
    assert (changed.steps, changed.net.depth, changed.learn.learning_rate) == (1e6, 2, 0.5)
    assert changed.learn.num_envs == PRESETS[name]().learn.num_envs


def test_the_command_line_of_the_documentation_means_what_it_says():
    run = settings(*"sokoban --net drc --depth 3 --ticks 3 --levels SET --steps 2e7 --seeds 5".split())
    assert (run.domain, run.net.net, run.net.depth, run.net.ticks) == ("sokoban", "drc", 3, 3)
    assert (run.env.levels, run.steps, run.seeds) == ("SET", 2e7, 5)


def test_another_network_does_not_inherit_the_sizes_of_the_presets_network():
    assert settings("sokoban", "--preset", "quick", "--net", "resnet").net == NetSettings(net="resnet")
    assert settings("sokoban", "--net=lstm", "--depth", "2").net.depth == 2


def test_another_domain_does_not_inherit_the_presets_levels():
    run = settings("gridworld", "--preset", "quick")
    assert run.env.env == ()
    assert run.learn == quick().learn
    assert settings("minipacman").env.max_episode_steps == (3000, 3000)


def test_a_flag_is_found_in_both_spellings_and_the_last_one_counts():
    assert said(["--net", "cnn", "--net=vin"], "--net") == "vin"
    assert said(["--net-set", "a=1"], "--net") is None


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["chess"], "no environment 'chess'; there are: sokoban, boxworld"),
        (["--net", "perceptron"], "no network 'perceptron'; there are: drc, lstm"),
        (["--preset", "best"], "there is no preset 'best'; there are: default, paper, quick, a3c"),
        (["--num-envs", "7"], "--num-envs .7. must be a multiple of --minibatch"),
        (["--steps", "0"], "--steps must be a number of at least 1"),
        (["--steps", "nan"], "--steps must be a number of at least 1"),
        (["--seeds", "0"], "--seeds must be at least 1"),
        (["--max-episode-steps", "9", "5"], "--max-episode-steps must be two numbers"),
        (["--keep", "0"], "--keep must be at least 1"),
        (["--save-every", "0"], "--save-every"),
        (["--processes", "2"], "--processes and --process-id go with --coordinator"),
        (["--coordinator", "here", "--processes", "2"], "--coordinator must be HOST:PORT or `auto`, not 'here'"),
        (["--coordinator", "here:x", "--processes", "2"], "--coordinator must be HOST:PORT or `auto`, not 'here:x'"),
        (
            ["--coordinator", "a:1", "--processes", "2", "--process-id", "2"],
            "--process-id must be below --processes, 2",
        ),
        (["--steps", "5", "gridworld"], "give the domain first"),
        (["gridworld", "--levels", "builtin/test"], "gridworld makes its own levels"),
    ],
)
def test_settings_that_cannot_be_are_refused_by_name(words, message):
    with pytest.raises(ForesightError) as refused:
        parse(words)
    assert re.search(message, with_flags(str(refused.value)))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--levels", "nowhere"], "no level set 'nowhere'"),
        (["--env", "view=upside-down"], "unknown view 'upside-down'"),
        (["--env", "gravity=1"], "no setting of sokoban 'gravity'"),
        (["--net-set", "wheels=4"], "'drc' has no setting 'wheels'"),
        (["--net-set", "wheels"], "expected NAME=VALUE"),
        (["--net-set", "hidden=x"], "--net-set hidden is 'x'; expected int"),
        (["--net-set", "top_down=0"], "--net-set top_down is 0; expected bool"),
        (["--net", "i2a", "--net-set", 'channels=[4,"a"]'], "--net-set channels[1] is 'a'; expected int"),
        (["--from-weights", "nobody"], "there is no 'nobody'"),
        (["--loss", "os:remove"], "loss 'os:remove' failed when it was called: TypeError: "),
        (["--optimiser", "os:remove"], "optimiser 'os:remove' failed when it was called: TypeError: "),
        (["--schedule", "os:getcwd"], "schedule 'os:getcwd' failed when it was called: TypeError: "),
        (["--seeds", "4096", "--num-envs", "4194304", "--minibatch", "4"], "GB, and there are "),
    ],
)
def test_what_cannot_be_built_is_refused_before_anything_is_written(tmp_path, capsys, words, message):
    out = tmp_path / "run"
    assert status_of(instead(arguments(write_levels(tmp_path), out), words)) == 2
    said = capsys.readouterr().err
    assert message in said
    assert len(said.splitlines()) == 1
    assert not out.exists()


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run of two iterations, its levels and its first command line."""
    folder = tmp_path_factory.mktemp("train")
    with pytest.MonkeyPatch.context() as monkeypatch:
        use_linear_networks(monkeypatch)
        levels = write_levels(folder)
        words = arguments(levels, folder / "run", "--seeds", "2")
        assert status_of(words) == 0
        yield folder, words


def test_it_is_said_when_whole_chunks_take_many_more_steps_and_when_a_cpu_is_to_compute_in_bfloat16(
    tmp_path, monkeypatch, capsys
):
    use_linear_networks(monkeypatch)
    assert (
        status_of(
            arguments(
                write_levels(tmp_path), tmp_path / "a", *"--steps 13 --dtype bfloat16 --checkpoint-at 1e6".split()
            )
        )
        == 0
    )
    output = capsys.readouterr().err
    assert "--steps 13 comes to 24: a run takes whole calls (--iterations-per-call)" in output
    assert "bfloat16 is slow on a CPU" in output
    assert "--checkpoint-at 1,000,000 is beyond the run's 24 steps" in output
    assert status_of(arguments(write_levels(tmp_path), tmp_path / "b", "--steps", "23", "--dtype", "float32")) == 0
    output = capsys.readouterr().err
    assert "comes to" not in output
    assert "bfloat16" not in output


def test_a_run_keeps_its_config_its_records_and_a_checkpoint(finished):
    folder, _ = finished
    records = read_metrics(folder / "run")
    assert [record["steps"] for record in records] == [12, 24]
    assert all(len(record["solved"]) == 2 for record in records)
    stored = json.loads((folder / "run" / "config.json").read_text())["config"]
    assert (stored["seeds"], stored["learn"]["num_envs"], stored["env"]["max_episode_steps"]) == (2, 4, [5, 9])
    assert load_weights(folder / "run").iteration == 2


def test_the_folder_alone_goes_on_with_the_stored_settings(finished, capsys):
    folder, words = finished
    assert parse(["--out", str(folder / "run")]).settings == parse(words[1:]).settings
    assert status_of(["train", "--out", str(folder / "run")]) == 0
    output = capsys.readouterr().err
    assert "resuming from" in output
    assert "done: 2 iterations" in output


def test_other_settings_are_refused_and_the_run_is_left_alone(finished, capsys):
    folder, words = finished
    assert status_of([*words, "--learning-rate", "0.5", "--from-weights", "gone", "--iterations-per-call", "9"]) == 2
    (said,) = capsys.readouterr().err.splitlines()  # neither of weights nor of steps nor of devices
    assert "there and 9 here" in said
    assert len(read_metrics(folder / "run")) == 2


def test_a_run_is_repeated_from_its_config(finished):
    folder, _ = finished
    again = folder / "again"
    assert status_of(["train", "--config", str(folder / "run" / "config.json"), "--out", str(again)]) == 0
    assert read_metrics(again) == read_metrics(folder / "run")


def test_a_config_may_have_any_name_and_flags_override_it(finished, tmp_path):
    folder, words = finished
    copy = tmp_path / "copy.json"
    copy.write_bytes((folder / "run" / "config.json").read_bytes())
    changed = parse(["--config", str(copy), "--seed", "7"]).settings
    assert replace(changed, seed=0) == parse(words[1:]).settings
    assert changed.seed == 7
    with pytest.raises(ForesightError, match="--preset and --config both say where settings come from"):
        parse(["--config", str(copy), "--preset", "quick"])


def test_a_config_that_is_not_there_or_not_ours_is_refused(tmp_path):
    with pytest.raises(ForesightError, match=r"config\.json"):
        parse(["--config", str(tmp_path / "config.json")])
    write_config(tmp_path, {"moon": 1})
    with pytest.raises(ForesightError, match="'moon', which this version of foresight does not know"):
        parse(["--config", str(tmp_path / "config.json")])


def test_a_run_starts_from_the_weights_of_another(finished, tmp_path):
    folder, words = finished
    from_there = [*words[:-4], "--out", str(tmp_path / "child"), "--learning-rate", "0", "--final-learning-rate", "0"]
    assert status_of([*from_there, "--seeds", "2", "--from-weights", str(folder / "run")]) == 0
    parent, child = load_weights(folder / "run").arrays, load_weights(tmp_path / "child").arrays
    assert all(np.array_equal(parent[name], child[name]) for name in parent)


def test_weights_that_do_not_fit_are_refused_before_anything_is_written(finished, tmp_path, capsys):
    folder, words = finished
    here = ["--out", str(tmp_path / "run"), "--from-weights", str(folder / "run")]
    assert status_of(instead([*words, *here], ["--env", "view=pixels"])) == 2
    assert "does not fit: array 'weights'" in capsys.readouterr().err
    assert status_of([*words, *here, "--seeds", "3"]) == 2
    assert "holds 2 agents: start 2 seeds from them" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_weights_are_used_to_start_from_only_once(finished, capsys):
    _, words = finished
    assert status_of([*words, "--from-weights", "gone-by-now"]) == 0
    assert "resumes from its own checkpoint, not from gone-by-now" in capsys.readouterr().err


def test_tensorboard_or_wandb_that_is_missing_is_said_at_once(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("foresight.app.train_run.find_spec", lambda package: None)
    for flag in ("tensorboard", "wandb"):
        assert status_of(["train", "--out", str(tmp_path / "run"), f"--{flag}"]) == 2
        assert f"pip install 'foresight-drc[{flag}]'" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_folder_with_a_run_of_another_domain_is_refused_by_name(tmp_path, capsys):
    use = tmp_path / "run"
    write_config(use, quick().as_json())
    assert status_of(["train", "gridworld", "--out", str(use)]) == 2
    assert "run holds a run of sokoban: choose another --out for gridworld" in capsys.readouterr().err


def test_a_file_is_no_run_folder(tmp_path, capsys):
    (tmp_path / "q.log").write_text("mine")
    assert status_of(["train", "sokoban", "--out", str(tmp_path / "q.log")]) == 2
    assert "q.log is a file; expected a run folder, or a name for a new one" in capsys.readouterr().err


def test_help_is_quick_and_gives_examples():
    output, modules = modules_of(["train", "--help"])
    assert "foresight train sokoban --net drc --depth 3 --ticks 3 --levels" in output
    assert "foresight.app.train" in modules
    assert "jax" not in modules


def test_ctrl_c_saves_and_the_same_command_goes_on(tmp_path):
    """The real thing: a small DRC in a process of its own."""
    words = "train sokoban --preset quick --levels builtin/mini-test --depth 1 --ticks 1 --features 4".split()
    words += "--net-set hidden=8 --num-envs 4 --minibatch 4 --unroll 3 --iterations-per-call 1 --steps 1e7".split()
    # Compiling is most of the time here, and less thorough compiling is enough.
    environment = os.environ | {"XLA_FLAGS": QUICKLY}
    process = subprocess.Popen(
        [*COMMAND, *words, "--out", str(tmp_path / "run")], stderr=subprocess.PIPE, text=True, env=environment
    )
    wait_for(lambda: (tmp_path / "run" / "metrics.jsonl").exists() and len(read_metrics(tmp_path / "run")) > 2)
    process.send_signal(signal.SIGINT)
    output = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert f"the same command resumes {tmp_path / 'run'} where it stopped" in output
    assert "Traceback" not in output
    assert load_weights(tmp_path / "run").iteration == read_metrics(tmp_path / "run")[-1]["iteration"]


def wait_for(condition, seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.05)


@pytest.mark.parametrize(("more", "dtype"), [((), "float32"), (("--dtype", "bfloat16"), "bfloat16")])
def test_on_a_cpu_a_new_run_computes_in_float32_unless_asked(more, dtype, tmp_path, monkeypatch):
    use_linear_networks(monkeypatch)
    levels = write_levels(tmp_path)
    assert status_of(arguments(levels, tmp_path / "run", *more)) == 0
    assert json.loads((tmp_path / "run" / "config.json").read_text())["config"]["net"]["dtype"] == dtype
    assert status_of(["train", "--out", str(tmp_path / "run")]) == 0, "what has begun is resumed as it was"
