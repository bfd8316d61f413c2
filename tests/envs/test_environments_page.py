"""The snippets of docs/environments.md run as printed."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "environments.md"
SNIPPETS = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)


def snippet(containing: str) -> str:
    (found,) = [text for text in SNIPPETS if containing in text]
    return found


def test_the_rollout_runs_as_printed_and_is_as_short_as_promised():
    code = snippet("def rollout")
    names = {}
    exec(code, names)
    assert names["steps"].reward.shape == (120, 256)
    assert names["pictures"].shape == (256, 80, 80, 3)
    assert len([line for line in code.split("def rollout")[1].splitlines() if line.strip()]) <= 10


def test_the_gymnasium_snippet_runs_as_printed():
    names = {}
    exec(snippet("gymnasium.make_vec"), names)
    assert names["observation"].shape == (80, 80, 3)
    assert names["observations"].shape == (64, 15, 19, 3)


@pytest.mark.extra
def test_the_atari_snippet_runs_as_printed():
    names = {}
    exec(snippet("Atari("), names)
    assert names["step"].observation.shape == (16, 210, 160, 3)


def test_the_pictures_are_there():
    for name in re.findall(r"\((images/[^)]+)\)", PAGE.read_text()):
        assert (PAGE.parent / name).stat().st_size < 20_000
