import numpy as np
import pytest

from foresight.levels.generator import reverse_play
from tests.levels.drawings import cells

MASK = 2**64 - 1
STEPS = [(-1, 0), (1, 0), (0, -1), (0, 1)]

ROOM = cells(
    "########",
    "#  @   #",
    "#  .   #",
    "## #.  #",
    "#    . #",
    "########",
)


class SlowSearch:
    """The search written from its description: recursive, on tuples, with every state kept as it is."""

    def __init__(self, board: np.ndarray, states: int, depth: int, stream: int):
        self.free = {(int(r), int(c)) for r, c in np.argwhere(board != 0)}
        self.targets = [(int(r), int(c)) for r, c in np.argwhere(board == 2)]
        (self.start,) = [(int(r), int(c)) for r, c in np.argwhere(board == 5)]
        self.states, self.depth, self.stream = states, depth, stream
        self.seen, self.score, self.actions, self.boxes = set(), 0, [], None

    def run(self) -> "SlowSearch":
        self.seen.add((self.start, frozenset(self.targets)))
        self.visit(self.start, tuple(self.targets), [])
        return self

    def below(self, limit: int) -> int:
        x = self.stream
        x ^= x << 13 & MASK
        x ^= x >> 7
        x ^= x << 17 & MASK
        self.stream = x
        return (x >> 32) * limit >> 32

    def visit(self, player, boxes, history) -> None:
        self.judge(player, boxes, history)
        if len(history) == self.depth:
            return
        untried = list(range(8))
        while untried and len(self.seen) < self.states:
            action = untried.pop(self.below(len(untried)))
            after = self.moved(player, boxes, action)
            if after is None or (after[0], frozenset(after[1])) in self.seen:
                continue
            self.seen.add((after[0], frozenset(after[1])))
            self.visit(*after, [*history, (action, boxes, after[1])])

    def moved(self, player, boxes, action):
        down, right = STEPS[action % 4]
        there, behind = (player[0] + down, player[1] + right), (player[0] - down, player[1] - right)
        if there not in self.free or there in boxes or (action < 4 and behind not in boxes):
            return None
        return there, tuple(player if action < 4 and box == behind else box for box in boxes)

    def judge(self, player, boxes, history) -> None:
        if player in self.targets or set(boxes) & set(self.targets):
            return
        pulled = [
            next(i for i in range(len(boxes)) if before[i] != after[i])
            for _, before, after in history
            if before != after
        ]
        swaps = sum(first != second for first, second in zip([None, *pulled], pulled, strict=False))
        distance = sum(abs(b[0] - t[0]) + abs(b[1] - t[1]) for b, t in zip(boxes, self.targets, strict=True))
        if swaps * distance > self.score:
            self.score, self.boxes, self.actions = swaps * distance, boxes, [action for action, _, _ in history]


def play_back(board: np.ndarray, states: int, depth: int, stream: int):
    targets, player = np.flatnonzero(board == 2), np.flatnonzero(board == 5)
    places = np.concatenate([player, targets])[None]
    starts, actions = np.zeros_like(places), np.zeros((1, depth), np.uint8)
    walls = (board == 0).astype(np.uint8).reshape(1, -1)
    streams = np.array([stream], np.uint64)
    (length,) = reverse_play.play_back(walls, board.shape[1], places, streams, states, starts, actions)
    return starts[0], actions[0, :length]


@pytest.mark.parametrize("stream", [1, 2**40 + 7, 987654321])
@pytest.mark.parametrize(("states", "depth"), [(300, 40), (800, 300), (30_000, 60)])
def test_the_search_finds_what_its_description_finds(states, depth, stream):
    slow = SlowSearch(ROOM, states, depth, stream).run()
    starts, actions = play_back(ROOM, states, depth, stream)
    assert slow.score > 0
    assert actions.tolist() == slow.actions
    assert [divmod(int(cell), ROOM.shape[1]) for cell in starts[1:]] == list(slow.boxes)


def test_a_room_where_no_box_can_leave_its_target_gives_nothing():
    starts, actions = play_back(cells("######", "#.@###", "######"), 100, 50, 1)
    assert len(actions) == 0
    assert (starts == -1).all()


def test_the_player_is_drawn_uniformly_from_the_cells_it_reaches_that_are_no_targets():
    board = cells("#######", "#   $ #", "#.@ ###", "#######")
    room = reverse_play.Room(
        7,
        (board == 0).astype(np.uint8).ravel(),
        (board == 2).astype(np.uint8).ravel(),
        np.flatnonzero(board == 2),
        np.where(board == 3, 0, reverse_play.NO_BOX).astype(np.int8).ravel(),
    )
    stream = np.array([12345], np.uint64)
    drawn = [reverse_play.redraw_player(room, 16, stream) for _ in range(5_000)]
    assert set(drawn) == {8, 9, 10, 16, 17}
    assert (abs(np.bincount(drawn)[[8, 9, 10, 16, 17]] - 1_000) < 4 * np.sqrt(800)).all()


def test_a_key_that_was_seen_is_not_new():
    seen = np.zeros(8, np.uint64)
    keys = np.array([2, 18, 34, 2, 18, 50], np.uint64)  # 2, 18, 34 and 50 want the same slot
    assert [reverse_play.is_new(seen, key) for key in keys] == [True, True, True, False, False, True]
