"""`foresight solve`: what it reports, what it writes, what it rejects."""

import json
from contextlib import contextmanager

import pytest

from foresight.levels import write_set
from foresight.runs.config import EnvSettings, RunConfig
from foresight.search.result import parse_lurd
from foresight.search.rules import pushes_of
from tests.app.small_runs import LEVELS, modules_of, status_of, use_linear_networks, write_levels
from tests.drawings import level, level_set
from tests.runs.test_agents import write_weights

FIELDS = ["level", "outcome", "solution", "moves", "pushes", "expansions", "network_calls", "seconds"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """An agent of 3x5 boards and those levels, as files; every network is linear in the meantime."""
    folder = tmp_path_factory.mktemp("solve")
    with pytest.MonkeyPatch.context() as monkeypatch:
        use_linear_networks(monkeypatch)
        config = RunConfig(env=EnvSettings(levels=write_levels(folder), env=("view=planes",)))
        write_weights(folder / "model.safetensors", config)
        yield str(folder / "model.safetensors"), config.env.levels


def report(capsys, *words: str) -> list[dict]:
    assert status_of(["solve", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "my-level.txt"
    path.write_text("######\n#    #\n#@ $.#\n######\n")
    return str(path)


def test_a_text_file_is_solved_without_an_agent(text, capsys):
    assert status_of(["solve", text]) == 0
    heading, row = capsys.readouterr().out.splitlines()
    assert heading.split()[:2] == ["level", "outcome"]
    assert row.split() == ["0", "solved", "2", "1", "1", "0", row.split()[6], "rR"]


def test_without_an_agent_no_network_is_loaded(text):
    output, modules = modules_of(["solve", text])
    assert "solved" in output
    assert "jax" not in modules


@pytest.mark.parametrize("words", [["--method", "bfs"], [], ["--method", "policy", "--sample"], ["--memory", "reset"]])
def test_rows_have_what_was_promised_and_solutions_replay(model, capsys, words):
    agent = ["--agent", model[0], "--batch", "4"] if "bfs" not in words else []
    rows = report(capsys, model[1], *agent, *words, "--budget", "200")
    assert [list(row) for row in rows] == [[*FIELDS, *(["note"] if "note" in row else []), "ended"] for row in rows]
    assert [row["level"] for row in rows] == [0, 1, 2, 3]
    assert [row["outcome"] for row in rows if row["level"] != 2] == ["solved"] * 3
    assert rows[2]["outcome"] == ("budget" if "policy" in words else "exhausted")
    assert rows[2]["solution"] is None
    for row, board in zip(rows, LEVELS.cells(), strict=True):
        if row["solution"] is not None:
            pushes = pushes_of(board, parse_lurd(row["solution"]))
            assert (row["moves"], row["pushes"]) == (len(pushes), sum(pushes))
    assert (rows[0]["network_calls"] > 0) == bool(agent)


def test_one_level_or_the_first_ones_can_be_chosen(model, capsys):
    assert [row["level"] for row in report(capsys, model[1], "--level", "1")] == [1]
    assert [row["level"] for row in report(capsys, model[1], "--limit", "2")] == [0, 1]


def test_rows_are_written_as_lines_of_json(model, capsys, tmp_path):
    rows = report(capsys, model[1], "--out", str(tmp_path / "solved.jsonl"))
    heading, *lines = map(json.loads, (tmp_path / "solved.jsonl").read_text().splitlines())
    assert lines == rows
    assert heading["search"]["method"] == "bfs"


def test_a_level_that_is_solved_already_takes_no_moves(capsys, tmp_path):
    (tmp_path / "solved.txt").write_text("#####\n#@* #\n#####\n")
    assert status_of(["solve", str(tmp_path / "solved.txt")]) == 0
    row = capsys.readouterr().out.splitlines()[1].split()
    assert row[:6] == ["0", "solved", "0", "0", "0", "0"]


def test_a_summary_is_printed_for_people(model, capsys):
    assert status_of(["solve", model[1]]) == 0
    out = capsys.readouterr().out
    assert "bfs: 3 of 4 levels solved, 1 exhausted" in out
    assert "a box stands where no push can bring it to a target" in out


def test_levels_smaller_than_the_agents_boards_are_filled_up(model, capsys, tmp_path):
    path = tmp_path / "square.txt"
    write_set(level_set(level(*["#####"] * 2, "#@$.#", *["#####"] * 2)), tmp_path / "square.levels")
    use = pytest.MonkeyPatch()
    with use.context() as monkeypatch:
        use_linear_networks(monkeypatch)
        config = RunConfig(env=EnvSettings(levels=str(tmp_path / "square.levels"), env=("view=planes",)))
        write_weights(tmp_path / "square.safetensors", config)
    path.write_text("####\n#@*#\n####\n")
    assert [
        row["outcome"]
        for row in report(capsys, str(path), "--agent", str(tmp_path / "square.safetensors"), "--budget", "9")
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--method", "lts"], "--method lts needs an agent: give --agent, or take --method bfs"),
        (["--budget", "0"], "--budget must be at least 1, not 0"),
        (["--time-limit", "0"], "--time-limit must be more than 0 seconds, not 0.0"),
        (["--mixing", "1.5"], "--mixing must be from 0 to 1, not 1.5"),
        (["--level", "9"], "has no level 9, expected 0 to 3"),
        (["--level", "1", "--limit", "1"], "--level and --limit exclude each other"),
        (["--out", "solved.txt"], "expected a name that ends in .jsonl"),
        (["--out", "/proc/solved.jsonl"], "cannot write /proc/solved.jsonl"),
        (["--agent", "nobody"], "there is no 'nobody'"),
        (["--method", "bfs", "--agent", "nobody"], "--agent is for --method lts or policy, not bfs"),
        (["--value-weight", "24"], "--value-weight is for --method lts, not bfs"),
        (["--sample"], "--sample is for --method policy, not bfs"),
        (["--agent", "nobody", "--shortest", "moves"], "--shortest is for --method bfs, not lts"),
    ],
)
def test_what_cannot_be_asked_is_rejected_by_name(model, capsys, words, message):
    assert status_of(["solve", model[1], *words]) == 2
    output = capsys.readouterr()
    assert message in output.err
    assert output.out == ""


@pytest.mark.parametrize(
    ("board", "message"),
    [
        ("#####\n#@  #\n#####\n", "a board without boxes"),
        ("#####\n#@$ #\n#####\n", "expected as many boxes as targets"),
        ("#" * 103 + "\n" + ("#" + "$" * 101 + "#\n") * 99 + "#" * 103 + "\n", "a board 103 cells wide, expected"),
        ("hello\n", "no level found"),
    ],
)
def test_a_file_without_a_proper_level_is_rejected(tmp_path, capsys, board, message):
    (tmp_path / "bad.txt").write_text(board)
    assert status_of(["solve", str(tmp_path / "bad.txt")]) == 2
    assert message in capsys.readouterr().err


def test_an_agent_of_another_size_is_rejected(model, capsys, tmp_path):
    (tmp_path / "large.txt").write_text("########\n#@ $  .#\n#      #\n########\n")
    assert status_of(["solve", str(tmp_path / "large.txt"), "--agent", model[0]]) == 2
    assert "foresight: " in capsys.readouterr().err


def test_an_agent_of_another_game_is_rejected(text, capsys):
    assert status_of(["solve", text, "--agent", "drc33-gridworld"]) == 2
    assert "drc33-gridworld plays gridworld, expected an agent that plays sokoban" in capsys.readouterr().err


def test_help_gives_an_example(capsys):
    assert status_of(["solve", "--help"]) == 0
    assert "foresight solve my-level.txt" in capsys.readouterr().out


@pytest.mark.parametrize(("words", "said"), [([], "searching"), (["--agent"], "compiling and searching")])
def test_before_the_first_level_is_done_it_says_that_it_searches(model, monkeypatch, words, said):
    heard = []
    monkeypatch.setattr("foresight.app.solve.counting_bar", heard_by(heard))
    assert status_of(["solve", model[1], *words, *[model[0]] * len(words), "--budget", "9"]) == 0
    assert heard == [said]


def heard_by(heard: list[str]):
    """A bar that notes what it would say at first."""

    @contextmanager
    def bar(what: str, total: int, first: str = "compiling"):
        heard.append(first)
        yield lambda *_, **__: None

    return bar
