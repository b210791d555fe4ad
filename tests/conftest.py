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


def make_group_arrays(n=300, seed=0, groups=8):
    """Return truth, noisy scores and views of items in groups, whose values have another order than their places."""
    rng = np.random.default_rng(seed)
    group = rng.integers(groups, size=n)
    columns = 1.2 * rng.normal(size=(groups, 8))[group] + rng.normal(size=(n, 8))
    truth = rng.permutation(groups)[group].astype(float)
    return truth, truth + 2 * rng.normal(size=n), {"a": columns[:, :5], "b": columns[:, 5:]}


def group_chances(scores):
    """Return probabilities of eight classes that say what scores of `make_group_arrays` say."""
    odds = np.exp(-0.15 * (scores[:, None] - np.arange(8)) ** 2)
    return odds / odds.sum(axis=1, keepdims=True)


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
