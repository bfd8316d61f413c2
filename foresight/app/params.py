"""`foresight params`: the paper's table of parameter counts beside ours."""

import dataclasses
import json
from dataclasses import dataclass
from textwrap import wrap

from foresight.analysis.parameters import Row, compare
from foresight.app.parse import parse_options

NOTE_WIDTH = 70


@dataclass(frozen=True)
class Params:
    """Build every network of the paper's parameter table and count what it learns.

    The difference is ours less the paper's; the note says where it comes from.

    example: foresight params --json
    """

    json: bool = False  # print one JSON document: a list of model, domain, ours, paper, difference, note


def main(arguments: list[str]) -> None:
    """Print the comparison."""
    options = parse_options(Params, arguments, "foresight params")
    rows = compare()
    if options.json:
        print(json.dumps([dataclasses.asdict(row) for row in rows], indent=1))
    else:
        print(format_table(rows))


def format_table(rows: list[Row]) -> str:
    """The comparison as text, notes wrapped beside the numbers."""
    lines = [f"{'model':<10} {'domain':<11} {'ours':>11} {'paper':>11} {'difference':>10}  note"]
    for row in rows:
        numbers = f"{row.model:<10} {row.domain:<11} {row.ours:>11,} {row.paper:>11,} {row.difference:>+10,}"
        first, *others = wrap(row.note, NOTE_WIDTH)
        lines.append(f"{numbers}  {first}")
        lines.extend(" " * (len(numbers) + 2) + line for line in others)
    return "\n".join(lines)
