"""The loop logs, watches, saves and goes on; whatever stops it says where the last good state is."""

import json
import shutil
import signal
import threading
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foresight.errors import ForesightError
from foresight.runs import loop
from foresight.runs.checkpoints import iterations_in, read_checkpoint
from foresight.runs.loop import SaveOptions, strengthen, train_loop
from foresight.runs.metrics import read_metrics
from foresight.runs.weights import load_weights
from foresight.runs.writer import Score
from foresight.storage import files
from tests.faults import FullDisk
from tests.runs import toy
from tests.storage.test_arrays import same


def train(folder: Path, iterations: int = 12, config: dict | None = None, functions: dict | None = None, **options):
    save = SaveOptions(**{"iterations": 3, "keep": 2} | options.pop("save", {}))
    functions = toy.FUNCTIONS | (functions or {})
    return train_loop(folder, config or {}, **functions, total_iterations=iterations, options=save, **options)


def trained(iterations: int) -> toy.Toy:
    state = toy.begin()
    for _ in range(iterations // toy.CHUNK):
        state, _ = toy.call(state)
    return state


def test_the_loop_adds_nothing_to_the_chunks(tmp_path):
    outcome = train(tmp_path)
    assert same(outcome.state, trained(12))
    assert (outcome.iterations, outcome.signal, outcome.exit_code) == (12, None, 0)
    assert outcome.checkpoint == tmp_path / "checkpoints" / "12"


@pytest.mark.parametrize("stops", [[3, 12], [6, 9, 12], [3, 6, 9, 12], [12, 12]])
def test_stopping_and_going_on_equals_the_uninterrupted_run(tmp_path, stops):
    for stop in stops:
        outcome = train(tmp_path, stop)
    assert same(outcome.state, trained(12))
    assert [record["iteration"] for record in read_metrics(tmp_path)] == list(range(1, 13))
    assert [record["seen"] for record in read_metrics(tmp_path)] == list(range(1, 13))


def test_a_weakly_typed_state_goes_on_alike(tmp_path):
    def begin():
        return {"x": jnp.asarray(1.0), "n": jnp.asarray(0)}

    def call(state):
        return {"x": state["x"] * 1.1 + 0.0, "n": state["n"] + 1}, {"x": state["x"][None]}

    functions = {
        "initial_state": begin,
        "call": jax.jit(call),
        "iterations_done": lambda state: int(state["n"]),
        "weights": lambda state: state["x"],
    }
    assert begin()["x"].weak_type
    assert not strengthen(begin())["x"].weak_type
    straight = train(tmp_path / "straight", 4, functions=functions)
    for stop in (2, 4):
        resumed = train(tmp_path / "resumed", stop, functions=functions)
    assert same(straight.state, resumed.state)


def test_checkpoints_are_made_as_often_as_asked(tmp_path):
    train(tmp_path / "a", save={"iterations": 6, "keep": 9})
    assert iterations_in(tmp_path / "a" / "checkpoints") == [12, 6, 0]
    train(tmp_path / "b", save={"iterations": None, "keep": 9})
    assert iterations_in(tmp_path / "b" / "checkpoints") == [12, 0]
    train(tmp_path / "c", save={"iterations": None, "seconds": 0, "keep": 9})
    assert iterations_in(tmp_path / "c" / "checkpoints") == [12, 9, 6, 3, 0]


def test_the_best_checkpoint_is_kept_by_its_mean_since_the_last_save(tmp_path):
    train(tmp_path, 30, save={"best": "loss", "keep": 2})
    means = {at: np.mean([r["loss"] for r in read_metrics(tmp_path)[at - 3 : at]]) for at in range(3, 31, 3)}
    best = max(means, key=means.get)
    assert set(iterations_in(tmp_path / "checkpoints")) == {30, 27, best}
    assert load_weights(tmp_path, best=True).iteration == best
    assert read_checkpoint(tmp_path / "checkpoints" / str(best)).manifest.score == pytest.approx(means[best])


def test_each_chunk_is_shown_with_its_records(tmp_path):
    seen = []
    train(
        tmp_path, on_call=lambda state, records: seen.append((int(state.iterations), [r["iteration"] for r in records]))
    )
    assert seen == [(3, [1, 2, 3]), (6, [4, 5, 6]), (9, [7, 8, 9]), (12, [10, 11, 12])]


def test_a_signal_saves_what_was_done_and_says_how_to_go_on(tmp_path):
    def interrupt(state, records):
        if int(state.iterations) == 6:
            signal.raise_signal(signal.SIGTERM)

    before = signal.getsignal(signal.SIGTERM)
    outcome = train(tmp_path, 30, on_call=interrupt, save={"iterations": None})
    assert (outcome.iterations, outcome.exit_code) == (9, 143)
    assert outcome.message.startswith("stopped after iteration 9, saved in ")
    assert "the same command resumes" in outcome.message
    assert signal.getsignal(signal.SIGTERM) is before
    assert load_weights(tmp_path).iteration == 9


@pytest.mark.parametrize(("ahead", "first"), [(False, 3), (True, 0)])
def test_a_chunk_that_takes_long_is_told_of_once_and_while_it_runs_unless_it_compiles(
    tmp_path, monkeypatch, ahead, first
):
    said, output = [], threading.Event()
    monkeypatch.setattr(loop, "SLOW", 0.01)

    def say(sentence):
        said.append(sentence)
        output.set()

    def call(state):
        if int(state.iterations) == first:
            assert output.wait(60)
        return toy.call(state)

    train(tmp_path, functions={"call": call}, say=say, compile_call=(lambda state: call) if ahead else None)
    assert said == ["a call takes more than 0 s, and a signal is obeyed after it: smaller calls save sooner"]


def test_a_signal_in_the_first_chunk_is_obeyed_after_it_where_that_was_compiled_ahead(tmp_path):
    def call(state):
        signal.raise_signal(signal.SIGINT)
        return toy.call(state)

    outcome = train(tmp_path, compile_call=lambda state: call)
    assert (outcome.iterations, outcome.exit_code) == (3, 130)
    assert load_weights(tmp_path).iteration == 3


def test_nothing_is_compiled_for_a_run_that_is_done(tmp_path):
    train(tmp_path)
    assert train(tmp_path, compile_call=lambda state: pytest.fail("compiled")).iterations == 12


def test_a_chunk_that_does_nothing_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="a call did no iteration"):
        train(tmp_path, functions={"call": lambda state: (state, {"loss": jnp.zeros(1)})})


def test_a_disk_that_fills_up_stops_the_run_and_names_the_last_good_checkpoint(tmp_path, monkeypatch):
    size = sum(path.stat().st_size for path in train(tmp_path / "other").checkpoint.iterdir())
    with monkeypatch.context() as patch:
        patch.setattr(files, "disk", FullDisk(3 * size))
        with pytest.raises(ForesightError, match=r"No space left on device; the last good .*checkpoints/3"):
            train(tmp_path / "run")
    assert not list((tmp_path / "run").rglob(".*"))
    assert same(train(tmp_path / "run").state, trained(12)), "with room again it goes on"


def test_a_disk_without_room_for_three_checkpoints_is_refused_at_the_start(tmp_path, monkeypatch):
    train(tmp_path, 3)

    class Small(files.Disk):
        usage = staticmethod(lambda folder: type("Usage", (), {"free": 5_000}))

    monkeypatch.setattr(files, "disk", Small())
    for folder in (tmp_path, tmp_path / "new"):
        with pytest.raises(ForesightError, match="has room for 0 MB; three checkpoints need"):
            train(folder)
    assert iterations_in(tmp_path / "new" / "checkpoints") == []


def test_a_folder_that_vanishes_stops_the_run(tmp_path):
    def vanish(state, records):
        if int(state.iterations) == 6:
            shutil.rmtree(tmp_path / "run")

    with pytest.raises(ForesightError, match=r"run/lock is gone: another process may own .*run now, so this one stops"):
        train(tmp_path / "run", on_call=vanish)


def test_records_can_be_made_by_the_caller_and_one_row_may_stand_for_many_updates(tmp_path):
    def call(state):
        state, metrics = toy.call(state)
        return state, {"loss": {"mean": jnp.mean(metrics["loss"])}}

    train(tmp_path / "a", functions={"call": call})
    assert [record["iteration"] for record in read_metrics(tmp_path / "a")] == [3, 6, 9, 12]
    assert list(read_metrics(tmp_path / "a")[0]) == ["iteration", "loss/mean"]
    train(tmp_path / "b", to_records=lambda before, after, metrics: [{"iteration": after, "from": before}])
    assert read_metrics(tmp_path / "b")[1] == {"iteration": 6, "from": 3}


def test_a_run_with_other_settings_is_refused_with_the_first_difference_named(tmp_path):
    train(tmp_path, 3, {"net": {"depth": 3, "ticks": (1, 2)}})
    before = json.loads((tmp_path / "config.json").read_text())
    train(tmp_path, 6, {"net": {"ticks": [1, 2], "depth": 3}})
    with pytest.raises(ForesightError, match=r"other settings: 'net.depth' is 3 there and 2 here; give the same"):
        train(tmp_path, 9, {"net": {"depth": 2, "ticks": (1, 2)}})
    with pytest.raises(ForesightError, match=r"'moon' is absent there and 1 here"):
        train(tmp_path, 9, {"net": {"depth": 3, "ticks": (1, 2)}, "moon": 1})
    assert json.loads((tmp_path / "config.json").read_text()) == before


def test_a_state_that_does_not_fit_its_run_is_refused_and_nothing_is_changed(tmp_path):
    train(tmp_path, 6)
    before = (tmp_path / "metrics.jsonl").read_bytes()
    wider = toy.begin()._replace(memory=jnp.zeros((4, 6), jnp.bfloat16))
    with pytest.raises(ForesightError, match=r"array 'memory' is bfloat16\[4, 5\], here it must be bfloat16\[4, 6\]"):
        train(tmp_path, 9, functions={"initial_state": lambda: wider})
    assert (tmp_path / "metrics.jsonl").read_bytes() == before
    assert iterations_in(tmp_path / "checkpoints") == [6, 3]


def test_an_owner_whose_lock_was_removed_writes_nothing_more(tmp_path):
    def remove(state, records):
        if int(state.iterations) == 6:
            (tmp_path / "lock").unlink()
            second.append(train(tmp_path, 9))

    second: list = []
    with pytest.raises(ForesightError, match=r"lock is (gone|not the file that this process locked)"):
        train(tmp_path, 30, on_call=remove)
    assert [record["iteration"] for record in read_metrics(tmp_path)] == list(range(1, 10))
    assert same(second[0].state, trained(9))
    assert same(train(tmp_path, 12).state, trained(12))


def test_what_is_scored_or_kept_for_a_reason_is_saved(tmp_path):
    seen = []

    def evaluate(state, iterations):
        seen.append(iterations)
        return Score(float(iterations % 12), "luck") if iterations in (3, 9, 15) else None

    def kept_for(before, after):
        return "a reason" if before < 6 <= after else None

    train(tmp_path, 18, evaluate=evaluate, kept_for=kept_for, save={"iterations": None, "keep": 1})
    assert seen == [0, 3, 6, 9, 12, 15, 18]
    assert iterations_in(tmp_path / "checkpoints") == [18, 9, 6]
    assert load_weights(tmp_path, best=True).iteration == 9
