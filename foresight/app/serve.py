"""`foresight serve`: a page to watch an agent think, on this machine."""

import importlib.util
import re
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from foresight.app.activity import say, shown_otherwise, working
from foresight.app.checks import check_count
from foresight.app.parse import parse_options
from foresight.errors import ForesightError, MissingExtra, printable, unknown
from foresight.runs.cards import agent_files

EXAMPLE = """A page to watch agents think, play their levels and change their minds; open the address it prints.

MODEL is a run folder, a checkpoint folder or a .safetensors file, beside the agents that have a name.

examples:
  foresight serve
  foresight serve runs/mine --port 9000
  foresight serve --export talk"""


HOST_NAME = re.compile(r"[A-Za-z0-9._-]{1,253}")


@dataclass(frozen=True)
class Serve:
    """What is served, and where."""

    models: Annotated[tuple[str, ...], Positional, arg(metavar="[MODEL ...]")] = ()
    """agents of your own to choose from; the first is shown first"""
    host: str = "127.0.0.1"
    """the address to listen at; with another one than this, everybody who can reach the machine can use the page"""
    port: int = 8642
    """the port; 0 for any that is free"""
    name: tuple[str, ...] = ()
    """further names of this machine in the address of the page, beside localhost and its IP addresses"""
    export: Path | None = None
    """serve nothing: write a page of recorded episodes into this folder, which opens without a server"""

    def __post_init__(self) -> None:
        check_count("port", self.port, 0, 65_535)
        for name in self.name:
            if not HOST_NAME.fullmatch(name):
                raise ForesightError(
                    f"`name` {printable(name, 40)!r}: expected the name of a machine, as in its address"
                )


def check_models(models: tuple[str, ...]) -> None:
    """Reject what is no agent before an address is given; whether it can be loaded is seen later."""
    known = agent_files()
    for model in models:
        if model not in known and not any(Path(place).exists() for place in (model, model.rpartition("@")[0] or model)):
            raise unknown("agent, run folder or file", model, known)


def main(arguments: list[str]) -> None:
    """Load, listen, and serve until Ctrl-C."""
    options = parse_options(Serve, arguments, "foresight serve", EXAMPLE)
    if importlib.util.find_spec("starlette") is None or importlib.util.find_spec("uvicorn") is None:
        raise MissingExtra("the page", "web")
    if options.export is not None:
        with working("playing the levels of the page"):
            from foresight.web.export import export

            print(f"page in {export(options.export)}")
        return
    check_models(options.models)
    from foresight.web.server import serve

    with ExitStack() as stack:

        def ready(address: str) -> None:
            print(f"Foresight is at {address}", flush=True)
            say("Ctrl-C ends it.")
            stack.enter_context(shown_otherwise())  # from now on it waits for somebody

        serve(options.models, options.host, options.port, options.name, ready)
