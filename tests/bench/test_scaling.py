"""How cost grows: the sizes, the measurement at sizes that take no time, the picture."""

import json
from dataclasses import asdict, replace

import jax
import pytest

from foresight.analysis.scaling import lines_of, plot_scaling, together
from foresight.app import bench_scaling as command
from foresight.bench.scaling import QUANTITIES, GradientStep, Size, Sweep, default_sweep, measure
from foresight.errors import ForesightError
from tests.app.small_runs import status_of
from tests.bench.pretence import Pretence

BASE = Size(minibatch=2, unroll=2, depth=1, ticks=1, board=4, seeds=1)
VALUES = {name: (getattr(BASE, name),) for name in QUANTITIES} | {"minibatch": (1, 2), "seeds": (1, 2)}
SMALL = Sweep(BASE, VALUES, features=2)


def row(path="xla", rate=1000, **changed):
    size = asdict(replace(BASE, path=path, **changed))
    measured = {"frames_per_second": rate, "ms": 1.5, "spread_percent": 4.0, "memory_mb": 7.0, "timings": 2}
    return {**size, **measured}


def named(**changed):
    return str(replace(BASE, path="xla", **changed))


def document(*rows, device="a chip"):
    return {"device": device, "dtype": "bfloat16", "base": SMALL.around(), "rows": list(rows), "left_out": []}


def test_one_quantity_differs_from_the_base_and_no_size_is_measured_twice():
    groups, base = default_sweep().groups([""]), default_sweep().base
    sizes = [size for group in groups.values() for size in group]
    differing = [sum(getattr(size, name) != getattr(base, name) for name in QUANTITIES) for size in sizes]
    assert differing == [0] + [1] * (len(sizes) - 1)
    assert len(set(sizes)) == len(sizes)
    assert {size.board for size in [base, *groups["board"]]} == set(default_sweep().values["board"])
    assert list(default_sweep().groups(["xla"], ["board"])) == ["base", "board"]


def test_an_unknown_quantity_is_refused_with_those_that_exist():
    with pytest.raises(ForesightError, match="no quantity 'width' to vary; there are: minibatch, unroll"):
        SMALL.groups(["xla"], ["width"])


def test_networks_and_trajectories_have_the_size_asked_for():
    step = GradientStep(2, "float32")
    _, net, played = step.inputs(Size("xla", 5, 7, 2, 4, 6, 3))
    assert len(net.stack.modules) == 2
    assert net.stack.ticks == 4
    assert played.observations.shape == (3, 5, 8, 6, 6)
    assert played.memory.cell.shape == (3, 5, 2, 6, 6, 2)
    _, single, _ = step.inputs(replace(BASE, path="xla", seeds=1))
    assert single.head_weights()[0].ndim == net.head_weights()[0].ndim - 1


def test_the_base_is_known_first_and_every_round_of_timings_gives_a_result():
    said = []
    documents = list(measure(SMALL, ["cuda", "xla"], ["minibatch", "seeds"], repeats=2, say=said.append))
    assert [len(known["rows"]) for known in documents] == [1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]
    last = documents[-1]
    assert [(known["path"], known["minibatch"], known["seeds"]) for known in last["rows"]] == [
        ("xla", 2, 1),
        ("xla", 1, 1),
        ("xla", 2, 2),
    ]
    assert [known["timings"] for known in last["rows"]] == [6, 2, 2]
    for known in last["rows"]:
        frames = known["seeds"] * known["minibatch"] * known["unroll"]
        assert known["frames_per_second"] == pytest.approx(1e3 * frames / known["ms"], rel=0.01)
        assert known["memory_mb"] > 0
    assert [known["path"] for known in last["left_out"]] == ["cuda"] * 3
    assert "cannot run" in last["left_out"][0]["why"]
    assert any("seeds=2: skipped" in sentence for sentence in said)


@pytest.fixture
def pretended(monkeypatch):
    """Cases that run in no time; which were begun is kept, group by group."""
    return Pretence(monkeypatch, GradientStep)


def test_what_an_earlier_result_has_often_enough_is_not_measured_again(pretended):
    earlier = document(row(), row(depth=9), row(seeds=2) | {"timings": 1})
    earlier["left_out"] = [{**row(minibatch=1), "why": "was too large"}]
    said = []
    *_, known = measure(SMALL, ["xla"], repeats=2, say=said.append, earlier=earlier)
    assert pretended.compiled == [[named(minibatch=1)], [named(seeds=2)]]
    assert f"known already: {named()}" in said
    assert [(one["depth"], one["seeds"], one["minibatch"], one["timings"]) for one in known["rows"]] == [
        (1, 1, 2, 2),
        (9, 1, 2, 2),
        (1, 2, 2, 2),
        (1, 1, 1, 2),
    ]
    assert known["rows"][0] == row()
    assert known["left_out"] == []


def test_the_command_cut_short_goes_on_from_its_file(pretended, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(command, "default_sweep", lambda: SMALL)
    out = tmp_path / "r.json"
    pretended.cut_after = 2
    words = ["bench", "scaling", "--quantities", "minibatch", "--repeats", "2", "--out", str(out), "--json"]
    assert status_of(words) == 130
    assert [one["timings"] for one in json.loads(out.read_text())["rows"]] == [2]
    pretended.cut_after = None
    pretended.compiled.clear()
    capsys.readouterr()
    assert status_of(words) == 0
    assert pretended.compiled == [[named(minibatch=1)]]
    output = capsys.readouterr()
    assert len(json.loads(output.out)["rows"]) == 2
    assert json.loads(output.out) == json.loads(out.read_text())


def test_a_result_around_another_base_is_not_gone_on_with(pretended, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(command, "default_sweep", lambda: SMALL)
    out = tmp_path / "r.json"
    *_, known = measure(SMALL, ["xla"], ["ticks"], repeats=1)
    out.write_text(json.dumps(known | {"base": known["base"] | {"depth": 5}}))
    assert status_of(["bench", "scaling", "--out", str(out)]) == 2
    assert "around another size or precision" in capsys.readouterr().err


def test_sizes_that_do_not_fit_into_memory_are_left_out(monkeypatch):
    monkeypatch.setattr("foresight.bench.programs.memory_available", lambda: 1000)
    *_, known = measure(SMALL, ["xla"], ["ticks"], repeats=1)
    assert known["rows"] == []
    assert "GiB" in known["left_out"][0]["why"]


def test_lines_have_the_rows_in_which_nothing_else_differs_in_order():
    known = document(row(minibatch=4), row(), row(seeds=3), row(path="cuda"))
    assert lines_of(known, "minibatch") == {"xla": [row(), row(minibatch=4)], "cuda": [row(path="cuda")]}
    assert lines_of(known, "seeds")["xla"] == [row(), row(seeds=3)]


def test_results_in_pieces_are_put_together_and_the_last_of_a_size_counts():
    one, other = document(row(rate=1), row(seeds=3)), document(row(rate=2), row(depth=2))
    assert together([one, other])["rows"] == [row(rate=2), row(seeds=3), row(depth=2)]
    with pytest.raises(ForesightError, match="device a chip and another"):
        together([one, document(device="another")])


def test_the_picture_has_a_panel_for_each_quantity_that_varies_and_a_line_for_each_core(tmp_path):
    few = row(), row(seeds=3), row(path="cuda", seeds=3), row(minibatch=512)
    titles = {"minibatch (", "unroll (", "depth (", "ticks", "side of the board", "seeds in one"}

    def drawn(*rows):
        plot_scaling(document(*rows), tmp_path / "p.svg")
        picture = (tmp_path / "p.svg").read_text()
        assert "core xla" in picture
        assert "a chip" in picture
        return {title for title in titles if title in picture}, picture

    panels, picture = drawn(*few)
    assert panels == {"minibatch (", "seeds in one"}
    assert "core cuda" in picture
    assert drawn(*few, row(unroll=5), row(depth=2), row(ticks=3), row(board=9))[0] == titles
    assert drawn(row())[0] == {"minibatch ("}  # the base alone


@pytest.fixture
def one_size(monkeypatch):
    monkeypatch.setattr(command, "default_sweep", lambda: SMALL)


def test_the_command_measures_writes_and_draws(tmp_path, capsys, one_size):
    out, picture = tmp_path / "r.json", tmp_path / "p.png"
    words = f"bench scaling --quantities ticks --repeats 1 --json --out {out} --picture {picture}"
    assert status_of(words.split()) == 0
    output = capsys.readouterr()
    assert json.loads(output.out) == json.loads(out.read_text())
    assert "timed 1 of 1" in output.err
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert json.loads(output.out)["jax"] == jax.__version__


def test_records_are_shown_without_measuring(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(command, "measure", None)
    for name, known in (("a.json", document(row(rate=7654))), ("b.json", document(row(ticks=3)))):
        (tmp_path / name).write_text(json.dumps(known))
    assert status_of(["bench", "scaling", "--records", str(tmp_path / "a.json"), str(tmp_path / "b.json")]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["2", "xla", "7,654", "1.500", "4.0", "7"] in lines
    assert ["3", "xla", "1,000", "1.500", "4.0", "7"] in lines


@pytest.mark.parametrize("content", ["no json", "[]", "{}", '{"rows": [{"path": "xla"}]}', '{"rows": []}'])
def test_a_file_that_is_no_record_is_refused_by_name(tmp_path, capsys, content):
    (tmp_path / "r.json").write_text(content)
    assert status_of(["bench", "scaling", "--records", str(tmp_path / "r.json")]) == 2
    assert "r.json is not a result of `foresight bench scaling --out`" in capsys.readouterr().err


def test_no_repeats_are_refused(capsys):
    assert status_of(["bench", "scaling", "--repeats", "0"]) == 2
    assert "--repeats must be at least 1" in capsys.readouterr().err


def test_help_gives_an_example(capsys):
    assert status_of(["bench", "scaling", "--help"]) == 0
    assert "foresight bench scaling --out" in capsys.readouterr().out
