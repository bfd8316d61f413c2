"""One tree of level files in every form in which it may come."""

import io
import tarfile
import zipfile
from pathlib import Path

import numpy as np

from foresight.levels.boxoban import format_boxoban
from tests.levels.drawings import SMALL, cells, random_cells

BOARDS = random_cells(np.random.default_rng(0), 60, 10, 10, 4)


TREE = {
    "README.md": b"# Levels",
    "LICENSE.txt": b"Anybody may do anything.\n",
    "unfiltered/train/000.txt": format_boxoban(BOARDS[:20]),
    "unfiltered/train/001.txt": format_boxoban(BOARDS[20:30]),
    "unfiltered/valid/000.txt": format_boxoban(BOARDS[30:40]),
    "hard/2.txt": format_boxoban(BOARDS[40:50]),
    "hard/10.txt": format_boxoban(BOARDS[50:]),
}


def as_folder(tree: dict[str, bytes], path: Path) -> Path:
    for name, data in tree.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(data)
    return path


def as_zip(tree: dict[str, bytes], path: Path) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in tree.items():
            archive.writestr(name, data)
    return path


def as_tar(tree: dict[str, bytes], path: Path) -> Path:
    kind = path.suffix.removeprefix(".")
    with tarfile.open(path, "w" if kind == "tar" else f"w:{kind}") as archive:
        for name, data in tree.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return path


FORMS = {
    "tree": as_folder,
    "tree.zip": as_zip,
    "tree.tar": as_tar,
    "tree.tar.xz": as_tar,
    "tree.tar.gz": as_tar,
    "tree.tar.bz2": as_tar,
}


TEN_SMALL = format_boxoban(np.stack([cells(*SMALL)] * 10))


ARCHIVES = [name for name in FORMS if name != "tree"]
