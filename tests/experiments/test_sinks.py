"""Records reach TensorBoard and Weights & Biases, and what is missing is said in one sentence."""

import builtins
from pathlib import Path

import pytest

from foresight.errors import MissingExtra
from foresight.experiments.loop import SaveOptions, train_in_chunks
from foresight.experiments.runs import Run
from foresight.experiments.sinks import TensorBoard, WeightsAndBiases, scalars
from tests.experiments import toy


def train(folder: Path, updates: int, sink) -> None:
    options = SaveOptions(updates=3)
    train_in_chunks(folder, {"a": 1}, **toy.FUNCTIONS, total_updates=updates, options=options, sinks=[sink])


class Pocket:
    """A sink that keeps what it is given."""

    def __init__(self, run: Run, updates_done: int):
        self.updates_done, self.updates, self.closed = updates_done, [], False
        POCKETS.append(self)

    def write(self, records):
        self.updates += [record["update"] for record in records]

    def close(self):
        self.closed = True


POCKETS: list[Pocket] = []


def test_a_sink_is_opened_given_every_record_and_closed(tmp_path):
    POCKETS.clear()
    train(tmp_path, 3, Pocket)
    train(tmp_path, 9, Pocket)
    assert [pocket.updates_done for pocket in POCKETS] == [0, 3]
    assert [pocket.updates for pocket in POCKETS] == [[1, 2, 3], [4, 5, 6, 7, 8, 9]]
    assert all(pocket.closed for pocket in POCKETS)


def test_the_numbers_of_a_record_are_flat():
    record = {"update": 3, "loss": 0.5, "solved": [1, 2], "name": "x", "missing": None}
    assert list(scalars(record)) == [("loss", 0.5), ("solved/0", 1), ("solved/1", 2)]


@pytest.mark.parametrize(("sink", "module"), [(TensorBoard, "tensorboardX"), (WeightsAndBiases, "wandb")])
def test_a_sink_that_is_not_installed_is_named(tmp_path, monkeypatch, sink, module):
    real = builtins.__import__

    def without(name, *rest):
        if name == module:
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match=r"needs the extra .*: pip install 'foresight\["):
        sink(Run(tmp_path, "id", {}), 0)


@pytest.mark.extra
def test_tensorboard_gets_every_number(tmp_path):
    train(tmp_path, 3, TensorBoard)
    train(tmp_path, 6, TensorBoard)
    content = b"".join(path.read_bytes() for path in (tmp_path / "tensorboard").iterdir())
    assert content.count(b"loss") == 6
    assert content.count(b"seen") == 6


@pytest.mark.extra
@pytest.mark.filterwarnings("ignore")  # of wandb's own making
def test_weights_and_biases_gets_a_run_with_our_id(tmp_path, monkeypatch):
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    train(tmp_path / "run", 3, WeightsAndBiases)
    folders = list((tmp_path / "run" / "wandb").glob("offline-run-*"))
    assert len(folders) == 1
    assert any(path.suffix == ".wandb" and path.stat().st_size for path in folders[0].iterdir())
