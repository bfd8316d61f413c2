"""How fast the whole of training runs here: playing, learning, level drawing, in one compiled program."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import jax

from foresight.bench.cases import Results, Row, measure_in_turns
from foresight.bench.programs import Say, default_dtype, default_paths, device, silent
from foresight.bench.stages import OPERATIONS_PER_FRAME, STAGES, matmul_rate, stages
from foresight.bench.timing import Call, Timing, carrying
from foresight.envs.env import Env
from foresight.errors import ForesightError
from foresight.nets import KINDS
from foresight.runs.build import build_env
from foresight.runs.config import DeviceSettings, NetSettings, RunConfig
from foresight.runs.devices import env_mesh
from foresight.runs.presets import default
from foresight.runs.program import Program, program

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


def default_cases() -> list[Case]:
    """The paper's batch with one and several seeds, and larger batches, on every core that runs here."""
    shapes = [(256, 32, 1), (256, 32, 3), (256, 32, 5), (512, 512, 1), (1024, 1024, 1)]
    shapes = shapes if jax.default_backend() == "gpu" else [(32, 32, 1)]
    return [Case(path, levels, minibatch, 20, seeds) for levels, minibatch, seeds in shapes for path in default_paths()]


def base_config() -> RunConfig:
    """DRC(3, 3) on 10x10 Sokoban painted as 80x80x3, in the precision that is fastest here."""
    return replace(default(), net=replace(default().net, dtype=default_dtype()))


@dataclass(frozen=True)
class Training:
    """The training loop, as a subject of measurement."""

    base: RunConfig
    env: Env
    frames: int  # of one call, at least
    matmul_rate: float = 0.0  # what efficiency is held against

    def iterations(self, case: Case) -> int:
        """Of a call."""
        return max(1, self.frames // (case.levels * case.unroll))

    def gradient_steps(self, case: Case) -> int:
        """Of a call."""
        return self.iterations(case) * case.levels // case.minibatch

    def program(self, case: Case) -> Program:
        """What trains, on all devices that are here."""
        config = case.config(self.base, self.iterations(case))
        return program(config, self.env, env_mesh(DeviceSettings(), config.learn))

    def lower(self, case: Case) -> Any:
        """A call, ready to be compiled."""
        parts = self.program(case)
        return parts.lower(parts.shape())

    def start(self, case: Case, compiled: Any) -> Call:
        """Train from the beginning, and further with every call."""
        parts = self.program(case)
        return carrying(lambda state: compiled(*parts.call.args, state)[0], parts.initial_state())

    def row(self, case: Case, timing: Timing, memory: int) -> Row:
        """What was measured; the efficiency is DRC(3, 3)'s share of a matrix product's rate, and of no other's."""
        rate = self.iterations(case) * case.levels * case.unroll * case.seeds / timing.median
        efficiency = round(100 * rate * OPERATIONS_PER_FRAME / self.matmul_rate, 2) if case.net == DRC else None
        return {
            **asdict(case),
            "frames_per_second": round(rate),
            "ms_per_gradient_step": round(1e3 * timing.median / self.gradient_steps(case), 3),
            "spread_percent": timing.spread_percent,
            "efficiency_percent": efficiency,
            "peak_memory_mb": round(memory / 2**20),
            "timings": len(timing.seconds),
            "device": device(),
        }


def measure(
    cases: Sequence[Case],
    base: RunConfig,
    repeats: int = 5,
    frames: int = 40_960,
    say: Say = silent,
    earlier: dict[str, Any] | None = None,
) -> Iterator[dict[str, Any]]:
    """What is known after each timing, and at the end; cases that differ in the core alone take turns."""
    training = Training(base, build_env(base), frames, matmul_rate())
    results = Results(Case, earlier, say, repeats=repeats, matmul_tflops=training.matmul_rate / 1e12)
    groups: dict[str, list[Case]] = {}
    for case in results.missing(cases, repeats):
        groups.setdefault(str(replace(case, path="")), []).append(case)
    for document in measure_in_turns(training, groups.values(), results, repeats):
        yield document | {"memory_mb": memory_used((earlier or {}).get("memory_mb"))}


def memory_used(earlier: int | None) -> int | None:
    """Most megabytes of the device's memory in use so far, by all that ran, or `earlier`; a CPU does not tell."""
    used = (jax.devices()[0].memory_stats() or {}).get("peak_bytes_in_use")
    return earlier if used is None else max(used // 2**20, earlier or 0)


def add_stages(document: dict[str, Any], base: RunConfig, say: Say = silent) -> Iterator[dict[str, Any]]:
    """The result with one more stage each time, of the first case on each path; what it has already is kept."""
    names, done, first = [field.name for field in fields(Case)], dict(document.get("stages", {})), {}
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
