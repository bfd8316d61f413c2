"""Playing a set of levels, against a loop over single levels written from the definition."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foresight.envs.sokoban.rules import Sokoban
from foresight.evaluation.solve import NOT_PLAYED, STRETCH, PlaySettings, play_stretch, solve, step_keys
from tests.drawings import level, level_set
from tests.envs.reference_sokoban import Game
from tests.evaluation.linear import Linear
from tests.learning.toys import Corridor

KEY = jax.random.key(3)
CAP = 30

LEVELS = level_set(
    level("#####", "#@$.#", "#####"),  # one push from the end
    level("#####", "#.$@#", "#####"),
    level("#####", "#$@.#", "#####"),  # cannot be solved
    level("#####", "#.@$#", "#####"),  # nor this
)


@pytest.fixture(scope="module")
def env():
    return Sokoban.make(LEVELS, view="planes")


@pytest.fixture(scope="module")
def net(env):
    return Linear(env.picture_shape, env.actions, jax.random.key(0))


MANY = np.tile(np.arange(4), 6)[:23]


def play_one_by_one(env, net, levels, settings, key):
    """What `solve` must give, one level after the other and one step after the other."""
    look = jax.jit(lambda memory, state: net(memory, env.paint(env.observe(state))))
    move = jax.jit(lambda state, action, key: env.step(state, action, key))
    for number in levels:
        state, memory, actions, score = env.reset_to(jnp.asarray(number, jnp.int32)), net.initial_memory(), [], 0.0
        for _ in range(settings.think):
            _, _, memory = look(memory, state)
        for step in range(settings.max_steps):
            logits, _, memory = look(memory, state)
            draw_key, dice_key = step_keys(key, jnp.asarray(number), jnp.asarray(step))
            action = jnp.argmax(logits) if settings.greedy else jax.random.categorical(draw_key, logits)
            state, transition = move(state, action, dice_key)
            actions.append(int(action))
            score += float(transition.reward)
            if transition.terminated:
                break
        yield bool(transition.solved), len(actions), score, actions


@pytest.mark.parametrize(
    "settings",
    [
        PlaySettings(max_steps=CAP, greedy=False),
        PlaySettings(max_steps=CAP, think=3, greedy=False),
        PlaySettings(max_steps=CAP, think=2),
        PlaySettings(max_steps=3, greedy=False),
    ],
)
def test_a_batch_gives_what_playing_one_by_one_gives(env, net, settings):
    numbers = np.arange(4)
    record = solve(env, net, numbers, settings, KEY, batch=4)
    for index, (solved, steps, score, actions) in enumerate(play_one_by_one(env, net, numbers, settings, KEY)):
        assert record.solved[index] == solved
        assert record.steps[index] == steps
        assert record.score[index] == pytest.approx(score, abs=1e-4)
        assert record.actions[index, :steps].tolist() == actions
        assert (record.actions[index, steps:] == NOT_PLAYED).all()


def test_some_levels_are_solved_and_some_are_not(env, net):
    record = solve(env, net, MANY, PlaySettings(max_steps=CAP, greedy=False), KEY)
    assert {2, 3}.isdisjoint(MANY[record.solved])
    assert record.solved.any()


@pytest.mark.parametrize(("batch", "threads"), [(1, 1), (6, 1), (6, 2), (2, 9)])
def test_neither_the_batch_size_nor_threads_change_anything(env, net, batch, threads):
    settings = PlaySettings(max_steps=CAP, think=1, greedy=False)
    whole = solve(env, net, MANY, settings, KEY, batch=32, threads=1)
    for ours, theirs in zip(solve(env, net, MANY, settings, KEY, batch, threads=threads), whole, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_the_order_of_levels_changes_nothing(env, net):
    settings, order = PlaySettings(max_steps=CAP, greedy=False), np.array([2, 0, 3, 1])
    straight = solve(env, net, np.arange(4), settings, KEY)
    shuffled = solve(env, net, order, settings, KEY)
    for ours, theirs in zip(shuffled, straight, strict=True):
        np.testing.assert_array_equal(ours, theirs[order])


def test_a_level_ends_when_it_is_solved(env, net):
    record = solve(env, net, MANY, PlaySettings(max_steps=CAP, greedy=False), KEY)
    assert (record.steps[record.solved] < CAP).any()
    assert (record.steps[~record.solved] == CAP).all()
    assert ((record.actions != NOT_PLAYED).sum(axis=1) == record.steps).all()


def test_thinking_changes_the_memory_and_takes_nothing_from_the_cap(env, net):
    record = {think: solve(env, net, MANY, PlaySettings(CAP, think, False), KEY) for think in (0, 6)}
    assert (record[0].actions != record[6].actions).any()
    assert (record[6].steps[MANY == 2] == CAP).all()


def test_greedy_play_does_not_depend_on_the_key_and_sampled_play_does(env, net):
    def actions(greedy, key):
        return solve(env, net, np.arange(4), PlaySettings(CAP, greedy=greedy), jax.random.key(key)).actions

    np.testing.assert_array_equal(actions(True, 0), actions(True, 1))
    assert (actions(False, 0) != actions(False, 1)).any()


def test_a_record_replays_by_the_plain_rules(env, net):
    record = solve(env, net, MANY, PlaySettings(max_steps=CAP, greedy=False), KEY)
    boards = LEVELS.cells()
    for number, solved, steps, score, actions in zip(MANY, *record, strict=True):
        game = Game(boards[number])
        output = [game.step(int(action)) for action in actions[:steps]]
        assert sum(reward for reward, _, _ in output) == pytest.approx(score, abs=1e-4)
        assert [end for _, end, _ in output] == [False] * (steps - 1) + [solved]


class Slippery(Corridor):
    """Every third step or so goes nowhere."""

    def step(self, state, action, key):
        return super().step(state, jnp.where(jax.random.bernoulli(key, 0.3), 0, action), key)


def test_a_game_with_dice_is_replayed_with_the_keys_of_its_steps():
    env = Slippery()
    net, settings = Linear(env.picture_shape, env.actions, jax.random.key(1)), PlaySettings(max_steps=12, greedy=False)
    record = solve(env, net, np.arange(4), settings, KEY)
    expected = list(play_one_by_one(env, net, np.arange(4), settings, KEY))
    assert record.steps.tolist() == [steps for _, steps, _, _ in expected]
    assert record.score.tolist() == pytest.approx([score for _, _, score, _ in expected], abs=1e-4)


def test_lanes_take_new_levels_and_at_the_end_the_batch_shrinks(env, net, monkeypatch):
    sizes = []

    def watched(fixed, slots, record):
        sizes.append(len(slots.level))
        return play_stretch(fixed, slots, record)

    monkeypatch.setattr("foresight.evaluation.solve.play_stretch", watched)
    easy_then_hard = np.array([0, 1] * 8 + [2])
    output = []
    solve(env, net, easy_then_hard, PlaySettings(max_steps=120, greedy=False), KEY, 8, output.append, threads=1)
    assert sizes[0] == 8
    assert sizes[-1] < 8
    assert sizes == sorted(sizes, reverse=True)
    assert output == sorted(output)
    assert output[-1] == 17
    assert len(sizes) < 2 * 120 / STRETCH + 8  # one after the other in batches of 8 would take longer


def test_another_thinking_time_needs_no_new_compilation(env, net):
    compiled = 0

    def count(name, seconds, **labels):
        nonlocal compiled
        compiled += name == "/jax/core/compile/backend_compile_duration"

    solve(env, net, MANY, PlaySettings(CAP, 1, False), KEY, threads=1)
    jax.monitoring.register_event_duration_secs_listener(count)
    try:
        solve(env, net, MANY, PlaySettings(CAP, 5, False), KEY, threads=1)
    finally:
        jax.monitoring.unregister_event_duration_listener(count)
    assert compiled == 0


@pytest.mark.parametrize("places", [[1, 4, 6, 21], [*range(0, 23, 2), 1, 3, 5, 7]])  # for one thread and for two
def test_only_some_places_are_played_as_they_are_among_all(env, net, places):
    everything = solve(env, net, MANY, PlaySettings(CAP), KEY, batch=4, threads=1)
    some = solve(env, net, MANY, PlaySettings(CAP), KEY, batch=4, only=np.array(places), threads=2)
    for name in ("solved", "steps", "actions"):
        np.testing.assert_array_equal(getattr(some, name)[places], getattr(everything, name)[places])
    others = np.setdiff1d(np.arange(len(MANY)), places)
    assert not some.steps[others].any()
