"""Networks: memory and a picture in; logits, value and memory out. `make` builds one by its name, path or class."""

import inspect
from typing import TYPE_CHECKING

from foresight.errors import ForesightError
from foresight.limits import check_sizes
from foresight.plugins import resolve, short_name

if TYPE_CHECKING:
    from jax import Array

    from foresight.nets.net import Net

KINDS = {
    "drc": "foresight.nets.drc.drc:DRC",
    "lstm": "foresight.nets.lstm:LSTM",
    "cnn": "foresight.nets.cnn:CNN",
    "resnet": "foresight.nets.resnet:ResNet",
    "vin": "foresight.nets.vin:VIN",
    "atreec": "foresight.nets.atreec:ATreeC",
    "i2a": "foresight.nets.i2a.i2a:I2A",
}
GIVEN = 4  # parameters that are no settings: self, the picture's shape, how many actions there are, a key


def make(
    net: "str | type[Net]", picture_shape: tuple[int, int, int], actions: int, key: "Array", **settings: object
) -> "Net":
    """The network `net` for pictures of this shape; `settings` are its constructor's keyword arguments.

    >>> import jax
    >>> net = make("drc", (10, 10, 7), 5, jax.random.key(0), depth=1, ticks=1, features=4, hidden=8)
    >>> net.initial_memory().cell.shape
    (1, 10, 10, 4)
    """
    build, known = net_class(net), settings_of(net)
    unknown = [name for name in settings if name not in known]
    if unknown:
        name = short_name(net) if isinstance(net, str) else build.__name__
        raise ForesightError(f"'{name}' has no setting '{unknown[0]}'; there are: {', '.join(known) or 'none'}")
    check_sizes("the network", settings)
    return build(picture_shape, actions, key, **settings)


def net_class(net: "str | type[Net]") -> "type[Net]":
    """The class of a network: a name of `KINDS`, a path "package.module:Name", or the class itself."""
    from foresight.nets.net import Net

    return resolve(net, KINDS, "network", Net)


def settings_of(net: "str | type[Net]") -> dict[str, object]:
    """The settings of a network and their defaults."""
    parameters = list(inspect.signature(net_class(net).__init__).parameters.values())[GIVEN:]
    return {p.name: p.default for p in parameters if p.kind is not inspect.Parameter.VAR_KEYWORD}
