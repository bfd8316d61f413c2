"""The page in a real browser, with a visitor who does the next thing before the last one is done."""

import pytest

pytest.importorskip("uvicorn", reason="needs the extra web")
pytest.importorskip("playwright.sync_api", reason="needs playwright, of the extra dev")

from tests.web.browsing import LEVEL, needs_chromium, picture, text, wait_for

pytestmark = [pytest.mark.extra, needs_chromium]
HELD = """(holding) => { const ask = fetch; window.held = [];
    window.fetch = (address, options) => !address.endsWith(holding) ? ask(address, options) : new Promise((go) =>
        window.held.push(() => { const answer = ask(address, options); go(answer); return answer; })); }"""


def hold(page, address):
    """Keep what is asked of an address until it is let go."""
    page.evaluate(HELD, address)


def let_go(page):
    page.wait_for_function("() => window.held.length")
    page.evaluate("() => Promise.allSettled(window.held.map((go) => go()))")
    page.wait_for_timeout(500)


def test_a_game_that_comes_late_is_not_shown_to_a_visitor_who_plays(visit):
    page = visit(LEVEL)
    wait_for(page, "#status", "solve")
    hold(page, "api/episode")
    page.locator("#next-level").click()
    wait_for(page, "#status", "It looks at the board")
    page.locator("#tab-play").click()
    page.locator("[aria-label^='The board, your move 1,']").wait_for()
    before = picture(page)
    let_go(page)
    assert picture(page) == before
    assert text(page, "#status") == ""


def test_a_ghost_that_comes_late_is_not_shown_in_a_drawing(visit):
    page = visit(f"{LEVEL}&mode=play")
    page.locator("[aria-label^='The board, your move 1,']").wait_for()
    page.locator("#tab-draw").click()
    wait_for(page, "#draw-status", "A level with")
    before = picture(page)
    page.locator("#tab-play").click()
    hold(page, "api/episode")
    page.locator("#ghost").check()
    page.locator("#tab-draw").click()
    wait_for(page, "#draw-status", "A level with")
    let_go(page)
    assert picture(page) == before


def test_a_drawing_that_is_checked_late_is_not_shown_over_a_game(visit):
    page = visit(f"{LEVEL}&mode=draw")
    wait_for(page, "#draw-status", "A level with")
    page.locator("#tab-watch").click()
    wait_for(page, "#status", "solve")
    before = picture(page)
    page.locator("#tab-draw").click()
    hold(page, "api/check")
    page.locator("#clear").click()
    page.wait_for_function("() => window.held.length")
    page.locator("#tab-watch").click()
    wait_for(page, "#status", "solve")
    let_go(page)
    assert picture(page) == before


def test_a_search_for_the_next_level_ends_where_another_one_is_chosen(visit):
    page = visit(f"{LEVEL}&think=4")
    wait_for(page, "#status", "solve")
    hold(page, "api/next")
    page.locator("#next-success").click()
    wait_for(page, "#status", "Looking for a level")
    page.locator("#curated button").first.click()
    wait_for(page, "#status", "Thinking helps")
    chosen = page.locator("#level").input_value()
    let_go(page)
    assert page.locator("#level").input_value() == chosen


def test_keys_play_on_after_the_ghost_was_chosen_by_mouse(visit):
    page = visit("#agent=drc33-100m&mode=play&board=7%23|%23@-$-.%23|7%23")
    page.locator("[aria-label^='The board, your move 1,']").wait_for()
    page.locator("#ghost").click()
    wait_for(page, "#play-status", "Its ghost solves it")
    page.keyboard.press("ArrowRight")
    assert text(page, "#moves") == "1"
    page.keyboard.press("Space")
    assert not page.locator("#ghost").is_checked()


def test_a_game_that_is_being_played_is_in_the_link_and_survives_a_reload(visit):
    page = visit("#agent=drc33-100m&mode=play&board=7%23|%23@-$-.%23|7%23")
    page.locator("[aria-label^='The board, your move 1,']").wait_for()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.locator("#ghost").check()
    wait_for(page, "#play-status", "Its ghost solves it")
    page.wait_for_function("() => location.hash.includes('moves=rR') && location.hash.includes('ghost=1')")
    for again in (visit("#" + page.url.split("#")[1]), page):
        again.reload()
        wait_for(again, "#play-status", "Its ghost solves it")
        assert (text(again, "#moves"), text(again, "#pushes")) == ("2", "1")
    page.locator("#tab-watch").click()
    wait_for(page, "#status", "solved it")
    page.locator("#tab-play").click()
    page.locator("[aria-label^='The board, your move 3,']").wait_for()
    page.locator("#undo").click()
    page.wait_for_function("() => location.hash.includes('moves=r&')")
    page.locator("#daily").click()
    page.wait_for_function("() => !location.hash.includes('moves')")
    wait_for(page, "#moves", "0")  # the level comes a moment after its address


def test_a_drawing_is_in_the_link_and_survives_a_reload_and_a_look_elsewhere(visit):
    page = visit(f"{LEVEL}&mode=draw")
    wait_for(page, "#draw-status", "A level with")
    assert "drawing" not in page.url
    page.locator("#clear").click()
    page.locator("#board").focus()
    for key in ["ArrowDown", "@", "ArrowRight", "$"]:
        page.keyboard.press(key)
    wait_for(page, "#draw-status", "1 box and 0 targets")
    drawn = page.locator("#text").input_value()
    page.wait_for_function("() => location.hash.includes('drawing=')")
    page.reload()
    wait_for(page, "#draw-status", "1 box and 0 targets")
    assert page.locator("#text").input_value() == drawn
    page.locator("#tab-watch").click()
    wait_for(page, "#status", "it did not solve it")
    page.locator("#tab-draw").click()
    wait_for(page, "#draw-status", "1 box and 0 targets")
    page.locator("#next-level").click()
    wait_for(page, "#draw-status", "A level with")
    assert "drawing" not in page.url
