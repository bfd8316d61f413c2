"""The page is there before what answers it is loaded."""

from concurrent.futures import Future, ThreadPoolExecutor

import pytest

pytest.importorskip("uvicorn", reason="needs the extra web")

from starlette.responses import JSONResponse

from foresight.web.guard import Guard
from foresight.web.opening import Opening, build_in_thread
from tests.web.serving import served_app
from tests.web.start import time_start

pytestmark = pytest.mark.extra


def test_files_are_answered_at_once_and_questions_when_it_is_loaded():
    behind = Future()
    with served_app(Guard(Opening(behind))) as site, ThreadPoolExecutor() as threads:
        asked = threads.submit(site.get, "/api/start")
        assert b"<title>Foresight" in site.get("/").body
        assert site.get("/static/main.js").headers["content-type"].startswith("text/javascript")
        assert not asked.done()
        behind.set_result(JSONResponse({"loaded": True}))
        assert asked.result(10).json == {"loaded": True}


def test_files_are_guarded_like_everything_else():
    with served_app(Guard(Opening(Future()))) as site:
        assert site.get("/", Host="evil.example").status == 421
        assert site.get("/static/main.js", Origin="http://evil.example").status == 403


def test_what_goes_wrong_in_loading_is_kept_and_told():
    future, told = Future(), Future()
    build_in_thread(future, lambda: 1 / 0, lambda: told.set_result("told"))
    assert told.result(5) == "told"
    assert isinstance(future.exception(5), ZeroDivisionError)


@pytest.mark.soak  # a matter of the clock, so of what else the machine does
def test_the_page_is_there_within_three_seconds_and_a_move_takes_less_than_50_ms():
    times = time_start()
    assert times["page"] < 3
    assert times["a move of the second game"] < 0.05
