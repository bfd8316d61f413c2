"""`foresight play`: play a domain yourself in the terminal."""

import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tyro.conf import Positional

from foresight.app.activity import shown_otherwise
from foresight.app.parse import parse_options
from foresight.app.terminal import Abilities, Terminal, abilities_of, check_terminal, format_board
from foresight.envs import facts, make
from foresight.errors import ForesightError

if TYPE_CHECKING:
    from foresight.app.play_session import Session

QUIT = ("q", "\x04", "end")  # the letter, Ctrl-D, and a terminal that has gone


@dataclass(frozen=True)
class Play:
    """Play a domain yourself in the terminal, with the arrow keys; q quits, u takes a move back."""

    example: ClassVar[str] = "foresight play sokoban --levels builtin/test --index 7"

    domain: Positional[str]  # sokoban, boxworld, minipacman, gridworld, or your own as package.module:Name
    levels: str | None = None  # Sokoban only: a set by its name or file; builtin/test if none is given
    index: int = 0  # the number of the first level
    seed: int = 0  # of the levels that other domains draw, and of the dice

    def settings(self) -> dict:
        """What the domain is made with."""
        takes_sets = facts(self.domain).takes_level_sets
        if self.levels is not None and not takes_sets:
            raise ForesightError(f"--levels is for sokoban; {self.domain} draws its levels from --seed")
        if takes_sets:
            return {"levels": self.levels or "builtin/test"}
        return {"boxworld": {"seed": self.seed}, "gridworld": {"seed": self.seed, "stay": True}}.get(self.domain, {})


def main(arguments: list[str]) -> int | None:
    """Play until the player has enough."""
    description = f"{Play.__doc__}\n\nexample: {Play.example}"
    chosen = parse_options(Play, arguments, "foresight play", description)
    check_terminal()
    settings = chosen.settings()

    from foresight.app.play_session import Session  # here, since it takes jax along

    print("one moment ...", file=sys.stderr)  # the rules are being compiled
    session = Session(make(chosen.domain, **settings), chosen.index, chosen.seed)
    with shown_otherwise(), Terminal() as terminal:
        play(session, terminal, abilities_of(os.environ, sys.stdout.encoding))
    return 0


def play(session: "Session", terminal: Terminal, able: Abilities) -> None:
    """Show, wait for a key, do what it means, until one that quits."""
    message = ""
    while True:
        terminal.show(screen(session, message, able, terminal.size))
        key = terminal.read_key()
        if key in QUIT:
            return
        if key != "resize":
            message = session.press(key)


def screen(session: "Session", message: str, able: Abilities, size: tuple[int, int]) -> list[str]:
    """Everything that is shown: title, board, what happened, what the keys mean."""
    around = [session.title(), "", message, *session.help()]
    columns, lines = size
    board = format_board(session.env.palette, session.cells, able, (columns, lines - len(around)))
    return [line[:columns] for line in around[:1]] + board + [line[:columns] for line in around[1:]]
