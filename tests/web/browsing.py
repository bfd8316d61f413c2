"""Visits to the page in a real browser, and what tests look at there; the fixtures are in conftest.py."""

import pytest

from tests.web.chromium import CHROMIUM

LEVEL = "#agent=drc33-100m&set=builtin/hard&level=14"
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="there is no Chromium on this machine (CHROMIUM names one)"
)


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
