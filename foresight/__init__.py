"""Foresight: agents that learn to plan without a model."""

import sys

__version__ = "0.1.0"

if "gymnasium" in sys.modules:  # then its ids are wanted; without it, importing this package stays instant
    from foresight.envs.gym_ids import register_all

    register_all()
