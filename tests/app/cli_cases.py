"""Command lines that must be rejected, made from the options themselves: one thing is wrong in each."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from foresight.app.completion import every_command, options_as_data

LONG = 300 * "n"
WRONG = {  # values that nothing of this kind can be
    "int": (
        "x",
        "1.5",
        "nan",
        "inf",
        "",
        5000 * "9",
        100_000 * "[",
        25 * "9",
        "-99999999999",
        "1e30",
        "0x10",
        "١x",
        "[1,2]",
    ),
    "float": ("x", "", "nan", "1,5", 100_000 * "[", 5000 * "9", "1e", "0x10p", "{}"),
    "choice": ("x", "", LONG, "None", "[", 5000 * "d"),
    "path": (
        "",
        "a\0b",
        f"{LONG}/x",
        LONG,
        "file.txt/x",
        "fifo",
        "file.txt/x/y",
        5000 * "p",
        f"{LONG}\udcff",
        "file.txt/\udcff",
    ),
    "text": ("", "a\0b", 5000 * "t"),
    "flag": (),
}
NOWHERE = ("nowhere", "fifo", LONG, "empty", f"{LONG}/x", "/dev/zero", "file.txt/x", "\x1b[31m", "[")
NAMED = {  # options of text for which more is known to be wrong
    **dict.fromkeys(("--levels", "SRC", "SET", "A", "B"), NOWHERE),
    **dict.fromkeys(("MODEL", "RUN ...", "--from-weights", "NAME", "--agent"), NOWHERE),
    "--url": ("x", "ftp://x/y", LONG),
    "--think": ("x", "-1", "1,x", "99999999999"),
    "--cases": ("x", "1:2", LONG),
    "--case": ("x", "cuda:0:0:0:0"),
    "--domains": ("chess",),
    "--nets": ("perceptron",),
    "--quantities": ("x",),
    "--compiler": ("x",),
    "--boxes": ("x", "4-", "-1"),
    "--env": ("x", "caps=[1,2]", "levels=X", "max_episode_steps=[1,2]", "gravity=" + 3000 * "[", "=", "view=" + LONG),
    "--net-set": ("x", "gravity=1", "hidden=" + 3000 * "[", "hidden=\x1b"),
    "--name": ("a/b", LONG),
}
BELOW = {  # numbers that are too small or too large for what they say
    "--devices": ("-1", "100000"), "--steps": ("0", "1e12", "-5", "inf"), "--iterations-per-call": ("2147483648", "0"),
    "--max-episode-steps": ("1 3000000000", "0 5", "9 5", "1"), "--unroll": ("1099511627776", "0"),
    "--features": ("1000000000", "0"), "--depth": ("1000000", "-1"), "--ticks": ("1000000000", "0"),
    "--seeds": ("0", "1000000"), "--num-envs": ("0", "7", "1099511627776"), "--minibatch": ("0", "99999999"),
    "--keep": ("0",), "--save-every": ("0", "-1"), "--limit": ("0", "-1"), "--batch": ("0",), "--max-steps": ("0",),
    "--count": ("0", "-1", "1000000000000000"), "--size": ("0", "2", "1000"), "--workers": ("0", "-1"),
    "--scale": ("0", "9999"), "--repeats": ("0",), "--top": ("0",), "--process-id": ("-1", "0"),
    "--processes": ("-1", "2"), "--seconds": ("0", "-1"), "--discount": ("2", "-1"), "--beta1": ("1", "-1"),
    "--learning-rate": ("-1", "inf"), "--at": ("-1", "inf"), "--window": ("-1",),
}  # fmt: skip
FILLERS = {"MODEL": "drc33-100m", "SRC": "builtin/tiny-test", "SET": "builtin/tiny-test", "A": "builtin/tiny-test",
           "B": "builtin/tiny-test", "DST": "out.levels", "INDEX": "0", "RUN ...": "run", "NAME": "drc33-100m",
           "FOLDER": "folder", "--count": "1", "--agent": "drc33-100m"}  # fmt: skip


def prepare(folder: Path) -> None:
    """What the paths of the cases name."""
    import os

    (folder / "file.txt").write_text("text\n")
    (folder / "empty").mkdir()
    os.mkfifo(folder / "fifo")


def base(options: list[dict[str, Any]]) -> dict[str, list[str]]:
    """The least that a command must be given, by option."""
    words: dict[str, list[str]] = {}
    for option in options:
        key = option["name"] or option["metavar"]
        if option["required"] or (not option["name"] and key in FILLERS):
            value = option["choices"][0] if option["choices"] else FILLERS.get(key, "x")
            words[key] = [value] if option["name"] is None else [option["name"], value]
    return words


def cases() -> Iterator[tuple[str, ...]]:
    """Every case there is."""
    for command in every_command():
        options = options_as_data(command)
        least = base(options)
        whole = [word for words in least.values() for word in words]
        yield (*command, *whole, "--bogus")
        yield (*command, *whole, "--bogus=1")
        if any(option["required"] for option in options):
            yield command
        if all(option["count"] is not None for option in options if not option["name"]) or not options:
            yield (*command, *whole, "one", "too", "many", "words", "here")
        for option in options:
            yield from spoilt(command, option, least)


def spoilt(command: tuple[str, ...], option: dict[str, Any], least: dict[str, list[str]]) -> Iterator[tuple[str, ...]]:
    """A command with one option that is wrong."""
    key = option["name"] or option["metavar"]
    others = [word for name, words in least.items() if name != key for word in words]
    if option["kind"] == "flag":
        yield (*command, *others, f"{option['name']}=maybe")
        return
    values = [*WRONG[option["kind"]], *NAMED.get(key, ()), *BELOW.get(key, ())]
    for value in values:
        words = value.split(" ") if key == "--max-episode-steps" else [value] * (option["count"] or 1)
        if not option["name"]:
            placed = {name: (words if name == key else given) for name, given in ({key: []} | least).items()}
            order = [name for name in least if not name.startswith("--")] or [key]
            rest = [word for name, given in least.items() if name.startswith("--") for word in given]
            yield (*command, *(word for name in order for word in placed[name]), *rest)
            continue
        yield (*command, *others, option["name"], *words)
        yield (*command, *others, f"{option['name']}={words[0]}", *words[1:])
    if option["name"]:
        yield (*command, *others, option["name"])


def sample(count: int, seed: int = 0) -> list[tuple[str, ...]]:
    """So many of them, each command's share as large as its options are many; the same ones for a seed."""
    every = list(cases())
    random.Random(seed).shuffle(every)
    return every[:count]
