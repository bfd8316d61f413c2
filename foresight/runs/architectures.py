"""The networks of the paper's appendix: for each domain, the keyword arguments that its networks are built with.

A network that is not listed for a domain, or a domain that is not listed at all, has the network's own defaults, which
follow from the picture's shape. What a run sets itself goes before all of this.
"""

from typing import Any, Protocol

from foresight.nets.encoders import Plan
from foresight.nets.resnet import SectionPlan

# Pictures [H, W, C] and numbers of actions of the paper's five domains.
PICTURES = {
    "sokoban": ((80, 80, 3), 5),
    "boxworld": ((14, 14, 3), 4),
    "minipacman": ((15, 19, 3), 5),
    "gridworld": ((32, 32, 1), 8),
    "atari": ((210, 160, 3), 18),
}

# The appendix's section "Network parameters": channels, kernels and strides.
ENCODERS = {
    "sokoban": Plan((32, 32), (8, 4), (4, 2)),
    "sokoban-cells": Plan((32, 32), (3, 3), (1, 1)),  # not the paper's: for views with one pixel or plane entry a cell
    "boxworld": Plan((32, 32), (3, 2), (1, 1)),
    "minipacman": Plan((32, 32), (3, 3), (1, 1)),
    "gridworld": Plan((64, 64, 32), (3, 3, 2), (1, 1, 2)),
    "atari": Plan((16, 32, 64, 128, 64, 32), (8, 4, 4, 3, 3, 3), (4, 2, 2, 1, 1, 1)),
}
CNNS = {
    "sokoban": Plan((32, 32, *(64,) * 7), (8, *(4,) * 8), (4, 2, *(1,) * 7)),
    "sokoban-cells": Plan((32, 32, *(64,) * 7), (3,) * 9, (1,) * 9),  # not the paper's
    "gridworld": Plan((*(128,) * 7, 64), (3,) * 8, (1, 1, 2, *(1,) * 5)),
}
RESNETS = {
    # The nine sections of the text. The parameter table counts another network: MiniPacman's, on the full picture.
    "sokoban": tuple(
        SectionPlan(channels, kernel, stride, blocks=2, block_kernel=kernel)
        for channels, kernel, stride in zip((32, 32, *(64,) * 7), (8, *(4,) * 8), (4, 2, *(1,) * 7), strict=True)
    ),
    "sokoban-cells": tuple(SectionPlan(channels, 3, blocks=2) for channels in (32, 32, *(64,) * 7)),  # not the paper's
    "boxworld": (SectionPlan(16, 2), SectionPlan(32, 2), SectionPlan(64, 2, blocks=8, convolutions=2)),
    "minipacman": (SectionPlan(16, 2), SectionPlan(32, 2), SectionPlan(32, 2, blocks=8, convolutions=2)),
}
# Pixels that one position of I2A's board is wide: Sokoban's sprites, the stride of Gridworld's encoder, and what
# divides Atari's screen.
CELLS = {"sokoban": 8, "sokoban-cells": 1, "boxworld": 1, "minipacman": 1, "gridworld": 2, "atari": 10}
# Gridworld's picture is the board itself. Sizes are those with which VIN has the paper's parameter counts, and as many
# iterations as the VIN paper has for boards of about this size.
PLAIN_VIN = {"encoded": False, "depth": 36, "abstract_actions": 8, "kernels": (3, 3)}

Settings = dict[str, Any]  # keyword arguments of a network
ENCODED: dict[str, Settings] = {domain: {"encoder": plan} for domain, plan in ENCODERS.items()}

ARCHITECTURES: dict[str, dict[str, Settings]] = {  # by network and domain
    "drc": ENCODED,
    "lstm": ENCODED | {"atari": {"encoder": ENCODERS["atari"], "compressed": False}},
    "atreec": ENCODED,
    "vin": ENCODED | {"gridworld": PLAIN_VIN},
    "cnn": {domain: {"plan": plan} for domain, plan in CNNS.items()},
    "resnet": {domain: {"sections": sections} for domain, sections in RESNETS.items()},
    "i2a": {domain: {"cell": cell} for domain, cell in CELLS.items()},
}


class Named(Protocol):
    """What an environment is looked up by."""

    name: str


def architecture(net: str, env: Named) -> Settings:
    """The keyword arguments with which the paper's appendix builds a network for an environment; none for others."""
    return ARCHITECTURES.get(net, {}).get(domain_of(env), {})


def domain_of(env: Named) -> str:
    """The environment as the tables here call it; Sokoban seen otherwise than by sprites is one of its own."""
    domain = env.name.partition("/")[0]
    return "sokoban-cells" if domain == "sokoban" and env.view != "sprites" else domain


def paper_network(net: str, domain: str) -> Settings:
    """The keyword arguments of a network for one of the domains by its name."""
    return ARCHITECTURES[net].get(domain, {})
