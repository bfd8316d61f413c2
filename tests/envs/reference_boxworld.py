"""Boxworld written from its rules in plain Python: the game, and levels made by drawing cells until one is free."""

import random

import numpy as np

SIDE = 14
WALL, BACKGROUND, AGENT, GEM, KEYS = range(5)
MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))


class Game:
    """One board, understood from what is seen: a coloured pair is a box, a coloured cell alone is a loose key."""

    def __init__(self, observation: np.ndarray):
        self.agent = tuple(np.argwhere(observation == AGENT)[0].tolist())
        self.held = int(observation[0, 0])
        self.contents, self.locks = {}, {}  # place: code
        for row in range(1, SIDE - 1):
            column = 1
            while column < SIDE - 1:
                if observation[row, column] >= GEM:
                    self.contents[row, column] = int(observation[row, column])
                    if observation[row, column + 1] >= GEM:
                        column += 1
                        self.locks[row, column] = int(observation[row, column])
                column += 1
        self.right_locks = self.locks_on_the_way()

    def locks_on_the_way(self) -> set[tuple[int, int]]:
        """From the gem back: the lock before it, the box with that lock's key, and so on to the loose key."""
        wanted, way = GEM, set()
        while True:
            (content,) = (place for place, code in self.contents.items() if code == wanted)
            lock = (content[0], content[1] + 1)
            if lock not in self.locks:
                return way
            way.add(lock)
            wanted = self.locks[lock]

    def step(self, action: int) -> tuple[np.float32, bool, bool]:
        """Reward, end, solved."""
        place = (self.agent[0] + MOVES[action][0], self.agent[1] + MOVES[action][1])
        if not (1 <= place[0] <= SIDE - 2 and 1 <= place[1] <= SIDE - 2):
            return np.float32(0), False, False
        if place in self.locks:
            if self.locks[place] != self.held:
                return np.float32(0), False, False
            del self.locks[place]
            self.agent, self.held = place, WALL
            return (np.float32(1), False, False) if place in self.right_locks else (np.float32(-1), True, False)
        if place in self.contents:
            if (place[0], place[1] + 1) in self.locks:
                return np.float32(0), False, False
            self.agent = place
            taken = self.contents.pop(place)
            if taken == GEM:
                return np.float32(10), True, True
            self.held = taken
            return np.float32(0), False, False
        self.agent = place
        return np.float32(0), False, False

    def observation(self) -> np.ndarray:
        """Codes, the agent on top, the held key in the corner."""
        board = np.zeros((SIDE, SIDE), np.uint8)
        board[1:-1, 1:-1] = BACKGROUND
        for things in (self.contents, self.locks):
            for place, code in things.items():
                board[place] = code
        board[self.agent] = AGENT
        board[0, 0] = self.held
        return board


def attempt(length: int, branches: int, rng: random.Random) -> np.ndarray | None:
    """One attempt at a level with three boxes a branch, as codes; None after more than 200 failed draws."""
    board = np.zeros((SIDE, SIDE), np.uint8)
    board[1:-1, 1:-1] = BACKGROUND
    colours = rng.sample(range(20), 20)
    failures = 0

    def free_place(columns: tuple[int, int], rows: tuple[int, int], margin: bool) -> tuple[int, int] | None:
        nonlocal failures
        while failures <= 200:
            column, row = rng.randint(*columns), rng.randint(*rows)
            window = board[row - 1 : row + 2, column - 1 : column + 3] if margin else board[row, column]
            if np.all(window == BACKGROUND):
                return row, column
            failures += 1
        return None

    for lock, content in pairs(length, branches, rng):
        place = free_place((1, 9), (2, 11), margin=True)
        if place is None:
            return None
        board[place] = GEM if content == 0 else KEYS + colours[content - 1]
        if lock:
            board[place[0], place[1] + 1] = KEYS + colours[lock - 1]
    agent = free_place((1, 11), (2, 11), margin=False)
    if agent is None:
        return None
    board[agent] = AGENT
    return board


def pairs(length: int, branches: int, rng: random.Random) -> list[tuple[int, int]]:
    """Lock and content ids of all items; lock 0 is none, content 0 the gem."""
    items = [(0, 1)] + [(i, i + 1) for i in range(1, length)] + [(length, 0)]
    for _ in range(branches):
        lock = rng.randint(1, length)
        for _ in range(3):
            content = rng.choice([key for key in range(length + 1, 20) if key != lock])
            items.append((lock, content))
            lock = content
    return items
