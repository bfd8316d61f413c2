"""`foresight levels`: import, look at, combine, compare, download and generate level sets."""

import inspect
from typing import Any

from foresight.app.commands import format_commands, summaries
from foresight.app.levels_filter import Filter
from foresight.app.levels_generate import Generate
from foresight.app.levels_make import Dedupe, Fetch, Import, Subset
from foresight.app.levels_report import Info, List, Overlap, Show
from foresight.app.parse import parse_options
from foresight.errors import unknown
from foresight.levels import LevelError
from foresight.levels.acquire.sources import BadLevel

COMMANDS: dict[str, Any] = {
    "import": Import,
    "info": Info,
    "show": Show,
    "subset": Subset,
    "dedupe": Dedupe,
    "overlap": Overlap,
    "filter": Filter,
    "generate": Generate,
    "fetch": Fetch,
    "list": List,
}


def main(arguments: list[str]) -> int | None:
    """Run one of the commands below `foresight levels`."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(usage())
        return 0
    name, rest = arguments[0], arguments[1:]
    if name not in COMMANDS:
        raise unknown("command of levels", name, COMMANDS)
    command = COMMANDS[name]
    description = f"{inspect.getdoc(command)}\n\nexample: {command.example}"
    chosen = parse_options(command, rest, f"foresight levels {name}", description)
    try:
        return chosen.run()
    except BadLevel as error:
        raise LevelError(
            f"{error}; `foresight levels import --skip-bad` skips bad boards and imports the others"
        ) from error


def usage() -> str:
    """The text of `foresight levels --help`."""
    about = (
        "Sokoban levels as data. SET is a packed file, a text source (file, folder, zip or tar),\n"
        "or a name such as builtin/test (see `foresight levels list`)."
    )
    end = "`foresight levels COMMAND --help` explains a command.\nexample: foresight levels show builtin/test 0"
    return format_commands("foresight levels COMMAND ...", about, summaries(COMMANDS), end)
