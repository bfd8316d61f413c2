"""The Python on the pages for readers: it compiles, and what it imports of this package is there."""

import ast
import importlib

import pytest

import foresight
from tests.docs.pages import python_blocks

BLOCKS = [block for block in python_blocks() if "--8<--" not in block.text]


def missing_names(source: str) -> list[str]:
    """Names of this package that a program uses and that are not there."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "foresight":
            module = importlib.import_module(node.module)
            found += [f"{node.module}.{alias.name}" for alias in node.names if not hasattr(module, alias.name)]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "foresight":
            found += [] if hasattr(foresight, node.attr) else [f"foresight.{node.attr}"]
    return found


@pytest.mark.parametrize("block", BLOCKS, ids=[f"{block.page}: {block.text[:40]!r}" for block in BLOCKS])
def test_a_python_block_names_what_is_there(block):
    assert missing_names(block.text) == []


def test_a_name_that_is_not_there_is_found_out():
    assert missing_names("from foresight.envs import nothing\nforesight.nowhere()") == [
        "foresight.envs.nothing",
        "foresight.nowhere",
    ]
