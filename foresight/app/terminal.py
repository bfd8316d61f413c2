"""A terminal as a screen and a keyboard: plain ANSI and termios, so it works over ssh; always left as it was found."""

import os
import select
import shutil
import signal
import sys
from collections.abc import Mapping
from types import FrameType, TracebackType
from typing import NamedTuple, Self

import numpy as np

from foresight.errors import ForesightError
from foresight.render.palette import CellStyle, Colour, Palette, full

ENTER = "\x1b[?1049h\x1b[?25l"  # the alternate screen, no cursor
LEAVE = "\x1b[0m\x1b[?25h\x1b[?1049l"
HOME, CLEAR_LINE, CLEAR_BELOW, RESET = "\x1b[H", "\x1b[K", "\x1b[J", "\x1b[0m"
ARROWS = {"A": "up", "B": "down", "C": "right", "D": "left"}
ESCAPE_WAIT = 0.1  # seconds in which the rest of an arrow key must follow its first byte; ssh splits them
LOOK_AROUND = 0.25  # seconds between looks at the terminal's size
ENDING_SIGNALS = ("SIGTERM", "SIGHUP")


def check_terminal() -> None:
    """Reject where there is no terminal to play in."""
    if os.name != "posix":
        raise ForesightError("playing needs a Unix terminal; on Windows, WSL has one")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise ForesightError("playing needs a terminal, and input or output is none; run it in one, or use ssh -t")


class Terminal:
    """Holds the terminal while in use: `with Terminal() as terminal`."""

    def __enter__(self) -> Self:
        """Take over the terminal."""
        import termios

        check_terminal()
        self.input = sys.stdin.fileno()
        self.found = termios.tcgetattr(self.input)
        self.size = shutil.get_terminal_size()
        numbers = [getattr(signal, name) for name in ENDING_SIGNALS]
        self.handlers = {number: signal.signal(number, leave_by_signal) for number in numbers}
        self.handlers[signal.SIGTSTP] = signal.signal(signal.SIGTSTP, self.suspend)
        self.take()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Give it back as it was found."""
        self.release()
        for number, handler in self.handlers.items():
            signal.signal(number, handler)

    def take(self) -> None:
        """Keys at once and unseen, a screen of our own."""
        import tty

        tty.setcbreak(self.input)
        self.write(ENTER)

    def release(self) -> None:
        """The opposite of `take`; a terminal that has gone is no error here."""
        import termios

        try:
            self.write(LEAVE)
            termios.tcsetattr(self.input, termios.TCSADRAIN, self.found)
        except (OSError, termios.error):
            return

    def suspend(self, number: int, frame: FrameType | None) -> None:
        """Ctrl-Z: the shell gets its terminal back until we are continued."""
        self.release()
        os.kill(os.getpid(), signal.SIGSTOP)
        self.take()
        self.size = os.terminal_size((0, 0))  # unlike any, so that the next look redraws

    def write(self, text: str) -> None:
        """Send text at once."""
        sys.stdout.write(text)
        sys.stdout.flush()

    def show(self, lines: list[str]) -> None:
        """Fill the screen with lines; what does not fit below is skipped."""
        height = shutil.get_terminal_size().lines
        self.write(HOME + "\r\n".join(line + RESET + CLEAR_LINE for line in lines[:height]) + CLEAR_BELOW)

    def read_key(self) -> str:
        """The next key: a character, an arrow's name, "resize" when the terminal changed, "end" when it has gone."""
        while not self.has_input(LOOK_AROUND):
            size = shutil.get_terminal_size()
            if size != self.size:
                self.size = size
                return "resize"
        byte = self.read_byte()
        if byte == "\x1b" and self.has_input(ESCAPE_WAIT):
            return self.read_escape()
        return byte or "end"

    def read_escape(self) -> str:
        """What follows the escape byte: an arrow, or something that means nothing here."""
        kind = self.read_byte()
        if kind not in ("[", "O"):
            return "unknown"
        final = self.read_byte()
        while final and not "@" <= final <= "~":  # numbers before the last letter, as for shift with an arrow
            final = self.read_byte()
        return ARROWS.get(final, "unknown")

    def has_input(self, seconds: float) -> bool:
        """True when a key waits, or comes in this time."""
        return bool(select.select([self.input], [], [], seconds)[0])

    def read_byte(self) -> str:
        """One byte as a character; empty when the terminal has gone."""
        try:
            return os.read(self.input, 1).decode("latin-1")
        except OSError:
            return ""


def leave_by_signal(number: int, frame: FrameType | None) -> None:
    """End as the signal asks, through the code that restores the terminal."""
    sys.exit(128 + number)


class Abilities(NamedTuple):
    """What a terminal can show."""

    colour_bits: int  # 24, 8, or 0 for none
    has_blocks: bool  # characters such as the upper half block


def abilities_of(environment: Mapping[str, str], encoding: str) -> Abilities:
    """What a terminal says of itself."""
    terminal = environment.get("TERM", "")
    bits = 24 if environment.get("COLORTERM") in ("truecolor", "24bit") else 8
    if environment.get("NO_COLOR") or terminal in ("", "dumb") or terminal.startswith("vt"):
        bits = 0
    return Abilities(bits, has_blocks="utf" in encoding.lower())


def paint(text: str, ink: Colour, ground: Colour, bits: int) -> str:
    """Text in colours, as far as the terminal shows them."""
    if not bits:
        return text
    return f"\x1b[38;{colour_code(ink, bits)};48;{colour_code(ground, bits)}m{text}{RESET}"


def colour_code(colour: Colour, bits: int) -> str:
    """A colour in the terminal's own words."""
    return "2;{};{};{}".format(*colour) if bits == 24 else f"5;{nearest_of_256(colour)}"


def nearest_of_256(colour: Colour) -> int:
    """The closest entry of the 6x6x6 colour cube that 256-colour terminals share."""
    red, green, blue = (0 if part < 48 else 1 if part < 115 else (part - 35) // 40 for part in colour)
    return 16 + 36 * red + 6 * green + blue


def format_board(palette: Palette, cells: np.ndarray, able: Abilities, room: tuple[int, int]) -> list[str]:
    """A board as coloured lines that fit into `room`, (columns, lines), if they can."""
    height, width = cells.shape
    bits = able.colour_bits
    if height <= room[1] and 2 * width <= room[0]:
        return ["".join(format_cell(palette[code], bits) for code in row) for row in cells]
    if bits and able.has_blocks and width <= room[0]:
        inks = [[palette[code].ink for code in row] for row in cells]
        inks += [[(0, 0, 0)] * width] * (height % 2)
        pairs = zip(inks[::2], inks[1::2], strict=True)
        # Two cells in one character: the upper half block's ink, and its ground.
        return ["".join(paint("▀", *pair, bits) for pair in zip(above, below, strict=True)) for above, below in pairs]
    return ["".join(palette[code].symbol for code in row)[: room[0]] for row in cells]


def format_cell(look: CellStyle, bits: int) -> str:
    """One cell, two characters wide."""
    if look.shape is not full:
        return paint(look.glyph, look.ink, look.ground, bits)
    red, green, blue = (part // 2 if sum(look.ink) > 300 else part // 2 + 40 for part in look.ink)
    return paint(look.glyph, (red, green, blue), look.ink, bits)
