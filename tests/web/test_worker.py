"""The worker and the kept answers."""

import threading
import time

import pytest

from foresight.web.answers import Answers
from foresight.web.problems import Problem
from foresight.web.worker import Worker


def counting(name, slices, log):
    for _ in range(slices):
        log.append(name)
        yield
    return name


def test_jobs_take_turns_so_that_a_short_one_does_not_wait_for_a_long_one():
    worker, log, gate = Worker(), [], threading.Event()

    def long():
        gate.wait(5)
        yield from counting("long", 50, log)

    first = worker.submit(long)
    second = worker.submit(lambda: counting("short", 2, log))
    gate.set()
    assert second.result(5) == "short"
    first.result(5)
    assert log.index("short") <= 2
    assert log[:6].count("short") == 2
    worker.close()


def test_a_full_queue_turns_a_job_away():
    worker, gate = Worker(most=2), threading.Event()

    def waiting():
        gate.wait(5)
        yield

    futures = [worker.submit(waiting) for _ in range(2)]
    with pytest.raises(Problem) as error:
        worker.submit(waiting)
    assert error.value.status == 503
    gate.set()
    [future.result(5) for future in futures]
    assert worker.submit(lambda: counting("again", 1, [])).result(5) == "again"
    worker.close()


def test_a_job_that_takes_too_long_is_given_up_and_the_next_is_served():
    worker = Worker(seconds=0.05)

    def endless():
        while True:
            time.sleep(0.01)
            yield

    future = worker.submit(endless)
    with pytest.raises(Problem) as error:
        future.result(5)
    assert error.value.status == 504
    assert worker.submit(lambda: counting("next", 1, [])).result(5) == "next"
    worker.close()


def test_a_job_is_not_given_up_for_the_time_that_its_first_slice_takes():
    worker = Worker(seconds=0.05)

    def compiling():
        time.sleep(0.1)
        yield
        return "compiled"

    waiting = [worker.submit(compiling) for _ in range(2)]
    assert [future.result(5) for future in waiting] == ["compiled", "compiled"]
    worker.close()


def test_who_has_had_least_comes_first():
    worker, log, gates = Worker(), [], [threading.Event(), threading.Event()]

    def long():
        yield from counting("long", 5, log)
        gates[0].set()
        gates[1].wait(5)
        yield from counting("long", 5, log)

    first = worker.submit(long)
    gates[0].wait(5)
    second = worker.submit(lambda: counting("short", 3, log))
    gates[1].set()
    assert second.result(5) == "short"
    first.result(5)
    assert log == ["long"] * 6 + ["short"] * 3 + ["long"] * 4
    worker.close()


def test_an_error_of_a_job_is_its_own():
    worker = Worker()

    def wrong():
        raise ValueError("mine")
        yield

    with pytest.raises(ValueError, match="mine"):
        worker.submit(wrong).result(5)
    assert worker.submit(lambda: counting("next", 1, [])).result(5) == "next"
    worker.close()


def test_a_cancelled_job_is_not_resumed():
    worker, log, gate = Worker(), [], threading.Event()

    def held():
        gate.wait(5)
        yield

    worker.submit(held)
    future = worker.submit(lambda: counting("cancelled", 3, log))
    future.cancel()
    gate.set()
    worker.submit(lambda: counting("last", 1, [])).result(5)
    assert log == []
    worker.close()


def test_answers_never_take_more_memory_than_allowed():
    answers = Answers(most_bytes=100)
    for number in range(50):
        answers.keep(number, bytes(30))
        assert answers.size == sum(map(len, answers.kept.values())) <= 100
    assert list(answers.kept) == [47, 48, 49]


def test_the_answer_used_least_recently_is_dropped_first():
    answers = Answers(most_bytes=2)
    answers.keep("a", b"1")
    answers.keep("b", b"1")
    assert answers.find("a") == b"1"
    answers.keep("c", b"1")
    assert answers.find("b") is None
    assert answers.find("a") == b"1"


def test_an_answer_larger_than_all_memory_is_not_kept():
    answers = Answers(most_bytes=10)
    answers.keep("large", bytes(11))
    assert (answers.find("large"), answers.size) == (None, 0)


def test_two_threads_work_at_two_jobs_side_by_side_and_never_at_one():
    worker, both, log = Worker(threads=2), threading.Barrier(2), []

    def meeting(name):
        both.wait(5)  # passes only while the other one is at work too
        return (yield from counting(name, 20, log))

    futures = [worker.submit(lambda name=name: meeting(name)) for name in ("one", "other")]
    assert [future.result(10) for future in futures] == ["one", "other"]
    assert worker.submit(lambda: counting("alone", 50, log)).result(10) == "alone"
    assert log.count("alone") == 50
    worker.close()
