"""Appendix: DRC(3,3) against VIN and CNN on Gridworld: the runs of Table 1 as learning curves."""

from dataclasses import replace

from foresight.paper.table_gridworld import STUDY as TABLE

STUDY = replace(
    TABLE,
    id="F-rivals-gridworld",
    kind="figure",
    title="DRC(3,3) against VIN and CNN on Gridworld",
    compare="VIN starts first, DRC(3,3) overtakes it within 1e7 steps.",
    drawing="lines",
)
