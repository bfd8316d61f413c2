"""The look inside, in a real browser."""

import pytest

pytest.importorskip("uvicorn", reason="needs the extra web")
pytest.importorskip("playwright.sync_api", reason="needs playwright, of the extra dev")

from tests.web.browsing import LEVEL, needs_chromium, picture, settled, text, wait_for

pytestmark = [pytest.mark.extra, needs_chromium]


def test_maps_change_from_tick_to_tick_and_one_is_laid_over_the_board(visit):
    page = visit(f"{LEVEL}&think=4&mode=inside")
    settled(page, "inside")
    assert page.locator(".map").count() == 96
    plain, maps = picture(page), page.locator("#layers").screenshot()
    page.locator("#board").press(".")
    assert page.locator("#layers").screenshot() != maps
    page.keyboard.press("End")
    assert page.locator("#maps-end").is_hidden()  # every look was kept
    page.keyboard.press("Home")
    page.locator(".map").nth(32 + 29).click()
    wait_for(page, "#chosen", "Layer 2, channel 29")
    wait_for(page, "#chosen-read", "a box will go left")
    assert picture(page) != plain
    page.keyboard.press("ArrowRight")
    wait_for(page, "#chosen", "Layer 2, channel 30")
    page.wait_for_function("() => location.hash.includes('channel=1.30')")


def test_a_map_is_pinned_named_and_in_the_link(visit):
    page = visit(f"{LEVEL}&think=4&mode=inside&channel=1.29")
    settled(page, "inside")
    page.locator("#pin").click()
    page.keyboard.type("boxes, left")
    page.keyboard.press("Enter")
    page.wait_for_function("() => location.hash.includes('pins=1.29.boxes%20%20left')")
    again = visit("#" + page.url.split("#")[1])
    settled(again, "inside")
    assert again.locator("#pins input").input_value() == "boxes  left"
    again.locator("#pins button").click()
    again.locator("#no-pins").wait_for()
    again.wait_for_function("() => !location.hash.includes('pins')")


def test_pinned_maps_are_shown_at_other_training_steps(visit):
    page = visit(f"{LEVEL}&think=4&mode=inside&pins=1.29.left")
    settled(page, "inside")
    page.locator("#beside").check()
    page.locator("#pins figure").nth(1).wait_for()
    settled(page, "inside")
    assert page.locator("#pins figcaption").all_inner_texts()[:2] == ["100M steps", "131M steps"]
    one, other = (page.locator("#pins canvas").nth(place).screenshot() for place in (0, 1))
    assert one != other


def test_while_maps_take_long_the_game_is_there_and_its_outcome_said(visit):
    page = visit(f"{LEVEL}&think=4")
    wait_for(page, "#status", "solved it in")
    page.route("**/api/maps", lambda route: (page.wait_for_timeout(3000), route.continue_()))
    settled(page, "inside")
    assert text(page, "#status") == "After 4 thinking steps it solved it in 46 moves."
    assert page.locator("#board-area").get_attribute("aria-busy") == "false"
