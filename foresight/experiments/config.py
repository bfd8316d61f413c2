"""What defines a run: frozen records whose fields are the flags of `foresight train`."""

import dataclasses
import inspect
import json
import types
import typing
from dataclasses import dataclass, field
from typing import Any, Literal

from foresight.errors import ForesightError
from foresight.learning.settings import LearnSettings

Domain = Literal["sokoban", "boxworld", "minipacman", "gridworld"]
Kind = Literal["drc", "lstm", "cnn", "resnet", "vin", "atreec", "i2a"]


@dataclass(frozen=True)
class EnvSettings:
    """The domain as it is trained on."""

    levels: str = "builtin/train"
    """the set of levels to train on (sokoban)"""
    caps: tuple[int, int] = (30, 120)
    """each training episode draws its step cap from this range; evaluation has its own"""
    env: tuple[str, ...] = ()
    """further settings of the domain as NAME=VALUE, such as view=pixels or size=16"""


@dataclass(frozen=True)
class NetSettings:
    """The network. What is left out keeps the network's own default."""

    net: Kind = "drc"
    """which architecture"""
    depth: int | None = None
    """D: modules of a DRC or LSTM, iterations of a VIN, depth of ATreeC's tree"""
    ticks: int | None = None
    """N: passes through the stack of a DRC or LSTM in every time-step"""
    features: int | None = None
    """channels of a DRC's memory, or of the last convolution of the others"""
    dtype: Literal["float32", "bfloat16"] = "float32"
    """of convolutions and matrix products; parameters, cells, heads and loss are float32 always"""
    net_set: tuple[str, ...] = ()
    """further settings of the network as NAME=VALUE, such as memory=GatedConvRNN or top_down=false"""

    def keywords(self) -> dict[str, Any]:
        """Keyword arguments of `foresight.nets.make`."""
        named = {"depth": self.depth, "ticks": self.ticks, "features": self.features, "dtype": self.dtype}
        return {name: value for name, value in named.items() if value is not None} | assignments(
            self.net_set, "net-set"
        )


@dataclass(frozen=True)
class RunConfig:
    """Everything that a run's result depends on."""

    domain: Domain = "sokoban"
    steps: float = 2e7
    """environment steps in all, of each seed"""
    seed: int = 0
    """the first seed"""
    seeds: int = 1
    """how many independent agents to train in one program"""
    chunk: int = 20
    """rounds between two looks by the host: records are written and checkpoints may be"""
    env: EnvSettings = field(default_factory=EnvSettings)
    net: NetSettings = field(default_factory=NetSettings)
    learn: LearnSettings = field(default_factory=LearnSettings)

    @property
    def rounds(self) -> int:
        """How many rounds of play and learning the steps come to, in whole chunks."""
        chunks = -(-self.steps // (self.learn.frames_per_round * self.chunk))
        return int(chunks) * self.chunk

    @property
    def schedule(self) -> LearnSettings:
        """The learning settings with the length of the run filled in."""
        return dataclasses.replace(self.learn, anneal_steps=self.learn.anneal_steps or float(self.steps))

    def as_json(self) -> dict[str, Any]:
        """Plain values, as the run folder stores them."""
        return json.loads(json.dumps(dataclasses.asdict(self)))


def from_json(record: type, values: dict[str, Any], where: str = "config") -> Any:
    """A frozen record from plain values; names that the record does not know are refused."""
    hints = typing.get_type_hints(record)
    unknown = sorted(set(values) - set(hints))
    if unknown:
        raise ForesightError(f"{where} has '{unknown[0]}', which this version of foresight does not know")
    return record(**{name: restored(hints[name], value, f"{where}.{name}") for name, value in values.items()})


def restored(hint: Any, value: Any, where: str) -> Any:
    """A value of a field, with tuples and records as they were."""
    if dataclasses.is_dataclass(hint):
        return from_json(hint, value, where)
    if typing.get_origin(hint) is tuple:
        return tuple(value)
    allowed = allowed_types(hint)
    if allowed and not isinstance(value, allowed):
        raise ForesightError(f"{where} is {value!r}; expected {' or '.join(t.__name__ for t in allowed)}")
    return value


def allowed_types(hint: Any) -> tuple[type, ...]:
    """The classes that a plain value may have for a type hint; none for a Literal, which its user checks."""
    if isinstance(hint, types.UnionType):
        return sum((allowed_types(part) for part in typing.get_args(hint)), ())
    if hint is float:
        return (float, int)
    return (hint,) if inspect.isclass(hint) else ()


def assignments(pairs: tuple[str, ...], flag: str) -> dict[str, Any]:
    """NAME=VALUE pairs: VALUE is read as JSON where it is, otherwise it is a word; lists become tuples."""
    values = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise ForesightError(f"--{flag} {pair}: expected NAME=VALUE")
        try:
            value = json.loads(text)
        except ValueError:
            value = text
        values[name.replace("-", "_")] = tuple(value) if isinstance(value, list) else value
    return values
