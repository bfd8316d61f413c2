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


def test_a_drawing_is_not_offered_to_be_played_before_it_is_checked(visit):
    page = visit(f"{LEVEL}&mode=draw")
    wait_for(page, "#draw-status", "A level with")
    hold(page, "api/check")
    page.locator("#text").fill("5#|#@$.#|5#")
    for name in ("let-it-play", "play-it", "prove"):
        assert page.locator(f"#{name}").is_disabled()
    let_go(page)
    wait_for(page, "#draw-status", "A level with 1 box.")
    page.locator("#prove").click()
    wait_for(page, "#draw-status", "Yes: 1 move and 1 push")


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


def test_moves_and_a_drawing_outlast_another_agent(visit):
    page = visit(f"{LEVEL}&mode=play&moves=Rd")
    wait_for(page, "#moves", "2")
    page.locator("#agent").select_option("drc33-640m")
    page.wait_for_function("() => location.hash.includes('agent=drc33-640m')")
    page.wait_for_timeout(300)
    assert text(page, "#moves") == "2"
    page.locator("#tab-draw").click()
    wait_for(page, "#draw-status", "A level with")
    page.locator("#clear").click()
    wait_for(page, "#draw-status", "without a player")
    page.locator("#agent").select_option("drc33-100m")
    page.wait_for_function("() => location.hash.includes('agent=drc33-100m')")
    wait_for(page, "#draw-status", "without a player")
    assert "drawing=" in page.url


def test_before_the_first_level_there_is_none_and_moves_are_kept(visit):
    page = visit("#agent=drc33-100m&set=builtin/hard&mode=play&moves=d")
    wait_for(page, "#moves", "1")
    page.locator("#previous-level").click()
    page.wait_for_timeout(300)
    assert text(page, "#moves") == "1"
    page.locator("#level").fill("-3")
    page.keyboard.press("Enter")
    assert page.locator("#level").input_value() == "0"


def test_wishes_outlast_more_thinking_and_begin_when_they_did(visit):
    page = visit(f"{LEVEL}&wishes=8.3.A.right")
    wait_for(page, "#wishes", "go right, row 9, column 4")
    page.locator("#think").press("ArrowRight")
    page.wait_for_function("() => location.hash.endsWith('think=1&wishes=8.3.A.right')")
    wait_for(page, "#wishes", "go right, row 9, column 4")


def test_wishes_that_begin_with_a_move_begin_with_the_same_one_after_more_thinking(visit):
    page = visit(f"{LEVEL}&think=4&look=6")
    wait_for(page, "#clock", "move 3")
    page.locator("#wish-form button").click()
    wait_for(page, "#status", "There is a wall")
    page.locator("#wish-row").fill("8")
    page.locator("#wish-form button").click()
    wait_for(page, "#wishes", "go up, row 8, column 2")
    page.wait_for_function("() => location.hash.includes('since=6')")
    page.locator("#think").press("ArrowRight")
    page.wait_for_function("() => location.hash.includes('think=5') && location.hash.includes('since=7')")
    wait_for(page, "#wishes", "go up, row 8, column 2")


def test_what_the_agent_would_do_is_not_said_of_the_next_board(visit):
    page = visit(f"{LEVEL}&mode=play")
    page.locator("[aria-label^='The board, your move 1,']").wait_for()
    page.locator("#hint").click()
    wait_for(page, "#play-status", "It would go right")
    page.keyboard.press("ArrowRight")
    assert text(page, "#play-status") == ""
    hold(page, "api/episode")
    page.keyboard.press("h")
    wait_for(page, "#play-status", "It looks at the board")
    page.keyboard.press("ArrowDown")
    let_go(page)
    assert text(page, "#play-status") == ""
    page.locator("#ghost").check()
    let_go(page)
    wait_for(page, "#play-status", "Its ghost")
    page.keyboard.press("ArrowUp")
    assert text(page, "#moves") == "3"
    wait_for(page, "#play-status", "Its ghost")


def test_the_board_of_another_domain_is_faint_until_it_is_there(visit):
    page = visit(LEVEL)
    wait_for(page, "#status", "solve")
    hold(page, "api/episode")
    page.locator("#agent").select_option("drc33-gridworld")
    wait_for(page, "#status", "It looks at the board")
    assert "stale" in page.locator("#boards").get_attribute("class")
    let_go(page)
    wait_for(page, "#status", "Without thinking it")
    assert "stale" not in page.locator("#boards").get_attribute("class")


def test_a_server_that_is_gone_is_spoken_of_where_it_was_asked(visit):
    page = visit(f"{LEVEL}&mode=draw", may_fail=True)
    wait_for(page, "#draw-status", "A level with")
    page.route("**/api/*", lambda route: route.abort())
    page.locator("#clear").click()
    wait_for(page, "#draw-status", "The server cannot be reached")
    for name in ("let-it-play", "play-it", "prove"):
        assert page.locator(f"#{name}").is_disabled()
    page.unroute("**/api/*")
    page.locator("#tab-play").click()
    page.locator("[aria-label^='The board, your move 1,']").wait_for()
    page.route("**/api/*", lambda route: route.abort())
    page.locator("#hint").click()
    wait_for(page, "#play-status", "The server cannot be reached")
    page.unroute("**/api/*")
    page.locator("#tab-watch").click()
    wait_for(page, "#status", "solve")
    page.route("**/api/*", lambda route: route.abort())
    page.locator("#gif").click()
    wait_for(page, "#status", "The server cannot be reached")
    assert "stale" not in (page.locator("#boards").get_attribute("class") or "")
    wait_for(page, "#status", "solve")
