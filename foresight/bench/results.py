"""Results of a bench as they grow, from nothing or from an earlier record; plain data, nothing is computed here."""

from collections.abc import Mapping, Sequence
from typing import Any

Row = dict[str, Any]


class Results:
    """Rows by what they are of; a new row takes the place of an earlier one."""

    def __init__(self, names: Sequence[str], about: Mapping[str, Any], earlier: Mapping[str, Any] | None = None):
        """`names` are the fields of a row that say what it is of, `about` is what holds for all rows."""
        earlier = earlier or {"rows": [], "left_out": []}
        self.names = names
        self.about = {**earlier, **about}
        self.rows: dict[tuple, Row] = {self.key(row): row for row in earlier["rows"]}
        self.left_out: dict[tuple, Row] = {self.key(row): row for row in earlier["left_out"]}

    def key(self, row: Mapping[str, Any]) -> tuple:
        """What a row is of."""
        return tuple(row[name] for name in self.names)

    def has(self, case: Mapping[str, Any], timings: int) -> bool:
        """Whether a case was timed so often already. What was skipped is not had: it may have become possible."""
        return self.rows.get(self.key(case), {}).get("timings", 0) >= timings

    def add(self, row: Row) -> None:
        """What was measured, or more of it."""
        self.left_out.pop(self.key(row), None)
        self.rows[self.key(row)] = row

    def leave_out(self, case: Mapping[str, Any], why: str) -> None:
        """What cannot be measured."""
        self.left_out[self.key(case)] = {**case, "why": why}

    def document(self) -> dict[str, Any]:
        """All that is known, ready for JSON."""
        return {**self.about, "rows": list(self.rows.values()), "left_out": list(self.left_out.values())}
