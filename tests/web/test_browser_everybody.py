"""The page for everybody, in a real browser: on a phone, by keyboard alone, with little light."""

import pytest

pytest.importorskip("uvicorn", reason="needs the extra web")
pytest.importorskip("playwright.sync_api", reason="needs playwright, of the extra dev")

from tests.web.browsing import LEVEL, needs_chromium, settled, text, wait_for

pytestmark = [pytest.mark.extra, needs_chromium]


def swipe(page, right, down, square=(2.5, 2.5), rest=0, over="#board"):
    """A finger goes down on the board (squares from its left and top), rests (milliseconds), moves and is lifted."""
    box, touch = page.locator(over).bounding_box(), page.context.new_cdp_session(page)
    x, y = (box[edge] + box["width"] / 10 * squares for edge, squares in zip("xy", square, strict=True))
    for kind, share in (("touchStart", 0), ("touchMove", 0.5), ("touchMove", 1), ("touchEnd", None)):
        points = [] if share is None else [{"x": x + share * right, "y": y + share * down}]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        if kind == "touchStart":
            page.wait_for_timeout(rest)


def test_a_visitor_swipes_on_a_phone(visit):
    page = visit(f"{LEVEL}&mode=play", viewport={"width": 390, "height": 844}, has_touch=True)
    page.locator("[aria-label^='The board, your move 1,']").wait_for()
    for right, down in ((80, 0), (0, 80), (-80, 0), (-80, 0)):  # pushes a box, goes down and back; then a wall
        swipe(page, right, down)
    wait_for(page, "#moves", "3")
    assert text(page, "#pushes") == "1"


PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


def test_on_a_phone_a_swipe_over_the_board_that_is_watched_scrolls(visit):
    page = visit(f"{LEVEL}&think=4", **PHONE)
    wait_for(page, "#status", "solved it in 46 moves")
    swipe(page, 0, -120, square=(4.5, 8.5))
    page.wait_for_function("() => scrollY > 60")
    assert "wishes" not in page.url


def test_on_a_phone_a_finger_that_rests_first_draws_an_arrow(visit):
    page = visit(f"{LEVEL}&think=4", **PHONE)
    wait_for(page, "#status", "solved it in 46 moves")
    swipe(page, 0, -36, square=(2.5, 8.5), rest=1500)
    wait_for(page, "#wishes", "go up, row 8, column 3")
    assert page.evaluate("scrollY") == 0


def test_on_a_phone_a_swipe_over_the_graph_scrolls_and_one_along_it_jumps(visit):
    page = visit(f"{LEVEL}&think=4", **PHONE)
    wait_for(page, "#status", "solved it in 46 moves")
    page.locator("#graph").scroll_into_view_if_needed()
    page.locator("#graph svg").tap()
    wait_for(page, "#clock", "move 22")
    swipe(page, 80, 0, square=(5, 1), over="#graph svg")
    wait_for(page, "#clock", "move 34")
    before = page.evaluate("scrollY")
    swipe(page, 0, -120, square=(5, 1), over="#graph svg")
    page.wait_for_function("(before) => scrollY > before + 60", arg=before)
    wait_for(page, "#clock", "move 34")


def test_on_a_phone_the_captions_do_not_cover_what_they_speak_of(visit):
    page = visit(LEVEL, seen=False, **PHONE | {"viewport": {"width": 390, "height": 760}})
    wait_for(page, "#status", "solve")
    for number in range(3):
        if number:
            page.locator("#tour-next").tap()
        about, tour = (page.locator(name).bounding_box() for name in (".spoken-of", "#tour"))
        assert about["y"] + about["height"] <= tour["y"]


@pytest.mark.parametrize("width", [360, 390, 640, 1024, 1280])
def test_nothing_moves_while_a_game_is_played(visit, width):
    page = visit(LEVEL, viewport={"width": width, "height": 800})
    wait_for(page, "#status", "in 120 moves")
    places = set()
    for look in (0, 9, 99, 119, 120):
        page.locator("#scrubber").fill(str(3 * look))
        wait_for(page, "#clock", "the end" if look == 120 else f"move {look + 1} of 120")
        places.add(page.locator("#status").evaluate("(e) => e.getBoundingClientRect().top + scrollY"))
    assert len(places) == 1


def test_the_choosers_stand_in_one_row(visit):
    page = visit(LEVEL, viewport={"width": 1280, "height": 800})
    wait_for(page, "#status", "solve")
    first, last = (page.locator(name).bounding_box() for name in ("#daily", "#next-success"))
    assert first["y"] == last["y"]


def test_a_phone_shows_everything_without_scrolling_sideways(visit):
    page = visit(f"{LEVEL}&think=4&compare=1", viewport={"width": 360, "height": 740}, has_touch=True)
    wait_for(page, "#status", "Thinking helps")
    for mode in ("watch", "inside", "play", "draw"):
        settled(page, mode)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, mode


def test_maps_are_chosen_on_a_phone_while_boards_are_side_by_side(visit):
    page = visit(f"{LEVEL}&think=4&compare=1&mode=inside", viewport={"width": 390, "height": 844}, has_touch=True)
    settled(page, "inside")
    page.locator(".map").nth(3).click(timeout=5000)
    wait_for(page, "#chosen", "Layer 1, channel 3")
    assert page.locator("#pin").evaluate("(e) => e.getBoundingClientRect().bottom") <= 844


@pytest.mark.parametrize("width", [390, 620, 1010, 1400])
def test_what_explains_a_word_is_not_cut(visit, width):
    page = visit(LEVEL, viewport={"width": width, "height": 900})
    wait_for(page, "#status", "solve")
    for mode in ("watch", "inside"):
        settled(page, mode)
        for word in page.locator(".term").locator("visible=true").all():
            word.focus()
            assert page.evaluate("document.documentElement.scrollWidth") <= width, word.inner_text()


def test_everything_is_reached_by_keyboard_alone(visit):
    page = visit(f"{LEVEL}&think=4")
    wait_for(page, "#status", "solved")
    wanted = page.evaluate(
        """() => [...document.querySelectorAll('button, select, input, canvas[tabindex]')].filter((e) =>
            e.offsetParent && !e.disabled && e.tabIndex >= 0 && e.type !== 'radio').map((e) => e.id || e.textContent)"""
    )
    reached = set()
    for _ in range(len(wanted) + 15):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.textContent"))
    assert set(wanted) <= reached
    page.locator("#tab-watch").focus()
    for mode in ("inside", "play"):
        page.keyboard.press("ArrowRight")
        page.locator(f"#tab-{mode}[aria-selected=true]").wait_for()


def test_after_a_click_on_a_tab_the_arrow_keys_are_moves(visit):
    page = visit(LEVEL)
    wait_for(page, "#status", "solve")
    page.locator("#tab-play").click()
    page.locator("[aria-label^='The board, your move 1,']").wait_for()
    page.keyboard.press("ArrowRight")
    wait_for(page, "#moves", "1")
    page.locator("#tab-watch").click()
    wait_for(page, "#status", "solve")
    page.keyboard.press("End")
    wait_for(page, "#clock", "the end")


def test_what_was_chosen_by_mouse_leaves_the_keys_to_the_board(visit):
    page = visit(f"{LEVEL}&think=4")
    wait_for(page, "#status", "solved")
    bar = page.locator("#scrubber").bounding_box()
    for choose in (
        lambda: page.locator("#forward").click(),
        lambda: page.mouse.click(bar["x"] + bar["width"] / 2, bar["y"] + bar["height"] / 2),
        lambda: (page.locator("#curated button").nth(1).click(), wait_for(page, "#clock", "thinking 1")),
    ):
        choose()
        page.keyboard.press("Space")
        wait_for(page, "#play", "Pause")
        page.keyboard.press("Space")
        wait_for(page, "#play", "Play")
    page.locator("[name=concept]").nth(1).click()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    wait_for(page, "#clock", "thinking 2")
    assert page.locator("[name=concept]").nth(1).is_checked()
    page.locator("#speed").focus()
    page.locator("#speed").dispatch_event("pointerdown")
    page.locator("#speed").select_option("4")
    page.keyboard.press("ArrowRight")
    wait_for(page, "#clock", "thinking 3")
    assert page.locator("#speed").input_value() == "4"


def test_after_a_level_was_typed_the_arrow_keys_are_moves(visit):
    page = visit(f"{LEVEL}&mode=play")
    page.locator("[aria-label^='The board, your move 1,']").wait_for()
    page.locator("#level").fill("15")
    page.keyboard.press("Enter")
    page.wait_for_function("() => location.hash.includes('level=15')")
    page.keyboard.press("ArrowUp")
    assert page.locator("#level").input_value() == "15"
    assert page.evaluate("document.activeElement.id") == "board"


def test_the_way_to_the_board_leads_there_and_changes_nothing(visit):
    page = visit(f"{LEVEL}&think=4&look=6")
    wait_for(page, "#clock", "move 3")
    page.locator(".skip").press("Enter")
    assert page.evaluate("document.activeElement.id") == "board"
    page.keyboard.press("ArrowRight")
    wait_for(page, "#clock", "move 4 of 46")
    page.wait_for_function("() => location.hash.includes('level=14&think=4&look=7')")


def test_the_keyboard_stays_where_it_was_when_a_level_is_chosen_by_it(visit):
    page = visit(f"{LEVEL}&think=4")
    wait_for(page, "#status", "solved")
    page.locator("#curated button").nth(1).press("Enter")
    wait_for(page, "#status", "Thinking helps")
    assert page.evaluate("document.activeElement.parentElement.id") == "curated-levels"
    assert page.locator("#curated button").nth(1).get_attribute("aria-pressed") == "true"


def test_the_back_button_returns_to_what_was_shown_before(visit):
    page = visit(f"{LEVEL}&think=4&look=6")
    wait_for(page, "#clock", "move 3")
    page.locator("#tab-play").click()
    page.locator("[aria-label^='The board, your move 1,']").wait_for()
    page.locator("#next-level").click()
    page.wait_for_function("() => document.querySelector('#level').value === '15'")
    page.go_back()
    page.wait_for_function("() => document.querySelector('#level').value === '14'")
    assert page.locator("#tab-play").get_attribute("aria-selected") == "true"
    page.go_back()
    wait_for(page, "#clock", "move 3")
    page.locator("#tab-watch[aria-selected=true]").wait_for()
    page.go_forward()
    page.locator("#tab-play[aria-selected=true]").wait_for()


@pytest.mark.parametrize(
    "link", ["#agent=nobody", f"{LEVEL}000", "#agent=drc33-100m&board=garbage", "#set=nowhere&agent=drc33-100m"]
)
def test_a_link_that_leads_nowhere_says_so_and_offers_a_way_out(visit, link):
    page = visit(link, may_fail=True)
    wait_for(page, "#status", "here is no")
    page.locator("#start-over").click()
    wait_for(page, "#status", "solved it in")
    assert page.locator("#start-over").is_hidden()


def test_a_level_much_smaller_than_the_agents_boards_is_shown_larger(visit):
    page = visit("#agent=drc33-100m&board=6%23|%23@-$.%23|%234-%23|%234-%23|%234-%23|6%23")
    wait_for(page, "#status", "solved it in")
    box = page.locator("#board").bounding_box()
    side = box["width"] / 6
    page.mouse.click(box["x"] + 3.5 * side, box["y"] + 4.5 * side)
    wait_for(page, "#wishes", "keep off, row 5, column 4")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_axe_finds_no_serious_fault_in_any_mode(visit, scheme, width):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe, of the extra dev").Axe()
    page = visit(
        f"{LEVEL}&think=4&compare=1&channel=1.27&pins=1.27.its%20way&wishes=8.3.A.right",
        seen=False,
        color_scheme=scheme,
        viewport={"width": width, "height": 800},
    )
    wait_for(page, "#status", "your wish")
    for mode in ("watch", "inside", "play", "draw"):
        settled(page, mode)
        found = axe.run(page).response["violations"]
        serious = [
            (v["id"], [n["html"][:200] for n in v["nodes"]]) for v in found if v["impact"] in ("serious", "critical")
        ]
        assert serious == [], mode


def test_everything_has_a_name_and_enough_contrast(visit):
    for scheme in ("light", "dark"):
        page = visit(f"{LEVEL}&think=4&compare=1", color_scheme=scheme)
        wait_for(page, "#status", "Thinking helps")
        nameless = page.evaluate(
            """() => [...document.querySelectorAll('button, select, input, textarea, canvas, svg[role=img]')]
                .filter((e) => !(e.getAttribute('aria-label') || e.textContent.trim() || e.labels?.length))
                .map((e) => e.outerHTML)"""
        )
        assert nameless == []
        assert page.evaluate(CONTRASTS) == []


CONTRASTS = """() => {
  const parse = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((x) => (x /= 255) <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4)
    .reduce((sum, x, i) => sum + x * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (e) => { for (; e; e = e.parentElement) {
    const c = parse(getComputedStyle(e).backgroundColor);
    if (c.length === 3 || c[3] > 0.9) return c; }
    return [255, 255, 255]; };
  const bad = [];
  for (const e of document.querySelectorAll('body *')) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || !e.offsetParent || e.disabled || e.closest('option')) continue;
    const [a, b] = [light(parse(getComputedStyle(e).color)), light(ground(e))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) bad.push(`${e.tagName} ${e.id} ${e.textContent.slice(0, 30)} ${ratio}`);
  }
  return bad;
}"""
