"""The import order of the package, held by reading its syntax trees."""

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "foresight"
ORDER = """errors types storage levels render envs nets learning search evaluation insight
    runs analysis paper bench web app""".split()
NETS_MAY_IMPORT = {"types", "errors", "storage", "nets"}


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
