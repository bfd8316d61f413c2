"""The captions of a first visit, in a real browser: what they say, and what the page does meanwhile."""

import pytest

pytest.importorskip("uvicorn", reason="needs the extra web")
pytest.importorskip("playwright.sync_api", reason="needs playwright, of the extra dev")

from tests.web.browsing import LEVEL, needs_chromium, text, wait_for

pytestmark = [pytest.mark.extra, needs_chromium]


def test_escape_ends_the_captions_wherever_the_keyboard_is(visit):
    page = visit(LEVEL, seen=False)
    wait_for(page, "#status", "solve")
    page.locator("#speed").focus()
    page.keyboard.press("Escape")
    assert page.locator("#tour").is_hidden()


def test_the_first_visit_begins_to_play_with_the_second_caption(visit):
    page = visit(LEVEL, seen=False, reduced_motion="no-preference")
    wait_for(page, "#status", "solve")
    assert text(page, "#play") == "Play"
    page.locator("#tour-next").click()
    wait_for(page, "#play", "Pause")


def test_levels_play_by_themselves_also_after_the_captions_were_begun_again(visit):
    page = visit(LEVEL, seen=False, reduced_motion="no-preference")
    wait_for(page, "#status", "solve")
    page.locator("#help").click()
    page.locator("#tour-skip").click()
    page.locator("#next-level").click()
    wait_for(page, "#play", "Pause")


def test_the_captions_speak_of_the_agent_that_is_shown(visit):
    page = visit("#agent=drc33-gridworld&level=3", seen=False)
    wait_for(page, "#tour-text", "Gridworld")
    page.locator("#agent").select_option("drc33-100m")
    wait_for(page, "#tour-text", "This is Sokoban")


def test_a_first_visit_is_told_three_captions_once(visit):
    page = visit(seen=False)
    page.locator("#tour").wait_for(state="visible")
    for words in ("1 of 3", "2 of 3", "3 of 3"):
        assert text(page, "#tour-count") == words
        page.keyboard.press("Enter")
    assert page.locator("#tour").is_hidden()
    assert page.evaluate("document.activeElement.id") == "board"
    page.reload()
    wait_for(page, "#status", "solved")
    assert page.locator("#tour").is_hidden()
    page.locator("#help").press("Enter")
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "help"


def test_the_third_caption_shows_the_level_with_and_without_thinking(visit):
    page = visit(seen=False)
    wait_for(page, "#status", "solved it in")
    for _ in range(2):
        page.locator("#tour-next").click()
    wait_for(page, "#status", "Thinking helps")
    assert page.locator("#board-other").is_visible()
