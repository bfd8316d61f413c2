"""A page with one tiny agent on boards of 6x6, with random weights and random probes: it plays badly, and at once."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import jax
import numpy as np

from foresight.envs import make as make_env
from foresight.envs.sokoban.rules import Sokoban
from foresight.insight.probes import Probe
from foresight.nets import make
from foresight.runs.agents import Agent
from foresight.runs.config import EnvSettings, RunConfig
from foresight.web.library import Library, Mind
from foresight.web.offers import Offer, offers_of
from foresight.web.pages import Pages
from tests.drawings import level, level_set

LEVELS = level_set(level("######", "#@$ .#", "#    #", "#    #", "#    #", "######"))
SIZES = {"depth": 2, "ticks": 2, "features": 4, "hidden": 8}


def tiny_mind() -> Mind:
    env = Sokoban.make(LEVELS, view="planes")
    net = make("drc", env.picture_shape, env.actions, jax.random.key(0), **SIZES)
    chance = np.random.default_rng(0)
    probes = [
        Probe(chance.standard_normal((kernel, kernel, 4, 1, 1, 5)).astype(np.float32), concept, "c", layer, 1)
        for concept in ("C_A", "C_B")
        for layer in (0, 1)
        for kernel in (1, 3)
    ]
    return Mind("tiny", Agent(net, env, RunConfig(), 0, 0, 0, Path("tiny")), tuple(probes))


def tiny_minipacman() -> Mind:
    env = make_env("minipacman")
    net = make("drc", env.picture_shape, env.actions, jax.random.key(0), **SIZES)
    config = RunConfig(domain="minipacman", env=EnvSettings(max_episode_steps=env.max_episode_steps))
    return Mind("pacman", Agent(net, env, config, 0, 0, 0, Path("pacman")))


@dataclass(frozen=True)
class TinyLibrary(Library):
    agent: Mind | None = None

    @cached_property
    def offers(self) -> dict[str, Offer]:
        return offers_of(()) | {"tiny": Offer("tiny", "tiny")}

    @property
    def first(self) -> str:
        return "tiny"

    def mind(self, name: str) -> Mind:
        return self.agent if name == "tiny" else super().mind(name)


def tiny_pages() -> Pages:
    return Pages(TinyLibrary(agent=tiny_mind()))
