"""A folder of level files, and `foresight levels` called there."""

import numpy as np
import pytest

from foresight.app.cli import main
from foresight.levels.boxoban import format_boxoban
from tests.levels.drawings import SMALL, random_cells

BOARDS = random_cells(np.random.default_rng(0), 30, 10, 10, 4)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FORESIGHT_CACHE", str(tmp_path / "cache"))
    (tmp_path / "tree" / "unfiltered" / "train").mkdir(parents=True)
    (tmp_path / "tree" / "hard").mkdir()
    (tmp_path / "tree" / "README.txt").write_text("levels")
    (tmp_path / "tree" / "unfiltered" / "train" / "0.txt").write_bytes(format_boxoban(BOARDS[:20]))
    (tmp_path / "tree" / "hard" / "0.txt").write_bytes(format_boxoban(BOARDS[15:]))
    (tmp_path / "small.txt").write_text("\n".join(SMALL))
    (tmp_path / "bad.txt").write_text("\n".join(SMALL) + "\n\n#####\n#@$x#\n#####\n")
    return tmp_path


def foresight(*arguments: object) -> int:
    with pytest.raises(SystemExit) as exit:
        main(["levels", *map(str, arguments)])
    return exit.value.code or 0


@pytest.fixture
def output(capsys):
    """Runs a command that must succeed, and gives what it prints."""

    def run(*arguments: object) -> str:
        assert foresight(*arguments) == 0
        return capsys.readouterr().out

    return run


@pytest.fixture
def error(capsys):
    """Runs a command that must fail politely, and gives its one line."""

    def run(*arguments: object) -> str:
        assert foresight(*arguments) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.count("\n") == 1
        return printed.err

    return run
