"""Gridworld written from its rules in plain Python, and shortest paths by breadth-first search."""

from collections import deque

import numpy as np

FREE, OBSTACLE, GOAL, PLAYER = range(4)
NAMES = ("N", "S", "E", "W", "NE", "NW", "SE", "SW", "stay")


class Game:
    """One board; what the player stands on at the start is free."""

    def __init__(self, observation: np.ndarray):
        self.size = len(observation)
        self.obstacles = {tuple(place) for place in np.argwhere(observation == OBSTACLE).tolist()}
        (self.goal,) = (tuple(place) for place in np.argwhere(observation == GOAL).tolist())
        (self.player,) = (tuple(place) for place in np.argwhere(observation == PLAYER).tolist())

    def neighbour(self, place: tuple[int, int], name: str) -> tuple[int, int] | None:
        """The cell one move away, or None off the board."""
        row = place[0] - name.count("N") + name.count("S")
        column = place[1] + name.count("E") - name.count("W")
        return (row, column) if 0 <= row < self.size and 0 <= column < self.size else None

    def step(self, action: int) -> tuple[np.float32, bool, bool]:
        """Reward, end, solved."""
        self.player = self.neighbour(self.player, NAMES[action]) or self.player
        if self.player == self.goal:
            return np.float32(1), True, True
        if self.player in self.obstacles:
            return np.float32(-1), True, False
        return np.float32(-0.01), False, False

    def observation(self) -> np.ndarray:
        """Codes, the player on top."""
        board = np.zeros((self.size, self.size), np.uint8)
        for place in self.obstacles:
            board[place] = OBSTACLE
        board[self.goal] = GOAL
        board[self.player] = PLAYER
        return board

    def shortest_path(self) -> int | None:
        """Moves from the player to the goal, or None where no path exists."""
        distances, queue = {self.player: 0}, deque([self.player])
        while queue:
            place = queue.popleft()
            if place == self.goal:
                return distances[place]
            for name in NAMES[:8]:
                ahead = self.neighbour(place, name)
                if ahead and ahead not in self.obstacles and ahead not in distances:
                    distances[ahead] = distances[place] + 1
                    queue.append(ahead)
        return None
