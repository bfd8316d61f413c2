"""The documentation site: built without a warning, and nothing in it is fetched from elsewhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOADED = re.compile(r"""<(?:script|img|iframe|link)\b[^>]*?\b(?:src|href)=["']?((?:https?:)?//[^"'\s>]+)""")
IMPORTED = re.compile(r"@import|url\(\s*['\"]?(?:https?:)?//")


def foreign_requests(site: Path) -> list[str]:
    """What a browser would fetch from another host to show the site's pages."""
    found = [f"{page.name}: {address}" for page in site.rglob("*.html") for address in LOADED.findall(page.read_text())]
    return found + [f"{style.name}: imports" for style in site.rglob("*.css") if IMPORTED.search(style.read_text())]


@pytest.mark.extra
def test_the_site_is_built_without_warnings_and_fetches_nothing(tmp_path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "true"}  # a banner of the theme's about another program
    built = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True, timeout=300, check=False)
    assert built.returncode == 0, built.stderr
    assert "WARNING" not in built.stderr
    assert "load_agent" in (tmp_path / "site" / "api.html").read_text()
    assert foreign_requests(tmp_path / "site") == []


def test_a_font_or_script_from_elsewhere_is_found_out(tmp_path):
    (tmp_path / "page.html").write_text(
        '<link rel="stylesheet" href="https://fonts.example/a.css"><script src=//cdn.example/b.js></script>'
        '<a href="https://fine.example">a link</a><img src="images/c.png">'
    )
    (tmp_path / "style.css").write_text("a{background:url(https://cdn.example/d.png)}")
    assert len(foreign_requests(tmp_path)) == 3
