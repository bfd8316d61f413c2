"""Networks: memory and a picture in; logits, value and memory out."""

import inspect
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from jax import Array

from foresight.errors import ForesightError
from foresight.nets.atreec import ATreeC
from foresight.nets.base import Net
from foresight.nets.cnn import CNN
from foresight.nets.drc import DRC
from foresight.nets.i2a import I2A
from foresight.nets.lstm import LSTM
from foresight.nets.resnet import ResNet
from foresight.nets.vin import VIN

KINDS: dict[str, type[Net]] = {
    "drc": DRC,
    "lstm": LSTM,
    "cnn": CNN,
    "resnet": ResNet,
    "vin": VIN,
    "atreec": ATreeC,
    "i2a": I2A,
}


def make(
    kind: str, domain: str, picture_shape: tuple[int, int, int], actions: int, key: Array, **settings: object
) -> Net:
    """The network `kind` for pictures of this shape; `settings` are its constructor's keyword arguments."""
    if kind not in KINDS:
        raise ForesightError(f"no network is called '{kind}'; there are: {', '.join(KINDS)}")
    known = settings_of(kind)
    unknown = [name for name in settings if name not in known]
    if unknown:
        raise ForesightError(f"'{kind}' has no setting '{unknown[0]}'; there are: {', '.join(known)}")
    hints = get_type_hints(KINDS[kind].__init__)
    for name, value in settings.items():
        if not fits(hints[name], value):
            raise ForesightError(f"the setting '{name}' of '{kind}' is {value!r}; expected {printed(hints[name])}")
    return KINDS[kind](domain, picture_shape, actions, key, **settings)


def fits(hint: Any, value: object) -> bool:
    """Whether a value may be given where a constructor has this type hint."""
    if isinstance(hint, UnionType):
        return any(fits(part, value) for part in get_args(hint))
    if get_origin(hint) is tuple:
        return isinstance(value, tuple) and all(fits(get_args(hint)[0], each) for each in value)
    allowed = (int, float) if hint is float else hint
    return isinstance(value, allowed) and (hint is bool or not isinstance(value, bool))


def printed(hint: Any) -> str:
    """A type hint in short."""
    return getattr(hint, "__name__", str(hint)) if not get_args(hint) else str(hint)


def settings_of(kind: str) -> dict[str, object]:
    """The settings of a network and their defaults."""
    parameters = inspect.signature(KINDS[kind].__init__).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY}
