"""Reverse play, compiled: from the solved board, pull boxes away from their targets into a good start.

A depth-first search over states (player, boxes) with eight actions: step in four directions, or step and pull the
box behind. It keeps the state with the highest score, which is the number of times the pulled box changed on the
way there times the sum of the distances between each box and its own target.
Nothing compiled is called from another file: numba's cache would not notice a change there.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

ACTIONS = 8  # 0..3 pull while stepping up, down, left, right; 4..7 only step
NO_BOX = -1

# One random number for a box, and one for the player, on each cell of the largest board: a state's key is the
# exclusive or of its own. Two states with one key (about 1 in 10^13) would only hide one from the search.
CELL_KEYS = np.random.Generator(np.random.PCG64(2019)).integers(1, 2**64, (2, 400), np.uint64)

# For each set of actions, a bit an action: its members in order, and in the last column their number.
MEMBERS = [[action for action in range(ACTIONS) if chosen >> action & 1] for chosen in range(2**ACTIONS)]
CHOICES = np.array([[*members, *[0] * (ACTIONS - len(members)), len(members)] for members in MEMBERS])


class Room(NamedTuple):
    """A board while it is played: cells are numbered row by row, the border included."""

    width: int
    walls: np.ndarray  # uint8 [H * W], 1 for a wall
    targets: np.ndarray  # uint8 [H * W], 1 for a target
    homes: np.ndarray  # int64 [K], each box's own target
    box_at: np.ndarray  # int8 [H * W], which box stands there, or NO_BOX


class Path(NamedTuple):
    """The states from the solved board to the present one; entry d is the state after d moves."""

    untried: np.ndarray  # uint8 [depth + 1], one bit an action
    action: np.ndarray  # uint8, the one that led here
    player: np.ndarray  # int64
    key: np.ndarray  # uint64
    at_home: np.ndarray  # int64, how many boxes stand on targets
    distance: np.ndarray  # int64, between boxes and their own targets, summed
    pulled: np.ndarray  # int64, the box that was pulled last
    swaps: np.ndarray  # int64, how often the pulled box changed


@njit(cache=True, nogil=True)
def offset_of(action, width):
    """How far a step of `action` moves the player in the row-by-row numbering."""
    direction = action % 4
    if direction < 2:
        return (2 * direction - 1) * width
    return 2 * direction - 5


@njit(cache=True, nogil=True)
def solved_room(walls, width, targets):
    """The room with every box on its target; `targets` int64 [K]."""
    on_target = np.zeros(len(walls), np.uint8)
    box_at = np.full(len(walls), NO_BOX, np.int8)
    for box, cell in enumerate(targets):
        on_target[cell] = 1
        box_at[cell] = box
    return Room(width, walls, on_target, targets.copy(), box_at)


@njit(cache=True, nogil=True)
def new_path(room, player, depth):
    """A path of no moves, with room for `depth`."""
    path = Path(
        np.zeros(depth + 1, np.uint8),
        np.zeros(depth + 1, np.uint8),
        np.zeros(depth + 1, np.int64),
        np.zeros(depth + 1, np.uint64),
        np.zeros(depth + 1, np.int64),
        np.zeros(depth + 1, np.int64),
        np.zeros(depth + 1, np.int64),
        np.zeros(depth + 1, np.int64),
    )
    path.untried[0] = 2**ACTIONS - 1
    path.player[0] = player
    path.key[0] = CELL_KEYS[1, player]
    for cell in room.homes:
        path.key[0] ^= CELL_KEYS[0, cell]
    path.at_home[0] = len(room.homes)
    path.pulled[0] = NO_BOX
    return path


@njit(cache=True, nogil=True)
def distance_home(room, box, cell):
    """Manhattan distance between `cell` and the box's own target."""
    home, width = room.homes[box], room.width
    return abs(cell // width - home // width) + abs(cell % width - home % width)


@njit(cache=True, nogil=True)
def advance(room, path, depth, action):
    """Write the state that `action` gives into entry depth + 1, the board unchanged; False where it is impossible."""
    here = path.player[depth]
    step = offset_of(action, room.width)
    there, behind = here + step, here - step
    box = room.box_at[behind] if action < 4 else NO_BOX
    if room.walls[there] or room.box_at[there] != NO_BOX or (action < 4 and box == NO_BOX):
        return False
    after = depth + 1
    path.action[after], path.player[after], path.untried[after] = action, there, 2**ACTIONS - 1
    path.key[after] = path.key[depth] ^ CELL_KEYS[1, here] ^ CELL_KEYS[1, there]
    path.at_home[after], path.distance[after] = path.at_home[depth], path.distance[depth]
    path.pulled[after], path.swaps[after] = path.pulled[depth], path.swaps[depth]
    if box != NO_BOX:
        path.key[after] ^= CELL_KEYS[0, behind] ^ CELL_KEYS[0, here]
        path.at_home[after] += np.int64(room.targets[here]) - np.int64(room.targets[behind])
        path.distance[after] += distance_home(room, box, here) - distance_home(room, box, behind)
        path.swaps[after] += box != path.pulled[depth]
        path.pulled[after] = box
    return True


@njit(cache=True, nogil=True)
def move_box(room, origin, destination):
    """Put the box at `origin` on `destination`."""
    room.box_at[destination] = room.box_at[origin]
    room.box_at[origin] = NO_BOX


@njit(cache=True, nogil=True)
def is_new(seen, key):
    """True, and remembered, unless `key` was seen before; `seen` uint64 [2^n] is an open-addressing table."""
    mask = np.int64(len(seen) - 1)
    slot = np.int64(key >> np.uint64(1)) & mask
    while seen[slot] != 0:
        if seen[slot] == key:
            return False
        slot = (slot + 1) & mask
    seen[slot] = key
    return True


@njit(cache=True, nogil=True)
def below(stream, limit):
    """A uniform integer in 0..limit-1 from the xorshift stream uint64 [1]."""
    state = stream[0]
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    state ^= state << np.uint64(17)
    stream[0] = state
    return np.int64(((state >> np.uint64(32)) * np.uint64(limit)) >> np.uint64(32))


@njit(cache=True, nogil=True)
def choose(stream, untried):
    """One of the actions whose bits are set, uniformly."""
    return CHOICES[untried, below(stream, CHOICES[untried, ACTIONS])]


@njit(cache=True, nogil=True)
def search(room, path, seen, states, stream, best):
    """Search depth-first from entry 0; the best state's actions go into `best` uint8 [depth]. Returns their number."""
    depth, deepest, visited, score, length = 0, len(best), 1, 0, 0
    is_new(seen, path.key[0])
    while visited < states:
        if depth == deepest or path.untried[depth] == 0:
            if depth == 0:
                break
            if path.action[depth] < 4:
                here = path.player[depth - 1]
                move_box(room, here, here - offset_of(path.action[depth], room.width))
            depth -= 1
            continue
        action = choose(stream, path.untried[depth])
        path.untried[depth] ^= np.uint8(1 << action)
        if not advance(room, path, depth, action) or not is_new(seen, path.key[depth + 1]):
            continue
        if action < 4:
            here = path.player[depth]
            move_box(room, here - offset_of(action, room.width), here)
        depth += 1
        visited += 1
        stands_on_target = path.at_home[depth] > 0 or room.targets[path.player[depth]]
        if not stands_on_target and path.swaps[depth] * path.distance[depth] > score:
            score, length = path.swaps[depth] * path.distance[depth], depth
            best[:depth] = path.action[1 : depth + 1]
    return length


@njit(cache=True, nogil=True)
def redraw_player(room, player, stream):
    """A cell drawn uniformly from those, targets excepted, that the player can reach without moving a box."""
    reached = np.zeros(len(room.walls), np.uint8)
    reached[player] = 1
    queue = np.zeros(len(room.walls), np.int64)
    queue[0] = player
    count, candidates, chosen = 1, 0, player
    for head in range(len(queue)):
        if head == count:
            break
        cell = queue[head]
        if not room.targets[cell]:
            candidates += 1
            if below(stream, candidates) == 0:
                chosen = cell
        for action in range(4):
            neighbour = cell + offset_of(action, room.width)
            if not (room.walls[neighbour] or reached[neighbour] or room.box_at[neighbour] != NO_BOX):
                reached[neighbour] = 1
                queue[count] = neighbour
                count += 1
    return chosen


@njit(cache=True, nogil=True)
def play_back(walls, width, places, streams, states, starts, actions):
    """Search each of n rooms (arguments as `draw_rooms` fills them; `actions` uint8 [n, depth]).

    Writes the level's start into `starts` like `places`: the player's cell, then the boxes', in the order of their
    targets. Returns how many of the actions lead there from the solved board, int64 [n]; 0 where nothing scored.
    """
    lengths = np.zeros(len(walls), np.int64)
    seen = np.zeros(table_size(states), np.uint64)
    starts[:] = -1
    for i in range(len(walls)):
        boxes = (places[i] >= 0).sum() - 1
        if boxes < 1:
            continue
        room = solved_room(walls[i], width, places[i, 1 : 1 + boxes])
        path = new_path(room, places[i, 0], actions.shape[1])
        stream = streams[i : i + 1].copy()
        seen[:] = 0
        lengths[i] = search(room, path, seen, states, stream, actions[i])
        if lengths[i]:
            room = solved_room(walls[i], width, places[i, 1 : 1 + boxes])
            player = replay(room, places[i, 0], actions[i, : lengths[i]])
            starts[i, 0] = redraw_player(room, player, stream)
            for cell in range(len(walls[i])):
                if room.box_at[cell] != NO_BOX:
                    starts[i, 1 + room.box_at[cell]] = cell
    return lengths


@njit(cache=True, nogil=True)
def table_size(states):
    """The least power of two that leaves the table of seen states at least half empty."""
    size = 2
    while size < 2 * states:
        size *= 2
    return size


@njit(cache=True, nogil=True)
def replay(room, player, actions):
    """Play the actions on a room; returns where the player ends."""
    for action in actions:
        step = offset_of(action, room.width)
        if action < 4:
            move_box(room, player - step, player)
        player += step
    return player
