"""Shared data for tests: small, made once, the same every time."""

import os
from pathlib import Path

import numpy as np
import pytest
from benchmarks.page import CHROMIUM, FLAGS
from hypothesis import settings

# Compiled code is slow on its first call, and machines are shared: a deadline would only measure that.
settings.register_profile("tupi", deadline=None, derandomize=True)
settings.load_profile("tupi")


def make_problem_arrays(n=120, seed=0):
    """Return truth, noisy scores and views: one close to the truth, one related non-linearly, one unrelated."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=n)
    scores = truth + 0.8 * rng.normal(size=n)
    views = {
        "near": np.column_stack([truth + 0.3 * rng.normal(size=n), rng.normal(size=n)]),
        "bent": np.column_stack([np.cos(2 * truth), np.sin(2 * truth), truth**2]) + 0.2 * rng.normal(size=(n, 3)),
        "junk": rng.normal(size=(n, 4)),
    }
    return truth, scores, views


@pytest.fixture
def small():
    return make_problem_arrays()


@pytest.fixture(scope="module")
def browser():
    """A browser, closed before other tests: while it runs, nothing else in this thread can have a loop of events."""
    if not Path(CHROMIUM).exists() and os.environ.get("TUPI_BROWSER") != "required":
        pytest.skip(f"no browser at {CHROMIUM}; TUPI_CHROMIUM names another")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()
