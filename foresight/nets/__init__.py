"""Networks: memory and a picture in; logits, value and memory out."""

import inspect

from jax import Array

from foresight.errors import ForesightError
from foresight.nets.atreec import ATreeC
from foresight.nets.cnn import CNN
from foresight.nets.drc.drc import DRC
from foresight.nets.i2a.i2a import I2A
from foresight.nets.lstm import LSTM
from foresight.nets.net import Net
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
    return KINDS[kind](domain, picture_shape, actions, key, **settings)


def settings_of(kind: str) -> dict[str, object]:
    """The settings of a network and their defaults."""
    parameters = inspect.signature(KINDS[kind].__init__).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY}
