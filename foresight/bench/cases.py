"""Cases measured group by group: compiled side by side, timed in turns; results grow from nothing or a record."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, fields
from functools import partial
from typing import Any, Protocol

import jax

from foresight.bench.programs import TOO_LARGE, Say, compile_all, measured_on, memory_needed
from foresight.bench.timing import Call, Timing, timings
from foresight.errors import is_out_of_memory

Row = dict[str, Any]


class Subject(Protocol):
    """What is measured of a case, which is a frozen dataclass."""

    def lower(self, case: Any) -> Any:
        """The program, ready to be compiled."""

    def start(self, case: Any, compiled: Any) -> Call:
        """How the compiled program is called."""

    def row(self, case: Any, timing: Timing, memory: int) -> Row:
        """What is reported of it, given the bytes it needs."""


class Results:
    """Rows by their case; a new row takes the place of an earlier one."""

    def __init__(self, case: type, earlier: Mapping[str, Any] | None, say: Say, **about: Any):
        """The rows begin with the fields of `case`, `about` is what holds for all of them."""
        earlier = earlier or {}
        self.names = [field.name for field in fields(case)]
        self.about = {**earlier, **measured_on(), **about}
        self.rows: dict[tuple, Row] = {self.key(row): row for row in earlier.get("rows", [])}
        self.left_out: dict[tuple, Row] = {self.key(row): row for row in earlier.get("left_out", [])}
        self.say = say

    def key(self, row: Mapping[str, Any]) -> tuple:
        """What a row is of."""
        return tuple(row[name] for name in self.names)

    def missing(self, cases: Iterable[Any], timings: int) -> list[Any]:
        """Those not timed so often yet, also if they were skipped: they may have become possible."""
        known = [case for case in cases if self.rows.get(astuple(case), {}).get("timings", 0) >= timings]
        if known:
            self.say(f"known already: {', '.join(map(str, known))}")
        return [case for case in cases if case not in known]

    def add(self, row: Row) -> None:
        """What was measured, or more of it."""
        self.left_out.pop(self.key(row), None)
        self.rows[self.key(row)] = row

    def leave_out(self, case: Any, why: str) -> None:
        """What cannot be measured."""
        self.left_out[astuple(case)] = {**asdict(case), "why": why}
        self.say(f"{case}: skipped, {why}")

    def document(self) -> dict[str, Any]:
        """All that is known, ready for JSON."""
        return {**self.about, "rows": list(self.rows.values()), "left_out": list(self.left_out.values())}


def measure_in_turns(
    subject: Subject,
    groups: Iterable[Sequence[Any]],
    results: Results,
    repeats: int,
    seconds: float = math.inf,
    base: Sequence[Any] = (),
) -> Iterator[dict[str, Any]]:
    """What is known after each timing, and at the end; a case is timed `repeats` times or for `seconds`.

    The cases of a group take turns, so that what else the machine does touches all alike; those of `base` go on taking
    turns with later groups.
    """
    timed: dict[Any, Iterator[Row]] = {}
    for cases in filter(None, groups):
        lowerings = {case: partial(subject.lower, case) for case in cases}
        compiled = compile_all(lowerings, results.leave_out, results.say)
        timed |= {case: rows_of(subject, case, compiled.pop(case), seconds) for case in list(compiled)}
        for turn in range(repeats):
            for case, rows in timed.items():
                try:
                    row = next(rows, None)
                except jax.errors.JaxRuntimeError as error:
                    if not is_out_of_memory(error):
                        raise
                    results.leave_out(case, TOO_LARGE)
                    continue
                if row:
                    results.add(row)
                    yield results.document()  # written before it is reported
                    results.say(f"{case}: {row['frames_per_second']:,} frames/s, timed {turn + 1} of {repeats}")
        timed = {case: rows for case, rows in timed.items() if case in base}  # the others' memory is free
    yield results.document()


def rows_of(subject: Subject, case: Any, compiled: Any, seconds: float) -> Iterator[Row]:
    """The row of a case after each timing, until these take more than `seconds`."""
    memory = memory_needed(compiled)
    for timing in timings(subject.start(case, compiled)):
        yield subject.row(case, timing, memory)
        if sum(timing.seconds) > seconds:
            return
