"""A parcel: a run that is stopped on one machine and goes on on another; what does not fit, and damage."""

import json
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from foresight.errors import ForesightError
from foresight.paper import parcel as parcels
from foresight.paper import study
from foresight.paper.parcel import RECORD, hand_on, take_up
from foresight.paper.rates import read_rates, write_rates
from foresight.paper.running import Deadline, Workshop, as_trained, known_runs, make_runs
from foresight.paper.scales import shrunk
from foresight.runs.checkpoints import STATE, newest_good, read_checkpoint
from foresight.runs.evaluations import read_evaluations
from foresight.runs.folder import read_run
from foresight.runs.portable import FORMS, LEFT_OUT, encode_run, export_run, find_checkpoint, import_run
from foresight.storage.files import write_whole
from tests.app.small_runs import status_of, use_linear_networks
from tests.paper.toys import TINY

MUCH = 2**40


class Soon(Deadline):
    """A deadline that comes with the first records of a run."""

    def __call__(self) -> bool:
        return True


def quiet(folder: Path, parcel: Path | None = None) -> Workshop:
    return Workshop(folder, None, TINY(), say=lambda text: None, parcel=parcel)


def small_study():
    """One agent with two seeds, in calls of one iteration."""
    toy = TINY()
    chosen = as_trained(shrunk(study("F-think"), toy), toy)
    spec = chosen.runs[0]
    runs = (replace(spec, config=replace(spec.config, iterations_per_call=1)),)
    return replace(chosen, runs=runs, steps=120, seeds=2)


def final_state(folder: Path) -> dict[str, np.ndarray]:
    (run,) = folder.glob("runs/*")
    checkpoint, _ = newest_good(run / "checkpoints", lambda checkpoint: None)
    return read_checkpoint(checkpoint.folder).contents[STATE].arrays


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """A machine that was never stopped; one that was, and its parcel."""
    root = tmp_path_factory.mktemp("parcel")
    with pytest.MonkeyPatch.context() as patch:
        use_linear_networks(patch)
        chosen = small_study()
        assert make_runs(chosen, quiet(root / "whole"), Deadline())
        shop = quiet(root / "first", root / "parcel")
        assert not make_runs(chosen, shop, Soon())
        (sent,) = hand_on(shop, [chosen], MUCH)
        assert sent.form == "whole"
        yield chosen, root


def test_a_run_that_moved_to_another_machine_ends_as_one_that_did_not_bit_for_bit(places, monkeypatch, tmp_path):
    chosen, root = places
    use_linear_networks(monkeypatch)
    shop = quiet(tmp_path / "second", root / "parcel")
    take_up(shop)
    (taken,) = (tmp_path / "second" / "runs").iterdir()
    assert [event["imported"]["episodes"] for event in read_run(taken).history] == ["continued"]
    assert make_runs(chosen, shop, Deadline())
    moved, stayed = final_state(tmp_path / "second"), final_state(root / "whole")
    assert {name: array.tobytes() for name, array in moved.items()} == {
        name: array.tobytes() for name, array in stayed.items()
    }
    (stayed_run,) = (root / "whole" / "runs").iterdir()
    assert (taken / "metrics.jsonl").read_bytes() == (stayed_run / "metrics.jsonl").read_bytes()
    assert len((taken / "starts.jsonl").read_text().splitlines()) == 2

    def numbers(folder):
        return [{k: v for k, v in each.items() if k not in ("seconds", "model")} for each in read_evaluations(folder)]

    assert numbers(taken) == numbers(stayed_run)


def test_a_finished_run_is_a_record_that_counts_on_the_next_machine(places, tmp_path):
    chosen, root = places
    shop = quiet(root / "whole", tmp_path / "parcel")
    assert hand_on(shop, [chosen], MUCH) == []
    assert [path.name for path in (tmp_path / "parcel").iterdir()] == [RECORD]
    third = quiet(tmp_path / "third", tmp_path / "parcel")
    take_up(third)
    assert make_runs(chosen, third, Deadline())  # nothing is left to do
    assert not (tmp_path / "third" / "runs").exists()
    assert [result.is_finished for result in known_runs(third)] == [True]
    before = (tmp_path / "parcel" / RECORD).read_bytes()
    hand_on(third, [chosen], MUCH)
    assert (tmp_path / "parcel" / RECORD).read_bytes() == before
    assert json.loads(before)["runs"][0]["starts"]


def test_a_run_that_is_trained_but_not_tested_moves_with_its_weights(places, monkeypatch, tmp_path):
    chosen, root = places
    use_linear_networks(monkeypatch)
    (spec,) = chosen.runs
    (test,) = spec.tests
    more = replace(chosen, runs=(replace(spec, tests=(test._replace(think=(0, 1, 2)),)),))
    (sent,) = hand_on(quiet(root / "whole", tmp_path / "parcel"), [more], MUCH)
    assert sent.form == "lean"
    shop = quiet(tmp_path / "next", tmp_path / "parcel")
    take_up(shop)
    monkeypatch.setattr("foresight.paper.running.train_run", None)  # nothing is trained
    assert make_runs(more, shop, Deadline())
    (result,) = known_runs(shop)
    assert {each["think"] for each in result.entries if each["trained_steps"] == result.steps} == {0, 1, 2}
    assert hand_on(shop, [more], MUCH) == []
    assert [path.name for path in (tmp_path / "parcel").iterdir()] == [RECORD]


def test_rates_that_were_chosen_on_several_machines_are_all_in_the_parcel(tmp_path):
    for agent in ("one", "other"):
        write_rates(tmp_path / agent, {agent: {"rate": 1e-3}})
        hand_on(quiet(tmp_path / agent, tmp_path / "parcel"), [], MUCH)
    assert set(read_rates([tmp_path / "parcel"])) == {"one", "other"}


def test_what_does_not_fit_is_sent_in_a_smaller_form_or_said_to_be_left(places, tmp_path):
    chosen, root = places
    (run,) = (root / "first" / "runs").iterdir()
    sizes = {form: len(encode_run(run, form)[1]) for form in FORMS}
    assert sizes["whole"] > sizes["lean"] > sizes["small"]
    said: list[str] = []
    for form, size in sizes.items():
        shop = replace(quiet(root / "first", tmp_path / form), say=said.append)
        assert [(sent.form, sent.bytes) for sent in hand_on(shop, [chosen], size)] == [(form, size)]
        take_up(quiet(tmp_path / f"{form} arrived", tmp_path / form))
        (arrived,) = (tmp_path / f"{form} arrived" / "runs").iterdir()
        (event,) = (event["imported"] for event in read_run(arrived).history)
        assert {name: event[name] for name in LEFT_OUT[form]} == LEFT_OUT[form]
    assert said == []
    hand_on(shop, [chosen], sizes["small"] - 1)
    assert len(said) == 1
    assert "begins anew" in said[0]
    assert list(shop.parcel.iterdir()) == []


def test_a_rounded_optimiser_is_the_optimiser_but_for_rounding(places, tmp_path):
    _, root = places
    (run,) = (root / "first" / "runs").iterdir()
    export_run(run, tmp_path / "small", "small")
    import_run(tmp_path / "small", tmp_path / "run")
    ours, theirs = (find_checkpoint(folder)[1].contents[STATE].arrays for folder in (tmp_path / "run", run))
    for name, array in theirs.items():
        if name.startswith("optimiser/") and array.dtype == np.float32:
            np.testing.assert_allclose(ours[name], array, rtol=2**-8)
            assert ours[name].tobytes() != array.tobytes()
        elif not name.startswith("acting/"):
            assert ours[name].tobytes() == array.tobytes(), name


def test_parts_are_put_together_again_and_a_lost_one_leaves_the_run_out(places, monkeypatch, tmp_path):
    chosen, root = places
    monkeypatch.setattr(parcels, "PART", 5_000)
    monkeypatch.setattr(parcels, "MOST_FILES", 1_000)
    parcel = tmp_path / "parcel"
    hand_on(quiet(root / "first", parcel), [chosen], MUCH)
    parts = sorted(parcel.glob("*-of-*"))
    assert len(parts) > 2
    assert all(path.stat().st_size <= 5_000 for path in parts)
    take_up(quiet(tmp_path / "all", parcel))
    assert len(list((tmp_path / "all" / "runs").iterdir())) == 1
    parts[1].unlink()
    take_up(quiet(tmp_path / "lost", parcel))
    assert not (tmp_path / "lost").exists()
    parts[1].write_bytes(b"something else")
    with pytest.raises(ForesightError, match=r"arriving.* is damaged|arriving.*does not fit|header"):
        take_up(quiet(tmp_path / "damaged", parcel))


def test_a_damaged_record_is_rejected_before_anything_is_made(stored, tmp_path, capsys):
    write_whole(tmp_path / "parcel" / RECORD, b"{}")
    words = ["paper", "T1", "--quick", "--out", str(tmp_path / "out"), "--parcel", str(tmp_path / "parcel")]
    assert status_of(words) == 2
    assert "is not a record of a study" in capsys.readouterr().err
    assert stored == []


def test_a_file_in_the_place_of_a_parcel_is_rejected(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert status_of(["paper", "T1", "--quick", "--parcel", str(tmp_path / "file")]) == 2
    assert "expected a folder" in capsys.readouterr().err
    assert status_of(["paper", "T1", "--parcel-mib", "0"]) == 2


def test_by_a_parcel_another_machine_trains_nothing_again_and_nothing_is_drawn(stored, tmp_path, capsys):
    words = ["paper", "T1", "F-rivals-gridworld", "--quick", "--parcel", str(tmp_path / "parcel"), "--out"]
    assert status_of([*words, str(tmp_path / "one")]) == 0
    assert len(stored) == 3
    assert status_of([*words, str(tmp_path / "other")]) == 0
    assert len(stored) == 3
    assert not (tmp_path / "other").exists()
    assert [path.name for path in (tmp_path / "one").iterdir()] == ["runs"]
    capsys.readouterr()
    words = ["paper", "T1", "--quick", "--draw-only", "--json", "--out", str(tmp_path / "other")]
    assert status_of([*words, "--parcel", str(tmp_path / "parcel")]) == 0
    (made,) = json.loads(capsys.readouterr().out)
    assert [number["seeds"] for number in made["numbers"] if number["ours"] is not None] == [1] * 6


def test_sigterm_between_runs_still_hands_everything_on(stored, tmp_path, monkeypatch):
    record = tmp_path / "parcel" / "paper-runs.json"

    def stopped(*given):
        record.unlink()  # what was handed on after training
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr("foresight.paper.running.run_test", stopped)
    words = ["paper", "T3", "--quick", "--parcel", str(tmp_path / "parcel"), "--out", str(tmp_path / "one")]
    assert status_of(words) == 143
    assert len(json.loads(record.read_text())["runs"]) == 1
