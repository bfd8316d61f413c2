"""`foresight agents`: trained agents with a name: their scores and cards, from here to elsewhere and back."""

import inspect
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from tyro.conf import Positional, arg

from foresight.app.activity import working
from foresight.app.commands import format_commands, summaries
from foresight.app.parse import parse_options
from foresight.app.progress import counting_bar
from foresight.errors import unknown
from foresight.runs.cards import SHIPPED, Card, agent_file, agent_files, format_card, read_card

Name = Annotated[str, Positional, arg(metavar="NAME")]
IN_A_ROW = 4  # sets whose scores the list has room for; the card has all
Folder = Annotated[Path, Positional, arg(metavar="FOLDER")]


def print_json(document: Any) -> None:
    """One JSON document on stdout."""
    print(json.dumps(document, indent=1))


def entry(path: Path) -> dict[str, Any]:
    """What `--json` says of an agent."""
    card = card_of_file(path)
    return {
        "name": path.stem,
        "domain": card.domain,
        "network": card.network,
        "steps": card.steps,
        "scores": [
            {name: score[name] for name in ("levels", "think", "solved_percent", "score_mean", "ci95") if name in score}
            for score in card.as_json()["scores"]
        ],
        "shipped": path.parent == SHIPPED,
        "file": str(path),
    }


def card_of_file(path: Path) -> Card:
    """The card of an agent's file; one without a card is looked into, which takes jax and time."""
    card = read_card(path)
    if card is None:
        from foresight.runs.exchange import card_for

        return card_for(path)
    return card


@dataclass(frozen=True)
class List:
    """List the agents that have a name, with their scores; this is what `foresight agents` alone does."""

    example: ClassVar[str] = "foresight agents --json"

    json: bool = False  # print one JSON document: a list of name, domain, steps, scores

    def run(self) -> None:
        """Print the table."""
        rows = [entry(path) for path in agent_files().values()]
        if self.json:
            print_json(rows)
            return
        print(f"{'agent':<18} {'domain':<10} {'network':<10} {'steps':>13}  solved or score, greedy, without thinking")
        for row in rows:
            print(f"{row['name']:<18} {row['domain']:<10} {row['network']:<10} {row['steps']:>13,}  {headline(row)}")
        print("\n`foresight agents show NAME` prints an agent's card; `foresight watch NAME` shows it play")


def headline(row: dict[str, Any]) -> str:
    """The first scores of an agent on whole sets, in a few words."""
    plain = [score for score in row["scores"] if score["think"] == 0 and "[:" not in score["levels"]][:IN_A_ROW]
    return ", ".join(f"{score['levels']} {brief(score)}" for score in plain) or "no scores"


def brief(score: dict[str, Any]) -> str:
    """How many levels were solved, or the mean score."""
    return f"{score['solved_percent']:.1f} %" if "solved_percent" in score else f"{score['score_mean']:.1f}"


@dataclass(frozen=True)
class Show:
    """Print the model card of an agent: how it was trained, what it scores, and where it ends."""

    example: ClassVar[str] = "foresight agents show drc33-100m"

    name: Name  # which agent
    json: bool = False  # print one JSON document

    def run(self) -> None:
        """Print the card."""
        card = card_of_file(agent_file(self.name))
        if self.json:
            print_json(card.as_json())
        else:
            print(format_card(card))


@dataclass(frozen=True)
class Export:
    """Write an agent as a folder in the Hugging Face layout: config.json, model.safetensors and README.md."""

    example: ClassVar[str] = "foresight agents export drc33-100m my-agent"

    model: Annotated[str, Positional, arg(metavar="MODEL")]  # an agent's name, a run folder, or RUN@STEPS
    folder: Folder  # a new folder
    json: bool = False  # print one JSON document

    def run(self) -> None:
        """Write the folder and say so."""
        from foresight.runs.exchange import export_folder

        with working("writing"):
            written = export_folder(self.model, self.folder)
        report([str(path) for path in written], self.json)


@dataclass(frozen=True)
class Import:
    """Take an agent from such a folder into the cache folder, where it can be used by its name."""

    example: ClassVar[str] = "foresight agents import my-agent --name mine"

    folder: Folder  # with config.json and model.safetensors
    name: str | None = None  # another name than that on its card
    json: bool = False  # print one JSON document

    def run(self) -> None:
        """Read, check and keep the agent."""
        from foresight.runs.exchange import import_folder

        with working("reading"):
            path = import_folder(self.folder, self.name)
        report([str(path)], self.json)


@dataclass(frozen=True)
class Fetch:
    """Download an agent that is not in the package, verify it by its digest, and keep it in the cache folder."""

    example: ClassVar[str] = "foresight agents fetch NAME"

    name: Name  # which agent
    manifest: Path | None = None  # a list of agents, their addresses and digests, in place of the package's own
    json: bool = False  # print one JSON document

    def run(self) -> None:
        """Download unless it is there."""
        from foresight.runs.exchange import MANIFEST, fetch_agent

        with counting_bar("bytes", first="asking for the agent") as show:
            path = fetch_agent(self.name, self.manifest or MANIFEST, show)
        report([str(path)], self.json)


def report(written: list[str], as_json: bool) -> None:
    """Say which files were written."""
    if as_json:
        print_json({"files": written})
    else:
        print("\n".join(written))


COMMANDS: dict[str, Any] = {"list": List, "show": Show, "export": Export, "import": Import, "fetch": Fetch}


def main(arguments: list[str]) -> None:
    """Run one of the commands below `foresight agents`; without one, list."""
    if arguments and arguments[0] in ("-h", "--help"):
        print(usage())
        return
    listing = not arguments or arguments[0].startswith("-")
    name, rest = ("list", arguments) if listing else (arguments[0], arguments[1:])
    if name not in COMMANDS:
        raise unknown("command of agents", name, COMMANDS)
    command = COMMANDS[name]
    description = f"{inspect.getdoc(command)}\n\nexample: {command.example}"
    parse_options(command, rest, f"foresight agents {name}", description).run()


def usage() -> str:
    """The text of `foresight agents --help`."""
    end = "example: foresight agents show drc33-100m"
    return format_commands(
        "foresight agents [COMMAND] ...", "Trained agents that have a name.", summaries(COMMANDS), end
    )
