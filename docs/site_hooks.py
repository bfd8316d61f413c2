"""What the site needs beyond mkdocs: pages found by their folder, and links that leave the documentation."""

import re
from pathlib import Path
from typing import Any

OPTIONAL_GUIDES = ("insight.md", "web.md", "paper.md")
OUTSIDE = re.compile(
    r"(?<!!)\[([^\]]+)\]\(\.\./((?!\.\./)[^)]+)\)"
)  # a link of a top-level page to a file of the repository


def on_config(config: Any) -> Any:
    """Add to the navigation the guides that may not be there, and a page for every study."""
    docs = Path(config.docs_dir)
    sections = {title: content for entry in config.nav for title, content in entry.items()}
    listed = sections["Guides"]
    listed.extend(name for name in OPTIONAL_GUIDES if (docs / name).exists() and name not in listed)
    results = sorted(path.relative_to(docs).as_posix() for path in (docs / "results").rglob("*.md"))
    config.nav.append({"Results": results})
    return config


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Name files of the repository that are not part of the site instead of linking to them."""
    return markdown if "/" in page.file.src_uri else OUTSIDE.sub(r"\1 (`\2` in the repository)", markdown)
