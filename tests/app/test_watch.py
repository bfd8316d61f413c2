import pytest

from foresight.app.watch import main
from foresight.errors import ForesightError
from foresight.experiments.agents import shipped_names


def test_an_agent_that_is_shipped_plays_a_level_and_leaves_an_animation(tmp_path, capsys):
    """The agent solves this level; it was trained on other levels than the built-in ones."""
    main(["drc33-20m", "--levels", "builtin/test", "--index", "0", "--gif", str(tmp_path / "solved.gif")])
    assert "level 0: solved in" in capsys.readouterr().out
    assert (tmp_path / "solved.gif").read_bytes().startswith(b"GIF89a")


def test_a_level_that_is_not_there_is_refused():
    with pytest.raises(ForesightError, match="--index 1000: there are 1000 levels"):
        main(["drc33-20m", "--levels", "builtin/test", "--index", "1000"])


def test_an_agent_that_is_not_there_is_refused_with_those_that_are():
    assert "drc33-20m" in shipped_names()
    with pytest.raises(ForesightError, match=r"no 'nobody'.*drc33-20m"):
        main(["nobody", "--levels", "builtin/test"])
