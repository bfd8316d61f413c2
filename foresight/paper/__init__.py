"""Every table and figure of the paper: one file each, which says what it is made of and what to compare."""

from importlib import import_module

from foresight.errors import unknown
from foresight.paper.study import Study

MODULES = {
    "T1": "table_gridworld",
    "T2": "table_sokoban",
    "T3": "table_difficulty",
    "T4": "table_overlaps",
    "T5": "table_parameters",
    "F-config": "figure_config",
    "F-arch": "figure_arch",
    "F-rivals-sokoban": "figure_rivals_sokoban",
    "F-rivals-gridworld": "figure_rivals_gridworld",
    "F-trainsize": "figure_trainsize",
    "F-trainsize-bars": "figure_trainsize_bars",
    "F-gap": "figure_gap",
    "F-boxes": "figure_boxes",
    "F-think": "figure_think",
    "F-medium": "figure_medium",
    "F-hard": "figure_hard",
    "F-boxworld": "figure_boxworld",
    "F-boxworld-trainsize": "figure_boxworld_trainsize",
    "F-minipacman": "figure_minipacman",
    "F-atari": "figure_atari",
    "F-memory": "figure_memory",
    "F-ablations": "figure_ablations",
    "F-imitation": "figure_imitation",
    "F-levels": "figure_levels",
    "F-domains": "figure_domains",
}


def study(name: str) -> Study:
    """The table or figure with this id."""
    if name not in MODULES:
        raise unknown("table or figure", name, MODULES)
    return import_module(f"foresight.paper.{MODULES[name]}").STUDY


def studies() -> list[Study]:
    """All of them, in the order of the paper's text."""
    return [study(name) for name in MODULES]
