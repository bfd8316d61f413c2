"""The paper's numbers, as facts with their source, and those of others that its figures show for reference."""

from typing import NamedTuple

TEXT = "the text of Guez et al. 2019"
FIGURE_4 = "Figure 4 of Guez et al. 2019, read off its vector graphics (AlignmentResearch/learned-planner)"
APEX = "Horgan et al. 2018, no-op starts"
ATARI_BASE = "random and human: after Wang et al. 2016, not checked but for the human score of Asteroids"


class Known(NamedTuple):
    """One number of the paper."""

    series: str
    x: float | str
    value: float


def known(table: dict[str, dict[float | str, float]]) -> tuple[Known, ...]:
    """Numbers by series and place."""
    return tuple(Known(series, x, value) for series, values in table.items() for x, value in values.items())


STEPS = (2e7, 5e7, 1e8, 2e8, 5e8, 1e9)
CURVES = {  # % of unfiltered test levels solved
    "DRC(3,3)": (79.9, 93.0, 96.0, 97.4, 98.5, 98.7),
    "DRC(2,2)": (68.4, 88.8, 92.6, 95.0, 96.9, 98.4),
    "DRC(1,1)": (5.8, 27.3, 62.1, 78.2, 87.6, 91.5),
    "DRC(9,1)": (44.2, 89.0, 95.8, 97.1, 98.5, 99.1),
    "DRC(1,9)": (52.3, 79.4, 89.4, 93.1, 95.9, 96.9),
    "ResNet": (16.3, 49.9, 71.1, 83.7, 92.9, 95.7),
    "LSTM(3,3)": (5.1, 15.4, 31.8, 51.5, 67.4, 74.0),
    "LSTM(1,1)": (4.7, 13.6, 33.1, 48.5, 64.6, 71.5),
}


def curves(*labels: str) -> tuple[Known, ...]:
    """The curves of Figure 4 by their labels."""
    return known({label: dict(zip(STEPS, CURVES[label], strict=True)) for label in labels})


GRIDWORLD = {
    "DRC(3,3)": {1e6: 30.0, 1e7: 99.0},
    "VIN": {1e6: 80.0, 1e7: 97.0},
    "CNN": {1e6: 3.0, 1e7: 90.0},
}
SOKOBAN = {
    "DRC(3,3)": {2e7: 80.0, 1e9: 99.0},
    "ResNet": {2e7: 14.0, 1e9: 96.0},
    "CNN": {2e7: 25.0, 1e9: 92.0},
    "I2A": {2e7: 21.0, 1e9: 84.0},
    "LSTM(3,3)": {2e7: 5.0, 1e9: 74.0},
    "ATreeC": {2e7: 1.0, 1e9: 57.0},
    "VIN": {2e7: 12.0, 1e9: 56.0},
}
GAMES = {  # name of the emulator: ApeX, human, random
    "alien": (40_804.9, 7_127.7, 227.8),
    "asteroids": (155_495.1, 47_388.7, 719.1),
    "breakout": (800.9, 30.5, 1.7),
    "mspacman": (11_255.2, 6_951.6, 307.3),
    "upndown": (401_884.3, 11_693.2, 533.4),
}
