"""Sokoban written from its rules, twice: one board at a time in plain Python, and many boards in numpy."""

import numpy as np

WALL, FLOOR, TARGET, BOX, BOX_ON_TARGET, PLAYER, PLAYER_ON_TARGET = range(7)
MOVES = {0: (0, 0), 1: (-1, 0), 2: (1, 0), 3: (0, -1), 4: (0, 1)}


class Game:
    """One board: sets of places, and the rules as sentences."""

    def __init__(self, board: np.ndarray):
        self.shape = board.shape
        places = {(r, c): int(board[r, c]) for r in range(board.shape[0]) for c in range(board.shape[1])}
        self.walls = {place for place, code in places.items() if code == WALL}
        self.targets = {place for place, code in places.items() if code in (TARGET, BOX_ON_TARGET, PLAYER_ON_TARGET)}
        self.boxes = {place for place, code in places.items() if code in (BOX, BOX_ON_TARGET)}
        (self.player,) = (place for place, code in places.items() if code in (PLAYER, PLAYER_ON_TARGET))

    def step(self, action: int) -> tuple[np.float32, bool, bool]:
        """Reward, end, solved."""
        on_before = len(self.boxes & self.targets)
        down, right = MOVES[action]
        if action != 0:
            ahead = (self.player[0] + down, self.player[1] + right)
            beyond = (ahead[0] + down, ahead[1] + right)
            if ahead in self.boxes:
                if beyond not in self.walls and beyond not in self.boxes:
                    self.boxes = self.boxes - {ahead} | {beyond}
                    self.player = ahead
            elif ahead not in self.walls:
                self.player = ahead
        solved = self.boxes <= self.targets
        gained = len(self.boxes & self.targets) - on_before
        return np.float32(-0.01 + gained + 10 * solved), solved, solved

    def observation(self) -> np.ndarray:
        """Cell codes."""
        board = np.full(self.shape, FLOOR, np.uint8)
        for place in self.walls:
            board[place] = WALL
        for place in self.targets:
            board[place] = TARGET
        for place in self.boxes:
            board[place] = BOX_ON_TARGET if place in self.targets else BOX
        board[self.player] = PLAYER_ON_TARGET if self.player in self.targets else PLAYER
        return board


class ManyGames:
    """Boards [B, H, W] played side by side on cell codes themselves."""

    def __init__(self, boards: np.ndarray):
        self.boards = boards.copy()
        self.offsets = np.array([0, -boards.shape[2], boards.shape[2], -1, 1])

    def replace(self, which: np.ndarray, boards: np.ndarray) -> None:
        """New boards where `which` [B] is true."""
        self.boards[which] = boards[which]

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rewards [B] and solved [B]."""
        flat, num_envs = self.boards.reshape(len(self.boards), -1), np.arange(len(self.boards))
        here = np.argmax(flat >= PLAYER, axis=1)
        ahead = here + self.offsets[actions]
        beyond = np.clip(ahead + self.offsets[actions], 0, flat.shape[1] - 1)  # clipped ones lie behind the border
        code_ahead, code_beyond = flat[num_envs, ahead], flat[num_envs, beyond]
        is_box = (code_ahead == BOX) | (code_ahead == BOX_ON_TARGET)
        pushes = is_box & ((code_beyond == FLOOR) | (code_beyond == TARGET))
        moves = (actions != 0) & (pushes | (code_ahead == FLOOR) | (code_ahead == TARGET))
        gains = (pushes & (code_beyond == TARGET)).astype(int) - (pushes & (code_ahead == BOX_ON_TARGET))
        flat[num_envs[pushes], beyond[pushes]] += BOX - FLOOR
        flat[num_envs[pushes], ahead[pushes]] -= BOX - FLOOR
        flat[num_envs[moves], here[moves]] -= PLAYER - FLOOR
        flat[num_envs[moves], ahead[moves]] += PLAYER - FLOOR
        solved = ~(flat == BOX).any(axis=1)
        return (-0.01 + gains + 10 * solved).astype(np.float32), solved
