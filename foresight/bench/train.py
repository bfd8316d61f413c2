"""How fast the whole of training runs here: playing, learning, level drawing, in one compiled program."""

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from typing import Any

import jax

from foresight.bench.programs import (
    Say,
    compile_all,
    device,
    memory_needed,
    obstacle_of_memory,
    silent,
)
from foresight.bench.results import Results
from foresight.bench.stages import STAGES, matmul_rate, operations_per_frame, stages
from foresight.errors import ForesightError
from foresight.learning.update import Metrics, TrainState
from foresight.nets import KINDS
from foresight.runs.build import build_env
from foresight.runs.config import NetSettings, RunConfig
from foresight.runs.presets import default
from foresight.runs.program import program

PATHS = ("cuda", "xla")
DRC = "drc"


@dataclass(frozen=True)
class Case:
    """One thing to measure: which core, how many levels side by side, how large a gradient step, how many seeds."""

    path: str
    levels: int
    minibatch: int
    unroll: int
    seeds: int
    net: str = DRC  # as `--net` names it

    def __str__(self) -> str:
        size = f"{self.path}:{self.levels}:{self.minibatch}:{self.unroll}:{self.seeds}"
        return size if self.net == DRC else f"{self.net} {size}"

    def config(self, base: RunConfig, iterations: int) -> RunConfig:
        """The run that is measured."""
        learn = replace(base.learn, num_envs=self.levels, minibatch=self.minibatch, unroll=self.unroll)
        net = net_settings(self.net, base.net)
        if net.net == DRC:
            net = replace(net, net_set=(*net.net_set, f"backend={self.path}"))
        return replace(base, seeds=self.seeds, iterations_per_call=iterations, net=net, learn=learn)


def net_settings(word: str, base: NetSettings) -> NetSettings:
    """The network that a word such as lstm or drc,depth=9,ticks=1 names; a DRC has what `base` says of the rest."""
    kind, *settings = word.split(",")
    if kind not in KINDS:
        raise ForesightError(f"network {word}: no network is called '{kind}'; there are: {', '.join(KINDS)}")
    if kind == base.net:
        return replace(base, net_set=(*base.net_set, *settings))
    return NetSettings(kind, dtype=base.dtype, net_set=tuple(settings))


def cases_of(nets: Sequence[str], cases: Sequence[Case]) -> list[Case]:
    """Every case for every network; those without a core to choose have the plain path alone."""
    for net in nets:
        net_settings(net, NetSettings())  # an unknown name is rejected before anything is measured
    each = [replace(case, net=net) for net in nets for case in cases if case.path == "xla" or net.split(",")[0] == DRC]
    if not each:
        raise ForesightError(f"{' '.join(nets)}: only drc has a CUDA core; give `cases` such as xla:256:32:20:1")
    return each


def parse_case(text: str, option: str = "`cases`") -> Case:
    """A case as the command line writes it, `path:levels:minibatch:unroll:seeds` such as cuda:256:32:20:1."""
    path, *numbers = text.split(":")
    if path not in PATHS or len(numbers) != 4 or not all(number.isdecimal() and int(number) for number in numbers):
        raise ForesightError(f"{option} {text}: expected path:levels:minibatch:unroll:seeds such as cuda:256:32:20:1")
    return Case(path, *(int(number) for number in numbers))


def usual_cases() -> list[Case]:
    """The paper's batch with one and several seeds, and larger batches, on every core that runs here."""
    if jax.default_backend() != "gpu":
        return [Case("xla", 32, 32, 20, 1)]
    shapes = [(256, 32, 1), (256, 32, 3), (256, 32, 5), (512, 512, 1), (1024, 1024, 1)]
    return [Case(path, num_envs, minibatch, 20, seeds) for num_envs, minibatch, seeds in shapes for path in PATHS]


def usual_frames() -> int:
    """Frames of one timing: half a second on a large GPU, one iteration on a CPU."""
    return 40_960 if jax.default_backend() == "gpu" else 1


def base_config() -> RunConfig:
    """DRC(3, 3) on 10x10 Sokoban painted as 80x80x3, in the precision that is fastest here."""
    config = default()
    return config if jax.default_backend() == "gpu" else replace(config, net=replace(config.net, dtype="float32"))


@dataclass
class Running:
    """A training program under way, and how long its calls took."""

    case: Case
    iterations: int  # in a call
    call: Callable[[TrainState], tuple[TrainState, Metrics]]
    state: TrainState
    memory: int  # bytes that the program wants
    seconds: tuple[float, ...] = ()

    @property
    def updates(self) -> int:
        """Gradient steps of a call."""
        return self.iterations * self.case.levels // self.case.minibatch

    def go_on(self) -> float:
        """Train for one call; the seconds it takes."""
        begun = time.perf_counter()
        self.state = jax.block_until_ready(self.call(self.state)[0])
        return time.perf_counter() - begun

    def efficiency(self, frames_per_second: float, rate: float) -> float | None:
        """The percentage of a matrix product's `rate` that DRC(3, 3) reaches; other networks are not counted."""
        return round(100 * frames_per_second * operations_per_frame() / rate, 2) if self.case.net == DRC else None

    def row(self, rate: float) -> dict[str, Any]:
        """What was measured: the median, and the whole range as a share of it; `rate` is a matrix product's."""
        case, middle = self.case, statistics.median(self.seconds)
        frames_per_second = self.iterations * case.levels * case.unroll * case.seeds / middle
        return {
            **asdict(case),
            "frames_per_second": round(frames_per_second),
            "ms_per_gradient_step": round(1e3 * middle / self.updates, 3),
            "spread_percent": round(100 * (max(self.seconds) - min(self.seconds)) / middle, 1),
            "efficiency_percent": self.efficiency(frames_per_second, rate),
            "peak_memory_mb": round(self.memory / 2**20),
            "timings": len(self.seconds),
            "device": device(),
        }


def begin_all(
    cases: Sequence[Case], base: RunConfig, frames: int, left_out: Callable[[Case, str], None], say: Say = silent
) -> list[Running]:
    """The cases compiled, each with one call of at least `frames` behind it; those that cannot run are skipped."""
    env, made = build_env(base), {}
    for case in cases:
        iterations = max(1, frames // (case.levels * case.unroll))
        made[case] = iterations, program(case.config(base, iterations), env)
    beginnings = compile_all({case: lowering(p.initial_state) for case, (_, p) in made.items()}, left_out)
    lowerings = {case: lowering(made[case][1].call, made[case][1].shape()) for case in beginnings}
    calls = compile_all(lowerings, left_out, say)
    running = []
    for case, call in calls.items():
        if obstacle := obstacle_of_memory(call):
            left_out(case, obstacle)
            continue
        iterations, parts = made[case]
        state = beginnings[case](*parts.initial_state.args)
        running.append(Running(case, iterations, partial(call, *parts.call.args), state, memory_needed(call)))
        running[-1].go_on()
    return running


def lowering(compiled_later: partial, *shapes: Any) -> Callable[[], Any]:
    """How to lower a jitted function of which the first arguments are given already, for `compile_all`."""
    return lambda: compiled_later.func.lower(*compiled_later.args, *shapes)


def measure(
    cases: Sequence[Case],
    base: RunConfig,
    repeats: int = 5,
    frames: int = 40_960,
    say: Say = silent,
    earlier: dict[str, Any] | None = None,
) -> Iterator[dict[str, Any]]:
    """What is known after each timing, and at the end; what an `earlier` result has is not measured again.

    Cases that differ in the core alone are compiled together and take turns; then the next come.
    """
    rate = matmul_rate()
    about = {"device": device(), "jax": jax.__version__, "repeats": repeats, "matmul_tflops": rate / 1e12}
    results = Results([field.name for field in fields(Case)], about, earlier)

    def leave_out(case: Case, why: str) -> None:
        results.leave_out(asdict(case), why)
        say(f"{case}: skipped, {why}")

    def document() -> dict[str, Any]:
        return results.document() | {"memory_mb": most(memory_used(), (earlier or {}).get("memory_mb"))}

    for case in (known := [case for case in cases if results.has(asdict(case), repeats)]):
        say(f"{case}: known already")
    for group in groups([case for case in cases if case not in known]):
        say(f"compiling {', '.join(map(str, group))}")
        running = begin_all(group, base, frames, leave_out, say)
        for turn, one in ((turn, one) for turn in range(repeats) for one in running):
            one.seconds += (one.go_on(),)
            row = one.row(rate)
            results.add(row)
            yield document()  # written before it is reported
            reported = f"{row['frames_per_second']:,} frames/s, {row['ms_per_gradient_step']} ms per gradient step"
            say(f"{one.case}: {reported}, timed {turn + 1} of {repeats}")
    yield document()


def groups(cases: Sequence[Case]) -> list[list[Case]]:
    """Cases that differ in the core alone, together."""
    by_size: dict[Case, list[Case]] = {}
    for case in cases:
        by_size.setdefault(replace(case, path=""), []).append(case)
    return list(by_size.values())


def most(*sizes: int | None) -> int | None:
    """The largest of those that are known."""
    return max((size for size in sizes if size is not None), default=None)


def memory_used() -> int | None:
    """Most megabytes of the device's memory in use so far, by all that ran; a CPU does not tell."""
    used = (jax.devices()[0].memory_stats() or {}).get("peak_bytes_in_use")
    return None if used is None else used // 2**20


def add_stages(document: dict[str, Any], base: RunConfig, say: Say = silent) -> Iterator[dict[str, Any]]:
    """The result with one more stage each time, of the first case on each path; what it has already is kept."""
    names, done = [field.name for field in fields(Case)], dict(document.get("stages", {}))
    first = {}
    for row in document["rows"]:
        path = row["path"] if row["net"] == DRC else f"{row['net']} {row['path']}"
        first.setdefault(path, Case(**{name: row[name] for name in names} | {"seeds": 1}))
    for path, case in first.items():
        if set(done.get(path, ())) == set(STAGES):
            say(f"stages of {path}: known already")
            continue
        for stage, milliseconds in stages(case.config(base, 1)):
            done[path] = done.get(path, {}) | {stage: milliseconds}
            yield document | {"stages": dict(done)}  # written before it is reported
            say(f"{path}: {stage} {milliseconds:.2f} ms per gradient step")
