"""Record the page for README.md and docs/web.md: `python docs/images/record_page.py`, with all extras and Chromium."""

import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from matplotlib.image import imread
from playwright.sync_api import Page, sync_playwright

from foresight.render.gif import write_gif
from foresight.web.library import Library
from foresight.web.pages import Pages
from tests.web.chromium import CHROMIUM, FLAGS
from tests.web.serving import served

FOLDER = Path(__file__).parent
LEVEL = "agent=drc33-640m&set=builtin/hard&level=34&think=4"
BESIDE = "&pins=1.29.boxes%20left,1.8.boxes%20up&beside=1"
FAULTY = "#######\n#@ $. #\n# .$  #\n##@####"
PICTURES = {  # name: address, light or dark, width and height, what is done there
    "web-watch": (f"{LEVEL}&compare=1&look=6&tick=2", "light", (1280, 900), None),
    "web-inside": (f"{LEVEL}&mode=inside&look=3&tick=2&channel=1.29{BESIDE}", "light", (1280, 1330), None),
    "web-draw": (f"{LEVEL}&mode=draw", "dark", (1280, 900), FAULTY),
    "web-phone": (f"{LEVEL}&look=6&tick=2", "dark", (390, 844), None),
}
SECONDS = 0.15  # a frame of the animation: a move; a tick of thinking is as long as three
COLOURS = 256


def main() -> None:
    """All pictures, and the animation."""
    with served(Pages(Library())) as site, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for name, (address, scheme, (width, height), text) in PICTURES.items():
            size = {"width": width, "height": height}
            page = browser.new_page(viewport=size, color_scheme=scheme, reduced_motion="reduce")
            visit(page, f"{site.address}#{address}")
            if text:
                page.locator("#text").fill(text)
                page.locator("#draw-status.fault").wait_for()
            page.wait_for_timeout(500)
            page.screenshot(path=FOLDER / f"{name}.png")
        page = browser.new_page(viewport={"width": 820, "height": 700}, reduced_motion="reduce")
        visit(page, f"{site.address}#{LEVEL}&compare=1")
        write_gif(FOLDER / "plan.gif", with_few_colours(np.stack(list(frames(page)))), SECONDS, 2.0)
        browser.close()


def visit(page: Page, address: str) -> None:
    """Open an address, and wait for all that it shows."""
    page.add_init_script("localStorage.setItem('foresight-seen', 'yes')")
    page.goto(address)
    done = "() => !['status', 'inside-status'].some((id) => document.getElementById(id).textContent.endsWith('…'))"
    page.wait_for_function(done, timeout=120_000)
    page.wait_for_timeout(1500)
    page.wait_for_function(done, timeout=120_000)


def frames(page: Page) -> Iterator[np.ndarray]:
    """The two boards at every tick of thinking, and after every move."""
    while True:
        page.wait_for_timeout(60)
        picture = imread(io.BytesIO(page.locator("#boards").screenshot()))
        clock = page.locator("#clock").inner_text()
        for _ in range(3 if "thinking" in clock else 1):
            yield (picture[..., :3] * 255).round().astype(np.uint8)
        if "the end" in clock:
            return
        page.keyboard.press("." if "thinking" in clock else "ArrowRight")


def with_few_colours(pictures: np.ndarray) -> np.ndarray:
    """Each pixel in the nearest of the colours that occur most, which are as many as an animation can have."""
    codes = pictures.astype(np.int32) @ np.array([1 << 16, 1 << 8, 1], np.int32)
    found, places, counts = np.unique(codes, return_inverse=True, return_counts=True)
    colours = np.stack([found >> 16, found >> 8 & 255, found & 255], axis=1)
    kept = colours[np.argsort(-counts)[:COLOURS]]
    nearest = np.array([np.argmin(((kept - colour) ** 2).sum(1)) for colour in colours])
    return kept.astype(np.uint8)[nearest[places.reshape(codes.shape)]]


if __name__ == "__main__":
    main()
