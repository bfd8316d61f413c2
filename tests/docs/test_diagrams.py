"""The network diagrams in the documentation."""

import sys
from pathlib import Path
from xml.etree import ElementTree

IMAGES = Path(__file__).parents[2] / "docs" / "images"


def test_the_committed_diagrams_are_those_that_the_script_draws(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(IMAGES))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    import draw_networks

    draw_networks.draw_all(tmp_path)
    drawn = {path.name: path.read_text() for path in tmp_path.glob("*.svg")}
    assert drawn == {path.name: path.read_text() for path in IMAGES.glob("net-*.svg")}
    assert all(ElementTree.fromstring(text).tag.endswith("svg") for text in drawn.values())


def test_the_page_on_networks_shows_every_diagram():
    page = (IMAGES.parent / "networks.md").read_text()
    assert all(f"images/{path.name}" in page for path in IMAGES.glob("net-*.svg"))
