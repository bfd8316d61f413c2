"""docs/networks.md against the code."""

from pathlib import Path

import pytest

from foresight.analysis.parameters import compare
from foresight.nets import KINDS, settings_of

PAGE = (Path(__file__).parents[2] / "docs" / "networks.md").read_text()
FILES = {kind: f"`{path.partition(':')[0].replace('.', '/')}.py`" for kind, path in KINDS.items()}


def section(kind):
    """The text from the mention of the network's file to the next heading."""
    return PAGE[PAGE.index(f"\n{FILES[kind]}") :].split("\n## ")[0]


@pytest.mark.parametrize("kind", KINDS)
def test_every_setting_of_a_network_is_explained_in_its_section(kind):
    missing = [name for name in settings_of(kind) if f"`{name}`" not in section(kind)]
    assert missing == []


def test_the_counts_on_the_page_are_those_of_the_networks():
    assert all(f"{row.ours:,}" in PAGE for row in compare())
