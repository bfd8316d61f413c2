from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from foresight.envs.minipacman import rules as minipacman
from foresight.errors import ForesightError
from foresight.insight import report
from foresight.insight.labels import C_A
from foresight.insight.probes import FitSettings, Probe
from foresight.insight.records import Keep, Player
from foresight.levels.cells import BOX, FLOOR, PLAYER
from tests.insight.nets import small_env, small_lstm, small_player
from tests.insight.test_channels import telling
from tests.insight.test_pacing import along


def test_routes_are_tried_at_every_layer_and_strength_beside_random_vectors(monkeypatch):
    tried = []

    def play_routes(agent, levels, edits, batch, on_progress):
        tried.append((len(levels), [edit.depths for edit in edits[0]], float(np.linalg.norm(edits[0][0].value[0]))))
        return [on_the_way(level, number % 2 == 0) for number, level in enumerate(levels)]

    monkeypatch.setattr(report, "play_routes", play_routes)
    weights = np.random.default_rng(0).standard_normal((1, 1, 2, 1, 1, 5))
    probes = [Probe(weights[:k, :k], c, "c", d) for c in ("C_A", "C_B") for k in (1,) for d in (0, 1)]
    rows = list(report.route_rows(None, probes, report.route_levels(2, 3), (1.0, 2.0), 2))
    assert len(rows) == 2 * (1 + 2 * 2 * 2)
    assert [size for size, *_ in tried[:3]] == [6, 18, 18]
    assert [depths for _, depths, _ in tried[1:5]] == [[[0]], [[1]], [[0]], [[1]]]
    assert tried[3][2] == pytest.approx(2 * tried[1][2])
    none, probe, random = rows[:3]
    assert (none["vectors"], none["strength"], none["episodes"], none["percent"]) == ("none", 0.0, 6, 50.0)
    assert (probe["vectors"], probe["episodes"], probe["long_way"]) == ("probe", 6, 3)
    assert (random["vectors"], random["episodes"], random["long_way"]) == ("random", 12, 6)
    assert (rows[-1]["mover"], rows[-1]["layer"], rows[-1]["vectors"]) == ("box", 2, "random")
    together = list(report.route_rows(None, probes, report.route_levels(2, 3, skip=1), (1.0,), 1, together=True))
    assert tried[-1][1] == [[0], [1]]
    assert [row["layer"] for row in together] == [1, "1+2", "1+2"] * 2


def test_levels_that_something_was_chosen_on_are_left_out():
    both, rest = report.route_levels(5, 2), report.route_levels(3, 2, skip=2)
    for mover in ("agent", "box"):
        assert len(rest[mover]) == 6
    for ours, theirs in zip(both["agent"][4:], rest["agent"], strict=True):
        np.testing.assert_array_equal(ours.cells, theirs.cells)


def on_the_way(level, long):
    """An episode in which the mover goes the long or the short way."""
    code = {"agent": PLAYER, "box": BOX}[level.mover]
    boards = []
    for square in (level.start, *(level.long if long else level.short)):
        boards.append(np.where(level.cells == code, FLOOR, level.cells))
        boards[-1][square] = code
    return replace(telling(0), observations=np.stack(boards), solved=True)


def test_the_rise_over_ticks_is_that_from_the_first_to_the_last(monkeypatch):
    player = small_player()
    episodes = report.play(player, np.arange(3), think=2, keep=Keep(("c",), steps=2), max_steps=4, batch=4)
    probe = Probe(np.random.default_rng(0).standard_normal((1, 1, 4, 1, 1, 5)).astype(np.float32), "C_A", "c", 1, 1)
    *scores, last = report.ticks_of("sokoban", probe, episodes, 2)
    assert [row["tick"] for row in scores] == [1, 2, 3, 4]
    assert last["rise"] == pytest.approx(scores[-1]["macro_f1"] - scores[0]["macro_f1"], abs=1e-4)
    assert last["ci95"][0] <= last["rise"] <= last["ci95"][1]


def test_training_gives_scores_and_rises_for_every_agent_of_a_series_and_a_random_network_beside():
    series = [(steps, small_player()) for steps in (10, 20)]
    asked = report.TrainingStudy(np.arange(2), np.arange(2, 3), 1, report.Manner(2, 3), settings=FitSettings(epochs=1))
    rows = list(report.training_rows(series, asked, lambda agent: agent))
    assert [(row["steps"], row["concept"], row["layer"]) for row in rows] == [
        (steps, concept, layer) for steps in (10, 20) for concept in ("C_A", "C_B") for layer in (1, 2)
    ]
    assert rows[:4] == [row | {"steps": 10} for row in rows[4:]]
    assert all(row["ticks"] == 2 and -1 <= row["rise"] <= 1 for row in rows)
    assert all(abs(row["random"] - row["macro_f1"]) < 1e-3 for row in rows)  # the same network watched itself


def test_training_tries_ways_with_the_probes_of_each_agent(monkeypatch):
    tried = []
    monkeypatch.setattr(report, "route_rows", lambda agent, probes, *rest: tried.append(probes) or [{"mover": "agent"}])
    asked = report.TrainingStudy(np.arange(2), np.arange(2, 3), 1, report.Manner(2, 3), settings=FitSettings(epochs=1))
    *_, last = report.training_rows([(7, small_player())], asked, lambda agent: agent)
    assert last == {"steps": 7, "mover": "agent"}
    assert [(probe.concept, probe.layer) for probe in tried[0]] == [("C_A", 0), ("C_A", 1), ("C_B", 0), ("C_B", 1)]


def test_how_far_ahead_is_read_counts_squares_by_when_they_are_stepped_on():
    player = small_player()
    episodes = report.play(player, np.arange(3), keep=Keep(("c",), ticks=(-1,)), max_steps=12, batch=4)
    right = Probe(np.zeros((1, 1, 4, 1, 1, 5), np.float32), "C_A", "c", 0, 1)  # reads "never" everywhere
    rows = list(report.ahead_of("sokoban", right, episodes))
    assert [(row["from"], row["to"]) for row in rows] == [(1, 5), (6, 10), (11, 20), (21, 40), (41, None), (None, None)]
    stepped = sum(int((report.label("sokoban", e.observations, C_A)[:, 1:-1, 1:-1] > 0).sum()) for e in episodes)
    assert sum(row["squares"] for row in rows[:-1]) == stepped > 0
    assert [row["percent"] for row in rows if row["squares"]][-1] == 100.0
    assert all(row["percent"] == 0.0 for row in rows[:-1] if row["squares"])


def test_pacing_is_counted_without_thinking_and_with_it(monkeypatch):
    episodes = {0: [along(1, 2, 1), along(1, 2, 3)], 6: [along(1, 2, 3), along(1, 2, 3)]}
    monkeypatch.setattr(report, "play", lambda agent, levels, think, **more: episodes[think])
    without, with_thinking, by = report.pacing_rows(small_player(), np.arange(2), 6, report.Manner(2))
    assert (without["cycles"], with_thinking["cycles"], by["fall"]) == (1, 0, 1.0)


def test_how_many_episodes_and_probes_are_done_is_shown_meanwhile():
    shown = []

    @contextmanager
    def bar(what, total):
        counts = []
        yield counts.append
        shown.append((what, total, counts[-1]))

    manner = report.Manner(2, 3, bar)
    asked = report.TrainingStudy(np.arange(2), np.arange(2, 3), 1, manner, settings=FitSettings(epochs=1))
    for _ in report.training_rows([(10, small_player())], asked, lambda agent: agent):
        pass
    probes = ("probes", 4, 4)
    assert shown == [("episodes", 2, 2), ("episodes", 1, 1), probes, probes, ("episodes", 1, 1)]
    shown.clear()
    assert len(list(report.pacing_rows(small_player(), np.arange(3), 1, manner))) == 3
    assert shown == [("episodes", 3, 3)] * 2


def test_channels_are_named_and_what_is_solved_without_them_is_counted(monkeypatch):
    wiped = []

    def play(agent, levels, edits=None, **settings):
        wiped.append([(edit.depths, edit.channels) for edit in edits or ()])
        return [replace(telling(seed), solved=not edits) for seed in levels]

    monkeypatch.setattr(report, "play", play)
    rows = list(report.channel_rows(small_player(), np.arange(6), report.Manner(2)))
    assert [(row["follows"], row["direction"], row["layer"]) for row in rows[:2]] == [
        ("agent", "right", 1),
        ("action", "up", 1),
    ]
    both, noise = [([0], [0, 1])], [([0], [2])]
    assert wiped[:3] == [[], both, both]
    assert wiped[3:7] == [[([0], [1])]] * 2 + [[([0], [0])]] * 2  # those of the action, of the agent
    assert wiped[7:] == [noise] * 8
    summary = [(row["wiped_out"], row["operation"], row["channels"], row["solved"]) for row in rows[2:5]]
    assert summary == [("none", "none", 0, 6), ("all named", "mean", 2, 0), ("all named", "zero", 2, 0)]
    assert rows[2]["percent"] == 100
    assert rows[-1]["wiped_out"] == "all others"


def test_of_an_lstm_units_are_silenced_and_where_nothing_is_solved_the_score_is_told(monkeypatch):
    tried = []

    def play(agent, levels, edits=None, **settings):
        tried.extend(edit.operation for edit in edits or ())
        return [as_in_minipacman(telling(level)) for level in levels]

    def as_in_minipacman(episode):
        units = {"h": episode.activations["h"].mean((3, 4))}
        codes = np.array([minipacman.WALL, minipacman.EMPTY, 0, 0, 0, minipacman.PLAYER], np.uint8)
        seen, actions = codes[episode.observations], np.array([0, 2, 4, 3, 1])[episode.actions]
        return replace(episode, observations=seen, actions=actions, rewards=np.full(20, 0.5), activations=units)

    monkeypatch.setattr(report, "play", play)
    player = Player(small_lstm(small_env()), minipacman.MiniPacman())
    rows = list(report.channel_rows(player, np.arange(6), report.Manner(2)))
    assert set(tried) == {"zero"}
    assert [(row["wiped_out"], row["score"], row["ci95"]) for row in rows[1:3]] == [
        ("none", 10.0, [10.0, 10.0]),
        ("all named", 10.0, [10.0, 10.0]),
    ]


def test_probes_of_layers_that_are_not_there_are_an_error_and_not_nothing():
    probes = [Probe(np.zeros((1, 1, 4, 1, 1, 5)), "C_A", "c", layer) for layer in (0, 1)]
    assert report.of_layers(probes, [2]) == probes[1:]
    for layer in (0, 3, -1):
        with pytest.raises(ForesightError, match=f"`layers` {layer}: the probes are of layers 1, 2"):
            report.of_layers(probes, [1, layer])
