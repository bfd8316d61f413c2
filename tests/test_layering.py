"""The import order of the package, held by reading its syntax trees."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "foresight"
ORDER = """errors cores threads limits plain plugins types storage levels render envs nets learning search evaluation
    insight runs analysis paper bench api web app""".split()
NETS_MAY_IMPORT = {"types", "errors", "limits", "plugins", "storage", "nets"}
GAMES = re.compile(r"sokoban|boxworld|box-world|minipacman|pacman|gridworld|atari|boxoban", re.IGNORECASE)
FLAG = re.compile(r"(?<![-\w`])--[a-z]")
OTHERS = re.compile("--(version|short=10|porcelain|untracked-files=no)")  # options of other programs


def modules_imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield node.module or ""
            if node.module == "foresight":
                yield from (f"foresight.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def upward_imports(package: Path) -> Iterator[str]:
    for path in sorted(package.rglob("*.py")):
        here = path.relative_to(package).parts[0].removesuffix(".py")
        if here in ("__init__", "__main__"):
            continue
        for module in modules_imported(ast.parse(path.read_text())):
            parts = module.split(".")
            if parts[0] != "foresight" or len(parts) == 1 or parts[1] == "__version__":
                continue
            there = parts[1]
            if ORDER.index(there) > ORDER.index(here):
                yield f"{path}: {here} imports {there}"
            if here == "nets" and there not in NETS_MAY_IMPORT:
                yield f"{path}: a net knows shapes, not games, and may not import {there}"


def matplotlib_outside_figures(package: Path) -> Iterator[str]:
    for path in sorted(package.rglob("*.py")):
        modules = modules_imported(ast.parse(path.read_text()))
        if any(m.split(".")[0] == "matplotlib" for m in modules) and path.name != "figures.py":
            yield str(path)


def games_named_in(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*.py")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if GAMES.search(line):
                yield f"{path}:{number}: {line.strip()}"


def flags_in_messages(package: Path) -> Iterator[str]:
    """Strings that name options of the command line and are not docstrings, outside `app`."""
    for path in sorted(package.rglob("*.py")):
        tree = ast.parse(path.read_text())
        if path.relative_to(package).parts[0] in ("app", "web", "__main__.py") or has_own_command_line(tree):
            continue
        docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            is_text = isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings
            if is_text and FLAG.search(node.value) and not OTHERS.fullmatch(node.value):
                yield f"{path}:{node.lineno}: {node.value}"


def has_own_command_line(tree: ast.AST) -> bool:
    return "argparse" in modules_imported(tree)


def test_no_game_is_named_inside_the_networks():
    assert list(games_named_in(PACKAGE / "nets")) == []


def test_tyro_is_imported_by_the_command_line_alone():
    outside = [path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] != "app"]
    assert [path for path in outside if "tyro" in "".join(modules_imported(ast.parse(path.read_text())))] == []


def test_messages_of_the_library_name_settings_and_not_options():
    assert list(flags_in_messages(PACKAGE)) == []


def test_no_package_imports_from_its_right():
    assert list(upward_imports(PACKAGE)) == []


def test_matplotlib_is_imported_by_figures_alone():
    assert list(matplotlib_outside_figures(PACKAGE)) == []


def test_the_rule_sees_a_violation(tmp_path):
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets" / "bad.py").write_text("from foresight.app import cli\nfrom foresight.levels import text\n")
    (tmp_path / "levels").mkdir()
    (tmp_path / "levels" / "bad.py").write_text("def late():\n    from foresight import envs\n")
    assert len(list(upward_imports(tmp_path))) == 4
