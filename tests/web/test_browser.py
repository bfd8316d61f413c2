"""The page in a real browser: Chromium where there is one on this machine, with the shipped agent."""

import re

import pytest

pytest.importorskip("uvicorn", reason="needs the extra web")
pytest.importorskip("playwright.sync_api", reason="needs playwright, of the extra dev")

from playwright import sync_api as playwright

from foresight.web.export import page_of, record
from foresight.web.library import Library
from foresight.web.pages import Pages
from tests.web.chromium import CHROMIUM, FLAGS
from tests.web.serving import served

pytestmark = [
    pytest.mark.extra,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine (CHROMIUM names one)"),
]
LEVEL = "#agent=drc33-100m&set=builtin/hard&level=14"
WAIT = 30_000  # milliseconds; programs are compiled while the first test waits
PAIR = "#######\n#@ $ .#\n#######"


@pytest.fixture(scope="module")
def site():
    with served(Pages(Library())) as site:
        yield site


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def visit(site, browser):
    """Open an address, as a visitor who has been here before; nothing may be said on the console."""
    contexts, said = [], []

    def open_page(hash_="", seen=True, path=None, **options):
        context = browser.new_context(
            **{"viewport": {"width": 1280, "height": 900}, "reduced_motion": "reduce"} | options
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(WAIT)
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on(
            "request",
            lambda request: (
                said.append(request.url)
                if not request.url.startswith((site.address, "blob:", "file:", "data:"))
                else None
            ),
        )
        if seen:
            page.add_init_script("localStorage.setItem('foresight-seen', 'yes')")
        page.goto(site.address + hash_ if path is None else f"{path.as_uri()}{hash_}")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert said == []


def text(page, selector):
    return page.locator(selector).inner_text()


def wait_for(page, selector, words):
    page.wait_for_function("([s, w]) => document.querySelector(s).textContent.includes(w)", arg=[selector, words])


def settled(page, mode):
    """A mode with all that it shows."""
    page.locator(f"#tab-{mode}").click()
    if mode == "inside":
        page.locator(".map").last.wait_for()
        page.wait_for_function("() => !document.querySelector('#inside-status').textContent")
    page.wait_for_timeout(200)


def picture(page):
    page.wait_for_timeout(150)
    return page.locator("#board").screenshot()


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
    wait_for(page, "#status", "of your 1 wish")
    link = page.url
    assert "wishes=8.3.A.right" in link
    again = visit("#" + link.split("#")[1])
    wait_for(again, "#wishes", "go right, row 9, column 4")
    page.locator("#forget").click()
    wait_for(page, "#status", "it solved it in 46 moves.")


def test_maps_change_from_tick_to_tick_and_one_is_laid_over_the_board(visit):
    page = visit(f"{LEVEL}&think=4&mode=inside")
    settled(page, "inside")
    assert page.locator(".map").count() == 96
    plain, maps = picture(page), page.locator("#layers").screenshot()
    page.locator("#board").press(".")
    assert page.locator("#layers").screenshot() != maps
    page.locator("#board").press(",")
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
    assert page.locator("#pins figcaption").all_inner_texts() == ["100M steps", "528M steps"]
    one, other = (page.locator("#pins canvas").nth(place).screenshot() for place in (0, 1))
    assert one != other


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


@pytest.mark.parametrize(
    "level", ["set=builtin/hard&level=14", "board=7%23|%23@-$-.%23|%235-%23|%235-%23|%235-%23|%235-%23|7%23"]
)
def test_the_python_of_a_changed_mind_gives_the_same_game(visit, capsys, monkeypatch, tmp_path, level):
    page = visit(f"#agent=drc33-100m&{level}&think=2&wishes=3.3.A.down,4.4.B.right&strength=4")
    wait_for(page, "#status", "of your 2 wishes")
    page.locator("#python").click()
    monkeypatch.chdir(tmp_path)
    exec(text(page, "#exported"), {})
    outcome = re.fullmatch(r"(not solved|solved) in (\d+) moves\n", capsys.readouterr().out)
    did = "did not solve it" if outcome[1] == "not solved" else "solved it"
    assert f"and {did} in {outcome[2]} move" in text(page, "#status")


def swipe(page, right, down):
    box, touch = page.locator("#board").bounding_box(), page.context.new_cdp_session(page)
    x, y = box["x"] + 100, box["y"] + 100
    for kind, share in (("touchStart", 0), ("touchMove", 0.5), ("touchMove", 1), ("touchEnd", None)):
        points = [] if share is None else [{"x": x + share * right, "y": y + share * down}]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})


def test_a_visitor_swipes_on_a_phone(visit):
    page = visit(f"{LEVEL}&mode=play", viewport={"width": 390, "height": 844}, has_touch=True)
    page.locator("[aria-label^='The board, your move 1,']").wait_for()
    for right, down in ((80, 0), (0, 80), (-80, 0), (-80, 0)):  # pushes a box, goes down and back; then a wall
        swipe(page, right, down)
    wait_for(page, "#moves", "3")
    assert text(page, "#pushes") == "1"


def test_the_first_visit_begins_to_play_with_the_second_caption(visit):
    page = visit(LEVEL, seen=False, reduced_motion="no-preference")
    wait_for(page, "#status", "solve")
    assert text(page, "#play") == "Play"
    page.locator("#tour-next").click()
    wait_for(page, "#play", "Pause")


def test_a_first_visit_is_told_three_captions_once(visit):
    page = visit(seen=False)
    page.locator("#tour").wait_for(state="visible")
    for words in ("1 of 3", "2 of 3", "3 of 3"):
        assert text(page, "#tour-count") == words
        page.keyboard.press("Enter")
    assert page.locator("#tour").is_hidden()
    page.reload()
    wait_for(page, "#status", "solved")
    assert page.locator("#tour").is_hidden()


def test_a_phone_shows_everything_without_scrolling_sideways(visit):
    page = visit(f"{LEVEL}&think=4&compare=1", viewport={"width": 360, "height": 740}, has_touch=True)
    wait_for(page, "#status", "Thinking helps")
    for mode in ("watch", "inside", "play", "draw"):
        settled(page, mode)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, mode


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
    wait_for(page, "#status", "of your 1 wish")
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


def test_another_domain_is_shown_with_its_own_tiles(visit):
    page = visit("#agent=drc33-gridworld&level=3")
    wait_for(page, "#status", "solved it in 4 moves")
    assert page.locator("#tab-draw").is_disabled()
    assert page.locator("#mind").is_hidden()


def test_an_exported_page_opens_without_a_server(visit, tmp_path):
    curated = {"agent": "drc33-100m", "set": "builtin/hard", "think": 4, "levels": [14], "found": ""}
    path = tmp_path / "index.html"
    path.write_text(page_of(record(Library(), curated)))
    page = visit(path=path)
    wait_for(page, "#status", "it solved it in 46 moves.")
    page.locator("#compare").check()
    wait_for(page, "#status", "Thinking helps")
    settled(page, "inside")
    page.locator(".map").nth(61).click()
    wait_for(page, "#chosen", "Layer 2, channel 29")
    page.locator("#tab-play").click()
    page.locator("[aria-label^='The board, your move 1,']").focus()
    page.keyboard.press("ArrowRight")
    wait_for(page, "#moves", "1")
    page.locator("#hint").click()
    wait_for(page, "#play-status", "not in this recording")
