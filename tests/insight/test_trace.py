from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foresight.errors import ForesightError
from foresight.evaluation.solve import NOT_PLAYED, PlaySettings, solve
from foresight.insight.edits import Edit
from foresight.insight.playing import play
from foresight.insight.records import THINKING, Keep, Player
from foresight.insight.retracing import retrace
from foresight.insight.tracing import trace
from foresight.nets.cnn import CNN
from foresight.runs.architectures import architecture
from tests.insight.nets import filled, forward, small_drc, small_env, small_lstm, small_player

CAP = 4
EVERYTHING = ("c", "h", "f", "i", "o", "g", "pooled", "encoded")  # one choice in most tests: one program is compiled
KINDS = {
    "drc22": lambda env: small_drc(env),
    "gated": lambda env: small_drc(env, memory="GatedConvRNN", depth=1, ticks=3),
    "simple": lambda env: small_drc(env, memory="SimpleConvRNN", top_down=False, vision_shortcut=False),
    "bare": lambda env: small_drc(env, ticks=1, pool_and_inject=False, boundary=False, reset_every_step=True),
    "lstm": lambda env: small_lstm(env),
    "lstm_whole": lambda env: small_lstm(env, ticks=1, compressed=False),
}


def traced(kind: str, level: int = 0, **settings):
    """A trace of a small network of this kind, and who played."""
    env = small_env()
    player = Player(KINDS[kind](env), env)
    keep = EVERYTHING if kind == "drc22" else ("h",)
    return trace(player, level, keep=keep, max_steps=CAP, **settings), player


IN_SOAK = ("simple", "bare", "lstm_whole")


@pytest.mark.parametrize("kind", [pytest.param(k, marks=[pytest.mark.soak] * (k in IN_SOAK)) for k in KINDS])
def test_a_trace_holds_what_the_network_itself_computes(kind):
    seen, player = traced(kind, 1, think=2)
    logits, values, states = forward(player, seen)
    np.testing.assert_allclose(seen.logits, logits, atol=1e-5, rtol=1e-5)
    np.testing.assert_allclose(seen.values, values, atol=1e-5, rtol=1e-5)
    for step, memory in enumerate(states):
        for depth, state in enumerate(memory):
            np.testing.assert_allclose(seen.activations["h"][step, -1, depth], state.output, atol=1e-5)


def test_gates_and_cell_are_those_of_the_equations():
    seen, player = traced("drc22")
    held = seen.activations
    first = np.stack([module.memory.initial_cell for module in player.net.stack.modules])
    before = np.concatenate([first[None], held["c"].reshape(-1, *held["c"].shape[2:])[:-1]]).reshape(held["c"].shape)
    np.testing.assert_allclose(held["c"], held["f"] * before + held["i"] * held["g"], atol=1e-5)
    np.testing.assert_allclose(held["h"], held["o"] * np.tanh(held["c"]), atol=1e-5)
    assert held["encoded"].shape == (CAP, 6, 7, 4)
    np.testing.assert_allclose(held["pooled"][0, 1, :, :4], held["h"][0, 0].max((1, 2)), atol=1e-6)
    np.testing.assert_allclose(held["pooled"][0, 1, :, 4:], held["h"][0, 0].mean((1, 2)), atol=1e-6)


def test_levels_are_played_as_evaluation_plays_them():
    player, numbers = small_player(), np.array([2, 0, 1, 1])
    episodes = play(player, numbers, think=1, max_steps=CAP, batch=2)
    record = solve(player.env, player.net, numbers, PlaySettings(max_steps=CAP, think=1), jax.random.key(0), 4)
    for number, (episode, actions) in enumerate(zip(episodes, record.actions, strict=True)):
        assert episode.level == numbers[number]
        np.testing.assert_array_equal(episode.actions[1:], actions[actions != NOT_PLAYED])
        assert episode.actions[0] == THINKING
        assert (episode.solved, episode.steps) == (record.solved[number], record.steps[number])
        assert episode.score == pytest.approx(record.score[number], abs=1e-4)


def test_a_network_that_watches_its_own_episodes_again_holds_the_same():
    player = small_player()
    episodes = play(player, [2, 0], keep=EVERYTHING, max_steps=CAP, batch=1)
    blank = [replace(episode, activations={}, logits=np.zeros(0)) for episode in episodes]
    for episode, again in zip(episodes, retrace(player, blank, Keep(("h",)), batch=2), strict=True):
        np.testing.assert_allclose(episode.activations["h"], again.activations["h"], atol=1e-5)
        np.testing.assert_allclose(episode.logits, again.logits, atol=1e-5)


def test_kept_activations_are_cut_from_the_whole():
    player = small_player()
    whole = traced("drc22")[0].activations["c"]
    part = play(player, [0], keep=Keep(("c",), ticks=(-1,), depths=(1,), steps=2, dtype="float16"), max_steps=CAP)[0]
    assert part.activations["c"].dtype == np.float16
    np.testing.assert_array_equal(part.activations["c"], whole[:2, -1:, 1:].astype(np.float16))


@pytest.mark.parametrize("kind", ["drc22", "gated", "lstm"])
def test_an_edit_that_adds_nothing_is_exact(kind):
    plain, _ = traced(kind)
    edited, _ = traced(kind, edits=[Edit("add", 0.0, of="h" if kind == "gated" else "c")])
    np.testing.assert_array_equal(plain.activations["h"], edited.activations["h"])
    np.testing.assert_array_equal(plain.logits, edited.logits)


def test_an_edit_of_the_cell_acts_where_it_is_told_before_h_is_computed():
    edit = Edit("add", np.array([1.0, -2.0]), squares=[(2, 3)], channels=[0, 3], depths=[1], ticks=[0], times=(1, 2))
    plain, edited = (traced("drc22", edits=edits)[0].activations for edits in (None, [edit]))
    np.testing.assert_array_equal(plain["c"][0], edited["c"][0])
    np.testing.assert_array_equal(plain["c"][1, 0, 0], edited["c"][1, 0, 0])
    difference = edited["c"][1, 0, 1] - plain["c"][1, 0, 1]
    np.testing.assert_allclose(difference[2, 3], [1, 0, 0, -2], atol=1e-6)
    assert np.count_nonzero(difference) == 2
    np.testing.assert_allclose(edited["h"], edited["o"] * np.tanh(edited["c"]), atol=1e-5)
    assert np.any(edited["h"][1, 1] != plain["h"][1, 1])


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (Edit("set", 0.25, depths=[0]), lambda c: np.full_like(c, 0.25)),
        (Edit("zero", depths=[0]), np.zeros_like),
        (Edit("scale", -2.0, depths=[0]), lambda c: -2 * c),
        (Edit("mean", depths=[0]), lambda c: np.broadcast_to(c.mean((0, 1), keepdims=True), c.shape)),
    ],
    ids=lambda value: getattr(value, "operation", ""),
)
def test_each_operation_does_what_its_name_says(edit, expected):
    plain, edited = (traced("drc22", edits=edits)[0].activations["c"] for edits in (None, [edit]))
    np.testing.assert_allclose(edited[0, 0, 0], expected(plain[0, 0, 0]), atol=1e-6)


def test_an_edit_can_add_another_vector_in_every_layer():
    value = np.arange(8, dtype=np.float32).reshape(2, 1, 4)  # depths, squares, channels
    both = [Edit("add", value, squares=[(2, 3)])]
    apart = [Edit("add", value[depth], squares=[(2, 3)], depths=[depth]) for depth in (0, 1)]
    one, other = (traced("drc22", edits=edits)[0] for edits in (both, apart))
    np.testing.assert_allclose(one.activations["c"], other.activations["c"], atol=1e-6)
    assert np.any(one.activations["c"] != traced("drc22")[0].activations["c"])


def test_edits_as_a_function_and_as_data_are_the_same():
    def add_one(name, time, tick, depth, value):
        return value + jnp.where(time >= 1, 1.0, 0.0) if (name, tick, depth) == ("h", 1, 0) else value

    edit = Edit("add", 1.0, of="h", ticks=[1], depths=[0], times=(1, 99))
    one, other = (traced("drc22", edits=edits)[0] for edits in (add_one, [edit]))
    np.testing.assert_allclose(one.activations["h"], other.activations["h"], atol=1e-6)


def test_each_level_can_have_edits_of_its_own():
    player = small_player()
    own = [[Edit("add", 3.0)], [], [Edit("zero", of="h"), Edit("add", -1.0)]]
    together = play(player, [0, 1, 2], edits=own, max_steps=CAP, batch=1)
    for number, edits in enumerate(own[:2]):
        alone, _ = traced("drc22", number, edits=edits)
        np.testing.assert_allclose(together[number].logits, alone.logits, atol=1e-5)
    assert np.any(together[2].logits[0] != traced("drc22", 2)[0].logits[0])


@pytest.mark.parametrize(
    ("edits", "message"),
    [
        ([Edit(squares=[(6, 0)])], "outside the network's state of 6x7"),
        ([Edit(depths=[2])], "the network has 2, numbered from 0"),
        ([Edit("add", np.zeros(3))], "value has shape"),
        ([[Edit()], [Edit()]], "edits for 2 levels, and 1 levels"),
    ],
)
def test_an_edit_that_does_not_fit_is_rejected(edits, message):
    with pytest.raises(ForesightError, match=message):
        trace(small_player(), 0, edits=edits)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"ticks": (0, 2)}, "`ticks` hold 2; the network has 2, numbered from 0"),
        ({"depths": (-3,)}, "`depths` hold -3; the network has 2"),
        ({"think": -1}, "think is -1: expected at least 0"),
        ({"think": 1.5}, "think is 1.5: expected a whole number"),
        ({"max_steps": 0}, "max_steps is 0: expected at least 1"),
        ({"level": 1.5}, "levels are float64 .*: expected a row of whole numbers"),
        ({"level": "####\n#@ #\n####"}, "levels are <U14 .*: expected a row of whole numbers"),
        ({"edits": Edit()}, r"expected a list: \[edit\]"),
    ],
)
def test_what_makes_no_sense_to_ask_for_is_rejected(asked, message):
    with pytest.raises(ForesightError, match=message):
        trace(small_player(), **asked)


def test_what_is_kept_is_named_in_any_row_or_by_one_name_alone():
    player = small_player()
    whole = trace(player, 0, keep=("encoded", "c"), max_steps=CAP).activations
    for keep in (Keep(["encoded", "c"], ticks=[-1]), Keep(("encoded", "c"), ticks=(-1,))):
        (episode,) = play(player, [0], keep=keep, max_steps=CAP)
        np.testing.assert_array_equal(episode.activations["c"], whole["c"][:, -1:])
    assert list(trace(player, 0, keep="encoded", max_steps=CAP).activations) == ["encoded"]
    assert list(play(player, [0], keep="encoded", max_steps=CAP)[0].activations) == ["encoded"]
    with pytest.raises(ForesightError, match=r"levels are int64 .*: expected a row of whole numbers"):
        play(player, 0)


def test_what_a_network_has_not_cannot_be_kept_or_edited():
    env = small_env()
    gated = Player(KINDS["gated"](env), env)
    with pytest.raises(ForesightError, match="has no cell state c"):
        trace(gated, 0, keep=("h",), edits=[Edit()])
    with pytest.raises(ForesightError, match="this network has no 'c'"):
        trace(gated, 0, keep=("c",))
    with pytest.raises(ForesightError, match="no activation is called 'x'"):
        Keep(("x",))
    with pytest.raises(ForesightError, match="unknown edit 'push'"):
        Edit("push")
    with pytest.raises(ForesightError, match="no squares"):
        trace(Player(KINDS["lstm"](env), env), 0, edits=[Edit(squares=[(0, 0)])])
    shape = (env.picture_shape, env.actions, jax.random.key(0))
    flat = Player(filled(lambda: CNN(*shape, **architecture("cnn", env), features=2, hidden=2)), env)
    with pytest.raises(ForesightError, match="cannot look into a network of kind CNN"):
        trace(flat, 0)


@pytest.mark.parametrize(
    ("make", "given", "message"),
    [
        (Edit, {"depths": 2}, r"an edit's depths is 2: expected a list of whole numbers, such as \[0, 1\]"),
        (Edit, {"ticks": "x"}, "an edit's ticks is 'x': expected a list"),
        (Edit, {"channels": [1.5]}, "an edit's channels holds 1.5: expected whole numbers"),
        (Edit, {"times": 3}, "an edit's times is 3: expected a list"),
        (Edit, {"times": (3, 1)}, "expected the first time-step and the one after"),
        (Edit, {"squares": (1, 2)}, r"expected \(row, column\) of each in a list"),
        (Edit, {"squares": "x"}, "an edit's squares is 'x': expected numbers"),
        (Edit, {"value": "x"}, "an edit's value is 'x': expected numbers"),
        (Keep, {"steps": -1}, "steps is -1: expected at least 0"),
        (Keep, {"steps": "x"}, "steps is 'x': expected a whole number"),
        (Keep, {"names": 3}, "names is 3: expected names of activations"),
        (Keep, {"ticks": 1}, "ticks is 1: expected a list of whole numbers"),
        (Keep, {"dtype": "int9"}, "dtype is 'int9': expected float32 or float16"),
    ],
)
def test_what_cannot_be_edited_or_kept_is_rejected_when_it_is_named(make, given, message):
    with pytest.raises(ForesightError, match=message):
        make(**given)
