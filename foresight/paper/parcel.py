"""A parcel: a small folder by which one machine goes on where another one stopped, when nothing else is kept of it.

It holds the record of all finished runs, the learning rates that were chosen, and every run that is on its way, as a
file of the form that fits, in parts. Nothing in it is removed before what replaces it is written.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from foresight.analysis.pooling import read_labelled
from foresight.analysis.records import SUFFIX, format_study, read_study, read_study_json, study_of, with_runs
from foresight.errors import ForesightError
from foresight.paper.rates import FILE as RATES
from foresight.paper.rates import format_rates, read_rates
from foresight.paper.running import Workshop, known_runs, result_of, run_folders, untested
from foresight.paper.study import Study
from foresight.runs.checkpoints import iterations_in
from foresight.runs.portable import FORMS, Form, encode_run, import_run
from foresight.storage.files import discard, kind_of_path, make_folder, read_at_most, write_whole

RECORD = f"paper-runs{SUFFIX}"
MEBI = 2**20
PART = 15 * MEBI  # bytes of a file at most
MOST_FILES = 8
PATTERN = re.compile(r"([a-z0-9_-]+)\.(\d+)\.(\d+)-of-(\d+)")  # run, iteration, part, parts


class Sent(NamedTuple):
    """A run on its way, as it lies in a parcel."""

    name: str
    form: Form
    bytes: int


def parts_in(parcel: Path) -> dict[tuple[str, int], list[Path]]:
    """The parts of each run that are in a parcel, by its name and iteration; all of them, and in order."""
    found: dict[tuple[str, int, int], dict[int, Path]] = {}
    for path in parcel.iterdir() if kind_of_path(parcel) == "folder" else []:
        if matched := PATTERN.fullmatch(path.name):
            name, iteration, part, parts = matched[1], *map(int, matched.groups()[1:])
            found.setdefault((name, iteration, parts), {})[part] = path
    return {
        (name, iteration): [paths[part] for part in range(1, parts + 1)]
        for (name, iteration, parts), paths in found.items()
        if len(paths) == parts
    }


def take_up(shop: Workshop) -> None:
    """Begin, in the place of each run that is not here, with the newest one in the parcel."""
    if (shop.parcel / RECORD).exists():
        read_study(shop.parcel / RECORD)  # one that is damaged is rejected now, and not when it is to be written
    parts = parts_in(shop.parcel)
    for name in sorted({name for name, _ in parts}):
        folder, iteration = shop.runs / name, max(each for key, each in parts if key == name)
        if (folder / "config.json").exists():
            continue
        file = shop.out / f"{name}.arriving"
        try:
            make_folder(shop.out)
            write_whole(file, b"".join(read_at_most(path, PART) for path in parts[name, iteration]))
            import_run(file, folder)
        finally:
            discard(file)
        shop.say(f"{folder}: taken up after iteration {iteration} from {shop.parcel}")


def hand_on(shop: Workshop, studies: Sequence[Study], limit: int) -> list[Sent]:
    """Write the parcel anew, at most `limit` bytes in all; the runs on their way that it has."""
    make_folder(shop.parcel)
    record = format_study_of(shop)
    rates = format_rates(read_rates([shop.parcel, shop.out]))
    room, files = limit - len(record) - len(rates), MOST_FILES - 2
    sent, written = [], set()
    for folder, is_finished in to_send(shop, studies):
        for form in FORMS[is_finished:]:  # whose games are of no use any more
            moment, content = encode_run(folder, form)
            parts = [content[at : at + PART] for at in range(0, len(content), PART)]
            if len(content) <= room and len(parts) <= files:
                break
        else:
            fate = "cannot be tested" if is_finished else "begins anew"
            shop.say(
                f"{folder} is not in {shop.parcel}: {len(content) / 1e6:.1f} MB as `small`, there is room for "
                f"{room / 1e6:.1f} MB in {files} files; without this folder it {fate}"
            )
            continue
        room, files = room - len(content), files - len(parts)
        for number, part in enumerate(parts, start=1):
            path = shop.parcel / f"{folder.name}.{moment.iteration}.{number}-of-{len(parts)}"
            write_whole(path, part)
            written.add(path)
        sent.append(Sent(folder.name, form, len(content)))
    for name, text in ((RECORD, record), (RATES, rates)):
        if text:
            write_whole(shop.parcel / name, text)
    for path in set(shop.parcel.iterdir()) - written:
        if PATTERN.fullmatch(path.name):
            discard(path)
    return sent


def to_send(shop: Workshop, studies: Sequence[Study]) -> list[tuple[Path, bool]]:
    """The folders of runs that are on their way, and whether they are trained to the end and only not tested yet."""
    known = known_runs(shop)
    unfinished = {result.source for result in known if not result.is_finished}
    waiting = {result.source for study in studies for spec in study.runs for result, _ in untested(study, spec, known)}
    folders = [folder for folder in run_folders(shop) if any(iterations_in(folder / "checkpoints"))]
    first = [(folder, False) for folder in folders if str(folder) in unfinished]
    return first + [(folder, True) for folder in folders if str(folder) in waiting - unfinished]


def format_study_of(shop: Workshop) -> bytes:
    """The record of all finished runs: those of the parcel so far, and those that are here, which replace them."""
    labelled = read_labelled([str(folder) for folder in run_folders(shop)])
    here = [each for each in labelled if result_of(each).is_finished]
    path = shop.parcel / RECORD
    if not path.exists():
        return format_study(study_of(Path(RECORD).stem, here)) if here else b""
    return format_study(with_runs(read_study_json(path), here))


def check_parcel(parcel: Path) -> None:
    """Reject a file in the place of a parcel."""
    if kind_of_path(parcel) == "file":
        raise ForesightError(f"{parcel} is a file; expected a folder, or a name for a new one")
