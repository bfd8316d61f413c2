"""Other places that records go to, beside metrics.jsonl: TensorBoard and Weights & Biases."""

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np

from foresight.errors import MissingExtra
from foresight.runs.folder import Run
from foresight.runs.metrics import Record


class Sink(Protocol):
    """A place that takes records."""

    def write(self, records: list[Record]) -> None:
        """Take records in the order of their field `iteration`."""

    def close(self) -> None:
        """Make sure that all of them have arrived."""


OpenLogger = Callable[[Run, int], Sink]  # for a run that has done so many iterations


class TensorBoard:
    """Event files in the run's folder `tensorboard`; records made again after a crash replace the first ones."""

    def __init__(self, run: Run, iterations_done: int):
        try:
            from tensorboardX import SummaryWriter
        except ImportError as error:
            raise MissingExtra("logging to TensorBoard", "tensorboard") from error
        # Files are named after the second they are made in: the suffix keeps a quick resume from writing over one.
        name = {"logdir": str(run.folder / "tensorboard"), "filename_suffix": f".{iterations_done}"}
        self.writer = SummaryWriter(**name, purge_step=iterations_done + 1)

    def write(self, records: list[Record]) -> None:
        """Take records."""
        for record in records:
            for name, value in scalars(record):
                self.writer.add_scalar(name, value, record["iteration"])

    def close(self) -> None:
        """Write what is still in memory."""
        self.writer.close()


class WeightsAndBiases:
    """A run of Weights & Biases with our run's id, so that going on here goes on there."""

    def __init__(self, run: Run, iterations_done: int):
        try:
            import wandb
        except ImportError as error:
            raise MissingExtra("logging to Weights & Biases", "wandb") from error
        self.run = wandb.init(
            project="foresight", id=run.id, name=run.folder.name, dir=run.folder, config=run.config, resume="allow"
        )

    def write(self, records: list[Record]) -> None:
        """Take records."""
        for record in records:
            self.run.log(dict(scalars(record)), step=record["iteration"])

    def close(self) -> None:
        """Send what is still in memory."""
        self.run.finish()


def scalars(record: Record) -> Iterator[tuple[str, Any]]:
    """The numbers of a record by name; a list, one number a seed, as `name/0`, `name/1`, and so on."""
    for name, value in record.items():
        if isinstance(value, list):
            yield from ((f"{name}/{index}", number) for index, number in enumerate(np.ravel(value).tolist()))
        elif isinstance(value, (int, float)) and name != "iteration":
            yield name, value
