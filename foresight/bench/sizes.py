"""The sizes at which a gradient step is measured, and the results by size; plain data, nothing is computed here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from foresight.errors import ForesightError


@dataclass(frozen=True)
class Size:
    """What a gradient step costs depends on these."""

    minibatch: int = 32
    unroll: int = 20
    depth: int = 3
    ticks: int = 3
    board: int = 10  # cells along a side
    seeds: int = 1


QUANTITIES = tuple(field.name for field in fields(Size))


@dataclass(frozen=True)
class Sweep:
    """A size to vary around, and the values of each quantity."""

    base: Size
    values: Mapping[str, Sequence[int]]
    features: int = 32

    def groups(self, quantities: Sequence[str] = ()) -> dict[str, list[Size]]:
        """Every size to measure, none twice: the base alone, then by quantity; of all of them where none are named."""
        for name in quantities:
            if name not in QUANTITIES:
                raise ForesightError(f"there is no quantity '{name}' to vary; there are: {', '.join(QUANTITIES)}")
        groups = {"base": [self.base]}
        for name in quantities or QUANTITIES:
            varied = [replace(self.base, **{name: value}) for value in dict.fromkeys(self.values[name])]
            groups[name] = [size for size in varied if size != self.base]
        return groups


def describe(size: Size, base: Size) -> str:
    """In what a size differs from the base."""
    differing = [name for name in QUANTITIES if getattr(size, name) != getattr(base, name)]
    return ", ".join(f"{name} {getattr(size, name)}" for name in differing) or "base"


def together(documents: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Results made in pieces as one; all must be of one device, precision and base."""
    first = documents[0]
    for other in documents[1:]:
        for name in ("device", "dtype", "base"):
            if other[name] != first[name]:
                raise ForesightError(f"these results do not go together: {name} {first[name]} and {other[name]}")
    rows = {tuple(row[name] for name in ("path", *QUANTITIES)): row for part in documents for row in part["rows"]}
    return {**first, "rows": list(rows.values()), "left_out": [row for part in documents for row in part["left_out"]]}


def lines_of(document: dict[str, Any], quantity: str) -> dict[str, list[dict[str, Any]]]:
    """By core, the rows in which nothing but `quantity` differs from the base, in its order."""
    base = document["base"]
    rows = [row for row in document["rows"] if all(row[name] == base[name] for name in QUANTITIES if name != quantity)]
    rows.sort(key=lambda row: row[quantity])
    return {path: [row for row in rows if row["path"] == path] for path in dict.fromkeys(row["path"] for row in rows)}
