"""Draw every network diagram beside this file: `python docs/images/draw_networks.py`."""

from pathlib import Path

import draw_drc
import draw_rivals


def draw_all(folder: Path) -> None:
    """Write all diagrams into `folder`."""
    for draw in (*draw_drc.ALL, *draw_rivals.ALL):
        draw().write(folder)


if __name__ == "__main__":
    draw_all(Path(__file__).parent)
