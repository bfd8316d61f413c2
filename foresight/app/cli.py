"""The command `foresight`: finds the subcommand, runs it, and turns known errors into one clear line."""

import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from foresight import __version__
from foresight.app.flags import with_flags
from foresight.errors import ForesightError, is_out_of_memory

# Each subcommand is a module foresight.app.<name> with `main(arguments)`, imported only when it is called.
COMMANDS = {
    "levels": "import, look at, combine and generate Sokoban levels",
    "train": "train an agent, or resume a run",
    "evaluate": "how well an agent plays a set of levels",
    "solve": "search for solutions of levels, with an agent or without",
    "watch": "see an agent play a level, in the terminal or as an animation",
    "plot": "learning curves of runs",
    "compare": "what runs came to, side by side in a table",
    "play": "play a domain yourself in the terminal",
    "params": "the paper's table of parameter counts beside ours",
    "bench": "measure speed on this machine",
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its status: 0 done, 2 unusable input, 130 interrupted."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    look_in_current_folder()
    try:
        try:
            sys.exit(run(arguments))
        finally:
            flush_output()  # while a failure can still be told
    except ForesightError as error:
        print(f"foresight: {with_flags(str(error))}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # the reader of our output has gone, as with `| head`
        drop_output()
        sys.exit(0)
    except OSError as error:
        if can_write_output():  # then it came from elsewhere, and we do not know from where
            raise
        drop_output()
        print(f"foresight: cannot write standard output: {error.strerror or error}", file=sys.stderr)
        sys.exit(2)
    except (MemoryError, RuntimeError) as error:  # of which jax's are
        if not is_out_of_memory(error):
            raise
        print(
            "foresight: out of memory: less at a time (--num-envs, --seeds, --minibatch, --batch) needs less",
            file=sys.stderr,
        )
        sys.exit(2)


def look_in_current_folder() -> None:
    """Let modules of the current folder be imported, as with `python -m`: a user's own parts may be there."""
    if not {"", str(Path.cwd())} & set(sys.path):
        sys.path.append(str(Path.cwd()))


def flush_output() -> None:
    """Write out what has been printed so far."""
    if sys.stdout is not None:  # as it is where there is no standard output
        sys.stdout.flush()


def can_write_output() -> bool:
    """False where standard output takes nothing, as on a full disk."""
    try:
        print(end=" ", flush=True)
    except OSError:
        return False
    return True


def drop_output() -> None:
    """Let whatever is still printed vanish."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def run(arguments: list[str]) -> int | None:
    """Hand over to a subcommand."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(usage())
        return 0
    if arguments[0] == "--version":
        print(f"foresight {__version__}")
        return 0
    command, rest = arguments[0], arguments[1:]
    if command not in COMMANDS:
        raise ForesightError(f"unknown command '{command}'; there are: {', '.join(COMMANDS)}")
    return importlib.import_module(f"foresight.app.{command}").main(rest)


def usage() -> str:
    """The text of `foresight --help`."""
    lines = [f"  {name:<10} {summary}" for name, summary in COMMANDS.items()]
    return "\n".join(
        [
            "usage: foresight COMMAND ...",
            "",
            "Agents that learn to plan without a model.",
            "",
            "commands:",
            *lines,
            "",
            "`foresight COMMAND --help` explains a command and gives an example.",
            "example: foresight levels show builtin/test 0",
        ]
    )
