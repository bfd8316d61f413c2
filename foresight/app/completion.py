"""`foresight completion`: a script that lets bash, zsh or fish complete commands, options and their values."""

import contextlib
import importlib
import io
import json
from dataclasses import dataclass
from typing import Any, Literal

from tyro.conf import Positional

from foresight.app.parse import HELP_AS_JSON, parse_options

DESCRIPTION = """Print a script that lets a shell complete the commands, their options and what these can be.

examples:
  foresight completion bash > ~/.local/share/bash-completion/completions/foresight
  foresight completion zsh > ~/.foresight-completion.zsh   (then `source` it in ~/.zshrc)
  foresight completion fish > ~/.config/fish/completions/foresight.fish"""


@dataclass(frozen=True)
class Completion:
    """Which shell."""

    shell: Positional[Literal["bash", "zsh", "fish"]]  # the shell that will read the script


def main(arguments: list[str]) -> None:
    """Print the script."""
    options = parse_options(Completion, arguments, "foresight completion", DESCRIPTION)
    print(fish_script() if options.shell == "fish" else bash_script(options.shell))


def every_command() -> list[tuple[str, ...]]:
    """The commands and those below them, such as (train,) and (levels, import)."""
    from foresight.app.cli import COMMANDS

    found: list[tuple[str, ...]] = []
    for name in COMMANDS:
        below = getattr(importlib.import_module(f"foresight.app.{name}"), "COMMANDS", {})
        found += [(name, other) for other in below] or [(name,)]
    return found


def options_as_data(command: tuple[str, ...]) -> list[dict[str, Any]]:
    """What a command can be given, as its `--help=json` says."""
    from foresight.app.cli import run

    with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.suppress(SystemExit):
        run([*command, HELP_AS_JSON])
    return json.loads(printed.getvalue())


def bash_script(shell: str) -> str:
    """The script for bash; zsh reads the same one through its own emulation."""
    commands = every_command()
    below: dict[str, list[str]] = {}
    for first, *second in commands:
        below.setdefault(first, []).extend(second)
    options = {command: [option for option in options_as_data(command) if option["name"]] for command in commands}
    flags = {" ".join(command): " ".join(option["name"] for option in given) for command, given in options.items()}
    values = {
        f'"{" ".join(command)} "*"{option["name"]}"': " ".join(option["suggestions"])
        for command, given in options.items()
        for option in given
        if option["suggestions"]
    }
    return "\n".join(
        [
            *(["autoload -U +X bashcompinit && bashcompinit"] if shell == "zsh" else []),
            "_foresight() {",
            '  local words="" current="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"',
            '  case "${COMP_WORDS[1]} ${COMP_WORDS[2]} " in',
            *(f'    "{command} "*) words="{names} --help --debug" ;;' for command, names in flags.items()),
            "  esac",
            f'  if [ "$COMP_CWORD" -eq 1 ]; then words="{" ".join(below)}"; fi',
            '  if [ "$COMP_CWORD" -eq 2 ]; then case "$before" in',
            *(f'    {name}) words="{" ".join(names)}" ;;' for name, names in below.items() if names),
            "  esac; fi",
            '  case "${COMP_WORDS[1]} ${COMP_WORDS[2]} $before" in',
            *(f'    {place}) words="{words}" ;;' for place, words in values.items()),
            "  esac",
            '  COMPREPLY=($(compgen -W "$words" -- "$current"))',
            "}",
            "complete -o default -F _foresight foresight",
        ]
    )


def fish_script() -> str:
    """The script for fish."""
    from foresight.app.cli import COMMANDS

    lines = [
        f"complete -c foresight -n __fish_use_subcommand -a {name} -d {quoted(summary)}"
        for name, summary in COMMANDS.items()
    ]
    for command in every_command():
        seen = " and ".join(f"__fish_seen_subcommand_from {word}" for word in command).replace(" and ", "; and ")
        if len(command) > 1:
            lines.append(f"complete -c foresight -n '__fish_seen_subcommand_from {command[0]}' -a {command[1]}")
        for option in options_as_data(command):
            if option["name"]:
                values = f" -x -a {quoted(' '.join(option['suggestions']))}" if option["suggestions"] else ""
                name = option["name"].removeprefix("--")
                lines.append(f"complete -c foresight -n '{seen}' -l {name} -d {quoted(option['help'][:60])}{values}")
    return "\n".join(lines)


def quoted(text: str) -> str:
    """A word that the shell takes as it is."""
    return "'" + text.replace("'", "’") + "'"
