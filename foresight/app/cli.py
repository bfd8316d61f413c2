"""The command `foresight`: finds the subcommand, runs it, and turns known errors into one clear line."""

import importlib
import os
import sys
import sysconfig
import traceback
from collections.abc import Sequence
from pathlib import Path

from foresight import __version__
from foresight.app.activity import narrated
from foresight.app.checks import check_words
from foresight.app.commands import format_commands
from foresight.app.flags import with_flags
from foresight.app.interrupts import heard_everywhere
from foresight.errors import ForesightError, is_out_of_memory, unknown
from foresight.storage.streams import lasting_streams

DEBUG = "--debug"
HOW_TO_REPORT = "this is a bug in foresight: please report it with what the same command says with --debug"
HOW_TO_SEE = "the same command with --debug shows how it came to that"
LONGEST_LINE, LONGEST_MESSAGE = 500, 2000  # characters of a message that is not ours, and of one that is

# Each subcommand is a module foresight.app.<name> with `main(arguments)`, imported only when it is called.
COMMANDS = {
    "levels": "import, look at, combine and generate Sokoban levels",
    "train": "train an agent, or resume a run",
    "evaluate": "how well an agent plays a set of levels",
    "solve": "search for solutions of levels, with an agent or without",
    "watch": "see an agent play a level, in the terminal or as an animation",
    "serve": "a page to watch an agent think, play its levels and change its mind",
    "agents": "trained agents with a name: their scores and cards, from and to elsewhere",
    "probe": "how well an agent's plan can be read off its state",
    "insight": "how an agent's plan grows, and what changing it does",
    "plot": "learning curves of runs",
    "compare": "what runs came to, side by side in a table",
    "record": "what is worth keeping of runs, as one small file",
    "export": "a run as one file, to take it up on another machine",
    "play": "play a domain yourself in the terminal",
    "params": "the paper's table of parameter counts beside ours",
    "paper": "every table and figure of the paper: made, resumed, drawn beside its numbers",
    "bench": "measure speed on this machine",
    "completion": "print what lets a shell complete these commands",
}

COMPUTING = (
    "train",
    "evaluate",
    "watch",
    "serve",
    "play",
    "bench",
    "solve",
    "probe",
    "insight",
    "paper",
)  # commands that compile programs


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its status: 0 done, 1 a bug of ours, 2 unusable input, 130 interrupted."""
    with lasting_streams(), heard_everywhere():
        run_and_exit(list(sys.argv[1:] if arguments is None else arguments))


def run_and_exit(arguments: list[str]) -> None:
    """Run the command line; every error ends here."""
    look_in_current_folder()
    debug = DEBUG in arguments
    try:
        try:
            sys.exit(run([word for word in arguments if word != DEBUG]))
        finally:
            sys.stdout.flush()  # while a failure can still be reported
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:  # the one place where all others end
        if debug:
            traceback.print_exc()
        message, status = explain(error)
        print(f"foresight: {message}", file=sys.stderr)
        sys.exit(status)


def explain(error: Exception) -> tuple[str, int]:
    """An error in one line, and the status to exit with: 2 where the user can act on it, 1 where it is a bug."""
    if isinstance(error, ForesightError):
        return shortened(escaped(with_flags(str(error))), LONGEST_MESSAGE), 2
    if is_out_of_memory(error):
        return "out of memory: less at a time (--num-envs, --seeds, --minibatch, --batch) needs less", 2
    if isinstance(error, OSError) and error.filename is not None:
        return f"cannot use {one_line(str(error.filename))}: {error.strerror or error}", 2
    if isinstance(error, OSError) and not can_write_output():
        sys.stdout.drop()
        return f"cannot write standard output: {error.strerror or error}", 2
    *_, where = frames = traceback.extract_tb(error.__traceback__)
    said = one_line(str(error)) or "no message"
    own = [frame for frame in frames if is_users(frame.filename)]
    if own:
        return f"{one_line(own[-1].filename)}, line {own[-1].lineno}: {type(error).__name__}: {said}; {HOW_TO_SEE}", 2
    place = f"{Path(where.filename).name}, line {where.lineno}"
    return f"unexpected {type(error).__name__} in {place}: {said}; {HOW_TO_REPORT}", 1


def is_users(file: str) -> bool:
    """Whether code is of the user's own, an environment or a network: neither ours nor Python's nor installed."""
    path = Path(file).resolve()
    libraries = {Path(place).resolve() for place in sysconfig.get_paths().values()}
    ours = Path(__file__).resolve().parent.parent
    return path.is_file() and not any(path.is_relative_to(place) for place in (ours, *libraries))


def escaped(text: str) -> str:
    """A text in which nothing is left that a terminal would act on, not even if a file is called so."""
    return "".join(letter if letter.isprintable() or letter == "\n" else repr(letter)[1:-1] for letter in text)


def one_line(text: str) -> str:
    """A text as one line that can be shown, and not too long."""
    return shortened(escaped(" ".join(text.split())), LONGEST_LINE)


def shortened(text: str, most: int) -> str:
    """The beginning of a text that is too long."""
    return text if len(text) <= most else f"{text[:most]} ..."


def look_in_current_folder() -> None:
    """Let modules of the current folder be imported, as with `python -m`: a user's own parts may be there."""
    if not {"", str(Path.cwd())} & set(sys.path):
        sys.path.append(str(Path.cwd()))


def can_write_output() -> bool:
    """False where standard output takes nothing, as on a full disk."""
    try:
        print(end=" ", flush=True)
    except OSError:
        return False
    return True


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
        raise unknown("command", command, COMMANDS)
    check_words(rest)
    with narrated(f"foresight {command}"):
        if command in COMPUTING:
            prepare()
        return importlib.import_module(f"foresight.app.{command}").main(rest)


def prepare() -> None:
    """Before jax is imported: keep what it compiles, and warn where it leaves a GPU idle."""
    from foresight.app.accelerator import idle_gpu_warning, silence_jax
    from foresight.storage.cache import keep_compiled_programs

    keep_compiled_programs(say=lambda sentence: print(f"foresight: {sentence}", file=sys.stderr))
    warning = idle_gpu_warning(os.environ)
    if warning:
        print(f"foresight: {warning}", file=sys.stderr)
        silence_jax()


def usage() -> str:
    """The text of `foresight --help`."""
    end = (
        "`foresight COMMAND --help` explains a command and gives an example; with --debug, any command shows the\n"
        "traceback of an unexpected error.\nexample: foresight levels show builtin/test 0"
    )
    return format_commands("foresight COMMAND ...", "Agents that learn to plan without a model.", COMMANDS, end)
