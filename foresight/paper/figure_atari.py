"""Appendix: five Atari games, DRC and LSTM beside ApeX, human and random play."""

from foresight.paper.agents import elsewhere
from foresight.paper.measures import cell, last_mean
from foresight.paper.numbers import APEX, ATARI_BASE, GAMES, Known
from foresight.paper.study import Cell, Results, Study

NETS = {"DRC(3,3)": ("drc", 3), "DRC(1,1)": ("drc", 1), "LSTM(3,3)": ("lstm", 3), "LSTM(1,1)": ("lstm", 1)}
REFERENCES = ("ApeX", "human", "random")


def measure(study: Study, results: Results) -> list[Cell]:
    """The score of each network in each game, and the reference scores."""
    cells = []
    for spec in study.runs:
        network, _, game = spec.label.rpartition(", ")
        cells.append(cell(network, game, last_mean(results[spec.label], None)))
    return cells + [Cell(each.series, each.x, paper=each.value) for each in study.paper]


STUDY = Study(
    id="F-atari",
    kind="figure",
    title="Five Atari games, mean score",
    compare="The paper's DRC is the best known on three of the five games, and above 75,000 in Ms. Pacman with longer "
    "training.",
    measure=measure,
    drawing="bars",
    runs=tuple(
        elsewhere("atari", f"{label}, {game}", net, side, side, env=(f"game={game}",))
        for game in GAMES
        for label, (net, side) in NETS.items()
    ),
    paper=tuple(
        Known(name, game, score)
        for game, scores in GAMES.items()
        for name, score in zip(REFERENCES, scores, strict=True)
    ),
    source=f"ApeX: {APEX}; {ATARI_BASE}",
    steps=1e7,
    seeds=1,
    paper_steps=1e9,
    x_label="",
    y_label="score",
)
