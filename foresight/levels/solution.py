"""Solutions as Sokoban people write them (LURD): l u r d for moves, capital letters for pushes."""

import re
from collections.abc import Sequence

import numpy as np

from foresight.levels.cells import WALL, LevelError, has_box, has_player, has_target
from foresight.levels.limits import LONGEST_LINE
from foresight.levels.sets import LevelSet
from foresight.levels.text import format_board

LETTERS = "udlr"  # moves 1 to 4
RUN = re.compile(r"([1-9][0-9]{0,3})?([udlrUDLR])")
SOLUTION = re.compile(r"^solution[ \t]*[:=](.*)$", re.IGNORECASE | re.MULTILINE)
SPACES = re.compile(r"\s+")


def format_lurd(cells: np.ndarray, moves: np.ndarray) -> str:
    """Moves (1 up, 2 down, 3 left, 4 right; 0 stays) on a board [H, W] as letters; those without effect are skipped.

    Such are moves against a wall, or against a box that cannot be pushed.
    """
    played = Game(cells)
    return "".join(played.move(int(move)) for move in moves)


def format_solutions(levels: LevelSet, solutions: Sequence[np.ndarray]) -> str:
    """Levels as a text file, each followed by a line with its solution."""
    return "".join(
        f"{format_board(cells)}\nSolution: {format_lurd(cells, moves)}\n\n"
        for cells, moves in zip(levels.cells(), solutions, strict=True)
    )


def parse_solutions(text: str) -> list[np.ndarray]:
    """The moves in each line `Solution: ...` of a text file."""
    return [parse_lurd(line) for line in SOLUTION.findall(text)]


def parse_lurd(text: str) -> np.ndarray:
    """The moves uint8 [N] of a solution in letters, which may have spaces and numbers of repeats (`3r2U`) in it."""
    letters = SPACES.sub("", text)
    if len(letters) > LONGEST_LINE:
        raise LevelError(f"a solution of {len(letters)} characters, expected at most {LONGEST_LINE}")
    moves: list[int] = []
    place = 0
    while place < len(letters):
        run = RUN.match(letters, place)
        if not run:
            wrong = f"character {place + 1} of a solution is {letters[place]!r}"
            raise LevelError(f"{wrong}, expected one of l u r d L U R D")
        moves.extend([LETTERS.index(run[2].lower()) + 1] * int(run[1] or 1))
        if len(moves) > LONGEST_LINE:
            raise LevelError(f"a solution of more than {LONGEST_LINE} moves, expected fewer")
        place = run.end()
    return np.array(moves, np.uint8)


def is_solution(cells: np.ndarray, moves: np.ndarray) -> bool:
    """Whether moves on a board [H, W] bring every box to a target."""
    played = Game(cells)
    for move in moves:
        played.move(int(move))
    return played.boxes == played.targets


class Game:
    """A level being played by plain rules, move by move."""

    def __init__(self, cells: np.ndarray):
        """Begin with a board [H, W]."""
        self.walls, self.boxes, self.targets, player = (
            set(map(tuple, np.argwhere(mask).tolist()))
            for mask in (cells == WALL, has_box(cells), has_target(cells), has_player(cells))
        )
        (self.player,) = player

    def move(self, move: int) -> str:
        """Play one move, and give its letter; an empty text where it does nothing."""
        if not move:
            return ""
        down, right = ((-1, 0), (1, 0), (0, -1), (0, 1))[move - 1]
        row, column = self.player
        ahead, beyond = (row + down, column + right), (row + 2 * down, column + 2 * right)
        if ahead in self.walls or (ahead in self.boxes and (beyond in self.walls or beyond in self.boxes)):
            return ""
        self.player = ahead
        if ahead not in self.boxes:
            return LETTERS[move - 1]
        self.boxes.remove(ahead)
        self.boxes.add(beyond)
        return LETTERS[move - 1].upper()
