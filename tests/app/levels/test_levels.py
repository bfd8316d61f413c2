import json
import os

import numpy as np
import pytest

from foresight.app import levels as app
from foresight.levels import naming, open_set, read_set, write_set
from foresight.levels.solution import is_solution, parse_solutions
from tests.app.levels.conftest import BOARDS, foresight
from tests.levels.drawings import SMALL, levels

TWO_BOXES = ("#####", "#*+$#", "#####")


@pytest.mark.parametrize("command", app.COMMANDS)
def test_every_commands_help_shows_an_example(command, output):
    assert f"example: foresight levels {command}" in " ".join(output(command, "--help").split())


def test_help_lists_every_command(output):
    text = output("--help")
    assert all(f"\n  {command} " in text for command in app.COMMANDS)


def test_a_text_file_is_imported_into_a_file(output):
    assert "1 level " in output("import", "small.txt", "small.levels")
    assert read_set("small.levels").digest == levels(SMALL).digest
    assert read_set("small.levels").name == "small"


def test_a_tree_of_splits_is_imported_into_a_folder(output, here):
    output("import", "tree", "packed")
    assert sorted(path.name for path in (here / "packed").iterdir()) == ["hard.levels", "unfiltered-train.levels"]
    assert np.array_equal(open_set("packed/unfiltered-train.levels").cells(), BOARDS[:20])


def test_a_tree_with_one_split_may_go_into_a_file(output):
    output("import", "tree/hard", "mine.levels")
    assert np.array_equal(open_set("mine.levels").cells(), BOARDS[15:])


def test_several_splits_do_not_go_into_a_file(error):
    assert "several sets (hard, unfiltered-train), expected a folder as DST" in error("import", "tree", "one.levels")


def test_an_import_reports_in_json(output):
    report = json.loads(output("import", "tree", "packed", "--json"))
    assert [(found["name"], found["count"]) for found in report["sets"]] == [("hard", 15), ("unfiltered-train", 20)]
    assert report["without_levels"] == ["README.txt"]
    assert report["bad"] == 0


def test_a_bad_level_stops_the_import_with_its_place_and_a_way_on(error, here):
    message = error("import", "bad.txt", "bad.levels")
    assert "bad.txt:6:4: unknown character 'x', expected one of" in message
    assert "`foresight levels import --skip-bad` skips bad boards" in message
    assert not (here / "bad.levels").exists()


def test_skipping_bad_levels_says_how_many(capsys):
    assert foresight("import", "bad.txt", "good.levels", "--skip-bad") == 0
    assert "1 bad" in capsys.readouterr().err
    assert read_set("good.levels").digest == levels(SMALL).digest


def test_info_says_what_a_set_is(output):
    text = output("info", "small.txt")
    assert "1 level of 3x5 cells, 1 box\n" in text
    assert levels(SMALL).digest in text


def test_info_in_json(output):
    report = json.loads(output("info", "small.txt", "--json"))
    expected = {"count": 1, "size": "3x5", "height": 3, "width": 5, "boxes": 1, "free_mean": 3.0, "wall_share": 0.8}
    assert report.items() >= (expected | {"digest": levels(SMALL).digest}).items()


@pytest.mark.parametrize("arguments", [["info", "bad.txt"], ["show", "bad.txt", "0"]])
def test_a_bad_board_is_reported_beside_the_good_ones(arguments, capsys):
    assert foresight(*arguments) == 0
    printed = capsys.readouterr()
    assert "1 bad, skipped" in printed.err
    assert "1 level of 3x5" in printed.out or printed.out == "\n".join(SMALL) + "\n"


def test_a_folder_of_collections_gives_a_set_for_each_file(output, here):
    output("import", "tree", "packed", "--set-per-file")
    assert sorted(path.name for path in (here / "packed").iterdir()) == ["hard-0.levels", "unfiltered-train-0.levels"]


BAD_PATHS = {"empty": "", "long": "x" * 300, "pipe": "pipe", "device": "/dev/zero", "below a file": "small.txt/x"}
READERS = [["info"], ["overlap", "small.txt"], ["show", "0"], ["import", "x.levels"], ["dedupe", "x.levels"]]


@pytest.mark.parametrize("path", BAD_PATHS.values(), ids=BAD_PATHS)
@pytest.mark.parametrize("command", READERS, ids=lambda command: command[0])
def test_a_source_that_can_be_none_is_one_line_and_no_file(command, path, error, here):
    os.mkfifo(here / "pipe")
    before = sorted(here.iterdir())
    name, *more = command
    error(name, path, *more)
    assert sorted(here.iterdir()) == before


@pytest.mark.parametrize("path", [*BAD_PATHS.values(), "x" * 250 + ".levels"], ids=[*BAD_PATHS, "nearly too long"])
@pytest.mark.parametrize("command", ["import", "dedupe", "generate"])
def test_a_destination_that_can_be_none_is_one_line_and_no_file(command, path, error, here):
    os.mkfifo(here / "pipe")
    before = sorted(here.iterdir())
    error(*(["generate", path, "--count", 1] if command == "generate" else [command, "small.txt", path]))
    assert sorted(here.iterdir()) == before


@pytest.mark.parametrize(
    "arguments",
    [
        ["--count", 10**15],
        ["--count", -1],
        ["--count", 1, "--workers", 10**6],
        ["--count", 1, "--size", 10**9],
        ["--count", 1, "--seed", 10**4000],
        ["--count", 1, "--boxes", "9" * 5000],
        ["--count", 1, "--solutions", ""],
    ],
    ids=lambda arguments: " ".join(map(str, arguments))[:30],
)
def test_numbers_that_are_too_large_are_rejected_before_anything_is_written(arguments, error, here):
    before = sorted(here.iterdir())
    error("generate", "new.levels", *arguments)
    assert sorted(here.iterdir()) == before


def test_levels_and_solutions_do_not_go_into_one_file(error, here):
    before = sorted(here.iterdir())
    assert "is where the levels go" in error("generate", "new.levels", "--count", 1, "--solutions", "./new.levels")
    assert sorted(here.iterdir()) == before


INTEGERS = [["generate", "x.levels", "--count"], ["show", "small.txt"], ["subset", "small.txt", "x.levels", "--count"]]


@pytest.mark.parametrize("arguments", INTEGERS, ids=lambda arguments: arguments[0])
def test_an_integer_of_5000_digits_exits_2(arguments, capsys, here):
    before = sorted(here.iterdir())
    assert foresight(*arguments, "9" * 5000) == 2
    assert "Traceback" not in capsys.readouterr().err
    assert sorted(here.iterdir()) == before


@pytest.mark.parametrize("url", ["", "ftp://x", "http://[", "http://x:99999999/", "http://a b/"])
def test_an_address_that_is_none_is_one_line(url, error):
    message = error("fetch", "--url", url)
    assert "cannot" in message or "--url is empty" in message


def test_generated_solutions_are_written_as_lurd(output, here):
    output("generate", "new.levels", "--count", 2, "--boxes", 1, "--size", 6, "--solutions", "new.txt")
    boards = open_set("new.txt").cells()
    assert np.array_equal(boards, read_set("new.levels").cells())
    moves = parse_solutions((here / "new.txt").read_text())
    assert [is_solution(board, found) for board, found in zip(boards, moves, strict=True)] == [True, True]


def test_a_number_that_is_no_level_is_named_as_the_argument_it_was(error):
    assert "INDEX must be at least 0, not -1" in error("show", "small.txt", "-1")


def test_subset_takes_the_first_levels_or_draws_by_seed(output):
    output("subset", "tree/hard", "first.levels", "--count", 5)
    output("subset", "tree/hard", "drawn.levels", "--count", 5, "--seed", 7)
    assert np.array_equal(read_set("first.levels").cells(), BOARDS[15:20])
    assert read_set("drawn.levels").source == "hard; 5 drawn by seed 7"
    assert (
        json.loads(output("subset", "tree/hard", "again.levels", "--count", 5, "--seed", 7, "--json"))["sets"][0][
            "digest"
        ]
        == read_set("drawn.levels").digest
    )


def test_a_subset_that_is_too_large_or_a_negative_seed_is_rejected(error):
    assert "expected a count from 1 to that, got 99" in error("subset", "small.txt", "x.levels", "--count", 99)
    assert "--seed must be at least 0, not -1" in error("subset", "small.txt", "x.levels", "--count", 1, "--seed", -1)


def test_dedupe_drops_repeats(output, here):
    (here / "twice.txt").write_text("\n".join([*SMALL, "", *SMALL, "", "#####", "#.$@#", "#####"]))
    assert json.loads(output("dedupe", "twice.txt", "once.levels", "--json"))["removed"] == 1
    assert "2 repeats removed" in output("dedupe", "twice.txt", "once.levels", "--symmetries")
    assert read_set("once.levels").digest == levels(SMALL).digest


def test_no_command_writes_over_its_source(error, output, here):
    before = (here / "small.txt").read_bytes()
    (here / "linked.txt").symlink_to(here / "small.txt")
    for arguments in [["import"], ["dedupe"], ["subset", "--count", 1]]:
        command, *more = arguments
        for destination in ("small.txt", "linked.txt", here / "small.txt"):
            message = error(command, "small.txt", destination, *more)
            assert f"{destination} is what the levels are read from: give DST another name" in message
    assert (here / "small.txt").read_bytes() == before
    output("import", "small.txt", "cache/levels/mine.levels")
    assert "mine.levels is what the levels are read from" in error("dedupe", "mine", "cache/levels/mine.levels")


def test_no_command_writes_over_a_file_that_is_no_packed_set(error, here):
    (here / "notes.levels").write_text("not levels")
    (here / "packed").mkdir()
    (here / "packed" / "hard.levels").write_text("not levels")
    output = "is there and is no packed level set: give DST another name, or remove that file first"
    assert f"notes.levels {output}" in error("import", "small.txt", "notes.levels")
    assert f"notes.levels {output}" in error("dedupe", "small.txt", "notes.levels")
    assert f"notes.levels {output}" in error("subset", "small.txt", "notes.levels", "--count", 1)
    assert f"notes.levels {output}" in error("generate", "notes.levels", "--count", 1)
    assert f"packed/hard.levels {output}" in error("import", "tree", "packed")
    assert sorted(path.name for path in (here / "packed").iterdir()) == ["hard.levels"]
    assert (here / "notes.levels").read_text() == (here / "packed" / "hard.levels").read_text() == "not levels"


def test_a_packed_set_may_be_written_anew(output):
    output("import", "tree/hard", "mine.levels")
    output("subset", "tree/hard", "mine.levels", "--count", 2)
    assert len(read_set("mine.levels")) == 2


def test_overlap_counts_common_levels(output, here):
    (here / "mirrored.txt").write_text("#####\n#.$@#\n#####")
    assert output("overlap", "tree/hard", "tree/unfiltered/train").startswith("5 levels in common")
    assert json.loads(output("overlap", "small.txt", "mirrored.txt", "--json"))["overlap"] == 0
    assert json.loads(output("overlap", "small.txt", "mirrored.txt", "--symmetries", "--json"))["overlap"] == 1


def test_list_shows_what_is_built_in_and_cached(output, here, monkeypatch):
    monkeypatch.setattr(naming, "builtin_folder", lambda: here / "builtin")
    write_set(levels(SMALL), here / "builtin" / "tiny.levels")
    assert "foresight levels fetch" in output("list")
    write_set(levels(SMALL), here / "cache" / "levels" / "hard.levels")
    (here / "cache" / "levels" / "cut.levels").write_bytes(b"FSLEVELS")
    text = output("list")
    assert "builtin/tiny" in text
    assert "not a packed level set" in text
    rows = {row["name"]: row for row in json.loads(output("list", "--json"))}
    assert (rows["builtin/tiny"]["count"], rows["hard"]["size"]) == (1, "3x5")
    assert "fault" in rows["cut"]


def test_the_built_in_sets_are_listed_in_columns(output, here):
    lines = [line for line in output("list").splitlines() if line.startswith("builtin/")]
    assert len(lines) == len(list(naming.builtin_folder().iterdir()))
    assert {line.index(" levels  ") for line in lines} == {lines[0].index(" levels  ")}


def test_the_fewest_and_the_most_boxes_of_a_set_are_reported(output, here):
    write_set(levels(SMALL, TWO_BOXES), here / "cache" / "levels" / "mixed.levels")
    write_set(levels(TWO_BOXES), here / "cache" / "levels" / "two.levels")
    lines = {line.split()[0]: line.split("  ")[-1] for line in output("list").splitlines()}
    assert (lines["mixed"], lines["two"]) == ("1 to 2 boxes", "2 boxes")
    rows = {row["name"]: (row["boxes_min"], row["boxes"]) for row in json.loads(output("list", "--json"))}
    assert (rows["mixed"], rows["two"]) == ((1, 2), (2, 2))
    assert " 1 to 2 boxes  copy.levels" in output("dedupe", "mixed", "copy.levels")
    assert "3x5 cells, 1 to 2 boxes\n" in output("info", "mixed")


def test_generate_writes_a_set(output):
    report = json.loads(
        output(
            "generate", "new.levels", "--count", 3, "--boxes", "1-2", "--size", 7, "--seed", 5, "--workers", 1, "--json"
        )
    )
    made = read_set("new.levels")
    assert (len(made), made.height, made.width, made.name) == (3, 7, 7, "new")
    assert report["sets"][0]["digest"] == made.digest


@pytest.mark.parametrize("boxes", ["many", "1-", "-1", "1-2-3"])
def test_a_number_of_boxes_that_is_none_is_rejected(error, boxes):
    assert "expected a number such as 4" in error("generate", "x.levels", "--count", 1, f"--boxes={boxes}")


def test_fetch_without_a_network_names_the_alternative(error):
    message = error("fetch", "--url", "http://127.0.0.1:1/master.zip")
    assert "cannot reach" in message
    assert "`foresight levels import PATH FOLDER`" in message


@pytest.mark.parametrize("arguments", [["info", "nowhere"], ["show", "nowhere", "0"], ["import", "nowhere", "x"]])
def test_a_set_that_is_not_there_is_named(error, arguments):
    assert "nowhere" in error(*arguments)


@pytest.mark.parametrize(
    "arguments", [["info"], ["show", "small.txt"], ["show", "small.txt", "x"], ["subset", "a", "b"]]
)
def test_missing_or_wrong_arguments_exit_2(arguments, capsys):
    assert foresight(*arguments) == 2
    assert "Traceback" not in capsys.readouterr().err
