"""Docstrings as the API reference shows them: examples as code, and fields with the comments beside them."""

import linecache
import re
from typing import Any

from griffe import Docstring, Extension

EXAMPLE = re.compile(r"^>>> .*?(?=^\s*$|\Z)", re.DOTALL | re.MULTILINE)  # up to the next empty line
BESIDE = re.compile(r"^\s*\w+: .*?  # (?!noqa|type:)(.+)$")


class Readable(Extension):
    """Called by griffe, which reads the sources."""

    def on_instance(self, *, obj: Any, **_: Any) -> None:
        """Put fences around examples, and give a field the docstring that its comment is."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
        elif obj.is_attribute and obj.parent.is_class:
            comment = BESIDE.match(linecache.getline(str(obj.filepath), obj.lineno).rstrip())
            obj.docstring = Docstring(comment[1], parent=obj) if comment else None


def fenced(text: str) -> str:
    """A docstring whose examples are blocks of code."""
    return EXAMPLE.sub(lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", text)
