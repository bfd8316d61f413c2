"""The thin shell around studies: finds runs and records, trains and evaluates what is missing, stops in time."""

import json
import math
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from foresight.analysis.pooling import read_labelled
from foresight.analysis.records import SUFFIX, read_study
from foresight.errors import ForesightError
from foresight.paper.scales import Toy, played_levels
from foresight.paper.study import Result, Results, RunSpec, Study, Trial, results_of, run_id, runs_to_train
from foresight.paper.testing import run_test, tests_missing
from foresight.runs.config import RunConfig
from foresight.runs.lock import InUse, check_free, own
from foresight.runs.loop import say_on_stderr
from foresight.runs.metrics import Record
from foresight.runs.tracking import TrackSettings

METRICS = "metrics.jsonl"
RUNS = "runs"  # the folder of run folders
LEAST = 0.2  # of the steps that a study asks for: a run of fewer says nothing about it
LOOK = 5.0  # seconds between two looks at what other processes are at
POINTS, TOY_POINTS = 20, 2  # evaluations during training
LATE, LATE_SHARE = 90.0, 1 / 6  # seconds before the end, or their share of the time, in which nothing new is begun

Watch = Callable[[RunConfig], AbstractContextManager[Callable[[Record], None]]]  # shows the records of a run


@contextmanager
def unwatched(config: RunConfig) -> Iterator[Callable[[Record], None]]:
    """Nobody sees the records."""
    yield lambda record: None


@dataclass(frozen=True)
class Workshop:
    """Where runs are, what is known beside them, and at which size they are made."""

    out: Path
    records: Path | None = None
    toy: Toy | None = None
    say: Callable[[str], None] = say_on_stderr
    parcel: Path | None = None  # what came from another machine
    watch: Watch = unwatched
    after_run: Callable[[], None] = lambda: None

    @property
    def runs(self) -> Path:
        """The folder of run folders."""
        return self.out / RUNS


class Deadline:
    """Minutes from now, or for ever."""

    def __init__(self, minutes: float | None = None):
        """Start the clock."""
        seconds = math.inf if minutes is None else 60 * minutes
        self.end = time.monotonic() + seconds
        self.late = self.end - min(LATE, LATE_SHARE * seconds)

    def __call__(self) -> bool:
        """Whether the time is over."""
        return time.monotonic() >= self.end

    def seconds_left(self) -> float:
        """How long it is until then."""
        return max(0.0, self.end - time.monotonic())

    def is_late(self) -> bool:
        """Whether too little time is left to begin anything: what has to be compiled first cannot be stopped."""
        return time.monotonic() >= self.late


def run_folders(shop: Workshop) -> list[Path]:
    """The folders of all runs in a workshop; one that ended before its first step has no records yet."""
    found = sorted(path.parent for path in shop.runs.glob("*/config.json")) if shop.runs.is_dir() else []
    return [folder for folder in found if (folder / METRICS).exists()]


def known_runs(shop: Workshop) -> list[Result]:
    """Everything that was trained: the run folders, what came in a parcel, and at full size the records."""
    folders = run_folders(shop)
    found = [result_of(each) for each in read_labelled([str(folder) for folder in folders])]
    arrived = recorded_runs(shop.parcel) if shop.parcel else []
    found += [each for each in arrived if Path(each.source).name not in {folder.name for folder in folders}]
    return found + (recorded_runs(shop.records) if shop.records and shop.toy is None else [])


def recorded_runs(folder: Path) -> list[Result]:
    """The runs of all records of studies in a folder; other files are skipped."""
    found = []
    for path in sorted(folder.glob(f"*{SUFFIX}")) if folder.is_dir() else []:
        if is_record(path):
            found += [result_of(each) for each in read_study(path)]
    return found


def is_record(path: Path) -> bool:
    """Whether a JSON file says that it is the record of a study."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return b'"foresight": "study"' in file.read(200)


def result_of(labelled: Any) -> Result:
    """What a study needs to know of a run."""
    steps = int(labelled.records[-1]["steps"]) if labelled.records else 0
    return Result(labelled.run.config, steps, tuple(labelled.evaluations), str(labelled.run.folder))


def results_for(study: Study, known: Sequence[Result], toy: Toy | None = None) -> Results:
    """The runs of each agent of a study; at toy size, evaluations during training under the name of the study's set."""
    results = {spec.label: long_enough(results_of(spec, known), study.steps) for spec in study.runs}
    if toy is None:
        return results
    names = {spec.label: (played_levels(spec.eval_levels, toy), spec.eval_levels) for spec in study.runs}
    return {label: [renamed(result, *names[label]) for result in found] for label, found in results.items()}


def long_enough(found: list[Result], steps: float) -> list[Result]:
    """The runs that are as long as asked for; where there are none, those that are not much shorter.

    A run that only tried a learning rate for a moment is no number of its agent.
    """
    ours = [result for result in found if result.config["steps"] >= LEAST * steps]
    return [result for result in ours if result.config["steps"] >= steps] or ours


def renamed(result: Result, played: str | None, name: str | None) -> Result:
    """A run whose evaluations on one set go by the name of another."""
    return replace(
        result, entries=tuple(each | {"set": name} if each.get("set") == played else each for each in result.entries)
    )


def tracking_of(spec: RunSpec, toy: Toy | None) -> TrackSettings:
    """How a run is watched: held-out levels at twenty points of the training, except games on the host."""
    if spec.config.is_on_host:
        return TrackSettings()
    points = POINTS if toy is None else TOY_POINTS
    every = max(1.0, spec.config.steps / points)
    return TrackSettings(played_levels(spec.eval_levels, toy), every, spec.eval_count)


def on_levels(config: RunConfig, toy: Toy | None) -> RunConfig:
    """The settings with the levels that are really played."""
    if toy is None or not config.takes_level_sets:
        return config
    return replace(config, env=replace(config.env, levels=played_levels(config.env.levels, toy)))


def as_trained(study: Study, toy: Toy | None) -> Study:
    """The study with the levels that are really trained on and tested."""
    runs = tuple(replace(spec, config=on_levels(spec.config, toy)) for spec in study.runs)
    return replace(study, runs=runs)


def make_runs(study: Study, shop: Workshop, deadline: Deadline, waits: bool = False) -> bool:
    """Train and test what a study still needs; False where some of it was not done.

    What another process is at is left to it, so that several can make the same tables and figures side by side. With
    `waits`, this one waits for what they are at, until its time is over.
    """
    others: set[Path] = set()
    while True:
        told, others = others, set()
        for spec in study.runs:
            if not (
                train_missing(study, spec, shop, deadline, others) and take_tests(study, spec, shop, deadline, others)
            ):
                return False
        for folder in sorted(others - told):
            shop.say(f"{folder} is left to the process that is at it")
        if not others or not waits or deadline():
            return not others
        time.sleep(min(LOOK, deadline.seconds_left()))


def train_missing(study: Study, spec: RunSpec, shop: Workshop, deadline: Deadline, others: set[Path]) -> bool:
    """Train the runs of an agent that are missing; False where the time was over. Adds to `others` what is not ours."""
    found = results_of(spec, known_runs(shop))
    for config in runs_to_train(spec, found, study.steps, study.seeds):
        if deadline.is_late():
            return False
        folder = shop.runs / run_id(config)
        try:
            check_free(folder)
            shop.say(f"{study.id}, {spec.label}: {folder}")
            tracking = tracking_of(replace(spec, config=config), shop.toy)
            with shop.watch(config) as show:
                if not train_run(config, folder, tracking, deadline, show):
                    return False
        except InUse:
            others.add(folder)
            continue
        shop.after_run()
    return True


def take_tests(study: Study, spec: RunSpec, shop: Workshop, deadline: Deadline, others: set[Path]) -> bool:
    """Test the runs of an agent that are long enough; else as `train_missing`."""
    taken = False
    for result, missing in untested(study, spec, known_runs(shop)):
        folder = Path(result.source)
        if not folder.is_dir():
            shop.say(f"{study.id}, {spec.label}: {folder} is a record: {len(missing)} tests are left out")
            continue
        try:
            with own(folder):
                for test in tests_missing(spec, read_result(folder)):  # another process may have taken some by now
                    if deadline.is_late() or not run_test(folder, test, shop.toy, deadline.seconds_left()):
                        return False
                    taken = True
        except InUse:
            others.add(folder)
    if taken:
        shop.after_run()
    return True


def read_result(folder: Path) -> Result:
    """What is known of the run in a folder."""
    (labelled,) = read_labelled([str(folder)])
    return result_of(labelled)


def untested(study: Study, spec: RunSpec, known: Sequence[Result]) -> list[tuple[Result, list[Trial]]]:
    """The runs of an agent, as long as the study asks, that have not taken all of its tests, with those."""
    found = [each for each in results_of(spec, known) if each.is_finished and each.config["steps"] >= study.steps]
    listed = [(each, list(tests_missing(spec, each))) for each in found]
    return [(result, missing) for result, missing in listed if missing]


def with_tests_of(study: Study, others: Sequence[Study]) -> Study:
    """A study whose agents also take the tests that they, at most so long trained, have in others: once for all."""
    runs = []
    for spec in study.runs:
        same = [each for other in others if other.steps <= study.steps for each in other.runs]
        shared = [test for each in same if each.identity == spec.identity for test in each.tests]
        tests = (*spec.tests, *(test for test in shared if not test.search))  # which takes long: when it is its turn
        runs.append(replace(spec, tests=tuple(test for test in dict.fromkeys(tests) if not is_part(test, tests))))
    return replace(study, runs=tuple(runs))


def is_part(test: Trial, tests: Iterable[Trial]) -> bool:
    """Whether one of some tests is the same on more levels."""
    return test.count is not None and any(
        other._replace(count=test.count) == test and (other.count is None or other.count > test.count)
        for other in tests
    )


def train_run(
    config: RunConfig,
    folder: Path,
    tracking: TrackSettings,
    is_over: Callable[[], bool],
    show: Callable[[Record], None] = lambda record: None,
) -> bool:
    """Train one run to its end, or save and stop it when the time is over."""
    from foresight.runs.actors import run_host_training
    from foresight.runs.agents import for_this_device
    from foresight.runs.train import run_training

    asked = []

    def stop_in_time(state: Any, records: list[Record]) -> None:
        show(records[-1])
        if is_over() and not asked:
            asked.append(True)
            signal.raise_signal(signal.SIGTERM)  # what the loop answers by saving

    if not (folder / "config.json").exists():
        config = for_this_device(config)
    else:
        config = stored_dtype(config, folder)
    train = run_host_training if config.is_on_host else run_training
    outcome = train(config, folder, on_call=stop_in_time, tracking=tracking)
    if outcome.signal is not None:
        say_on_stderr(outcome.message)
    if outcome.signal is not None and not asked:
        raise SystemExit(outcome.exit_code)  # somebody else stopped it
    return outcome.signal is None


def stored_dtype(config: RunConfig, folder: Path) -> RunConfig:
    """The settings with the numbers that a run computes in since it was begun, perhaps on another device."""
    try:
        dtype = json.loads((folder / "config.json").read_bytes())["config"]["net"]["dtype"]
    except (ValueError, RecursionError, KeyError, TypeError) as error:
        raise ForesightError(f"{folder / 'config.json'} is damaged or not from foresight") from error
    return replace(config, net=replace(config.net, dtype=dtype))
