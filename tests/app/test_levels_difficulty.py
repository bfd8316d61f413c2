"""`foresight levels generate --difficulty`: fresh levels that agents do not solve."""

import json
from dataclasses import replace

import numpy as np
import pytest

from foresight.app.levels_generate import Generate
from foresight.levels import read_set
from foresight.levels.generator import generate as generator
from foresight.runs import level_filter, level_rejection
from foresight.runs.config import EnvSettings, RunConfig
from foresight.runs.level_filter import FilterSettings
from foresight.runs.level_rejection import Recipe, chunk_of, hard, medium
from tests.app.small_runs import status_of, use_linear_networks
from tests.runs.test_agents import write_weights

CHUNK = 8
BOXES = ["--boxes", "2", "--workers", "1"]


@pytest.fixture
def agents(tmp_path, monkeypatch):
    """Two agents as files; every network is linear, chunks are small, and what is tried is noted."""
    pytest.importorskip("numba")
    use_linear_networks(monkeypatch)
    monkeypatch.setattr(level_filter, "CHUNK", {"cpu": CHUNK})
    monkeypatch.chdir(tmp_path)
    generator.generate(1, 2, 8, 0).levels.records  # noqa: B018  (compiled before anything is timed)
    from foresight.levels import write_set

    write_set(replace(generator.generate(4, 2, 8, 5).levels, name="some"), tmp_path / "some.levels")
    config = RunConfig(env=EnvSettings(levels=str(tmp_path / "some.levels"), env=("view=planes",)))
    for name in ("one", "two"):
        write_weights(tmp_path / f"{name}.safetensors", config)


class Player:
    """Stands for playing: solves a level by its place in the chunk."""

    def __init__(self, monkeypatch, solves):
        self.calls, self.solves = [], solves
        monkeypatch.setattr(level_filter, "solved_in_some_attempt", self)

    def __call__(self, env, net, numbers, settings, keys, batch, note):
        note(0)
        self.calls.append((len(env.levels), numbers.tolist(), len(keys), type(net).__name__))
        return np.array([self.solves(len(self.calls), n) for n in numbers])


def make(*words: str) -> int:
    size = [] if "--size" in words else ["--size", "8"]
    return status_of(["levels", "generate", "out.levels", *BOXES, *size, *words])


def expected(chunks: int, places: list[int]) -> np.ndarray:
    """The levels at these places of the first chunks."""
    recipe = Recipe((), seed=3, boxes=2, size=8, workers=1)
    return np.concatenate([chunk_of(recipe, CHUNK, number).cells(places) for number in range(chunks)])


def test_medium_levels_are_fresh_ones_that_a_forgetful_agent_never_solves(agents, monkeypatch, capsys):
    player = Player(monkeypatch, lambda call, place: place % 4 != 1)
    assert make("--count", "4", "--seed", "3", "--difficulty", "medium", "--medium-agent", "one.safetensors") == 0
    assert "4 kept of 16 generated" in capsys.readouterr().out
    made = read_set("out.levels")
    np.testing.assert_array_equal(made.cells(), expected(2, [1, 5]))
    assert made.source == (
        "generated: 8x8, 2 boxes, seed 3, "
        "unsolved by one in 10 attempts of 120 steps drawn by seed 3, memory reset at every step"
    )
    assert player.calls == 2 * [(CHUNK, list(range(CHUNK)), 10, "Forgetful")]


def test_the_source_of_levels_with_one_box_says_so():
    pytest.importorskip("numba")
    assert chunk_of(Recipe((), boxes=1, size=8), 1, 0).source == "generated: 8x8, 1 box, seed 0"


def test_hard_levels_are_medium_ones_that_another_agent_never_solves_either(agents, monkeypatch):
    player = Player(monkeypatch, lambda call, place: place % 2 == 0 if call == 1 else place != 3)
    words = ["--difficulty", "hard", "--medium-agent", "one.safetensors", "--hard-agent", "two.safetensors"]
    assert make("--count", "1", "--seed", "3", *words) == 0
    np.testing.assert_array_equal(read_set("out.levels").cells(), expected(1, [3]))
    assert player.calls[0] == (CHUNK, list(range(CHUNK)), 10, "Forgetful")
    assert player.calls[1:] == [(CHUNK, [1, 3, 5, 7], 10, "Linear")]
    assert "one in 10 attempts" in read_set("out.levels").source
    assert "unsolved by two in 10 attempts" in read_set("out.levels").source


def test_an_interrupted_sampling_resumes_where_it_stopped(agents, monkeypatch, capsys):
    def solves(call: int, place: int) -> bool:
        if call == 2:
            raise KeyboardInterrupt
        return place != 2

    words = ["--count", "3", "--seed", "3", "--difficulty", "medium", "--medium-agent", "one.safetensors", "--json"]
    Player(monkeypatch, solves)
    assert make(*words) == 130
    player = Player(monkeypatch, lambda call, place: place != 2)
    assert make(*words) == 0
    assert len(player.calls) == 2  # the first chunk was done
    assert json.loads(capsys.readouterr().out)["tried"] == 24
    np.testing.assert_array_equal(read_set("out.levels").cells(), expected(3, [2]))


@pytest.mark.parametrize("agent", ["one.safetensors", "none.safetensors"])
def test_an_agent_that_cannot_try_the_levels_is_rejected_before_they_are_made(agents, monkeypatch, capsys, agent):
    made = []
    monkeypatch.setattr(
        level_rejection,
        "generate",
        lambda count, *more, **others: made.append(count) or generator.generate(count, *more),
    )
    assert make("--count", "9", "--difficulty", "medium", "--medium-agent", agent, "--size", "12") == 2
    expected = (
        "plays boards of up to 8x8, and those of what is generated are 12x12"
        if agent == "one.safetensors"
        else "there is no 'none.safe"
    )
    assert expected in capsys.readouterr().err
    assert made == [1]


def test_levels_that_are_always_solved_are_given_up(agents, monkeypatch, capsys):
    monkeypatch.setattr(level_rejection, "FRUITLESS", 16)
    Player(monkeypatch, lambda call, place: True)
    assert make("--count", "1", "--difficulty", "medium", "--medium-agent", "one.safetensors") == 2
    assert "none of 16 levels is unsolved: expected weaker agents or fewer attempts" in capsys.readouterr().err


def test_the_presets_are_the_papers():
    first = FilterSettings("one", "unsolved", attempts=10, reset_memory=True, max_steps=120, seed=4)
    assert medium("one", 4) == (first,)
    assert hard((first,), "two", 4) == (first, FilterSettings("two", "unsolved", attempts=10, max_steps=120, seed=4))


def test_agents_are_shipped_ones_where_none_are_named():
    forgetful = FilterSettings("drc33-100m", "unsolved", attempts=10, reset_memory=True, looks=3, seed=2)
    asked = Generate("out.levels", 1, seed=2, difficulty="hard")
    assert asked.filters() == (forgetful, FilterSettings("drc33-130m", "unsolved", attempts=10, seed=2))
    assert replace(asked, difficulty="medium").filters() == (forgetful,)
    own = replace(asked, difficulty="medium", medium_agent="one").filters()
    assert own == (FilterSettings("one", "unsolved", attempts=10, reset_memory=True, looks=1, seed=2),)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--medium-looks", "2"], "--medium-looks has no meaning for --difficulty unfiltered"),
        (["--difficulty", "medium", "--hard-agent", "x"], "--hard-agent has no meaning for --difficulty medium"),
        (["--difficulty", "medium", "--medium-looks", "0"], "--medium-looks must be"),
        (["--hard-agent", "x"], "--hard-agent has no meaning for --difficulty unfiltered"),
        (["--difficulty", "medium", "--medium-agent", "x", "--solutions", "y.txt"], "--solutions belongs to"),
        (["--difficulty", "medium", "--medium-agent", "x", "--boxes", "1-2"], "expected one number for --difficulty"),
    ],
)
def test_what_cannot_be_asked_is_rejected_by_name(words, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert make("--count", "1", *words) == 2
    assert message in capsys.readouterr().err
