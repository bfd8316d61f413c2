"""A second parser of the Sokoban text format, slow, and written from docs/levels.md without looking at the first."""

BOARD = "#.$*@+"
FLOOR = " -_"


def second_parse(data: bytes) -> list[tuple[str, ...] | None]:
    """For each board of a file its rows, with # for floor outside the walls; None for a bad board or a bad file."""
    text = data.decode("latin-1")
    if text.startswith("\xef\xbb\xbf"):
        text = text[3:]
    if text.strip("\x0b\x0c \t\r\n") == "":
        return [None]
    if any((ord(symbol) < 32 and symbol not in "\t\n\r") or ord(symbol) == 127 for symbol in text):
        return [None]
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if max(map(len, lines)) > 65536:
        return [None]
    boards, rows = [], []
    for line in [*lines, ""]:
        runs = written_out(line)
        whole = runs is not None and "|" in line
        belongs = runs is not None or belongs_to_board(line)
        if rows and (whole or not belongs):
            boards.append(board_of(rows))
            rows = []
        if whole:
            boards.append(board_of(runs))
        elif belongs:
            rows += [line] if runs is None else runs
    return boards


def written_out(line: str) -> list[str] | None:
    """The rows of a run-length line; None for any other."""
    if "#" not in line or not set(line) & set("123456789|") or set(line) - set(BOARD + "-_0123456789|"):
        return None
    rows = [""]
    number = ""
    for symbol in line.strip("|") if set(line) != {"|"} else "":
        if symbol.isdigit():
            number += symbol
            if number[0] == "0":
                return None
        elif symbol == "|":
            if number:
                return None
            rows.append("")
        else:
            rows[-1] += symbol * (min(int(number[:6]), 1000) if number else 1)
            number = ""
    return None if number else rows


def belongs_to_board(line: str) -> bool:
    counted = [symbol for symbol in line if symbol not in FLOOR and symbol != "\t"]
    if not counted or counted[0] == ";":
        return False
    known = sum(symbol in BOARD for symbol in counted)
    return known == len(counted) or ("#" in counted and known > len(counted) - known)


def board_of(rows: list[str]) -> tuple[str, ...] | None:
    everything = "".join(rows)
    if set(everything) - set(BOARD + FLOOR):
        return None
    for symbol in FLOOR:
        rows = [row.replace(symbol, " ") for row in rows]
    columns = [at for row in rows for at, symbol in enumerate(row) if symbol != " "]
    left, right = min(columns), max(columns)
    if right - left + 1 > 64 or len(rows) > 64:
        return None
    rows = [row[left : right + 1].ljust(right - left + 1) for row in rows]
    boxes, targets = everything.count("$") + everything.count("*"), sum(map(everything.count, ".*+"))
    if everything.count("@") + everything.count("+") != 1 or boxes != targets or boxes == 0:
        return None
    return enclosed(rows)


def enclosed(rows: list[str]) -> tuple[str, ...] | None:
    """Fill in from the four edges, sweeping over the board until nothing changes."""
    grid = {(y, x): symbol for y, row in enumerate(rows) for x, symbol in enumerate(row)}
    outside: set[tuple[int, int]] = set()
    changed = True
    while changed:
        changed = False
        for (y, x), symbol in grid.items():
            if symbol == "#" or (y, x) in outside:
                continue
            near = [(y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)]
            if any(place not in grid or place in outside for place in near):
                outside.add((y, x))
                changed = True
    if any(grid[place] != " " for place in outside):
        return None
    return tuple(
        "".join("#" if (y, x) in outside else symbol for x, symbol in enumerate(row)) for y, row in enumerate(rows)
    )
