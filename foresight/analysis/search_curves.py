"""Draw the share of levels solved against network calls a level and against time, from what `solve --out` wrote.

python -m foresight.analysis.search_curves search=lts.jsonl sampling=policy.jsonl --picture FILE.png
"""

import argparse
import json
from pathlib import Path

import numpy as np

from foresight.analysis.figures import plot_solved
from foresight.errors import ForesightError
from foresight.runs.solutions import HEADING
from foresight.storage.files import reading

NEEDED = ("outcome", "expansions", "moves", "pushes")
QUANTITIES = {"network_calls": "network calls on a level", "ended": "seconds since the start"}


def curve(rows: list[dict], field: str) -> tuple[np.ndarray, np.ndarray]:
    """The effort at which each level was solved, ascending, and the share of all levels solved by then."""
    effort = np.sort([max(row[field], 1e-3) for row in rows if row["outcome"] == "solved"])
    return effort, np.arange(1, len(effort) + 1) / len(rows)


def read_rows(path: Path) -> list[dict]:
    """The rows of one file."""
    try:
        rows = [json.loads(line) for line in reading(path).splitlines()]
        rows = rows[1:] if rows and HEADING in rows[0] else rows
        if all({*NEEDED, *QUANTITIES} <= set(row) for row in rows) and rows:
            return rows
    except (ValueError, RecursionError, TypeError):
        pass
    raise ForesightError(f"{path}: expected rows that `foresight solve` wrote")


def describe(rows: list[dict]) -> str:
    """How many levels were solved, at what effort, and how long that took."""
    solved = [row for row in rows if row["outcome"] == "solved"]
    effort = [row["expansions"] for row in rows]
    words = [f"{len(solved):,} of {len(rows):,} solved"]
    words.append(f"expansions {np.mean(effort):,.1f} / {np.median(effort):,g} / {max(effort):,} (mean / median / most)")
    words.append(f"network calls {np.mean([row['network_calls'] for row in rows]):,.1f}")
    if solved:
        moves, pushes = (np.mean([row[name] for row in solved]) for name in ("moves", "pushes"))
        words.append(f"{moves:.1f} moves, {pushes:.1f} pushes")
    return ", ".join([*words, f"{max(row['ended'] for row in rows):.1f} s"])


def main() -> None:
    """Read, draw, and print how many were solved."""
    parser = argparse.ArgumentParser(description="Share of levels solved against network calls and time.")
    parser.add_argument("searches", nargs="+", metavar="NAME=FILE", help="a name for the legend and its rows")
    parser.add_argument("--picture", type=Path, required=True, help="the file to write")
    parser.add_argument("--against", nargs="+", choices=[*QUANTITIES], default=[*QUANTITIES], help="what is counted")
    parser.add_argument("--lowest", type=float, default=0, help="where the axis of levels solved begins, in %%")
    options = parser.parse_args()
    rows = {}
    for word in options.searches:
        name, separator, file = word.partition("=")
        if not separator:
            raise ForesightError(f"'{word}': expected NAME=FILE.jsonl")
        rows[name] = read_rows(Path(file))
    plot_solved(
        {QUANTITIES[field]: {name: curve(some, field) for name, some in rows.items()} for field in options.against},
        options.picture,
        options.lowest,
    )
    for name, some in rows.items():
        print(f"{name}: {describe(some)}")


if __name__ == "__main__":
    try:
        main()
    except ForesightError as error:
        raise SystemExit(f"error: {error}") from None
