from dataclasses import replace

import numpy as np
import pytest

from foresight.errors import ForesightError
from foresight.insight.labels import C_A, DOWN, LEFT, RIGHT, UP, label
from foresight.insight.plans import (
    AGENT_COLOUR,
    BOX_COLOUR,
    Plan,
    arrow_mask,
    draw_plan,
    format_plan,
    plan_at,
    plan_probes,
    read_plans,
)
from foresight.insight.probes import FitSettings, Probe, fit
from foresight.insight.samples import samples_of
from foresight.insight.ticks import score_by_tick
from foresight.render.draw import draw
from foresight.render.palette import SOKOBAN
from tests.drawings import level
from tests.insight.made import knowing, telling_units, wandering

BOARD = level("#####", "#@$.#", "#####")


def plan_of(agent: dict, box: dict | None) -> Plan:
    maps = []
    for squares in (agent, box):
        classes = None if squares is None else np.zeros(BOARD.shape, np.uint8)
        for place, kind in (squares or {}).items():
            classes[place] = kind
        maps.append(classes)
    return Plan(*maps)


def test_a_plan_is_written_beside_what_stands_on_each_square():
    text = format_plan(SOKOBAN, BOARD, plan_of({(1, 2): RIGHT, (1, 1): LEFT}, {(1, 2): RIGHT}))
    assert text.split("\n")[1] == "# @←$⇒. # "
    assert format_plan(SOKOBAN, BOARD, plan_of({(1, 2): UP}, None)).split("\n")[1] == "# @ $↑. # "


def test_a_picture_shows_arrows_where_the_plan_has_directions_and_nothing_else():
    picture = draw_plan(SOKOBAN, BOARD, plan_of({(1, 1): DOWN}, {(1, 2): RIGHT}), 16)
    plain = draw(SOKOBAN, BOARD, 16)
    changed = np.any(picture != plain, axis=-1)
    assert np.all(picture[16:32, 16:32][arrow_mask(DOWN, 16)] == AGENT_COLOUR)
    assert np.all(picture[16:32, 32:48][arrow_mask(RIGHT, 16)] == BOX_COLOUR)
    changed[16:32, 16:48] = False
    assert not changed.any()


@pytest.mark.parametrize(
    ("kind", "down", "right"), [(UP, -1, 0), (DOWN, 1, 0), (LEFT, 0, -1), (RIGHT, 0, 1), (5, -1, 1), (8, 1, -1)]
)
def test_an_arrow_is_heavier_where_it_points(kind, down, right):
    mask = arrow_mask(kind, 24)
    rows, columns = np.nonzero(mask)
    assert np.sign(round(rows.mean() - 11.5)) == down
    assert np.sign(round(columns.mean() - 11.5)) == right


def knowing_probe(episodes):
    samples = samples_of("sokoban", episodes, [C_A])
    settings = FitSettings(epochs=40, batch=8, learning_rate=0.1)
    return replace(fit(samples.inputs[:, 1], samples.labels["C_A"], settings=settings), layer=1)


def test_plans_are_read_at_every_step_and_tick_at_the_probes_layer():
    episodes = [knowing(wandering(seed), noise=0.05) for seed in range(8)]
    probes = plan_probes([knowing_probe(episodes)])
    assert (probes.keep.names, probes.keep.depths) == (("c",), (1,))
    one = replace(episodes[0], activations={"c": episodes[0].activations["c"][:, :, 1:]})
    plans = read_plans(probes, one)
    assert plans.agent.shape == (12, 1, 6, 6)
    assert plans.box is None
    truth = label("sokoban", one.observations, C_A)
    assert np.mean(plan_at(plans, 3).agent == truth[3]) > 0.95


def test_the_plan_of_an_lstm_is_read_off_its_units():
    episodes = [telling_units(wandering(seed)) for seed in range(3)]
    units = np.eye(180, dtype=np.float32).reshape(1, 1, 180, 6, 6, 5)  # one for each class of each square
    plans = read_plans(plan_probes([Probe(units)]), episodes[0])
    np.testing.assert_array_equal(plans.agent[:, 0], label("sokoban", episodes[0].observations, C_A))


def test_the_score_rises_over_ticks_where_the_plan_grows_clearer():
    episodes = [knowing(wandering(seed), noise=0.05) for seed in range(8)]
    probe = knowing_probe(episodes)
    grown = []
    for episode in episodes:  # three ticks: nothing, half of the squares, everything
        state = np.repeat(episode.activations["c"], 3, axis=1)
        state[:, 0] = 0
        state[:, 1, :, ::2] = 0
        grown.append(replace(episode, activations={"c": state}))
    scores = [s.macro_f1 for s in score_by_tick("sokoban", probe, grown, 2)]
    assert len(scores) == 6
    assert scores[0] < scores[1] < scores[2]
    assert scores[2] > 0.9


def test_a_plan_needs_probes():
    with pytest.raises(ForesightError, match="no probe to read a plan with"):
        plan_probes([])
    top = [Probe(np.zeros((k, k, 2, 1, 1, 5)), "C_A", "c", d) for k in (1, 3) for d in (0, 1)]
    assert (plan_probes(top).agent.layer, plan_probes(top).agent.kernel, plan_probes(top, 1).agent.kernel) == (1, 3, 1)
