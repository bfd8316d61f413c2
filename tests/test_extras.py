"""The second test job: everything that an extra promises is installed and imports."""

import importlib
import re
import tomllib
from pathlib import Path

import pytest

PROJECT = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
MODULES = {
    "ale-py": "ale_py",
    "axe-playwright-python": "axe_playwright_python",
    "mkdocs-material": "material",
    "pytest-xdist": "xdist",
}  # where a package's module is not called like the package


def packages_of(extra: str) -> list[str]:
    return [re.match(r"[\w.-]+", requirement)[0] for requirement in PROJECT["optional-dependencies"][extra]]


@pytest.mark.extra
@pytest.mark.parametrize(
    "extra",
    [
        pytest.param(name, marks=[pytest.mark.soak] * (name == "fuzz"))  # which `make soak` alone installs
        for name in PROJECT["optional-dependencies"]
        if not name.startswith("cuda")
    ],
)
def test_every_package_of_an_extra_imports(extra):
    # ruff is a program: its module only finds it
    assert all(importlib.import_module(MODULES.get(name, name)) for name in packages_of(extra))
