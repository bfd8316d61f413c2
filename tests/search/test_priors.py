import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foresight.envs.sokoban.rules import Sokoban
from foresight.errors import ForesightError
from foresight.search import priors as module
from foresight.search.levin import LevinSettings, levin
from foresight.search.priors import CarriedPrior, ResetPrior
from foresight.search.tree import Node
from tests.drawings import level_set
from tests.evaluation.linear import Linear
from tests.search.boards import EASY


@pytest.fixture(scope="module")
def player():
    env = Sokoban.make(level_set(EASY), view="planes")
    return Linear(env.picture_shape, env.actions, jax.random.key(1)), env


def chain(boards: np.ndarray) -> list[Node]:
    """A path of nodes that show these boards."""
    nodes, parent = [], None
    for board in boards:
        parent = Node(parent, 0, 0, 0.0, 1)
        parent.board = board.tobytes()
        nodes.append(parent)
    return nodes


def log_policy(player, boards: np.ndarray) -> np.ndarray:
    """What the network says after these boards in turn, called directly."""
    net, env = player
    memory = net.initial_memory()
    for board in boards:
        logits, value, memory = net(memory, env.paint(jnp.asarray(board)))
    return np.append(jax.nn.log_softmax(logits), value)


BOARDS = np.stack([np.roll(EASY[1:-1, 1:-1], shift) for shift in range(5)])
BOARDS = np.pad(BOARDS, ((0, 0), (1, 1), (1, 1)))


def test_a_reset_memory_sees_each_board_alone_as_often_as_asked(player):
    for repeats in (1, 3):
        answers = ResetPrior(*player, repeats).ask(chain(BOARDS))()
        for board, answer in zip(BOARDS, answers, strict=True):
            np.testing.assert_allclose(answer, log_policy(player, [board] * repeats), rtol=1e-5)


def test_a_carried_memory_sees_the_path(player):
    prior, nodes = CarriedPrior(*player, slots=16), chain(BOARDS)
    for place, node in enumerate(nodes):
        assert prior.needed(node) is node
        (answer,) = prior.ask([node])()
        np.testing.assert_allclose(answer, log_policy(player, BOARDS[: place + 1]), rtol=1e-5)


def test_room_is_made_as_it_is_needed_and_memories_stay_as_they_are(player, monkeypatch):
    monkeypatch.setattr(module, "FIRST_ROOM", 2)
    monkeypatch.setattr(module, "GROWTH", 2)
    prior, nodes, rooms = CarriedPrior(*player, slots=5), chain(BOARDS), []
    for place, node in enumerate(nodes):
        (answer,) = prior.ask([node])()
        np.testing.assert_allclose(answer, log_policy(player, BOARDS[: place + 1]), rtol=1e-5)
        rooms.append(prior.room)
    assert rooms == [2, 2, 4, 4, 5]
    assert sorted(node.slot for node in nodes) == [1, 2, 3, 4, 5]


def test_a_memory_given_up_is_made_again_from_the_path(player):
    prior, nodes = CarriedPrior(*player, slots=2), chain(BOARDS)
    for node in nodes:
        prior.ask([node])()
    assert [node.slot >= 0 for node in nodes] == [False, False, False, True, True]
    branch = Node(nodes[2], 0, 0, 0.0, 1)
    branch.board = BOARDS[0].tobytes()
    asked = []
    while branch.slot < 0:
        asked.append(prior.needed(branch))
        (answer,) = prior.ask([asked[-1]])()
    assert asked == [*nodes[:3], branch]
    np.testing.assert_allclose(answer, log_policy(player, [*BOARDS[:3], BOARDS[0]]), rtol=1e-5)


def test_the_memory_used_last_is_the_last_to_be_given_up(player):
    prior = CarriedPrior(*player, slots=2)
    first, second, (_, child) = chain(BOARDS[:1])[0], chain(BOARDS[1:2])[0], chain(BOARDS[:2])
    child.parent = first
    for node in (first, second, child):
        prior.ask([node])()
    assert (first.slot >= 0, second.slot >= 0, child.slot >= 0) == (True, False, True)


def test_slots_come_back_when_a_level_is_done(player):
    prior, nodes = CarriedPrior(*player, slots=16), chain(BOARDS)
    for node in nodes:
        prior.ask([node])()
    assert len(prior.free) == 11
    prior.release(nodes + nodes)
    assert sorted(prior.free) == list(range(1, 17))
    assert not prior.holders


def test_few_slots_change_the_calls_and_nothing_else(player):
    boards = np.stack([EASY, EASY[:, ::-1], EASY[::-1]])
    settings = LevinSettings(batch=2, width=1, groups=1)
    many = levin(boards, CarriedPrior(*player, slots=4096), settings)
    few = levin(boards, CarriedPrior(*player, slots=4), settings)
    assert [(r.outcome, r.expansions, r.moves) for r in many] == [(r.outcome, r.expansions, r.moves) for r in few]
    assert sum(result.network_calls for result in few) > sum(result.network_calls for result in many)


def test_more_boards_than_slots_are_rejected(player):
    with pytest.raises(ForesightError, match="5 boards at once need 10 slots, there are 8"):
        CarriedPrior(*player, slots=8).ask([chain(BOARDS[:1])[0] for _ in range(5)])
