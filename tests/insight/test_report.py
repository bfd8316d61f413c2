from dataclasses import replace

import numpy as np

from foresight.insight import report
from foresight.insight.interventions import Outcome
from foresight.insight.probes import Probe
from tests.insight.nets import small_player
from tests.insight.test_channels import telling
from tests.insight.test_pacing import along


def test_routes_are_tried_at_every_layer_and_strength_beside_random_vectors(monkeypatch):
    tried = []

    def intervene(agent, levels, probe, strength, random_seed, batch):
        tried.append((len(levels), probe.concept, probe.layer, strength, random_seed))
        return Outcome(len(levels), 1, 2)

    monkeypatch.setattr(report, "intervene", intervene)
    probes = [Probe(np.zeros((k, k, 2, 1, 1, 5)), c, "c", d) for c in ("C_A", "C_B") for k in (1, 3) for d in (0, 1)]
    rows = list(report.route_rows(None, probes, report.route_levels(2, 3), (1.0, 2.0), 4))
    assert len(rows) == 2 * 2 * 2 * 2
    assert tried[:2] == [(6, "C_A", 0, 1.0, None), (6, "C_A", 0, 1.0, 0)]
    assert rows[0]["percent"] == 16.7
    assert (rows[-1]["mover"], rows[-1]["layer"], rows[-1]["vectors"]) == ("box", 2, "random")


def test_pacing_is_counted_without_thinking_and_with_it(monkeypatch):
    episodes = {0: [along(1, 2, 1), along(1, 2, 3)], 6: [along(1, 2, 3), along(1, 2, 3)]}
    monkeypatch.setattr(report, "play", lambda agent, levels, think, batch, max_steps: episodes[think])
    without, with_thinking, by = report.pacing_rows(None, np.arange(2), 6, 2)
    assert (without["cycles"], with_thinking["cycles"], by["fall"]) == (1, 0, 1.0)


def test_channels_are_named_and_what_is_solved_without_them_is_counted(monkeypatch):
    wiped = []

    def play(agent, levels, edits=None, **settings):
        wiped.append([(edit.depths, edit.channels) for edit in edits or ()])
        return [replace(telling(seed), solved=not edits) for seed in levels]

    monkeypatch.setattr(report, "play", play)
    rows = list(report.channel_rows(small_player(), np.arange(6), 2))
    assert [(row["follows"], row["direction"], row["layer"]) for row in rows[:2]] == [
        ("agent", "right", 1),
        ("action", "up", 1),
    ]
    assert wiped == [[], [([0], [0, 1])], [([0], [2])]]
    assert [(row["wiped_out"], row["channels"], row["solved"]) for row in rows[2:]] == [
        ("none", 0, 6),
        ("named", 2, 0),
        ("others", 1, 0),
    ]
