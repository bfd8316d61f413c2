"""What defines a run: frozen records of plain values, as `config.json` holds them."""

import dataclasses
import json
import math
import re
from dataclasses import dataclass, field
from typing import Any, Literal

from foresight.envs import facts
from foresight.errors import ForesightError, printable
from foresight.learning.settings import LearnSettings
from foresight.limits import LARGEST_NUMBER, RANGES, check_ranges, check_sizes
from foresight.plain import assignments, check_kinds
from foresight.plugins import short_name
from foresight.runs.phases import Phase, plan_phases

DETECT = "auto"  # in the place of an address: ask the cluster
PRINTED = {"resnet": "ResNet", "atreec": "ATreeC"}  # the others are abbreviations, in capitals


@dataclass(frozen=True)
class EnvSettings:
    """The domain as it is trained on."""

    levels: str = "builtin/train"
    """the levels to train on (sokoban): a set, or several with their shares: unfiltered-train:0.5,medium-train:0.5"""
    max_episode_steps: tuple[int, int] = (30, 120)
    """each training episode draws its step limit from this range; evaluation has its own"""
    env: tuple[str, ...] = ()
    """further settings of the domain as NAME=VALUE, such as view=pixels, size=16 or game=breakout"""

    def __post_init__(self) -> None:
        check_kinds(self)
        if not 1 <= self.max_episode_steps[0] <= self.max_episode_steps[1]:
            raise ForesightError(
                f"`max_episode_steps` must be two numbers, at least 1 and rising, not {self.max_episode_steps}"
            )
        check_ranges(self)
        check_sizes("the domain", assignments(self.env, "env"), LARGEST_NUMBER)


@dataclass(frozen=True)
class NetSettings:
    """The network. What is skipped keeps the network's own default."""

    net: str = "drc"
    """drc, lstm, cnn, resnet, vin, atreec, i2a, or one of your own as package.module:Name"""
    depth: int | None = None
    """D: modules of a DRC or LSTM, iterations of a VIN, depth of ATreeC's tree"""
    ticks: int | None = None
    """N: passes through the stack of a DRC or LSTM in every time-step"""
    features: int | None = None
    """channels of a DRC's memory, or of the last convolution of the others; numbers that I2A makes of a frame"""
    dtype: Literal["float32", "bfloat16"] = "float32"
    """precision of convolutions and matrix products, on a CPU float32 if not given; all else is always float32"""
    net_set: tuple[str, ...] = ()
    """further settings of the network as NAME=VALUE, such as memory=GatedConvRNN or top_down=false"""

    def __post_init__(self) -> None:
        check_kinds(self)
        check_ranges(self)
        check_sizes("the network", assignments(self.net_set, "net_set"))

    @property
    def label(self) -> str:
        """The network as figures name it, such as DRC(3,3)."""
        sizes = ",".join(str(size) for size in (self.depth, self.ticks) if size is not None)
        name = short_name(self.net) if ":" in self.net else PRINTED.get(self.net, self.net.upper())
        return name + (f"({sizes})" if sizes else "")

    def keywords(self) -> dict[str, Any]:
        """Keyword arguments of `foresight.nets.make`."""
        named = {"depth": self.depth, "ticks": self.ticks, "features": self.features, "dtype": self.dtype}
        return {name: value for name, value in named.items() if value is not None} | assignments(
            self.net_set, "net_set"
        )


@dataclass(frozen=True)
class RunConfig:
    """Everything that a run's result depends on."""

    domain: str = "sokoban"
    """what is played: sokoban, boxworld, minipacman, gridworld, atari, or one of your own as package.module:Name"""
    steps: float = 2e7
    """environment steps in all, of each seed"""
    seed: int = 0
    """the first seed"""
    seeds: int = 1
    """how many independent agents to train in one program"""
    iterations_per_call: int = 20
    """iterations between two looks by the host: records are written and checkpoints may be"""
    objective: Literal["reinforce", "imitate"] = "reinforce"
    """what is learned from: rewards, or the actions of an expert who plays"""
    expert: str = ""
    """whom to imitate: a run folder, a file or a shipped agent"""
    phases: tuple[str, ...] = ()
    """stretches with other settings, such as `until=5e7` `until=20% minibatch=128 learning_rate=1e-3`
    `levels=medium-train`; each keeps what the one before it changed"""
    env: EnvSettings = field(default_factory=EnvSettings)
    net: NetSettings = field(default_factory=NetSettings)
    learn: LearnSettings = field(default_factory=LearnSettings)

    def __post_init__(self) -> None:
        check_kinds(self)
        if not (math.isfinite(self.steps) and self.steps >= 1):
            raise ForesightError(f"`steps` must be a number of at least 1, such as 2e7, not {self.steps}")
        check_ranges(self)
        if not 0 <= self.seed <= 2**31 - self.seeds:
            raise ForesightError(f"`seed` must be at least 0, and all seeds below 2^31, not {self.seed}")
        if (self.objective == "imitate") != bool(self.expert):
            raise ForesightError("`objective` imitate and `expert` AGENT go together: give both or neither")
        if self.expert and (self.phases or self.is_on_host):
            raise ForesightError("`objective` imitate is for runs on the device and without `phases`")
        if self.whole_steps > RANGES["steps"][1]:  # which also rejects phases that are none
            raise ForesightError(
                f"`num_envs` x `unroll` x `iterations_per_call` come to {self.whole_steps:,} steps in whole calls, "
                f"expected at most {RANGES['steps'][1]:,.0f}"
            )

    @property
    def is_on_host(self) -> bool:
        """True where the games run beside the device, so that actor threads must play them."""
        return facts(self.domain).is_on_host

    @property
    def is_scored(self) -> bool:
        """True where the score says how well an agent plays, and not the share of levels solved."""
        return facts(self.domain).is_scored

    @property
    def takes_level_sets(self) -> bool:
        """True where what is played is a set of levels that has a name."""
        return facts(self.domain).takes_level_sets

    @property
    def iterations(self) -> int:
        """How many iterations of play and learning the steps come to, in whole calls."""
        return self.plan[-1].end

    @property
    def plan(self) -> tuple[Phase, ...]:
        """The phases of the run, one where none are asked for; their learning settings have the run's length."""
        return plan_phases(self.phases, self.learn, self.steps, self.iterations_per_call)

    def phase_at(self, iterations: int) -> Phase:
        """The phase that a state after so many iterations is of."""
        return next(phase for phase in self.plan if iterations <= phase.end or phase is self.plan[-1])

    @property
    def schedule(self) -> LearnSettings:
        """The learning settings of the first phase, with the length of the run filled in."""
        return self.plan[0].settings

    @property
    def has_own_parts(self) -> bool:
        """Whether anything of it is a user's own, found by its path."""
        named = (self.domain, self.net.net, self.learn.loss, self.learn.optimiser, self.learn.schedule)
        return any(":" in name for name in (*named, *self.net.net_set))

    @property
    def whole_steps(self) -> int:
        """Environment steps that are really taken: `steps`, and what a last call has beyond them."""
        return self.steps_at(self.iterations)

    def steps_at(self, iterations: int) -> int:
        """Environment steps that so many iterations come to."""
        return self.phase_at(iterations).steps_at(iterations)

    def gradient_steps_at(self, iterations: int) -> int:
        """Gradient steps that so many iterations come to."""
        return self.phase_at(iterations).settings.gradient_steps_at(iterations)

    def as_json(self) -> dict[str, Any]:
        """Plain values, as the run folder stores them."""
        return json.loads(json.dumps(dataclasses.asdict(self)))


@dataclass(frozen=True)
class DeviceSettings:
    """Where a run computes. Its result depends on it by rounding only, so it may change from one start to the next."""

    devices: int = 0
    """how many of this machine's devices to use; 0: all, also those of other machines"""
    coordinator: str | None = None
    """HOST:PORT of the first of several processes that train together, or `auto` on Slurm, Kubernetes and the like"""
    processes: int | None = None
    """how many processes there are; if not given, the cluster is asked"""
    process_id: int | None = None
    """which of them this one is, from 0; if not given, the cluster is asked"""

    def __post_init__(self) -> None:
        check_kinds(self)
        check_ranges(self)
        if self.coordinator is None and (self.processes is not None or self.process_id is not None):
            raise ForesightError("`processes` and `process_id` go with `coordinator`, HOST:PORT, which is missing")
        if self.coordinator is not None and not is_address(self.coordinator):
            raise ForesightError(f"`coordinator` must be HOST:PORT or `auto`, not '{printable(self.coordinator, 100)}'")
        if self.processes is not None and (self.process_id or 0) >= self.processes:
            raise ForesightError(
                f"`process_id` must be below `processes`, {self.processes}: they count from 0, not {self.process_id}"
            )
        if self.coordinator is not None and self.devices:
            raise ForesightError("`devices` chooses among one machine's devices; with `coordinator` all are used")


def is_address(coordinator: str) -> bool:
    """Whether a text is HOST:PORT, or asks the cluster."""
    host, _, port = coordinator.rpartition(":")
    return coordinator == DETECT or (bool(host) and bool(re.fullmatch("[0-9]{1,5}", port)) and 0 < int(port) < 65_536)
