"""Foresight: agents that learn to plan without a model."""

__version__ = "0.1.0"
