"""Studies as descriptions: runs shared by their settings, what is done, numbers beside the paper's."""

import json
import sys
from dataclasses import replace

import pytest

from foresight.errors import ForesightError
from foresight.paper import MODULES, studies, study, table_difficulty
from foresight.paper.agents import DRC33, VALID, agent, sokoban
from foresight.paper.measures import curve, mean_of, short
from foresight.paper.numbers import CURVES, Known
from foresight.paper.rates import FILE, agent_key, at_chosen_rates, read_rates, write_rates
from foresight.paper.running import long_enough
from foresight.paper.study import Cell, Result, identity, missing_seeds, results_of, run_id, runs_to_train, state_of
from foresight.paper.tables import as_latex, as_markdown, compared, grid_of, verdict
from foresight.paper.tuning import Tried, at_rate, best_rate, tried
from foresight.runs.cards import SHIPPED
from foresight.runs.folder import flatten


def entry(seed: int, steps: int, percent: float, levels: str | None = VALID, **more):
    shown = {"iteration": steps, "trained_steps": steps, "seed": seed, "set": levels, "think": 0, "greedy": True}
    return shown | {"levels": 1000, "solved_percent": percent, "max_steps": 120} | more


def result(steps: float = 2e7, seed: int = 0, seeds: int = 1, done: float = 1.0, entries=(), **changes) -> Result:
    config = replace(DRC33.config, steps=steps, seed=seed, seeds=seeds, **changes)
    return Result(config.as_json(), int(done * steps), tuple(entries), f"run-{seed}")


def test_every_table_and_figure_of_the_paper_is_there_once():
    ids = [each.id for each in studies()]
    assert ids == list(MODULES)
    assert [each for each in ids if each.startswith("T")] == ["T1", "T2", "T3", "T4", "T5"]
    assert len(ids) == 25
    assert all((each.kind == "table") == each.id.startswith("T") for each in studies())


def test_every_number_of_the_paper_belongs_to_a_series_that_is_drawn():
    for each in studies():
        results = {spec.label: [] for spec in each.runs}
        drawn = {} if each.drawing == "pictures" or each.id in ("T4", "T5") else each.measure(each, results)
        shown = {(cell.series, cell.x) for cell in drawn if cell.paper is not None}
        assert each.id in ("T4", "T5") or {(known.series, known.x) for known in each.paper} == shown, each.id


def test_an_unknown_id_is_answered_by_the_one_that_was_meant():
    with pytest.raises(ForesightError, match="F-config"):
        study("F-confg")


def test_the_same_settings_give_the_same_folder_and_any_other_gives_another():
    config = replace(sokoban("drc", 3, 3), steps=2e7)
    assert run_id(config) == run_id(replace(sokoban("drc", 3, 3), steps=2e7)) != run_id(replace(config, steps=1e8))
    assert run_id(config) != run_id(replace(config, seeds=3))
    assert run_id(config) != run_id(replace(config, learn=replace(config.learn, discount=0.9)))
    shared = [spec for each in studies() for spec in each.runs if spec.config == DRC33.config]
    assert len(shared) > 8  # DRC(3,3) on unfiltered is trained once for all of them


def test_agents_that_differ_in_anything_but_length_seeds_and_rounding_are_told_apart():
    one = sokoban("drc", 3, 3).as_json()
    same = replace(sokoban("drc", 3, 3, net_set=("core=cuda",)), steps=5.0, seed=9, seeds=2).as_json()
    assert identity(one) == identity(same)
    for other in (sokoban("drc", 3, 2), sokoban("drc", 3, 3, levels="x"), agent("boxworld", "drc", 3, 3)):
        assert identity(other.as_json()) != identity(one)
    old = {name: value for name, value in one.items() if name not in ("objective", "expert")}
    assert identity(old) == identity(one)  # of a run from before there were such settings


def test_the_settings_of_a_run_are_taken_apart_once_for_all_tables_and_figures(monkeypatch):
    taken, known = [], [result(seed=seed) for seed in range(5)]
    monkeypatch.setattr(
        sys.modules["foresight.paper.study"], "flatten", lambda values: taken.append(values) or flatten(values)
    )
    agents = [spec for each in studies() for spec in each.runs]
    for spec in agents:
        results_of(spec, known)
    assert len(taken) <= len(known) + len(agents) + 1  # and those of the default settings


def test_what_is_missing_is_trained_together_and_what_is_there_is_not_trained_again():
    found = [result(seed=1)]
    assert missing_seeds(DRC33, found, 2e7, 3) == [0, 2]
    assert [(run.seed, run.seeds) for run in runs_to_train(DRC33, found, 2e7, 3)] == [(0, 1), (2, 1)]
    assert [(run.seed, run.seeds) for run in runs_to_train(DRC33, [], 2e7, 3)] == [(0, 3)]
    assert missing_seeds(DRC33, [result(seed=5, seeds=3)], 2e7, 3) == []
    assert missing_seeds(DRC33, [result(steps=1e7)], 2e7, 1) == [0]
    assert missing_seeds(DRC33, [result(steps=1e8)], 2e7, 1) == []
    assert missing_seeds(DRC33, [result(done=0.8)], 2e7, 1) == [0]


def test_a_run_that_was_cut_short_and_made_again_is_left_out():
    cut, whole = result(seed=1, done=0.8), result(seed=0, seeds=3)
    assert results_of(DRC33, [cut, whole]) == [whole]
    assert results_of(DRC33, [cut]) == [cut]


def test_the_state_counts_seeds_of_agents():
    table = study("T2")
    results = {spec.label: [] for spec in table.runs} | {"DRC(3,3)": [result(seeds=2)]}
    assert state_of(table, results, 2e7, 3) == (2, 20)


def test_a_curve_is_the_mean_over_seeds_at_each_step_with_the_papers_numbers_where_they_are():
    entries = [entry(0, 10**7, 50), entry(1, 10**7, 60), entry(0, 20_070_400, 90), entry(1, 20_070_400, 92)]
    entries += [entry(0, 20_070_400, 99, think=4)]
    entries += [entry(0, 20_070_400, 10, levels="hard"), entry(0, 20_070_400, 20, greedy=False)]
    small = replace(study("F-config"), runs=(DRC33,), paper=(Known("DRC(3,3)", 2e7, 79.9),))
    cells = curve(VALID)(small, {"DRC(3,3)": [result(seeds=2, entries=entries)]})
    assert [(cell.x, cell.ours, cell.seeds, cell.paper) for cell in cells] == [(2e7, 91, 2, 79.9), (1e7, 55, 2, None)]
    assert cells[0].low < 90 < 92 < cells[0].high


def test_of_two_evaluations_at_one_step_the_one_with_more_levels_counts():
    entries = [entry(0, 2 * 10**7, 90), entry(0, 2 * 10**7, 91) | {"levels": 100_000}]
    small = replace(study("F-config"), runs=(DRC33,), paper=())
    (cell,) = curve(VALID)(small, {"DRC(3,3)": [result(entries=entries)]})
    assert cell.ours == 91


def test_an_interval_is_students_and_one_seed_has_none():
    mean = mean_of([1.0, 2.0, 3.0])
    assert mean.value == 2
    assert mean.high - mean.value == pytest.approx(4.3027 / 3**0.5, rel=1e-4)
    assert mean_of([5.0]) == (5.0, None, None, 1)


def test_tables_say_ours_beside_the_papers_in_both_formats():
    small = replace(study("F-config"), runs=(DRC33,), paper=(Known("DRC(3,3)", 2e7, 79.9),))
    cells = curve(VALID)(small, {"DRC(3,3)": [result(entries=[entry(0, 2 * 10**7, 91.5)])]})
    grid = grid_of(small, cells)
    assert grid == [["", "ours, 2e7", "paper, 2e7"], ["DRC(3,3)", "91.5", "79.9"]]
    assert as_markdown(grid).splitlines()[2] == "| DRC(3,3) | 91.5 | 79.9 |"
    assert r"DRC(3,3) & 91.5 & 79.9 \\" in as_latex([*grid, ["50 %", "1 ± 2", "_"]])
    assert r"50 \% & 1 $\pm$ 2 & \_ \\" in as_latex([*grid, ["50 %", "1 ± 2", "_"]])
    assert verdict(small, cells) == "DRC(3,3), 2e7: 91.5, 11.6 points above the paper's 79.9."


def test_a_verdict_says_above_below_or_near():
    def said(ours, paper, low=None, high=None, percent=True):
        return compared(Cell("CNN", 2e7, ours, low, high, paper=paper), percent).partition(": ")[2]

    assert said(91.5, 79.9) == "91.5, 11.6 points above the paper's 79.9"
    assert said(70.0, 79.9) == "70.0, 9.9 points below the paper's 79.9"
    assert said(79.0, 79.9) == "79.0, within a point of the paper's 79.9"
    assert said(70.0, 79.9, 60.0, 80.0) == "70.0, the paper's 79.9 within our interval"
    assert said(79.9, 79.9) == "79.9, as the paper's"
    assert said(118, 119, percent=False) == "118, 1 below the paper's 119"


def test_of_many_numbers_those_furthest_off_are_named():
    cells = [Cell("a", float(x), 1000.0, paper=1000.0) for x in range(10)]
    cells += [Cell("b", 1.0, 1000.5, paper=1000.0), Cell("b", 2.0, 500.0, paper=1000.0), Cell("b", 3.0, 7.0, paper=0)]
    said = verdict(study("T4"), cells)
    assert said.startswith("10 of 13 numbers are equal to the paper's, 1 more to a thousandth; furthest off: b, 3: 7, ")


def test_agents_of_the_package_stand_beside_the_papers_numbers():
    def ours(name, x):
        each = study(name)
        cells = each.measure(each, {spec.label: [] for spec in each.runs})
        return {cell.series: cell.ours for cell in cells if cell.x == x and cell.ours is not None}

    assert ours("F-boxes", "7 boxes")["drc33-100m, 1e8 steps"] > 90
    assert ours("F-think", "points gained, best")["drc33-100m, 1e8 steps"] > 3
    assert ours("F-hard", "hard")["Best of all agents, policy alone"] > 70


def test_what_is_gained_by_thinking_is_counted_on_the_same_levels():
    def think(steps, percent, levels):
        return entry(0, 10**8, percent, "medium-valid", think=steps) | {"levels": levels}

    each = study("F-think")
    entries = (think(0, 60.0, 50_000), think(0, 50.0, 5000), think(4, 58.0, 5000))
    found = {spec.label: [] for spec in each.runs} | {"DRC(3,3)": [result(1e8, entries=entries)]}
    cells = {(cell.series, cell.x): cell.ours for cell in each.measure(each, found)}
    assert cells["DRC(3,3)", "points gained, best"] == 8
    assert cells["DRC(3,3)", 0.0] == 50


def test_runs_that_are_too_short_are_left_out_where_there_are_longer_ones():
    short_one, long_one = result(1e7), result(2e7)
    assert long_enough([short_one, long_one], 2e7) == [long_one]
    assert long_enough([short_one], 2e7) == [short_one]


def test_a_run_that_only_tried_a_learning_rate_is_no_number_of_its_agent():
    assert long_enough([result(2e6)], 2e7) == []


def test_of_rates_that_are_as_good_the_one_nearest_to_that_of_now_is_best():
    assert DRC33.config.learn.learning_rate == 6e-4
    nothing, something = Tried(0.0, -1.0), Tried(1.0, -1.0)
    assert best_rate(DRC33, {1e-4: nothing, 5e-4: nothing, 2e-3: nothing}) == 5e-4
    assert best_rate(DRC33, {1e-4: nothing, 5e-4: nothing, 2e-3: something}) == 2e-3


def test_the_score_tells_rates_apart_that_solve_nothing_yet():
    assert best_rate(DRC33, {1e-4: Tried(0.0, -0.5), 5e-4: Tried(0.0, -1.1), 2e-3: Tried(0.1, -0.7)}) == 1e-4


def test_rates_are_compared_by_runs_of_the_same_length():
    found = {}
    for rate, short_percent in ((2e-4, 5.0), (6e-4, 3.0)):
        label = at_rate(DRC33, rate).label
        found[label] = [result(2e6, entries=(entry(0, 2 * 10**6, short_percent),))]
    found[label].append(result(2e7, entries=(entry(0, 2 * 10**7, 90.0),)))
    found = tried(DRC33, (2e-4, 6e-4), found, 2e6)
    assert best_rate(DRC33, found) == 2e-4


def test_a_file_of_rates_is_read_as_it_was_written_or_rejected(tmp_path):
    key = agent_key(DRC33.config)
    write_rates(tmp_path, {key: {"rate": 3e-4}})
    write_rates(tmp_path, {"other": {"rate": 1e-3}})
    assert read_rates([None, tmp_path / "absent", tmp_path]) == {key: {"rate": 3e-4}, "other": {"rate": 1e-3}}
    (chosen,) = at_chosen_rates(replace(study("F-config"), runs=(DRC33,)), read_rates([tmp_path])).runs
    assert chosen.config.learn.learning_rate == 3e-4
    assert agent_key(chosen.config) == key
    for text in ("", "[]", '{"foresight": "rates", "agents": {"a": {"rate": -1}}}', '{"foresight": "rates"}'):
        (tmp_path / FILE).write_text(text)
        with pytest.raises(ForesightError, match=FILE):
            read_rates([tmp_path])


def test_what_has_no_number_yet_is_said():
    table = study("T1")
    said = verdict(table, table.measure(table, {spec.label: [] for spec in table.runs}))
    assert said.startswith("No number of ours")
    assert said.endswith("no number yet of CNN, DRC(3,3), VIN.")


def test_steps_are_short():
    assert [short(steps) for steps in (2e7, 17_305_600, 1e9)] == ["2e7", "1.73e7", "1e9"]


def test_the_papers_curves_have_a_number_for_every_step():
    assert all(len(values) == 6 for values in CURVES.values())


def test_the_best_of_all_agents_in_table_3_is_the_best_score_on_a_card_of_the_package():
    each = table_difficulty.STUDY
    cells = each.measure(each, {spec.label: [] for spec in each.runs})
    hard = next(cell for cell in cells if (cell.series, cell.x) == (table_difficulty.BEST, "hard"))
    cards = [json.loads(path.read_text()) for path in SHIPPED.glob("drc33-*.json")]
    scores = [score for card in cards for score in card["scores"] if score["levels"] == "hard" and score["think"] == 0]
    assert (hard.ours, hard.paper) == (max(score["solved_percent"] for score in scores), 80.0)
