"""Nothing that the package reads can run code: held by reading its syntax trees."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "foresight"
MODULES = {
    "pickle",
    "cPickle",
    "_pickle",
    "dill",
    "cloudpickle",
    "shelve",
    "marshal",
    "joblib",
    "yaml",
    "code",
    "runpy",
}
BUILTINS = {"eval", "exec", "compile", "__import__", "breakpoint"}
CALLS = {"os.system", "os.popen", "torch.load", "pandas.read_pickle", "builtins.eval", "builtins.exec"}


def dotted(node: ast.AST) -> str:
    """`a.b.c` for an expression of that form."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def dangers(tree: ast.AST) -> Iterator[str]:
    """Every way in this module for data to become code."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] in MODULES)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in MODULES:
            yield node.module
        elif isinstance(node, ast.Name) and node.id in BUILTINS:
            yield node.id
        elif isinstance(node, ast.Call):
            yield from dangers_of_call(node)


def dangers_of_call(call: ast.Call) -> Iterator[str]:
    """A call that is dangerous itself, or by one of its options."""
    if dotted(call.func) in CALLS:
        yield dotted(call.func)
    for option in call.keywords:
        if option.arg in ("allow_pickle", "shell") and not (
            isinstance(option.value, ast.Constant) and option.value.value is False
        ):
            yield f"{dotted(call.func)}({option.arg}=...)"


def test_no_module_of_the_package_can_turn_data_into_code():
    found = {
        f"{path.relative_to(PACKAGE)}: {danger}"
        for path in PACKAGE.rglob("*.py")
        for danger in dangers(ast.parse(path.read_text()))
    }
    assert found == set()


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from pickle import loads",
        "def late():\n    import dill as d",
        "import yaml",
        "eval('1')",
        "f = exec",
        "import numpy as np\nnp.load(path, allow_pickle=True)",
        "np.load(path, allow_pickle=flag)",
        "subprocess.run(text, shell=True)",
        "import os\nos.system(text)",
        "torch.load(path)",
    ],
)
def test_the_rule_sees_a_danger(source):
    assert list(dangers(ast.parse(source)))


@pytest.mark.parametrize(
    "source", ["jax.eval_shape(f)", "re.compile(p)", "np.load(path, allow_pickle=False)", "json.loads(text)"]
)
def test_the_rule_lets_the_harmless_pass(source):
    assert not list(dangers(ast.parse(source)))
