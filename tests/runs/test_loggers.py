"""Records reach TensorBoard and Weights & Biases, and what is missing is said in one sentence."""

import builtins
import sys
from pathlib import Path

import pytest

from foresight.errors import MissingExtra
from foresight.runs.folder import Run, read_run
from foresight.runs.loggers import TensorBoard, WeightsAndBiases, scalars
from foresight.runs.loop import SaveOptions, train_loop
from foresight.runs.metrics import read_metrics
from tests.runs import toy


def train(folder: Path, iterations: int, logger) -> None:
    options = SaveOptions(iterations=3)
    train_loop(folder, {"a": 1}, **toy.FUNCTIONS, total_iterations=iterations, options=options, loggers=[logger])


class Pocket:
    """A sink that keeps what it is given."""

    def __init__(self, run: Run, iterations_done: int):
        self.iterations_done, self.iterations, self.closed = iterations_done, [], False
        POCKETS.append(self)

    def write(self, records):
        self.iterations += [record["iteration"] for record in records]

    def close(self):
        self.closed = True


POCKETS: list[Pocket] = []


def test_a_sink_is_opened_given_every_record_and_closed(tmp_path):
    POCKETS.clear()
    train(tmp_path, 3, Pocket)
    train(tmp_path, 9, Pocket)
    assert [pocket.iterations_done for pocket in POCKETS] == [0, 3]
    assert [pocket.iterations for pocket in POCKETS] == [[1, 2, 3], [4, 5, 6, 7, 8, 9]]
    assert all(pocket.closed for pocket in POCKETS)


def test_the_numbers_of_a_record_are_flat():
    record = {"iteration": 3, "loss": 0.5, "solved": [1, 2], "name": "x", "missing": None}
    assert list(scalars(record)) == [("loss", 0.5), ("solved/0", 1), ("solved/1", 2)]


@pytest.mark.parametrize(("logger", "module"), [(TensorBoard, "tensorboardX"), (WeightsAndBiases, "wandb")])
def test_a_sink_that_is_not_installed_is_named(tmp_path, monkeypatch, logger, module):
    real = builtins.__import__

    def without(name, *rest):
        if name == module:
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match=r"needs the extra .*: pip install 'foresight\["):
        logger(Run(tmp_path, "id", {}), 0)


def events(folder: Path) -> list:
    """What the event files of a folder hold, oldest file first."""
    from tensorboardX.proto.event_pb2 import Event

    found = []
    for path in sorted((folder / "tensorboard").iterdir(), key=lambda path: int(path.suffix[1:])):
        content = path.read_bytes()
        while content:
            length = int.from_bytes(content[:8], "little")
            found.append(Event.FromString(content[12 : 12 + length]))
            content = content[12 + length + 4 :]
    return found


@pytest.mark.extra
def test_tensorboard_gets_every_number_at_its_update(tmp_path):
    train(tmp_path, 3, TensorBoard)
    train(tmp_path, 6, TensorBoard)
    found = events(tmp_path)
    got = {(value.tag, event.step): value.simple_value for event in found for value in event.summary.value}
    records = read_metrics(tmp_path)
    assert len(got) == 12
    for record in records:
        assert got["loss", record["iteration"]] == pytest.approx(record["loss"])
        assert got["seen", record["iteration"]] == record["seen"]
    restarts = [event.step for event in found if event.session_log.status == event.session_log.START]
    assert restarts == [1, 4], "from these iterations on, what an earlier file says does not count"


class FakeWandb:
    """Takes the place of the package and remembers."""

    def __init__(self):
        self.begun, self.logged, self.finished = [], [], 0

    def init(self, **about):
        self.begun.append(about)
        return self

    def log(self, values, step):
        self.logged.append((step, values))

    def finish(self):
        self.finished += 1


def test_weights_and_biases_is_told_every_number_at_its_update_in_one_run(tmp_path, monkeypatch):
    fake = FakeWandb()
    monkeypatch.setitem(sys.modules, "wandb", fake)
    train(tmp_path / "run", 3, WeightsAndBiases)
    train(tmp_path / "run", 6, WeightsAndBiases)
    ids = {about["id"] for about in fake.begun}
    assert ids == {read_run(tmp_path / "run").id}
    assert all((about["resume"], about["config"], about["name"]) == ("allow", {"a": 1}, "run") for about in fake.begun)
    records = read_metrics(tmp_path / "run")
    assert fake.logged == [(r["iteration"], {"loss": r["loss"], "seen": r["seen"]}) for r in records]
    assert (len(records), fake.finished) == (6, 2)


@pytest.mark.extra
@pytest.mark.filterwarnings("ignore")  # of wandb's own making
def test_weights_and_biases_gets_a_run_with_our_id(tmp_path, monkeypatch):
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    train(tmp_path / "run", 3, WeightsAndBiases)
    folders = list((tmp_path / "run" / "wandb").glob("offline-run-*"))
    assert len(folders) == 1
    assert any(path.suffix == ".wandb" and path.stat().st_size for path in folders[0].iterdir())
