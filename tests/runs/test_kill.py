"""`kill -9`, Ctrl-C and SIGTERM at any moment: the run goes on unaided and ends as if nothing had happened."""

import contextlib
import os
import shutil
import signal
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from foresight.runs.checkpoints import STATE, iterations_in, newest_good, read_checkpoint
from foresight.runs.loop import SaveOptions, train_loop
from foresight.runs.weights import load_weights
from foresight.storage.arrays import to_arrays
from tests.faults import operations_of
from tests.runs import toy
from tests.runs.processes import Parent, parent_process

ITERATIONS = 15


@pytest.fixture(scope="module")
def parent():
    with parent_process() as parent:
        yield parent


@pytest.fixture(scope="module")
def uninterrupted(parent, tmp_path_factory) -> Path:
    """A run that was left alone; beside it the cache of compiled programs that all runs here share."""
    folder = tmp_path_factory.mktemp("kill")
    assert parent.train(folder / "run", iterations=ITERATIONS, cache=str(folder / "cache")) == 0
    return folder / "run"


def check_that_it_ends_the_same(folder: Path, uninterrupted: Path) -> None:
    """Weights, optimiser, keys and counters bit for bit, and every iteration once in the metrics."""
    ours, theirs = (read_checkpoint(run / "checkpoints" / str(ITERATIONS)).contents for run in (folder, uninterrupted))
    for file, container in theirs.items():
        assert ours[file].arrays.keys() == container.arrays.keys()
        for name, array in container.arrays.items():
            assert ours[file].arrays[name].tobytes() == array.tobytes(), name
    assert (folder / "metrics.jsonl").read_bytes() == (uninterrupted / "metrics.jsonl").read_bytes()
    assert not list(folder.rglob(".*")), "nothing half written is left"
    kept = {path.name for path in (folder / "checkpoints").iterdir()}
    assert {str(ITERATIONS), str(ITERATIONS - 3)} <= kept
    assert len(kept) <= 3


def test_the_uninterrupted_run_is_the_one_that_a_plain_loop_gives(uninterrupted):
    state = toy.begin()
    for _ in range(ITERATIONS // toy.CHUNK):
        state, _ = toy.call(state)
    saved = read_checkpoint(uninterrupted / "checkpoints" / str(ITERATIONS)).contents[STATE].arrays
    assert all(saved[name].tobytes() == array.tobytes() for name, array in to_arrays(state).items())


@pytest.fixture(scope="module")
def started(parent, uninterrupted) -> Path:
    """A run that has come to iteration 6."""
    folder = uninterrupted.parent / "started"
    assert parent.train(folder, iterations=6, cache=str(uninterrupted.parent / "cache")) == 0
    return folder


def kill_at_points(parent: Parent, started: Path, uninterrupted: Path, folder: Path, points: Iterable[int]) -> None:
    """Kill a trainer at each of these operations on its disk, and let another one finish."""
    order = {"iterations": ITERATIONS, "cache": str(uninterrupted.parent / "cache")}
    for point in points:
        run = Path(shutil.copytree(started, folder / str(point)))
        assert parent.train(run, **order, kill_at=point) == -signal.SIGKILL
        assert load_weights(run).iteration >= 6
        assert parent.train(run, **order) == 0
        check_that_it_ends_the_same(run, uninterrupted)
        shutil.rmtree(run)


def test_a_trainer_killed_at_chosen_points_of_a_save_loses_nothing(
    parent, started, uninterrupted, tmp_path, monkeypatch
):
    run = Path(shutil.copytree(started, tmp_path / "watched"))
    options = SaveOptions(iterations=3, keep=2, best="loss")
    operations = operations_of(
        lambda: train_loop(run, {}, **toy.FUNCTIONS, total_iterations=ITERATIONS, options=options), monkeypatch
    )
    save = operations.index("make_folder")
    assert operations[save - 2 : save + 12] == (
        ["write", "sync", "make_folder", *["open", "write", "sync"] * 3, "sync", "rename"]
    )
    points = {
        "in the middle of a line of metrics": save - 2,
        "in the middle of the manifest": save + 8,
        "before the rename": save + 11,
        "after the rename": save + 12,
        "in the middle of pruning": operations.index("remove") + 1,
    }
    kill_at_points(parent, started, uninterrupted, tmp_path, points.values())


@pytest.mark.soak
def test_a_trainer_killed_at_50_points_of_its_saves_loses_nothing(parent, started, uninterrupted, tmp_path):
    kill_at_points(parent, started, uninterrupted, tmp_path, range(50))


def signal_at_random(
    parent: Parent,
    uninterrupted: Path,
    run: Path,
    numbers: list[int],
    seed: int,
    twice: bool = False,
    slow: float = 0.05,
) -> list[int]:
    """Start a trainer on a new run once per signal and send it at a random moment; then let a last one finish."""
    random = np.random.default_rng(seed)
    order = {"iterations": ITERATIONS, "cache": str(uninterrupted.parent / "cache"), "slow": slow}
    statuses = []
    for number in numbers:
        trainer = parent.begin(run, **order)
        wait_for_lock(run, trainer)
        time.sleep(random.uniform(0, 0.8))
        asked = time.monotonic()
        with contextlib.suppress(ProcessLookupError):  # it may have finished
            os.kill(trainer, number)
            if twice:
                time.sleep(random.uniform(0, 0.1))
                os.kill(trainer, number)
        statuses.append(parent.end())
        assert time.monotonic() - asked < 10
        if not twice and statuses[-1] > 0:
            check_that_nothing_was_lost(run)
        _, refused = newest_good(run / "checkpoints", lambda checkpoint: None)
        assert not refused
    assert parent.train(run, **order) == 0
    check_that_it_ends_the_same(run, uninterrupted)
    return statuses


def check_that_nothing_was_lost(run: Path) -> None:
    """The newest checkpoint has every iteration that was done; there may be none where nothing was done."""
    metrics = run / "metrics.jsonl"
    done = len(metrics.read_bytes().splitlines()) if metrics.exists() else 0
    assert max(iterations_in(run / "checkpoints"), default=0) == done


def wait_for_lock(run: Path, trainer: int) -> None:
    """Until the trainer owns the folder, and so also listens to signals."""
    while not (run / "lock").exists() or f'"pid": {trainer},' not in (run / "lock").read_text():
        time.sleep(0.001)


def test_a_trainer_killed_at_random_moments_loses_nothing(parent, uninterrupted, tmp_path):
    statuses = signal_at_random(parent, uninterrupted, tmp_path / "run", [signal.SIGKILL] * 4, seed=0)
    assert set(statuses) <= {-signal.SIGKILL, 0}
    assert -signal.SIGKILL in statuses


def test_a_trainer_told_to_stop_saves_and_says_how_to_go_on(parent, uninterrupted, tmp_path):
    numbers = [signal.SIGTERM, signal.SIGINT] * 2
    slow = 0.2  # seconds an iteration, so that the first signal always finds work that is not done
    statuses = signal_at_random(parent, uninterrupted, tmp_path / "run", numbers, seed=1, slow=slow)
    assert all(status in (128 + number, 0) for number, status in zip(numbers, statuses, strict=True))
    assert "the same command resumes" in (tmp_path / "run.log").read_text()


@pytest.mark.soak
def test_50_trainers_killed_at_random_moments_lose_nothing(parent, uninterrupted, tmp_path):
    statuses = []
    for seed in range(100):
        if statuses.count(-signal.SIGKILL) < 50:
            statuses += signal_at_random(parent, uninterrupted, tmp_path / str(seed), [signal.SIGKILL] * 2, seed)
    assert statuses.count(-signal.SIGKILL) >= 50


@pytest.mark.soak
def test_50_trainers_told_to_stop_save_and_lose_nothing(parent, uninterrupted, tmp_path):
    stopped = 0
    for seed in range(100):
        if stopped < 50:
            numbers = [signal.SIGTERM, signal.SIGINT]
            statuses = signal_at_random(parent, uninterrupted, tmp_path / str(seed), numbers, seed, twice=seed % 2 == 1)
            # a second signal can also find the process when training is over and its handlers are gone
            allowed = [(128 + number, -number, 0) for number in numbers]
            assert all(status in codes for status, codes in zip(statuses, allowed, strict=True))
            stopped += sum(status != 0 for status in statuses)
    assert stopped >= 50


def test_one_signal_lets_the_chunk_finish_and_a_second_one_stops_at_once(parent, uninterrupted, tmp_path):
    order = {"cache": str(uninterrupted.parent / "cache"), "iterations": 300, "slow": 0.3, "save": 300}
    trainer = parent.begin(tmp_path / "run", **order)
    metrics = tmp_path / "run" / "metrics.jsonl"
    wait_until(lambda: metrics.exists() and metrics.stat().st_size > 0)
    os.kill(trainer, signal.SIGINT)
    assert parent.end() == 130
    saved = load_weights(tmp_path / "run").iteration
    assert saved > 0
    assert len(metrics.read_bytes().splitlines()) == saved

    trainer = parent.begin(tmp_path / "run", **order | {"slow": 3.0})
    before = metrics.stat().st_size
    wait_until(lambda: metrics.stat().st_size > before)
    os.kill(trainer, signal.SIGTERM)
    time.sleep(1)
    os.kill(trainer, signal.SIGTERM)
    assert parent.end() == 143
    assert load_weights(tmp_path / "run").iteration == saved, "the call was not waited for"


def test_a_signal_before_the_first_chunk_is_done_stops_at_once(parent, uninterrupted, tmp_path):
    order = {"cache": str(uninterrupted.parent / "cache"), "iterations": 300, "slow": 30.0}
    trainer = parent.begin(tmp_path / "run", **order)
    wait_until(lambda: (tmp_path / "run" / "checkpoints" / "0").exists())
    os.kill(trainer, signal.SIGTERM)
    assert parent.end() == 143
    assert load_weights(tmp_path / "run").iteration == 0


def signal_while_saving(
    parent: Parent, started: Path, uninterrupted: Path, folder: Path, operations: Iterable[int], times: int = 1
) -> None:
    """Send a trainer signals from within each of these operations on its disk, and let another one finish."""
    order = {"iterations": ITERATIONS, "cache": str(uninterrupted.parent / "cache")}
    for operation in operations:
        number = (signal.SIGTERM, signal.SIGINT)[operation % 2]
        run = Path(shutil.copytree(started, folder / str(operation)))
        status = parent.train(run, **order, signal_at=[operation, number, times])
        check_that_nothing_was_lost(run)
        assert not list(run.rglob(".*")), "nothing half written is left"
        finished = load_weights(run).iteration == ITERATIONS  # the first signal came in the last save
        assert status == 128 + number or (finished and status == 0)
        assert parent.train(run, **order) == 0
        check_that_it_ends_the_same(run, uninterrupted)
        shutil.rmtree(run)


@pytest.mark.parametrize("times", [1, 2])
def test_signals_during_a_save_let_the_save_finish(parent, started, uninterrupted, tmp_path, times):
    signal_while_saving(parent, started, uninterrupted, tmp_path, (3, 8, 15)[:: 3 - times], times)


@pytest.mark.soak
@pytest.mark.parametrize("times", [1, 2])
def test_signals_in_50_operations_of_saves_let_the_saves_finish(parent, started, uninterrupted, tmp_path, times):
    signal_while_saving(parent, started, uninterrupted, tmp_path, range(50), times)


def signal_while_busy(
    parent: Parent, uninterrupted: Path, run: Path, seed: int, busy: dict[str, object], until: float
) -> int:
    """Send a signal at a random moment of what `busy` orders, up to `until` seconds into it; the step it stopped at."""
    random = np.random.default_rng(seed)
    order = {"iterations": ITERATIONS, "cache": str(uninterrupted.parent / "cache")}
    trainer = parent.begin(run, **order, **busy)
    wait_until(Path(f"{run}.busy").exists)
    time.sleep(random.uniform(0, until))
    number, asked = random.choice([signal.SIGTERM, signal.SIGINT]), time.monotonic()
    os.kill(trainer, number)
    assert parent.end() == 128 + number
    assert time.monotonic() - asked < 10
    check_that_nothing_was_lost(run)
    stopped_at = load_weights(run).iteration
    assert parent.train(run, **order) == 0
    check_that_it_ends_the_same(run, uninterrupted)
    return stopped_at


BUSY = {
    "compiling": ({"compile": True}, 1.0, {0}),  # nothing is done yet, so it is not waited for
    "evaluating": ({"evaluate": 0.5}, 0.4, {6}),  # the call after it is the last
}


@pytest.mark.parametrize("phase", BUSY)
def test_a_signal_while_the_host_is_busy_elsewhere_is_heard(parent, uninterrupted, tmp_path, phase):
    busy, until, stops = BUSY[phase]
    assert signal_while_busy(parent, uninterrupted, tmp_path / "run", 0, busy, until) in stops


@pytest.mark.soak
@pytest.mark.parametrize("phase", BUSY)
def test_25_signals_while_the_host_is_busy_elsewhere_are_heard(parent, uninterrupted, tmp_path, phase):
    busy, until, stops = BUSY[phase]
    for seed in range(25):
        assert signal_while_busy(parent, uninterrupted, tmp_path / str(seed), seed, busy, until) in stops


def wait_until(holds) -> None:
    while not holds():
        time.sleep(0.005)
