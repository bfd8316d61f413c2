"""The page with the shipped agents, served to a real browser."""

import pytest

from tests.web.chromium import CHROMIUM, FLAGS

REFUSED = "Failed to load resource"  # what browsers say of every answer of 4xx
WAIT = 30_000  # milliseconds; programs are compiled while the first test waits


@pytest.fixture(scope="module")
def shipped_site():
    from foresight.web.library import Library
    from foresight.web.pages import Pages
    from tests.web.serving import served

    with served(Pages(Library())) as site:
        yield site


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def visit(shipped_site, browser):
    """Open an address, as a visitor who has been here before; nothing may be said on the console."""
    contexts, said = [], []

    def open_page(hash_="", seen=True, path=None, may_fail=False, **options):
        context = browser.new_context(
            **{"viewport": {"width": 1280, "height": 900}, "reduced_motion": "reduce"} | options
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(WAIT)
        page.on("console", lambda message: None if may_fail and REFUSED in message.text else said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on(
            "request",
            lambda request: (
                said.append(request.url)
                if not request.url.startswith((shipped_site.address, "blob:", "file:", "data:"))
                else None
            ),
        )
        if seen:
            page.add_init_script("localStorage.setItem('foresight-seen', 'yes')")
        page.goto(shipped_site.address + hash_ if path is None else f"{path.as_uri()}{hash_}")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert said == []
