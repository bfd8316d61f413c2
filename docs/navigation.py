"""Adds the pages to the site's navigation that are known by their folder: results, and guides that stand beside others."""

from pathlib import Path
from typing import Any

OPTIONAL_GUIDES = ("search.md", "insight.md", "web.md", "paper.md")


def on_config(config: Any) -> Any:
    """Called by mkdocs with its settings, before anything is built."""
    docs = Path(config.docs_dir)
    sections = {title: content for entry in config.nav for title, content in entry.items()}
    listed = sections["Guides"]
    listed.extend(name for name in OPTIONAL_GUIDES if (docs / name).exists() and name not in listed)
    results = sorted(path.relative_to(docs).as_posix() for path in (docs / "results").rglob("*.md"))
    config.nav.append({"Results": results})
    return config
