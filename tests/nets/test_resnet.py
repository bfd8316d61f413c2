"""The residual networks."""

import jax
import numpy as np
import pytest

from foresight.runs.architectures import paper_network
from tests.nets import reference_drc
from tests.nets.reference_layers import convolved
from tests.nets.small import count, pictures, shapes, small


def slow_features(net, picture: np.ndarray) -> np.ndarray:
    def conv(layer, x):
        return convolved(x, np.asarray(layer.weight, float), layer.stride) + np.asarray(layer.bias, float)

    x = picture / 255 - 0.5
    for section in net.sections:
        x = conv(section.lead, x)
        for block in section.blocks:
            y = x
            for layer in block.layers:
                y = conv(layer, np.maximum(y, 0))
            x = x + y
        x = np.maximum(x, 0)
    return x


@pytest.mark.parametrize(("domain", "picture"), [("boxworld", (4, 4, 3)), ("sokoban", (16, 8, 3))])
def test_every_block_adds_to_what_passes_by(domain, picture):
    net = small("resnet", domain=domain, picture=picture, features=2, hidden=8)
    frame = pictures(picture=picture)
    logits, _, _ = jax.jit(type(net).__call__)(net, (), frame)
    expected, _ = reference_drc.head(net, slow_features(net, np.asarray(frame)))
    np.testing.assert_allclose(logits, expected, rtol=1e-4, atol=1e-4)


def test_sokobans_sections_are_those_of_the_text_unless_the_counted_ones_are_asked_for():
    described = shapes("resnet", "sokoban", (80, 80, 3), 5)
    assert [len(section.blocks) for section in described.sections] == [2] * 9
    assert count(described) == 3_171_590
    assert count(shapes("resnet", "sokoban", (80, 80, 3), 5, **paper_network("resnet", "minipacman"))) == 52_584_982


def test_widths_scale_in_proportion():
    net = shapes("resnet", features=8)
    assert [section.lead.weight.shape[-1] for section in net.sections] == [2, 4, 8]
