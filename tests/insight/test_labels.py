import jax
import numpy as np
import pytest

from foresight.envs import make
from foresight.errors import ForesightError
from foresight.insight.labels import (
    AGENT_OFF,
    BOX_ONTO,
    C_A,
    C_B,
    DOWN,
    LEFT,
    NEVER,
    RIGHT,
    UP,
    Concept,
    class_count,
    label,
    moves_made,
)
from foresight.insight.playing import play
from foresight.insight.records import THINKING, Player
from foresight.insight.samples import samples_of
from foresight.nets.lstm import LSTM
from tests.drawings import BOXWORLD_SYMBOLS, GRIDWORLD_SYMBOLS, codes, level

MOVES = {1: (-1, 0), 2: (1, 0), 3: (0, -1), 4: (0, 1)}
BOXES, AGENTS = (3, 4), (5, 6)


def slow_label(observations: np.ndarray, concept: Concept) -> np.ndarray:
    """Square by square and step by step: look ahead until it happens."""
    boards = observations.tolist()
    codes = AGENTS if concept.mover == "agent" else BOXES
    agents = [tuple(np.argwhere(np.isin(board, AGENTS))[0]) for board in observations]
    labels = np.zeros((len(boards) - 1, *observations.shape[1:]), np.uint8)
    for start, row, column in np.ndindex(labels.shape):
        for step in range(start, min(len(labels), start + (concept.horizon or len(labels)))):
            (old, new), (before, after) = agents[step : step + 2], boards[step : step + 2]
            moved = [name for name, (down, right) in MOVES.items() if new == (old[0] + down, old[1] + right)]
            was, is_ = before[row][column] in codes, after[row][column] in codes
            if moved and (not was and is_ if concept.event == "onto" else was and not is_):
                labels[start, row, column] = moved[0]
                break
    return labels


def walk(board: np.ndarray, actions: list[int] | np.ndarray) -> np.ndarray:
    """Observations [T + 1, H, W] of these actions, by the rules."""
    board, seen = board.copy(), [board]
    for action in actions:
        board = board.copy()
        (here,) = np.argwhere(np.isin(board, AGENTS))
        by = np.array(MOVES.get(int(action), (0, 0)))
        ahead, beyond = tuple(here + by), tuple(here + 2 * by)
        pushes = by.any() and board[ahead] in BOXES and board[beyond] in (1, 2)
        if by.any() and (pushes or board[ahead] in (1, 2)):
            board[beyond] += 2 * pushes
            board[ahead] += 4 - 2 * pushes
            board[tuple(here)] -= 4
        seen.append(board)
    return np.stack(seen)


def test_a_drawn_episode_has_the_labels_one_sees():
    seen = np.stack(
        [
            level("######", "#@$ .#", "######"),
            level("######", "#@$ .#", "######"),  # a no-op, or a blocked move
            level("######", "# @$.#", "######"),
            level("######", "#@ $.#", "######"),
            level("######", "# @$.#", "######"),
            level("######", "#  @*#", "######"),
        ]
    )
    agent, box = label("sokoban", seen, C_A), label("sokoban", seen, C_B)
    np.testing.assert_array_equal(
        agent[:, 1, 1:5],
        [
            [LEFT, RIGHT, RIGHT, NEVER],
            [LEFT, RIGHT, RIGHT, NEVER],
            [LEFT, RIGHT, RIGHT, NEVER],
            [NEVER, RIGHT, RIGHT, NEVER],
            [NEVER, NEVER, RIGHT, NEVER],
        ],
    )
    np.testing.assert_array_equal(box[0, 1, 1:5], [NEVER, RIGHT, RIGHT, NEVER])
    np.testing.assert_array_equal(box[-1, 1, 1:5], [NEVER, NEVER, RIGHT, NEVER])  # the last move counts
    assert label("sokoban", seen, AGENT_OFF)[0, 1, 1] == RIGHT
    assert label("sokoban", seen, BOX_ONTO)[0, 1, 3] == RIGHT
    soon = label("sokoban", seen, Concept("soon", "agent", "onto", horizon=2))
    np.testing.assert_array_equal(soon[0, 1, 1:5], [NEVER, RIGHT, NEVER, NEVER])


def test_of_two_boxes_pushed_off_one_square_the_next_one_counts():
    board = level("#######", "#  .  #", "#@$ $.#", "#     #", "#######")
    actions = [4, 2, 4, 1, 3, 1, 4, 4, 2, 4, 3]
    labels = label("sokoban", walk(board, actions), C_B)
    np.testing.assert_array_equal(labels, slow_label(walk(board, actions), C_B))


@pytest.mark.parametrize(
    "concept", [C_A, C_B, AGENT_OFF, BOX_ONTO, Concept("near", "box", "off", 3)], ids=lambda c: c.name
)
def test_labels_are_those_of_a_slow_look_ahead(concept):
    board = level("########", "# .  . #", "# $@$  #", "#  $ . #", "#      #", "########")
    for seed in range(3):
        seen = walk(board, np.random.default_rng(seed).integers(0, 5, 30))
        np.testing.assert_array_equal(label("sokoban", seen, concept), slow_label(seen, concept))


def test_other_domains_have_labels_of_the_agent():
    rooms = [
        codes("#####", "#@a #", "#####", symbols=BOXWORLD_SYMBOLS),
        codes("#####", "# @ #", "#####", symbols=BOXWORLD_SYMBOLS),
    ]
    assert label("boxworld", np.stack(rooms), C_A)[0, 1, 2] == RIGHT
    mazes = [
        codes("   ", " @ ", "  G", symbols=GRIDWORLD_SYMBOLS),
        codes("  @", "   ", "  G", symbols=GRIDWORLD_SYMBOLS),
    ]
    assert label("gridworld", np.stack(mazes), C_A)[0, 0, 2] == 5
    assert (class_count("gridworld"), class_count("sokoban")) == (9, 5)
    with pytest.raises(ForesightError, match="nothing is pushed in boxworld"):
        label("boxworld", np.stack(rooms), C_B)
    with pytest.raises(ForesightError, match="no labels for 'atari'"):
        label("atari", np.zeros((2, 3, 3)), C_A)


def test_an_agent_that_jumps_or_vanishes_has_not_moved():
    seen = np.zeros((4, 3, 5), np.uint8)
    seen[0, 1, 1] = seen[1, 1, 3] = seen[3, 1, 4] = 4
    assert not label("minipacman", seen, C_A).any()
    seen[2, 0, 3] = 4
    assert label("minipacman", seen, C_A)[1, 0, 3] == UP
    assert DOWN not in label("minipacman", seen, C_A)


def test_a_minipacman_move_that_ends_a_level_counts_and_the_start_in_the_next_one_does_not():
    seen = np.zeros((5, 15, 19), np.uint8)
    for board, place in zip(seen, [(1, 1), (1, 1), (2, 1), (2, 1), (3, 1)], strict=True):
        board[place], board[:, 0] = 4, 1
    right, left, down = 1, 3, 4
    actions = np.array([THINKING, right, left, down], np.int8)  # to the right, which ends the level; then into a wall
    assert moves_made("minipacman", seen, actions).tolist() == [NEVER, RIGHT, NEVER, DOWN]
    agent, off = (label("minipacman", seen, concept, actions) for concept in (C_A, AGENT_OFF))
    assert agent[:, 1, 2].tolist() == [RIGHT, RIGHT, NEVER, NEVER]
    assert not agent[:, 2, 1].any()  # where the next level begins, beside the last one's end
    assert off[0, 1, 1] == RIGHT
    assert agent[0, 3, 1] == off[0, 2, 1] == DOWN


def test_samples_of_minipacman_have_the_moves_that_end_levels():
    env = make("minipacman", mode="avoid", level_timer=2)  # every second move ends a level
    net = LSTM(env.picture_shape, env.actions, jax.random.key(1), depth=1, ticks=1, units=4, features=2, hidden=4)
    episode = play(Player(net, env), [0], keep=("c",), max_steps=6)[0]
    soon = Concept("soon", "agent", "onto", horizon=1)
    labels = samples_of("minipacman", [episode], [soon]).labels["soon"]
    for board, action, found in zip(episode.observations, episode.actions, labels, strict=False):
        (here,) = np.argwhere(board == 4)
        ahead = tuple(here + {0: (0, 0), 1: (0, 1), 2: (-1, 0), 3: (0, -1), 4: (1, 0)}[int(action)])
        goes = action != 0 and board[ahead] != 1
        expected = np.zeros_like(found)
        expected[ahead] = {1: RIGHT, 2: UP, 3: LEFT, 4: DOWN}[int(action)] if goes else NEVER
        np.testing.assert_array_equal(found, expected)
