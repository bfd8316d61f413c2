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
OURS = {"json.dumps", "gzip.decompress", "printed.getvalue"}  # texts that this process wrote itself
OWN_FILES = {"web/library.py", "analysis/device_trace.py"}  # of the package, and of the profiler
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


def careless_readers(tree: ast.AST) -> Iterator[int]:
    """Lines at which JSON from outside is read and a text nested too deep would end in a traceback."""
    careful = [
        part for node in ast.walk(tree) if isinstance(node, ast.Try) and catches_depth(node) for part in node.body
    ]
    guarded = {id(node) for part in careful for node in ast.walk(part)}
    for node in ast.walk(tree):
        is_reader = isinstance(node, ast.Call) and dotted(node.func) in ("json.loads", "json.load")
        if is_reader and id(node) not in guarded and not OURS & {dotted(inner) for inner in ast.walk(node)}:
            yield node.lineno


def catches_depth(node: ast.Try) -> bool:
    """Whether the error of a text that is nested too deep is caught."""
    caught = {dotted(kind) for handler in node.handlers if handler.type for kind in ast.walk(handler.type)}
    return bool(caught & {"RecursionError", "Exception"})


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


def test_json_from_outside_that_is_nested_too_deep_is_caught_wherever_it_is_read():
    found = {
        str(path.relative_to(PACKAGE)): list(careless_readers(ast.parse(path.read_text())))
        for path in sorted(PACKAGE.rglob("*.py"))
    }
    assert {name for name, lines in found.items() if lines} == OWN_FILES
