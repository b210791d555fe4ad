import os
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """Keep downloads out of the user's cache."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("TUPI_CACHE", str(folder))
    return folder


@pytest.fixture
def real_data():
    """Skip unless TUPI_DATA names the folder with the real files."""
    folder = os.environ.get("TUPI_DATA")
    if not folder:
        pytest.skip("TUPI_DATA is not set: the real dataset files are needed")
    return Path(folder)


@pytest.fixture
def data_folder(tmp_path, monkeypatch):
    """Point TUPI_DATA to an empty folder for the test to fill."""
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv("TUPI_DATA", str(folder))
    return folder


@pytest.fixture
def nowhere():
    """Return an address at which nothing answers: being offline, at once and everywhere."""
    return "http://127.0.0.1:9/"


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def as_cell(values, shape):
    """Return values as savemat writes a MATLAB cell array of that shape."""
    cells = np.empty(len(values), dtype=object)
    cells[:] = values
    return cells.reshape(shape)


@pytest.fixture
def cell():
    return as_cell
