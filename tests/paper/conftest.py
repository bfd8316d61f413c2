"""Toy size made tiny, and runs that are written down in the place of runs that are trained."""

import pytest

from tests.paper.toys import TINY, write_run, write_test


@pytest.fixture
def tiny(monkeypatch):
    """Toy size is tiny from now on."""
    monkeypatch.setattr("foresight.paper.scales.Toy", TINY)
    monkeypatch.setattr("foresight.paper.figures.DPI", 20)


@pytest.fixture
def stored(monkeypatch, tiny):
    """Runs and tests are written down, not made."""
    trained = []
    monkeypatch.setattr("foresight.paper.running.train_run", lambda *given: trained.append(given) or write_run(*given))
    monkeypatch.setattr("foresight.paper.running.run_test", write_test)
    return trained
