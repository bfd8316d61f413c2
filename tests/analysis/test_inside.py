import pytest

from foresight.analysis.figures import plot_panels
from foresight.analysis.inside import panels_of
from foresight.errors import ForesightError


def scored(**about):
    return {"macro_f1": 0.5, "ci95": [0.4, 0.6], "baseline": 0.2, "baseline_ci95": [0.1, 0.3]} | about


def test_ticks_become_a_line_for_each_layer_and_kernel_in_the_order_of_ticks():
    rows = [scored(concept=c, layer=d, kernel=1, tick=t) for c in ("C_A", "C_B") for d in (1, 2) for t in (2, 1)]
    first, second = panels_of("ticks", [*rows, {"concept": "C_A", "rise": 0.1}])
    assert list(first.lines) == ["layer 1, 1x1", "layer 2, 1x1"]
    assert first.lines["layer 2, 1x1"][:4] == ([1, 2], [0.5, 0.5], [0.4, 0.4], [0.6, 0.6])
    assert second.title != first.title


def test_routes_show_random_vectors_beside_the_probes():
    about = {"mover": "box", "layer": 2, "percent": 70.0, "ci95": [60, 80]}
    rows = [about | {"strength": s, "vectors": v} for s in (1, 2) for v in ("probe", "random")]
    (panel,) = panels_of("routes", [about | {"strength": 0.0, "vectors": "none"}, *rows])
    assert {label: line.style for label, line in panel.lines.items()} == {
        "layer 2": "-",
        "layer 2, random vectors": ":",
    }
    assert panel.lines["layer 2"].x == [1, 2]


def test_ways_over_training_are_a_panel_of_their_own_and_layers_changed_together_a_line():
    about = {"mover": "agent", "layer": "2+3", "percent": 70.0, "ci95": [60, 80], "strength": 1.0}
    rows = [about | {"steps": steps, "vectors": v} for steps in (10, 20) for v in ("none", "probe", "random")]
    (panel,) = panels_of("training", rows)
    assert panel.y_label == "levels, %"
    assert panel.lines["layers 2+3"].x == panel.lines["layers 2+3, random vectors"].x == [10, 20]


def test_training_and_layers_show_the_observation_beside_the_state(tmp_path):
    beside = {"random": 0.15, "random_ci95": [0.1, 0.2]}
    rows = [scored(concept="C_A", layer=d, kernel=1, steps=s, **beside) for d in (1, 2) for s in (10, 20)]
    (panel,) = panels_of("training", rows)
    assert list(panel.lines) == ["layer 1", "observation alone", "random network, layer 1", "layer 2"]
    assert panel.lines["observation alone"].y == [0.2, 0.2]
    assert panel.lines["random network, layer 1"].low == [0.1, 0.1]
    (panel,) = panels_of("layers", rows[::2])
    assert panel.lines["observation, 1x1"].x == [1, 2]
    plot_panels([panel], tmp_path / "layers.svg")
    assert (tmp_path / "layers.svg").read_text().count("macro F1") >= 1


def test_rows_of_another_part_are_rejected():
    with pytest.raises(ForesightError, match="none of 1 rows tells of routes"):
        panels_of("routes", [scored(concept="C_A", layer=1, kernel=1, tick=1)])


@pytest.mark.parametrize("wrong", [{"macro_f1": "x"}, {"ci95": [0.1]}, {"ci95": 1}, {"layer": "1"}, {"concept": []}])
def test_rows_of_other_kinds_are_rejected_by_their_number(wrong):
    rows = [scored(concept="C_A", layer=1, kernel=1, tick=1), scored(concept="C_A", layer=1, kernel=1, tick=2) | wrong]
    with pytest.raises(ForesightError, match="row 2 is none that is printed of ticks"):
        panels_of("ticks", rows)
