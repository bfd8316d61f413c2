"""How often an agent follows a single arrow that a visitor drags at the start, by how strongly it is written.

python -m tests.web.obey drc33-640m --first 300 --levels 100

The arrow leads onto a free square beside the agent that it would not have gone to first; it may think four steps. What
counts is as on the page: the next time that it steps onto that square within the first four moves, it does so that way.
"""

import argparse
import json
from collections.abc import Iterator

import numpy as np

from foresight.insight.labels import STRAIGHT
from foresight.insight.pacing import interval
from foresight.levels.cells import FLOOR, PLAYER, PLAYER_ON_TARGET, TARGET
from foresight.web.episodes import CLASS_NAMES, Request, Wish, is_followed, play_beginning
from foresight.web.library import Library, Mind

SET, THINK = "builtin/test", 4
STRENGTHS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5)


def arrows(mind: Mind, boards: np.ndarray) -> Iterator[tuple[np.ndarray, Wish]]:
    """A board and an arrow for each that has room for one."""
    for board in boards:
        ((row, column),) = np.argwhere(np.isin(board, (PLAYER, PLAYER_ON_TARGET)))
        actions = play_beginning(Request(mind, board, THINK)).actions
        first = next((int(action) for action in actions if action > 0), 0)  # actions and classes have the same numbers
        for (down, right), kind in STRAIGHT.items():
            if kind != first and board[row + down, column + right] in (FLOOR, TARGET):
                yield board, Wish(int(row + down), int(column + right), "C_A", CLASS_NAMES[kind])
                break


def followed(mind: Mind, board: np.ndarray, wish: Wish, strength: float) -> bool:
    request = Request(mind, board, THINK, (wish,), 0, strength)
    return is_followed(request, wish, play_beginning(request).observations)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.web.obey")
    parser.add_argument("agent")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--levels", type=int, default=100)
    options = parser.parse_args()
    library = Library()
    mind = library.mind(options.agent)
    boards = np.stack([library.board(SET, options.first + number) for number in range(options.levels)])
    asked = list(arrows(mind, boards))
    for strength in STRENGTHS:
        hits = np.array([followed(mind, board, wish, strength) for board, wish in asked])
        row = {"agent": options.agent, "first": options.first, "strength": strength, "arrows": len(hits)}
        ci95 = [round(100 * end, 1) for end in interval(hits)]
        print(json.dumps(row | {"followed": int(hits.sum()), "percent": round(100 * hits.mean(), 1), "ci95": ci95}))


if __name__ == "__main__":
    main()
