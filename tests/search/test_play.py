import numpy as np

from foresight.search.play import PlaySettings, play
from foresight.search.result import Limits
from foresight.search.rules import pushes_of
from tests.levels.drawings import cells
from tests.search.boards import EASY, UNSOLVABLE
from tests.search.toy_priors import ToyPrior

ROW = cells("######", "#@$ .#", "######")


class Says(ToyPrior):
    """Always the same preference, and notes what is released."""

    def __init__(self, *weights: float):
        super().__init__(path_dependent=True)
        self.weights, self.released = list(weights), 0

    def ask(self, nodes):
        self.asked += len(nodes)
        return lambda: [[*self.weights, 0.0] for _ in nodes]

    def release(self, nodes):
        self.released += len(nodes)


def test_greedy_play_takes_the_likeliest_action():
    (result,) = play(ROW[None], Says(-9, -9, -9, -9, 0))
    assert (result.outcome, result.moves, result.network_calls) == ("solved", bytes([4, 4]), 2)


def test_actions_that_change_nothing_count_and_are_no_part_of_the_solution():
    (result,) = play(ROW[None], Says(0, 0, -9, -9, -1), PlaySettings(sample=True, seed=3))
    assert (result.outcome, result.moves) == ("solved", bytes([4, 4]))
    assert result.network_calls == result.expansions > 2


def test_one_greedy_attempt_is_all_there_is():
    (result,) = play(ROW[None], Says(0, -9, -9, -9, -9), PlaySettings(max_steps=7))
    assert (result.outcome, result.moves, result.network_calls) == ("budget", None, 7)


def test_drawn_attempts_start_afresh_until_the_budget_is_used_up():
    prior = Says(0, 0, 0, 0, 0)
    trap = cells("#######", "#   $ #", "#@$ . #", "#   . #", "#######")
    (result,) = play(trap[None], prior, PlaySettings(sample=True, max_steps=30), Limits(budget=3000))
    assert result.network_calls == prior.asked > 30
    if result.outcome == "solved":
        assert pushes_of(trap, result.moves)
    (hopeless,) = play(
        UNSOLVABLE[None], Says(0, 0, 0, 0, 0), PlaySettings(sample=True, max_steps=30), Limits(budget=100)
    )
    assert (hopeless.outcome, hopeless.network_calls) == ("budget", 100)


def test_play_depends_on_the_seed_and_not_on_the_batch():
    boards = np.stack([EASY, EASY[:, ::-1], EASY[::-1], EASY])

    def found(batch: int, seed: int = 0) -> list[tuple]:
        results = play(boards, Says(0, 0, 0, 0, 0), PlaySettings(True, 200, seed, batch), Limits(budget=2000))
        return [(result.level, result.outcome, result.moves, result.network_calls) for result in results]

    assert found(1) == found(4)
    assert found(4) != found(4, seed=1)


def test_time_is_an_outcome_of_its_own():
    (result,) = play(ROW[None], Says(0, -9, -9, -9, -9), limits=Limits(seconds=1e-9))
    assert result.outcome == "time"
