"""The help of what has commands of its own: `foresight` itself, `foresight levels` and the like."""

from collections.abc import Mapping


def format_commands(usage: str, description: str, commands: Mapping[str, str], end: str, kind: str = "command") -> str:
    """How it is called, what it is about, its commands with a line on each, and an example."""
    width = max(map(len, commands))
    lines = [f"  {name:<{width}}  {summary}" for name, summary in commands.items()]
    return "\n".join([f"usage: {usage}", "", description, "", f"{kind}s:", *lines, "", end])


def summaries(commands: Mapping[str, type]) -> dict[str, str]:
    """The first line of what each command says of itself."""
    return {name: command.__doc__.splitlines()[0] for name, command in commands.items()}
