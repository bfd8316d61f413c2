"""What is made when: the order of the whole paper, tests taken once for all studies, nothing begun late."""

import time

import pytest

from foresight.paper import MODULES, study
from foresight.paper.order import ORDER
from foresight.paper.running import Deadline, is_part, with_tests_of
from foresight.paper.study import Trial


def test_nothing_is_begun_late():
    begun = time.monotonic()
    assert Deadline(9).end - Deadline(9).late == pytest.approx(90, abs=1)
    assert Deadline(3).late - begun == pytest.approx(150, abs=1)
    assert not Deadline().is_late()
    assert Deadline(0)()


def test_agents_take_the_tests_of_all_studies_for_which_they_are_trained_long_enough():
    boxes, think, hard, table = (study(name) for name in ("F-boxes", "F-think", "F-hard", "T3"))
    deep, shallow = with_tests_of(boxes, [think, hard, table]).runs
    assert set(deep.tests) == {test for each in (boxes, think, table) for test in each.runs[0].tests}
    assert shallow.tests == boxes.runs[1].tests  # a search takes long: when it is its turn
    assert with_tests_of(study("T2"), [think, hard, table]).runs[0].tests == study("T2").runs[0].tests
    assert not is_part(Trial("a"), [Trial("a", count=9)])
    assert is_part(Trial("a", count=9), [Trial("a", count=9), Trial("a")])


def test_the_order_has_everything_and_names_agents_that_are_there():
    assert {stage.id for stage in ORDER} == set(MODULES)
    assert all(set(stage.agents) <= {spec.label for spec in study(stage.id).runs} for stage in ORDER)
    assert [stage.id for stage in ORDER if not stage.rates and not stage.steps] != list(MODULES)
