"""Numbers beside the paper's as text: Markdown, LaTeX, and a sentence on what agrees."""

from collections.abc import Callable, Sequence

from foresight.paper.measures import short
from foresight.paper.study import Cell, Study

Grid = list[list[str]]  # heads, then rows
NOTHING = ""


def format_x(x: float | str) -> str:
    """A column's head."""
    if isinstance(x, str):
        return x
    return short(x) if x >= 1000 else f"{x:g}"


def format_value(value: float | None, unit_is_percent: bool) -> str:
    """A number, percent with one digit after the point."""
    if value is None:
        return NOTHING
    return f"{value:.1f}" if unit_is_percent or value != round(value) else f"{value:,.0f}"


def shown(cells: Sequence[Cell]) -> list[Cell]:
    """The cells that a table shows: all the paper's places, and the last of ours where a series has others."""
    places = {cell.x for cell in cells if cell.paper is not None}
    texts = {cell.x for cell in cells if isinstance(cell.x, str)}
    if not places and not texts:
        return last_of_each(cells)
    kept = [cell for cell in cells if cell.x in places | texts or is_few(cells)]
    return kept + [cell for cell in last_of_each(cells) if cell not in kept]


def is_few(cells: Sequence[Cell]) -> bool:
    """Whether all places fit into one table."""
    return len({cell.x for cell in cells}) <= 12


def last_of_each(cells: Sequence[Cell]) -> list[Cell]:
    """The last number of ours in each series."""
    last: dict[str, Cell] = {}
    for cell in cells:
        if cell.ours is not None and not isinstance(cell.x, str):
            before = last.get(cell.series)
            last[cell.series] = cell if before is None or cell.x >= before.x else before
    return list(last.values())


def grid_of(study: Study, cells: Sequence[Cell]) -> Grid:
    """Rows by series and columns by place, ours and the paper's side by side."""
    kept = shown(cells)
    columns = sorted({cell.x for cell in kept}, key=column_order([cell.x for cell in cells]))
    places = {(cell.series, cell.x): cell for cell in kept}
    heads = ["", *(f"{who}, {format_x(x)}" for x in columns for who in ("ours", "paper"))]
    percent = is_percent(study)
    rows = []
    for series in dict.fromkeys(cell.series for cell in kept):
        row = [series]
        for x in columns:
            cell = places.get((series, x))
            row += [format_ours(cell, percent), format_value(cell.paper if cell else None, percent)]
        rows.append(row)
    return without_empty_columns([heads, *rows])


def is_percent(study: Study) -> bool:
    """Whether a study's numbers are percentages or differences of such."""
    return "%" in study.y_label or "points" in study.y_label


def column_order(places: Sequence[float | str]) -> Callable[[float | str], tuple[bool, float]]:
    """Numbers ascending, then words as they came."""
    words = list(dict.fromkeys(x for x in places if isinstance(x, str)))
    return lambda x: (True, float(words.index(x))) if isinstance(x, str) else (False, x)


def format_ours(cell: Cell | None, percent: bool) -> str:
    """A number of ours with its interval, or how many seeds it is of."""
    if cell is None or cell.ours is None:
        return NOTHING
    value = format_value(cell.ours, percent)
    if cell.low is not None and cell.high is not None:
        return f"{value} ± {format_value((cell.high - cell.low) / 2, percent)}"
    return value


def without_empty_columns(grid: Grid) -> Grid:
    """The grid without columns that say nothing."""
    kept = [i for i in range(len(grid[0])) if i == 0 or any(row[i] for row in grid[1:])]
    return [[row[i] for i in kept] for row in grid]


def as_markdown(grid: Grid) -> str:
    """A table in Markdown."""
    lines = ["| " + " | ".join(row) + " |" for row in grid]
    return "\n".join([lines[0], "|---" * len(grid[0]) + "|", *lines[1:]]) + "\n"


def as_latex(grid: Grid) -> str:
    """A table in LaTeX."""
    lines = [" & ".join(escape(word) for word in row) + r" \\" for row in grid]
    body = "\n".join([lines[0], r"\hline", *lines[1:]])
    return f"\\begin{{tabular}}{{l{'r' * (len(grid[0]) - 1)}}}\n{body}\n\\end{{tabular}}\n"


def escape(word: str) -> str:
    """A word as LaTeX wants it."""
    for letter in "&%#_":
        word = word.replace(letter, f"\\{letter}")
    return word.replace("±", r"$\pm$")


def verdict(study: Study, cells: Sequence[Cell]) -> str:
    """One sentence on what agrees with the paper and what does not, from the numbers alone."""
    both = [cell for cell in cells if cell.ours is not None and cell.paper is not None]
    missing = sorted({cell.series for cell in cells} - {cell.series for cell in cells if cell.ours is not None})
    ours = {spec.label for spec in study.runs}
    absent = [name for name in missing if not ours or name in ours or any(label.startswith(name) for label in ours)]
    percent = is_percent(study)
    parts = [compared(cell, percent) for cell in both]
    if not parts:
        begin = "No number of ours stands beside one of the paper's yet"
    elif len(parts) > MOST:
        begin = counted(both)
    else:
        begin = "; ".join(parts)
    tail = f"; no number yet of {', '.join(absent)}" if absent else ""
    return f"{begin}{tail}."


MOST = 12  # comparisons that a sentence can hold
NEAR_POINTS = 1.0  # of percent: so near is as good as the same
CLOSE = 1e-3  # of a count


def compared(cell: Cell, percent: bool) -> str:
    """A number beside the paper's: the same, above or below."""
    ours, paper = format_value(cell.ours, percent), format_value(cell.paper, percent)
    here, by = f"{cell.series}, {format_x(cell.x)}: {ours}", cell.ours - cell.paper
    if ours == paper:
        return f"{here}, as the paper's"
    if cell.low is not None and cell.low <= cell.paper <= cell.high:
        return f"{here}, the paper's {paper} within our interval"
    if percent and abs(by) <= NEAR_POINTS:
        return f"{here}, within a point of the paper's {paper}"
    amount = f"{abs(by):.1f} points" if percent else format_value(abs(by), percent)
    return f"{here}, {amount} {'above' if by > 0 else 'below'} the paper's {paper}"


def counted(both: Sequence[Cell]) -> str:
    """How many of many numbers are the paper's, and which are furthest off."""
    others = [cell for cell in both if cell.ours != cell.paper]
    close = sum(abs(cell.ours - cell.paper) <= CLOSE * cell.paper for cell in others)
    shown = sorted(others, key=lambda cell: -abs(cell.ours - cell.paper) / max(cell.paper, 1))[:4]
    named = "; ".join(compared(cell, False) for cell in shown)
    near = f", {close} more to a thousandth" if close else ""
    return f"{len(both) - len(others)} of {len(both)} numbers are equal to the paper's{near}; furthest off: {named}"
