"""The published Boxoban sets: their names, and what each is known by."""

from typing import NamedTuple


class Published(NamedTuple):
    """What a published set is known by."""

    count: int
    digest: str


BOXOBAN = {
    "unfiltered-train": Published(900_000, "4a1e50b84ca53b68a0d0a27a50999189d2f859dafed58a7bf8c46fcbdc5880ea"),
    "unfiltered-valid": Published(100_000, "2fafd009a8428e448cea7cfcc4a8f58fb45c49d167e57a1ef13a5c1ef25809d0"),
    "unfiltered-test": Published(1_000, "88a1c2e12adf4b23225ff827b44ed02170fe405e3bd2b5bf5e42de66217ab3ee"),
    "medium-train": Published(450_000, "74bccad712cc6dbd273e6aa556a40d87793dd613e84b3c72e1e4c97c4b6b7f43"),
    "medium-valid": Published(50_000, "a65ffc5ec89388c0a26258397b161f4bb0f50de035cbff152ecc210e7b27588c"),
    "hard": Published(3_332, "e4b767faa0070cb6ce15642d91ac13149ee445aeed8e49760f3cbfb19978a2ff"),
}
