"""Settings of a network come from command lines and files: what makes no network is rejected, nothing else happens."""

from functools import cache

import pytest

from foresight.errors import ForesightError
from foresight.nets import KINDS, settings_of
from foresight.runs.build import build_env, net_shape
from foresight.runs.config import EnvSettings, NetSettings, RunConfig

ENV = EnvSettings(levels="builtin/mini-train", env=("view=planes",))
# Nothing that a network has is any of these. (Zero blocks or steps may be.)
STRANGE = ("[[]]", '{"a": 1}', "\x1b", "NaN", "Infinity", "[-1]", "-1", "[[0, 0, 0]]", "[[1, 2], [3]]", f"1{40 * '0'}")


@cache
def env():
    return build_env(RunConfig(env=ENV))


def shape(kind, *pairs):
    return net_shape(RunConfig(env=ENV, net=NetSettings(net=kind, net_set=pairs)), env())


@pytest.mark.parametrize("kind", KINDS)
def test_what_cannot_be_a_setting_of_a_network_is_rejected(kind):
    for name in settings_of(kind):
        for value in STRANGE:
            with pytest.raises(ForesightError):
                shape(kind, f"{name}={value}")


@pytest.mark.parametrize(
    ("kind", "pair", "message"),
    [
        ("drc", "encoder=[[8]]", r"encoder is \(\[8\],\); expected a list of 3: channels, kernels, strides"),
        ("drc", "encoder=[[8],[3],[1,1]]", "no stack of convolutions: expected as many channels as kernels and"),
        ("cnn", "plan=[[8],[3],[0]]", "no stack of convolutions.*each at least 1"),
        ("lstm", "encoder=[[0],[3],[1]]", "no stack of convolutions"),
        ("resnet", "sections=[[4]]", r"sections\[0\] is \[4\]; expected a list of 2 to 6: channels, kernel, stride"),
        ("resnet", "sections=[[0,3]]", "channels is 0; a section of ResNet needs at least 1"),
        ("resnet", "sections=[[4,3,1,-1]]", "blocks is -1; a section of ResNet needs at least 0"),
        ("resnet", "sections=[]", "sections is 0; ResNet needs at least 1"),
        ("i2a", "steps=1000000000", "`steps` of the network must be at most 65536"),
    ],
)
def test_what_is_wrong_with_a_plan_is_said(kind, pair, message):
    with pytest.raises(ForesightError, match=message):
        shape(kind, pair)
