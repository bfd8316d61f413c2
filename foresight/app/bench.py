"""`foresight bench`: measure speed on this machine; each subject is a module of its own."""

import importlib

from foresight.app.commands import format_commands
from foresight.errors import unknown

COMMANDS = {
    "envs": "environment steps per second, with and without observation and painting",
    "nets": "network frames per second, forward and trained",
    "train": "frames per second of the whole training loop",
    "stamps": "how many clock cycles each phase of the CUDA core's module-ticks takes",
    "profile": "where the time of the training loop goes, kernel by kernel",
    "scaling": "how the cost of a gradient step grows with batch, unroll, depth, ticks, board and seeds",
}


def main(arguments: list[str]) -> int | None:
    """Hand over to the bench of one subject."""
    if not arguments or arguments[0] in ("-h", "--help"):
        end = "example: foresight bench envs --json"
        print(
            format_commands("foresight bench SUBJECT ...", "Measure speed on this machine.", COMMANDS, end, "subject")
        )
        return 0
    if arguments[0] not in COMMANDS:
        raise unknown("bench", arguments[0], COMMANDS)
    return importlib.import_module(f"foresight.app.bench_{arguments[0]}").main(arguments[1:])
