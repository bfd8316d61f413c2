"""MiniPacman once more, from its rules in plain Python: lists, loops and dice that are handed in."""

from dataclasses import dataclass, field

HEIGHT, WIDTH = 15, 19
UPPER_ROWS = [  # the open columns of rows 1 to 7, first and last of each stretch; rows 8 to 13 mirror rows 6 to 1
    [(1, 3), (5, 13), (15, 17)],
    [(1, 1), (3, 3), (5, 5), (13, 13), (15, 15), (17, 17)],
    [(1, 17)],
    [(1, 1), (3, 3), (5, 5), (13, 13), (15, 15), (17, 17)],
    [(1, 1), (3, 15), (17, 17)],
    [(1, 1), (6, 6), (12, 12), (17, 17)],
    [(1, 6), (12, 17)],
]
OPEN = [
    (row, column)
    for row, stretches in enumerate(UPPER_ROWS + UPPER_ROWS[-2::-1], start=1)
    for first, last in stretches
    for column in range(first, last + 1)
]
RIGHT, UP, LEFT, DOWN = range(4)
ZERO, ONE = "0", "1"  # first facings of the notebook that are no direction: its directions begin at 2
STEPS = {RIGHT: (0, 1), UP: (-1, 0), LEFT: (0, -1), DOWN: (1, 0), ZERO: (1, 0), ONE: (0, 0)}
MODES = {  # step, food, pill, ghost, death, cleared by, timer
    "regular": (0, 1, 2, 5, 0, "food", None),
    "avoid": (0.1, -0.1, -5, -10, -20, "food", 128),
    "hunt": (0, 0, 1, 10, -20, "ghosts", None),
    "ambush": (0, -0.1, 0, 10, -20, "ghosts", None),
    "rush": (0, -0.1, 10, 0, 0, "pills", None),
}


@dataclass
class Ghost:
    number: int  # its place in the level's list of ghosts, which says which dice are its own
    cell: tuple[int, int]
    facing: int


@dataclass
class Game:
    """One episode; `dice` are records of plain lists as described by the game under test."""

    mode: str
    exact: bool = False
    speed: float = 0.5
    speed_increase: float = 0.1
    random_turn: float = 0.05
    powered_factor: float = 0.5
    most_ghosts: int = 16

    level: int = 0
    player: tuple[int, int] = (0, 0)
    ghosts: list = field(default_factory=list)
    pills: list = field(default_factory=list)
    food: set = field(default_factory=set)
    power: int = 0
    timer: int = 0
    picture: list = field(default_factory=list)

    def begin(self, level_dice):
        self.level = 0
        self.next_level(level_dice)
        self.picture = self.draw()

    def next_level(self, dice):
        self.level += 1
        self.food = set(OPEN)
        self.pills = [OPEN[i] for i in dice.pills]
        self.player = OPEN[dice.player]
        row, column = self.player
        free = [
            (r, c) for r, c in OPEN if not (max(row - 5, 1) <= r < row + 5 and max(column - 5, 1) <= c < column + 5)
        ]
        self.ghosts = []
        for i in range(min(self.most_ghosts, 1 + (self.level - 1) // 2)):
            facing = dice.facings[i]
            if self.exact:  # the notebook draws 0..3 where its directions are 2..5
                facing = {0: ZERO, 1: ONE, 2: RIGHT, 3: UP}[facing]
            self.ghosts.append(Ghost(i, free[int(dice.ghosts[i] * len(free))], facing))
        self.power = 0
        self.timer = 0

    def step(self, action, dice):
        """One step: its reward and whether the player died."""
        step, food, pill, ghost_eaten, death, cleared_by, limit = MODES[self.mode]
        reward, died = step, False
        if self.exact and self.timer == limit:
            self.next_level(dice.level)
        self.timer += 1
        self.power = max(0, self.power - 1)

        if action:
            self.player = ahead(self.player, action - 1)
        if self.player in self.food:
            self.food.remove(self.player)
            reward += food
            if not self.food and cleared_by == "food":
                self.next_level(dice.level)
        if self.player in self.pills:
            self.pills.remove(self.player)
            reward += pill
            self.power = 20
            if not self.pills and cleared_by == "pills":
                self.next_level(dice.level)

        for ghost in list(self.ghosts):
            eaten = False
            if ghost.cell == self.player:
                if self.power == 0:
                    reward, died = reward + death, True
                    if not self.exact:
                        break
                else:
                    eaten = True
            if not eaten:
                speed = self.speed + self.speed_increase * (self.level - 1)
                if dice.moves[ghost.number] < speed * (self.powered_factor if self.power else 1):
                    ghost.facing = self.turned(ghost, dice)
                    ghost.cell = ahead(ghost.cell, ghost.facing)
                    if ghost.cell == self.player:
                        if self.power == 0:
                            reward, died = reward + death, True
                            if not self.exact:
                                break
                        else:
                            eaten = True
            if eaten:
                reward += ghost_eaten
                self.ghosts.remove(ghost)
                if not self.ghosts and cleared_by == "ghosts":
                    self.next_level(dice.level)
                break

        # The notebook takes the picture first, so nobody sees the next level before the next step: it is begun there.
        if not self.exact and self.timer == limit:
            self.next_level(dice.level)
        self.picture = self.draw()
        return reward, died

    def turned(self, ghost, dice):
        """Where the ghost faces when it moves."""
        available = [d for d in (RIGHT, UP, LEFT, DOWN) if ahead(ghost.cell, d) != ghost.cell]
        reverse = {RIGHT: LEFT, UP: DOWN, LEFT: RIGHT, DOWN: UP, ZERO: RIGHT, ONE: UP}[ghost.facing]
        if len(available) == 2:
            if ghost.facing in available:
                return ghost.facing
            return available[1] if reverse == available[0] else available[0]
        if ghost.cell == self.player:
            return ghost.facing
        remaining = [d for d in available if d != reverse]
        row, column = self.player[0] - ghost.cell[0], self.player[1] - ghost.cell[1]
        scores = [row * STEPS[d][0] + column * STEPS[d][1] for d in remaining]
        if self.power:
            return remaining[scores.index(min(scores))]
        if dice.turns[ghost.number] < self.random_turn:
            return remaining[int(dice.choices[ghost.number] * len(remaining))]
        return remaining[scores.index(max(scores))]

    def draw(self):
        """The colour of each cell, 0..255; what is painted last is on top."""
        picture = [[(255, 255, 255)] * WIDTH for _ in range(HEIGHT)]
        layers = [(OPEN, (0, 0, 0)), (self.food, (0, 0, 255)), (self.pills, (0, 255, 255))]
        layers.append(([ghost.cell for ghost in self.ghosts], (255, round(255 * self.power / 20), 0)))
        layers.append(([self.player], (0, 255, 0)))
        for cells, colour in layers:
            for row, column in cells:
                picture[row][column] = colour
        return picture


OPEN_SET = set(OPEN)


def ahead(cell, facing):
    """The next cell in a direction, or the same where a wall stands."""
    row, column = STEPS[facing]
    there = (cell[0] + row, cell[1] + column)
    return there if there in OPEN_SET else cell
