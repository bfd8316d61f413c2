"""The way forward, compiled: reverse play reversed into a solution without its detours.

Nothing compiled is called from another file: numba's cache would not notice a change there.
"""

import numpy as np
from numba import njit

UNREACHED, ARRIVED = 255, 254
CELL_KEYS = np.random.Generator(np.random.PCG64(2019)).integers(1, 2**64, 400, np.uint64)


@njit(cache=True, nogil=True)
def flood(blocked, offsets, goal, toward):
    """Write into `toward` uint8 [H * W] each cell's direction of a shortest way to `goal`; returns the least cell."""
    toward[:] = UNREACHED
    toward[goal] = ARRIVED
    queue = np.zeros(len(blocked), np.int64)
    queue[0] = goal
    count, least = 1, goal
    for head in range(len(queue)):
        if head == count:
            break
        least = min(least, queue[head])
        for direction in range(4):
            neighbour = queue[head] + offsets[direction]
            if toward[neighbour] == UNREACHED and not blocked[neighbour]:
                toward[neighbour] = direction ^ 1  # 0 up, 1 down, 2 left, 3 right: the opposite differs in one bit
                queue[count] = neighbour
                count += 1
    return least


@njit(cache=True, nogil=True)
def pushes_of(player, actions, offsets):
    """The pushes that undo the pulls among `actions`, first push first: where the player stands, and the direction."""
    stands, directions = np.zeros(len(actions), np.int64), np.zeros(len(actions), np.int64)
    count = 0
    for action in actions:
        player += offsets[action % 4]
        if action < 4:
            stands[count], directions[count] = player, action ^ 1
            count += 1
    return stands[:count][::-1].copy(), directions[:count][::-1].copy()


@njit(cache=True, nogil=True)
def push(blocked, offsets, stand, direction):
    """Push the box in front of `stand`; returns the change of the boxes' key."""
    origin = stand + offsets[direction]
    blocked[origin] = 0
    blocked[origin + offsets[direction]] = 1
    return CELL_KEYS[origin] ^ CELL_KEYS[origin + offsets[direction]]


@njit(cache=True, nogil=True)
def states_along(blocked, offsets, player, stands, directions):
    """A key for the state before each push and after the last: the boxes, and the region the player can reach."""
    keys = np.zeros(len(stands) + 1, np.uint64)
    toward = np.zeros(len(blocked), np.uint8)
    boxes = np.uint64(0)
    for k in range(len(stands)):
        keys[k] = boxes ^ (CELL_KEYS[flood(blocked, offsets, player, toward)] * np.uint64(3))
        boxes ^= push(blocked, offsets, stands[k], directions[k])
        player = stands[k] + offsets[directions[k]]
    keys[-1] = boxes ^ (CELL_KEYS[flood(blocked, offsets, player, toward)] * np.uint64(3))
    return keys


@njit(cache=True, nogil=True)
def forward(walls, width, start, first_player, actions, solution):
    """Write the moves (1 up, 2 down, 3 left, 4 right) that solve the level into `solution`; returns their number.

    `start` holds the player's cell and the boxes'; `actions` led there from the solved board and `first_player`.
    Walks become shortest walks, and what returns to an earlier state is cut, so no room is wasted.
    """
    offsets = np.array([-width, width, -1, 1])
    stands, directions = pushes_of(first_player, actions, offsets)
    blocked = walls.copy()
    blocked[start[1:]] = 1
    keys = states_along(blocked.copy(), offsets, start[0], stands, directions)
    toward = np.zeros(len(walls), np.uint8)
    player, count, k = start[0], 0, 0
    while True:
        for later in range(len(stands), k, -1):
            if keys[later] == keys[k]:
                k = later
                break
        if k == len(stands):
            return count
        flood(blocked, offsets, stands[k], toward)
        while player != stands[k]:
            solution[count] = toward[player] + 1
            player += offsets[toward[player]]
            count += 1
        push(blocked, offsets, stands[k], directions[k])
        player += offsets[directions[k]]
        solution[count] = directions[k] + 1
        count += 1
        k += 1


@njit(cache=True, nogil=True)
def forward_all(walls, width, starts, players, actions, lengths, solutions):
    """`forward` for each of n levels whose `lengths` is not 0; returns the solutions' lengths, int64 [n]."""
    counts = np.zeros(len(walls), np.int64)
    for i in range(len(walls)):
        if lengths[i]:
            things = starts[i, : (starts[i] >= 0).sum()]
            counts[i] = forward(walls[i], width, things, players[i], actions[i, : lengths[i]], solutions[i])
    return counts
