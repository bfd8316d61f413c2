"""Many visitors at once, and how soon the page is there (bar R14); quick sizes here, the full size with `make soak`."""

import pytest

pytest.importorskip("uvicorn", reason="needs the extra web")

from tests.web.load import CURATED, NEW, load

pytestmark = pytest.mark.extra


@pytest.mark.parametrize(
    ("viewers", "players", "seconds", "longest"),
    [(10, 2, 6, 30.0), pytest.param(200, 20, 600, 0.2, marks=pytest.mark.soak)],
)
def test_viewers_and_players_are_served_without_errors_or_waiting(viewers, players, seconds, longest):
    is_full = seconds > 60
    before = ("env", "-u", "XLA_FLAGS") if is_full else ()  # quick tests compile fast rather than run fast
    record = load(viewers, players, seconds, before, CURATED if is_full else CURATED[:2])
    assert record.errors == 0
    assert record.slowest(NEW) < longest
    assert record.growth < (0.05 if is_full else 0.2)
    assert {"page", "file", "hint", NEW} <= record.seconds.keys()
