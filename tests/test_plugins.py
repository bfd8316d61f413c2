"""Parts by name, by path, and as objects."""

import sys

import pytest

from foresight.envs import DOMAINS, FACTS, ON_HOST, Facts, facts
from foresight.errors import ForesightError
from foresight.plugins import import_path, path_of, resolve, short_name


class Base:
    pass


class Mine(Base):
    class Inner(Base):
        pass


def function():
    return 3


HERE = __name__
KNOWN = {"mine": Mine, "theirs": f"{HERE}:Mine.Inner"}


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    """This module under its name, however the tests are collected."""
    monkeypatch.setitem(sys.modules, HERE, sys.modules[Mine.__module__])


def test_a_part_is_found_by_name_by_path_and_as_it_is():
    assert resolve("mine", KNOWN, "part", Base) is Mine
    assert resolve("theirs", KNOWN, "part", Base) is Mine.Inner
    assert resolve(f"{HERE}:Mine", {}, "part", Base) is Mine
    assert resolve(Mine, {}, "part", Base) is Mine
    assert resolve(f"{HERE}:function", {}, "part")() == 3


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ("mien", "there is no part 'mien' (did you mean 'mine'?); there are: mine, theirs, or one of your own"),
        ("no.such.module:Mine", "part 'no.such.module:Mine': there is no module 'no'"),
        (f"{HERE}:Mime", "has no 'Mime' (did you mean 'Mine'?)"),
        (f"{HERE}:", "is no path to a part: expected 'package.module:Name'"),
        ("../up:Mine", "is no path to a part"),
        (f"{HERE}:function", "is no part: expected a subclass of"),
        (f"{HERE}:KNOWN", "is no part: expected a subclass of"),
        (3, "3 is no part"),
    ],
)
def test_what_is_no_such_part_is_refused_with_what_was_expected(wanted, message):
    with pytest.raises(ForesightError) as refused:
        resolve(wanted, KNOWN, "part", Base)
    assert message in str(refused.value)


def test_what_a_users_module_lacks_is_not_taken_for_the_module_itself(tmp_path, monkeypatch):
    (tmp_path / "halfway.py").write_text("import nowhere_at_all\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ForesightError, match="the module 'halfway' needs 'nowhere_at_all', which is not installed"):
        import_path("halfway:Mine", "part")


def test_an_objects_path_leads_back_to_it():
    for part in (Mine, Mine.Inner, function):
        assert import_path(path_of(part), "part") is part


def test_what_no_other_process_could_find_is_refused(monkeypatch):
    def inner():
        return 1

    for part in (inner, lambda: 1, 3):
        with pytest.raises(ForesightError, match="define it at the top level of a module that Python can import"):
            path_of(part)
    monkeypatch.setattr(function, "__module__", "__main__")
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", None)
    monkeypatch.setattr(sys.modules["__main__"], "__file__", "/nowhere/at/all.py", raising=False)
    with pytest.raises(ForesightError, match="cannot be imported by name"):
        path_of(function)


def test_a_program_that_is_run_is_named_as_it_is_imported(tmp_path, monkeypatch):
    (tmp_path / "my_program.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(function, "__module__", "__main__")
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", None)
    monkeypatch.setattr(sys.modules["__main__"], "__file__", str(tmp_path / "my_program.py"), raising=False)
    assert path_of(function) == "my_program:function"


def test_short_names_are_the_last_part():
    assert [short_name(name) for name in ("drc", "a.b:C", "a:B.C")] == ["drc", "C", "C"]


def test_what_is_known_of_our_own_environments_is_what_their_classes_say():
    for name, path in (DOMAINS | ON_HOST).items():
        found = import_path(path, "environment")
        assert FACTS[name] == Facts(*(getattr(found, fact) for fact in Facts._fields)), name
    assert set(FACTS) == set(DOMAINS | ON_HOST)
    with pytest.raises(ForesightError, match="did you mean 'sokoban'"):
        facts("sokobann")


def failing():
    raise ZeroDivisionError("by nothing\nand more")


def test_a_users_function_that_fails_is_named():
    with pytest.raises(
        ForesightError, match=r"part '.*:failing' failed when it was called: ZeroDivisionError: by noth"
    ):
        resolve(f"{HERE}:failing", {}, "part")()
    with pytest.raises(ForesightError, match=r"failed when it was called: TypeError: .* 1 was given"):
        resolve(f"{HERE}:function", {}, "part")(3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def f(:", "SyntaxError: "),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("import sys; sys.exit(0)", "SystemExit: 0"),
        ("\0", "SyntaxError: "),
    ],
)
def test_a_module_that_cannot_be_imported_is_said_to_be_so(text, message, tmp_path, monkeypatch):
    (tmp_path / "broken_part.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ForesightError, match=f"part 'broken_part:F': 'broken_part' cannot be imported: {message}"):
        resolve("broken_part:F", {}, "part")
