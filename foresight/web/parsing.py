"""From the JSON of a request to what it asks for; whatever does not fit is a Problem that says what was expected."""

import json
import math
from typing import Any

from foresight.insight.labels import CLASS_NAMES
from foresight.web.boards import fit_board, read_board
from foresight.web.episodes import STRENGTH, Request, Wish
from foresight.web.library import Library, Mind
from foresight.web.problems import Problem

MOST_THINKING = 16
MOST_WISHES = 32
LARGEST_INDEX = 2**31 - 1
STRONGEST = 10.0
DIRECTIONS = CLASS_NAMES[:5]


def read_json(body: bytes) -> dict[str, Any]:
    """The object in a body."""
    try:
        values = json.loads(body)
    except (ValueError, RecursionError):
        raise Problem(400, "the body is not JSON: expected an object") from None
    if not isinstance(values, dict):
        raise Problem(400, "the body is JSON, but not an object")
    return values


def text(values: dict[str, Any], name: str, default: str | None = None) -> str:
    """A text of the request."""
    value = values.get(name, default)
    if not isinstance(value, str):
        raise Problem(400, f"'{name}': expected a text")
    return value


def whole(values: dict[str, Any], name: str, least: int, most: int, default: int | None = None) -> int:
    """A whole number of the request."""
    value = values.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise Problem(400, f"'{name}': expected a whole number from {least} to {most}")
    return value


def number(values: dict[str, Any], name: str, least: float, most: float, default: float) -> float:
    """A number of the request."""
    value = values.get(name, default)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or not least <= value <= most:
        raise Problem(400, f"'{name}': expected a number from {least:g} to {most:g}")
    return float(value)


def flag(values: dict[str, Any], name: str) -> bool:
    """True or false of the request; false where it is missing."""
    value = values.get(name, False)
    if not isinstance(value, bool):
        raise Problem(400, f"'{name}': expected true or false")
    return value


def read_request(library: Library, values: dict[str, Any]) -> Request:
    """An episode to play: `agent`, and `board` or `set` and `level`, or `level` alone.

    With `think`, `wishes`, `since` and `strength`, and with `beginning` for the first few moves alone.
    """
    mind = library.mind(text(values, "agent", library.first))
    level = read_level(library, mind, values)
    return Request(
        mind,
        level,
        whole(values, "think", 0, MOST_THINKING, 0),
        read_wishes(mind, values),
        whole(values, "since", 0, 10_000, 0),
        number(values, "strength", 0, STRONGEST, STRENGTH),
        flag(values, "beginning"),
    )


def read_level(library: Library, mind: Mind, values: dict[str, Any]) -> Any:
    """The level that is asked for: a board in Sokoban, elsewhere its number."""
    if not mind.takes_boards:
        count = mind.agent.env.level_count
        return whole(values, "level", 0, LARGEST_INDEX if count is None else count - 1, 0)
    if values.get("board") is not None:
        return fit_board(read_board(text(values, "board")), *mind.size)
    cells = library.board(text(values, "set"), whole(values, "level", 0, LARGEST_INDEX, 0))
    return fit_board(cells, *mind.size)


def read_wishes(mind: Mind, values: dict[str, Any]) -> tuple[Wish, ...]:
    """The arrows that are wished."""
    given = values.get("wishes") or []
    if not isinstance(given, list) or len(given) > MOST_WISHES or not all(isinstance(one, dict) for one in given):
        raise Problem(400, f"'wishes': expected a list of at most {MOST_WISHES} objects")
    if given and (mind.plan is None or mind.size is None):
        raise Problem(422, f"there are no probes for {mind.name}: its plan cannot be changed")
    return tuple(read_wish(mind, one) for one in given)


def read_wish(mind: Mind, values: dict[str, Any]) -> Wish:
    """One arrow."""
    height, width = mind.size
    concept, direction = text(values, "concept"), text(values, "direction")
    if concept not in ("C_A", "C_B") or direction not in DIRECTIONS:
        raise Problem(400, f"a wish has the concept C_A or C_B and a direction of {', '.join(DIRECTIONS)}")
    return Wish(whole(values, "row", 0, height - 1), whole(values, "column", 0, width - 1), concept, direction)
