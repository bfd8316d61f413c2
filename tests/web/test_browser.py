"""The page in a real browser: watch, scrub, think, draw, paste, play, change its mind, and share."""

import re

import pytest

pytest.importorskip("uvicorn", reason="needs the extra web")
pytest.importorskip("playwright.sync_api", reason="needs playwright, of the extra dev")

from foresight.web import library
from foresight.web.export import page_of, record
from foresight.web.library import Library
from tests.web.browsing import LEVEL, needs_chromium, picture, settled, text, wait_for

pytestmark = [pytest.mark.extra, needs_chromium]


def test_a_link_shows_a_moment_and_the_scrubber_moves_it(visit):
    page = visit(f"{LEVEL}&think=4&look=6&tick=1")
    wait_for(page, "#clock", "move 3 of 46 · tick 2 of 3")
    before = picture(page)
    page.locator("#forward").click()
    wait_for(page, "#clock", "move 4 of 46 · tick 3 of 3")
    assert picture(page) != before
    page.locator("#scrubber").fill("0")
    wait_for(page, "#clock", "thinking 1 of 4 · tick 1 of 3")
    page.wait_for_function("() => location.hash.endsWith('think=4')")
    page.locator("#to-end").click()
    wait_for(page, "#clock", "the end, 46 moves")


def test_the_plan_changes_from_tick_to_tick(visit):
    page = visit(f"{LEVEL}&think=4")
    wait_for(page, "#clock", "tick 1")
    pictures = [picture(page)]
    for _ in range(5):
        page.locator("#board").press(".")
        pictures.append(picture(page))
    assert len(set(pictures)) >= 3
    wait_for(page, "#clock", "thinking 2 of 4 · tick 3")


def test_playing_walks_to_the_end_and_a_click_on_the_graph_jumps(visit):
    page = visit(f"{LEVEL}&think=4")
    wait_for(page, "#clock", "tick")
    page.locator("#speed").select_option("8")
    page.locator("#play").click()
    wait_for(page, "#clock", "move 2")
    page.locator("#play").click()
    box = page.locator("#graph svg").bounding_box()
    page.mouse.click(box["x"] + box["width"] - 8, box["y"] + 20)
    wait_for(page, "#clock", "move 46 of 46")


def test_thinking_turns_failure_into_success_side_by_side(visit):
    page = visit()
    page.locator("#curated button").first.click()
    wait_for(page, "#status", "Thinking helps")
    assert page.locator("#board-other").is_visible()
    assert "did not solve" in text(page, "#caption-other")
    assert "solved it" in text(page, "#caption")
    page.locator("#think").focus()
    page.keyboard.press("ArrowLeft")
    page.locator("#think").dispatch_event("change")
    wait_for(page, "#caption", "After 3 thinking steps")


def test_a_pasted_level_is_checked_and_its_fault_named(visit):
    page = visit(f"{LEVEL}&mode=draw")
    wait_for(page, "#draw-status", "A level with")
    page.locator("#text").fill("")
    wait_for(page, "#draw-status", "There is no level in this text")
    page.locator("#text").fill("####\n#@ #\n####")
    wait_for(page, "#draw-status", "A board without boxes")
    page.locator("#text").fill("#####\n#@$.#\n##@##\n#####")
    wait_for(page, "#draw-status", "Row 3, column 3: a second player")
    assert page.locator("#let-it-play").is_disabled()
    page.locator("#text").fill("7#|#@-$-.#|7#")
    wait_for(page, "#draw-status", "A level with 1 box.")
    page.locator("#prove").click()
    wait_for(page, "#draw-status", "Yes: 3 moves and 2 pushes: no solution has fewer moves.")
    page.locator("#text").fill("######\n#$ @.#\n######")
    wait_for(page, "#draw-status", "A level with 1 box.")
    page.locator("#prove").click()
    wait_for(page, "#draw-status", "cannot be solved")


def test_a_level_is_drawn_by_keyboard_and_given_to_the_agent(visit):
    page = visit(f"{LEVEL}&mode=draw")
    wait_for(page, "#draw-status", "A level with")
    page.locator("#clear").click()
    wait_for(page, "#draw-status", "without a player")
    page.locator("#board").focus()
    for key in ["ArrowDown", "@", "ArrowRight", "$", "ArrowRight", "."]:
        page.keyboard.press(key)
    wait_for(page, "#draw-status", "A level with 1 box.")
    page.locator("#let-it-play").click()
    wait_for(page, "#status", "solved it in 1 move.")
    assert "board=" in page.evaluate("location.hash")
    assert page.locator("#level").input_value() == ""
    page.reload()
    wait_for(page, "#status", "solved it in 1 move.")


def test_tiles_are_painted_by_dragging(visit):
    page = visit(f"{LEVEL}&mode=draw")
    wait_for(page, "#draw-status", "A level with")
    page.locator("#clear").click()
    box = page.locator("#board").bounding_box()
    side = box["width"] / 10
    page.mouse.move(box["x"] + 2.5 * side, box["y"] + 3.5 * side)
    page.mouse.down()
    page.mouse.move(box["x"] + 5.5 * side, box["y"] + 3.5 * side, steps=8)
    page.mouse.up()
    assert page.locator("#text").input_value().split("\n")[3] == "# ####   #"


def test_a_visitor_plays_undoes_asks_and_wins(visit):
    page = visit("#agent=drc33-100m&mode=play&board=7%23|%23@-$-.%23|7%23")
    page.locator("[aria-label^='The board, your move 1,']").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("d")
    page.keyboard.press("ArrowUp")  # a wall: nothing moves
    assert (text(page, "#moves"), text(page, "#pushes")) == ("2", "1")
    page.locator("#undo").click()
    assert (text(page, "#moves"), text(page, "#pushes")) == ("1", "0")
    page.locator("#hint").click()
    wait_for(page, "#play-status", "It would go right. It is done in 2 moves.")
    page.locator("#ghost").check()
    wait_for(page, "#play-status", "Its ghost solves it in 3 moves.")
    page.locator("[data-move='4']").click()
    page.locator("[data-move='4']").click()
    wait_for(page, "#play-status", "Solved in 3 moves! The agent needs 3: a draw.")
    page.locator("#restart").click()
    assert text(page, "#moves") == "0"


def test_an_arrow_is_dragged_into_its_plan_and_judged(visit):
    page = visit(f"{LEVEL}&think=4")
    wait_for(page, "#status", "solved it in 46 moves")
    box = page.locator("#board").bounding_box()
    side = box["width"] / 10
    page.mouse.move(box["x"] + 2.5 * side, box["y"] + 8.5 * side)
    page.mouse.down()
    page.mouse.move(box["x"] + 3.5 * side, box["y"] + 8.5 * side, steps=4)
    page.mouse.up()
    wait_for(page, "#wishes", "go right, row 9, column 4")
    wait_for(page, "#status", "your wish")
    link = page.url
    assert "wishes=8.3.A.right" in link
    again = visit("#" + link.split("#")[1])
    wait_for(again, "#wishes", "go right, row 9, column 4")
    page.locator("#forget").click()
    wait_for(page, "#status", "it solved it in 46 moves.")


def test_the_next_level_that_it_fails_and_the_exports(visit):
    page = visit("#agent=drc33-100m&set=builtin/hard&level=1&think=4")
    wait_for(page, "#status", " it ")
    page.locator("#next-success").click()
    wait_for(page, "#status", "solved it in 53 moves")
    assert page.locator("#level").input_value() == "4"
    page.locator("#python").click()
    assert 'load_agent("drc33-100m", levels="builtin/hard")' in text(page, "#exported")
    assert "agent.play(4, think=4)" in text(page, "#exported")
    page.locator("#lurd").click()
    assert set(text(page, "#exported")) <= set("lurdLURD")
    with page.expect_download() as download:
        page.locator("#gif").click()
    assert download.value.suggested_filename == "foresight.gif"
    wait_for(page, "#status", "in your downloads")
    wait_for(page, "#status", "solved it in 53 moves")


def test_what_is_taken_along_is_shown_in_sight(visit):
    page = visit(LEVEL, viewport={"width": 1280, "height": 800})
    wait_for(page, "#status", "solve")
    page.locator("#python").evaluate("(e) => e.scrollIntoView({ block: 'end' })")
    page.locator("#python").click()
    assert page.locator("#exported").evaluate("(e) => e.getBoundingClientRect().bottom <= innerHeight")


def test_a_link_that_cannot_be_copied_is_in_the_address_and_what_was_said_comes_back(visit):
    page = visit(f"{LEVEL}&mode=play")
    page.locator("[aria-label^='The board, your move 1,']").wait_for()
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(); }")
    page.locator("#share").click()
    wait_for(page, "#status", "the address of this page is the link")
    page.wait_for_function("() => !document.querySelector('#status').textContent")


def test_the_shortest_way_is_named_and_in_sight_while_it_is_shown(visit):
    page = visit(LEVEL, viewport={"width": 390, "height": 844}, has_touch=True)
    wait_for(page, "#status", "solve")
    page.locator("#solve").click()
    wait_for(page, "#clock", "the shortest way, move 3 of")
    assert text(page, "#play") == "Pause"
    assert page.locator("#board").evaluate("(e) => e.getBoundingClientRect().top") > -1
    page.locator("#play").click()
    page.locator("#to-start").click()
    wait_for(page, "#clock", "move 1 of")


@pytest.mark.parametrize(
    "level", ["set=builtin/hard&level=14", "board=7%23|%23@-$-.%23|%235-%23|%235-%23|%235-%23|%235-%23|7%23"]
)
def test_the_python_of_a_changed_mind_gives_the_same_game(visit, capsys, monkeypatch, tmp_path, level):
    page = visit(f"#agent=drc33-100m&{level}&think=2&wishes=3.3.A.down,4.4.B.right&strength=2")
    wait_for(page, "#status", "of your 2 wishes")
    page.locator("#python").click()
    monkeypatch.chdir(tmp_path)
    exec(text(page, "#exported"), {})
    outcome = re.fullmatch(r"(not solved|solved) in (\d+) moves\n", capsys.readouterr().out)
    did = "did not solve it" if outcome[1] == "not solved" else "solved it"
    assert f"and {did} in {outcome[2]} move" in text(page, "#status")


def test_an_agent_of_small_boards_begins_with_levels_that_fit(visit):
    page = visit()
    wait_for(page, "#status", "solved")
    page.route("**/api/agents/drc33-100m", lambda route: route.fulfill(json=route.fetch().json() | {"size": [6, 6]}))
    page.locator("#agent").select_option("drc33-100m")
    wait_for(page, "#status", "it ")
    assert page.locator("#set").input_value() == "builtin/tiny-test"


def test_another_agent_is_shown_on_the_same_level(visit):
    page = visit(f"{LEVEL}&think=4")
    wait_for(page, "#status", "solved it in 46 moves")
    page.locator("#agent").select_option("drc33-640m")
    page.wait_for_function("() => location.hash.includes('agent=drc33-640m')")
    wait_for(page, "#status", "it ")
    assert page.locator("#level").input_value() == "14"
    page.locator("#agent").select_option("drc33-gridworld")
    wait_for(page, "#aim", "Gridworld")
    assert page.locator("#level").input_value() == "0"


def test_another_domain_is_shown_with_its_own_tiles(visit):
    page = visit("#agent=drc33-gridworld&level=3")
    wait_for(page, "#status", "solved it in 4 moves")
    assert page.locator("#tab-draw").is_disabled()
    assert page.locator("#mind").is_hidden()
    assert page.locator("#no-legend").is_visible()
    assert page.locator("#legend").is_hidden()
    assert "reach the green square" in text(page, "#aim")
    assert "box" not in page.locator("#about-value").get_attribute("data-tip")
    assert "finds the way to the goal" in page.locator("#about-agent").get_attribute("data-tip")
    row = page.locator("#policy .chosen")
    name, bar = row.locator("span").first.bounding_box(), row.locator(".track").bounding_box()
    words = row.locator("span").first.evaluate("(e) => e.scrollWidth")
    assert name["x"] + words <= bar["x"]
    page.locator("#help").click()
    assert text(page, "#tour-text").startswith("Gridworld")
    assert text(page, "#tour-count") == "1 of 2"


def test_a_game_that_is_never_solved_has_a_score_and_a_plan_that_cannot_be_changed(visit, monkeypatch):
    monkeypatch.setattr(library, "MOST_MOVES", 12)
    page = visit("#agent=drc33-minipacman&level=3")
    wait_for(page, "#status", "points in 12 moves, and would play on.")
    assert page.locator("#legend").is_visible()
    assert "a box" not in text(page, "#legend")
    assert page.locator("#mind").is_hidden()
    page.locator("#python").click()
    assert "agent.play(3, max_steps=12)" in text(page, "#exported")
    page.locator("#help").click()
    assert text(page, "#tour-count") == "1 of 3"


def test_an_exported_page_opens_without_a_server(visit, tmp_path):
    curated = {"agent": "drc33-100m", "set": "builtin/hard", "think": 4, "levels": [14], "found": ""}
    path = tmp_path / "index.html"
    path.write_text(page_of(record(Library(), curated)))
    page = visit(path=path)
    wait_for(page, "#status", "it solved it in 46 moves.")
    assert "A recording" in text(page, "footer")
    assert (
        page.locator("#tab-draw, #next-level, #next-failure, #daily, #mind, #solve, #gif")
        .locator("visible=true")
        .count()
        == 0
    )
    page.locator("#think").press("ArrowLeft")
    wait_for(page, "#status", "Without thinking it did not solve it")
    page.locator("#think").press("ArrowRight")
    wait_for(page, "#status", "it solved it in 46 moves.")
    page.locator("#board").click()
    assert page.locator("#start-over").is_hidden()
    page.locator("#compare").check()
    wait_for(page, "#status", "Thinking helps")
    settled(page, "inside")
    page.locator(".map").nth(61).click()
    wait_for(page, "#chosen", "Layer 2, channel 29")
    page.locator("#tab-play").click()
    page.locator("[aria-label^='The board, your move 1,']").focus()
    page.keyboard.press("ArrowRight")
    wait_for(page, "#moves", "1")
    page.keyboard.press("h")
    wait_for(page, "#play-status", "not in this recording")
