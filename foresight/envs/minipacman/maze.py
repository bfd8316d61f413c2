"""The maze of MiniPacman as numpy tables: where one can go, and where ghosts may start.

A cell is one number, counted row by row; a facing is 0 right, 1 up, 2 left, 3 down.
"""

import numpy as np

MAZE = (
    "###################",
    "#   #         #   #",
    "# # # ####### # # #",
    "#                 #",
    "# # # ####### # # #",
    "# #             # #",
    "# #### ##### #### #",
    "#      #####      #",
    "# #### ##### #### #",
    "# #             # #",
    "# # # ####### # # #",
    "#                 #",
    "# # # ####### # # #",
    "#   #         #   #",
    "###################",
)
HEIGHT, WIDTH = len(MAZE), len(MAZE[0])
CELLS = HEIGHT * WIDTH

WALLS = np.array([cell == "#" for row in MAZE for cell in row])  # bool [CELLS]
OPEN_CELLS = np.flatnonzero(~WALLS).astype(np.int32)
FACING_OFFSETS = np.array([1, -WIDTH, -1, WIDTH], np.int32)  # right, up, left, down
# For facings -2 .. 3: the two that are no direction go down and nowhere, as a list of the notebook read from its end.
GHOST_OFFSETS = np.array([WIDTH, 0, *FACING_OFFSETS], np.int32)
ACTION_OFFSETS = np.array([0, *FACING_OFFSETS], np.int32)  # stay, then as the facings

BEFORE, AFTER = 5, 4  # rows and columns around the player where no ghost starts; the box is lopsided in the original


def openings() -> np.ndarray:
    """Which facings are not blocked by a wall, bool [CELLS, 4]; all false on walls."""
    table = np.zeros((CELLS, 4), bool)
    table[OPEN_CELLS] = ~WALLS[OPEN_CELLS[:, None] + FACING_OFFSETS]
    return table


def corridor_facing(open_facings: np.ndarray, facing: int) -> int:
    """Where a ghost goes that has two ways: on, or round the bend; `facing` -2 and -1 are no direction at all."""
    first, second = np.flatnonzero(open_facings)
    if facing in (first, second):
        return facing
    return second if (facing + 2) % 4 == first else first


def corridor_facings() -> np.ndarray:
    """`corridor_facing` for facings -2 .. 3, int32 [CELLS, 6]; zero where a cell has not two ways."""
    table = np.zeros((CELLS, 6), np.int32)
    for cell in np.flatnonzero(OPENINGS.sum(1) == 2):
        table[cell] = [corridor_facing(OPENINGS[cell], facing) for facing in range(-2, 4)]
    return table


def ghost_starts() -> tuple[np.ndarray, np.ndarray]:
    """For each open cell of the player, the open cells outside the box around it [138, 138], and their number [138]."""
    rows, columns = np.divmod(OPEN_CELLS, WIDTH)
    row_gap, column_gap = rows[None] - rows[:, None], columns[None] - columns[:, None]
    near = (row_gap >= -BEFORE) & (row_gap <= AFTER) & (column_gap >= -BEFORE) & (column_gap <= AFTER)
    order = np.argsort(near, axis=1, kind="stable")  # allowed cells first, in their own order
    return OPEN_CELLS[order], np.sum(~near, axis=1).astype(np.int32)


OPENINGS = openings()
CORRIDOR_FACINGS = corridor_facings()
GHOST_STARTS, GHOST_START_COUNTS = ghost_starts()
