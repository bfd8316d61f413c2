"""How Sokoban's seven cells look: one colour each, and an 8x8 picture each. Numpy only."""

import numpy as np

# Index = cell code. The one-pixel colours are gym-sokoban's, as other Sokoban learners use them.
COLOURS = np.array(
    [
        (0, 0, 0),  # wall
        (243, 248, 238),  # floor
        (254, 126, 125),  # target
        (142, 121, 56),  # box
        (254, 95, 56),  # box on target
        (160, 212, 56),  # player
        (219, 212, 56),  # player on target
    ],
    np.uint8,
)

# Letters of the drawings below. A cell's own colour dominates its sprite; the others only give it a shape.
INKS = {
    "#": (0, 0, 0),
    "=": (72, 70, 78),  # mortar
    " ": (243, 248, 238),
    "t": (254, 126, 125),
    "b": (142, 121, 56),
    "d": (84, 68, 24),  # dark wood
    "o": (254, 95, 56),
    "r": (150, 36, 16),  # dark red
    "p": (160, 212, 56),
    "g": (48, 96, 16),  # dark green
    "y": (219, 212, 56),
    "w": (112, 96, 8),  # dark yellow
}

WALL = """
#######=
#######=
#######=
========
###=####
###=####
###=####
========
"""
FLOOR = """
........
........
........
........
........
........
........
........
""".replace(".", " ")
TARGET = """
........
...tt...
..tttt..
.tt..tt.
.tt..tt.
..tttt..
...tt...
........
""".replace(".", " ")
BOX = """
dddddddd
dbbbbbbd
dbdbbdbd
dbbddbbd
dbbddbbd
dbdbbdbd
dbbbbbbd
dddddddd
"""
BOX_ON_TARGET = """
rrrrrrrr
roooooor
rorrrror
rorooror
rorooror
rorrrror
roooooor
rrrrrrrr
"""
PLAYER = """
...gg...
..gppg..
..gppg..
.pppppp.
p.pppp.p
..pppp..
..p..p..
.gg..gg.
""".replace(".", " ")
PLAYER_ON_TARGET = """
t..ww..t
.twyywt.
..wyyw..
.yyyyyy.
y.yyyy.y
..yyyy..
.ty..yt.
tww..wwt
""".replace(".", " ")


def parse_sprite(drawing: str) -> np.ndarray:
    """An 8x8 drawing in the letters of INKS as uint8 [8, 8, 3]."""
    return np.array([[INKS[letter] for letter in row] for row in drawing.strip("\n").split("\n")], np.uint8)


DRAWINGS = (WALL, FLOOR, TARGET, BOX, BOX_ON_TARGET, PLAYER, PLAYER_ON_TARGET)
SPRITES = np.stack([parse_sprite(drawing) for drawing in DRAWINGS])  # uint8 [7, 8, 8, 3]
SIDE = SPRITES.shape[1]
