import json
from dataclasses import replace

import jax
import numpy as np
import pytest
from scipy.optimize import minimize

from foresight.envs import make
from foresight.errors import ForesightError
from foresight.insight.labels import C_A
from foresight.insight.probes import FitSettings, Probe, choose, confusion, f1_of, fit, fit_many, macro, score
from foresight.insight.samples import MARGINS, as_one_layer, samples_of
from foresight.insight.study import study
from foresight.insight.ticks import score_by_tick
from foresight.runs.probe_files import probes_for, read_probes, write_probes
from tests.drawings import level_set
from tests.insight.made import knowing, telling_units, wandering
from tests.insight.nets import BOARDS
from tests.insight.test_channels import telling

QUICK = FitSettings(epochs=6, batch=8, learning_rate=0.05)


def slow_logits(weights: np.ndarray, state: np.ndarray) -> np.ndarray:
    """Square by square, zeros beyond the edge."""
    size, _, _, tall, wide, classes = weights.shape
    height, width, _ = state.shape
    out = np.zeros((height * tall, width * wide, classes))
    for row, column, down, right in np.ndindex(height, width, size, size):
        r, c = row + down - size // 2, column + right - size // 2
        if 0 <= r < height and 0 <= c < width:
            part = np.einsum("c,cabk->abk", state[r, c], weights[down, right])
            out[row * tall : (row + 1) * tall, column * wide : (column + 1) * wide] += part
    return out


@pytest.mark.parametrize(("kernel", "block"), [(1, (1, 1)), (3, (1, 1)), (3, (2, 2)), (1, (2, 3))])
def test_a_probe_is_a_convolution_without_bias(kernel, block):
    chance = np.random.default_rng(0)
    weights = chance.standard_normal((kernel, kernel, 3, *block, 5)).astype(np.float32)
    states = chance.standard_normal((2, 4, 5, 3)).astype(np.float32)
    got = Probe(weights).logits(states)
    np.testing.assert_allclose(got, [slow_logits(weights, state) for state in states], atol=1e-4)
    np.testing.assert_array_equal(Probe(weights).read(states[None]), got.argmax(-1)[None])


def test_fitting_finds_the_minimum_that_a_plain_optimiser_finds():
    chance = np.random.default_rng(0)
    states = chance.standard_normal((40, 2, 2, 2)).astype(np.float32)
    labels = (
        (states @ chance.standard_normal((2, 3)) + chance.standard_normal((40, 2, 2, 3))).argmax(-1).astype(np.uint8)
    )

    def loss(flat):
        logits = states.reshape(-1, 2) @ flat.reshape(2, 3)
        return -np.mean((logits - np.log(np.exp(logits).sum(1, keepdims=True)))[np.arange(160), labels.ravel()])

    best = minimize(loss, np.zeros(6))
    settings = FitSettings(epochs=300, batch=40, learning_rate=0.05, weight_decay=0.0)
    probe = fit(states, labels, classes=3, settings=settings)
    assert loss(probe.weights.ravel()) == pytest.approx(best.fun, abs=1e-3)
    again = fit(states, labels, classes=3, settings=settings)
    np.testing.assert_array_equal(probe.weights, again.weights)


def test_the_margin_is_neither_fitted_nor_scored():
    states = np.random.default_rng(0).standard_normal((12, 4, 4, 3)).astype(np.float32)
    labels = (states[..., 0] > 0).astype(np.uint8)
    spoiled = labels.copy()
    spoiled[:, 0], spoiled[:, -1], spoiled[:, :, 0], spoiled[:, :, -1] = 2, 2, 2, 2
    one, other = (fit(states, y, classes=3, margin=1, settings=QUICK) for y in (labels, spoiled))
    np.testing.assert_array_equal(one.weights, other.weights)
    read = one.read(states)
    assert read[:, 1:-1, 1:-1].any()
    assert not read[:, [0, -1]].any()
    assert not read[:, :, [0, -1]].any()
    assert confusion(one, states, spoiled, np.arange(12)).sum() == 12 * 4


def test_macro_f1_is_the_mean_over_classes_that_occur():
    counts = np.array([[8, 2, 0], [1, 4, 0], [0, 0, 0]])
    np.testing.assert_allclose(f1_of(counts), [16 / 19, 8 / 11, 0])
    assert macro(counts) == pytest.approx((16 / 19 + 8 / 11) / 2)


def test_a_study_finds_the_layer_that_holds_the_plan():
    episodes = [knowing(wandering(seed)) for seed in range(16)]
    results = study("sokoban", "c", episodes[:12], episodes[12:], concepts=[C_A], kernels=[1], settings=QUICK)
    rows = {result.probe.layer: result.as_json() for result in results}
    assert rows[1]["macro_f1"] > 0.9 > 0.6 > rows[0]["macro_f1"]
    assert rows[1]["baseline"] < 0.6
    assert rows[1]["layer"] == 2
    assert rows[1]["ci95"][0] <= rows[1]["macro_f1"] <= rows[1]["ci95"][1]
    json.dumps(list(rows.values()))


def test_the_state_of_an_lstm_is_read_square_by_square_off_all_its_units():
    told = [telling_units(wandering(seed, steps=30)) for seed in range(60)]
    settings = FitSettings(epochs=10, batch=16, learning_rate=0.05)
    (result,) = study("sokoban", "c", told[:50], told[50:], concepts=[C_A], kernels=[1, 3], settings=settings)
    assert result.probe.weights.shape == (1, 1, 180, 6, 6, 5)
    assert result.score.macro_f1 > 0.9
    assert result.baseline.macro_f1 < 0.7


@pytest.mark.parametrize("domain", ["sokoban", "boxworld", "minipacman", "gridworld"])
def test_the_margin_is_what_no_agent_can_ever_step_on(domain):
    env = make(domain, **({"levels": level_set(*BOARDS)} if domain == "sokoban" else {}))
    boards = np.stack([env.observe(env.reset(key)) for key in jax.random.split(jax.random.key(0), 3)])
    border = boards[:, 1:-1, [0, -1]]  # a key in the hand lies in Boxworld's corner
    assert np.all(border == boards[0, 1, 0]) == (MARGINS.get(domain, 0) == 1)


def test_an_interval_holds_the_score_and_narrows_with_episodes():
    probe = Probe(np.eye(5, dtype=np.float32)[None, None, :, None, None])
    chance = np.random.default_rng(0)
    labels = chance.integers(0, 5, (64, 3, 3))
    states = np.eye(5)[np.where(chance.random(labels.shape) < 0.3, 0, labels)]
    few, many = (score(probe, states[:n], labels[:n], np.arange(n)) for n in (8, 64))
    assert few.ci95[0] < few.macro_f1 < few.ci95[1]
    assert many.ci95[1] - many.ci95[0] < few.ci95[1] - few.ci95[0]


def test_a_vector_added_to_the_state_makes_its_class_likelier():
    probe = Probe(np.random.default_rng(0).standard_normal((1, 1, 3, 1, 1, 5)).astype(np.float32))
    state = np.zeros((1, 1, 1, 3), np.float32)
    vector = probe.vector("left")
    assert probe.logits(state + vector)[0, 0, 0, 3] == pytest.approx(float(vector @ vector), rel=1e-5)
    with pytest.raises(ForesightError, match="a 3x3 probe has no one vector"):
        Probe(np.zeros((3, 3, 2, 1, 1, 5))).vector(1)
    with pytest.raises(ForesightError, match="reads 2x2 squares of the board off one of the state"):
        Probe(np.zeros((1, 1, 2, 2, 2, 9))).vector("up")
    for wanted in ("north", "up-left", 5, -1):
        with pytest.raises(ForesightError, match=f"no class {wanted!r}, there are: never, up, down, left, right"):
            probe.vector(wanted)


def test_concepts_of_ones_own_need_names_of_their_own():
    soon = replace(C_A, horizon=3)
    with pytest.raises(ForesightError, match="two concepts are called 'C_A'; expected a name for each"):
        samples_of("sokoban", [telling(0)], [C_A, soon], "h")
    probe = Probe(np.zeros((1, 1, 3, 1, 1, 5)), concept="soon", of="h")
    with pytest.raises(ForesightError, match="no concept is called 'soon'; there are: C_A, C_B, agent_off, box_onto"):
        score_by_tick("sokoban", probe, [telling(0)], 2)


def test_probes_come_back_from_their_file(tmp_path):
    probes = [Probe(np.full((k, k, 2, 1, 1, 5), k, np.float32), "C_B", "c", k - 1, 1) for k in (1, 3)]
    write_probes(tmp_path / "p.safetensors", probes, {"seed": 3})
    back = probes_for(tmp_path / "agent.safetensors", tmp_path / "p.safetensors")
    assert [p.layer for p in back] == [0, 2]
    np.testing.assert_array_equal(choose(back, "C_B", 2, 3).weights, probes[1].weights)
    with pytest.raises(ForesightError, match="no probe for C_A of c at layer 0, 1x1; there are: C_B"):
        choose(back, "C_A", 0, 1)
    with pytest.raises(ForesightError, match="no probes come with"):
        probes_for(tmp_path / "agent.safetensors")


def test_a_file_without_probes_is_rejected(tmp_path):
    from foresight.storage.arrays import encode

    (tmp_path / "w").write_bytes(encode({"a": np.zeros(2)}, {}))
    with pytest.raises(ForesightError, match="holds no probes"):
        read_probes(tmp_path / "w")
    (tmp_path / "v").write_bytes(encode({"0": np.zeros(2)}, {"probes": [{"colour": 1}]}))
    with pytest.raises(ForesightError, match="described in another way"):
        read_probes(tmp_path / "v")


@pytest.mark.parametrize(
    ("states", "labels", "kernel", "message"),
    [
        ((2, 4, 4, 3), (2, 4, 4), 2, "kernel is 2; expected an odd number"),
        ((2, 4, 4, 3), (3, 4, 4), 1, "got 2 and 3"),
        ((2, 4, 4, 3), (2, 6, 6), 1, "do not lie evenly"),
    ],
)
def test_what_cannot_be_fitted_is_rejected(states, labels, kernel, message):
    with pytest.raises(ForesightError, match=message):
        fit(np.zeros(states), np.zeros(labels), kernel=kernel)


def test_samples_need_activations_with_squares():
    with pytest.raises(ForesightError, match="was not kept"):
        samples_of("sokoban", [wandering(0)], [C_A])


def test_all_layers_are_read_as_one_with_their_channels_side_by_side():
    held = np.arange(2 * 1 * 3 * 4 * 4 * 5, dtype=np.float32).reshape(2, 1, 3, 4, 4, 5)
    (episode,) = as_one_layer([replace(telling(0), activations={"c": held})])
    assert episode.activations["c"].shape == (2, 1, 1, 4, 4, 15)
    np.testing.assert_array_equal(episode.activations["c"][1, 0, 0, 2, 3, 10:], held[1, 0, 2, 2, 3])


def test_probes_fitted_side_by_side_are_those_fitted_one_by_one():
    chance = np.random.default_rng(3)
    inputs = chance.standard_normal((20, 2, 4, 4, 3)).astype(np.float32)
    labels = chance.integers(0, 5, (2, 20, 4, 4)).astype(np.uint8)
    settings = FitSettings(epochs=2, batch=4)
    together = fit_many(inputs, labels, kernel=3, margin=1, settings=settings)
    for concept, state in np.ndindex(2, 2):
        alone = fit(inputs[:, state], labels[concept], kernel=3, margin=1, settings=settings)
        np.testing.assert_allclose(together[concept][state].weights, alone.weights, atol=1e-6)
