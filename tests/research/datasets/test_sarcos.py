import numpy as np
import pytest
import scipy.io

from tupi.research.datasets import DatasetUnavailableError, load_sarcos
from tupi.research.datasets import sarcos as module
from tupi.runtime.errors import InputError


@pytest.fixture
def table(data_folder, rng):
    """sarcos_inv.mat as published: 21 measurements, then 7 torques."""
    table = rng.normal(size=(30, 28))
    scipy.io.savemat(data_folder / "sarcos_inv.mat", {"sarcos_inv": table})
    return table


def test_real_files(real_data):
    data = load_sarcos()
    assert data.real
    assert data.n in (12620, 44484)
    assert {name: view.shape[1] for name, view in data.views.items()} == {"baseline": 15, "acceleration": 6}
    assert list(data.targets) == [f"torque{joint}" for joint in range(1, 8)]
    assert data.classes is None
    assert "Never use the official train/test split" in data.note
    # Newton: joint 1's torque follows its acceleration, the one that the baseline holds.
    assert np.corrcoef(data.views["baseline"][:, 14], data.targets["torque1"])[0, 1] > 0.5


def test_reads_the_published_file(table):
    data = load_sarcos()
    np.testing.assert_array_equal(data.g, table[:, :15])
    np.testing.assert_array_equal(data.extras["acceleration"], table[:, 15:21])
    for joint in range(7):
        np.testing.assert_array_equal(data.targets[f"torque{joint + 1}"], table[:, 21 + joint])
    assert not data.real


def test_remaining_measurements_can_be_one_view_each(table):
    data = load_sarcos(views="columns")
    assert list(data.extras) == [f"acceleration{joint}" for joint in range(2, 8)]
    np.testing.assert_array_equal(data.extras["acceleration2"], table[:, [15]])


def test_baseline_columns_can_be_chosen(table):
    data = load_sarcos(baseline_columns=[20, 0, 7])
    np.testing.assert_array_equal(data.g, table[:, [20, 0, 7]])
    assert data.extras["remaining"].shape == (30, 18)
    everything = np.hstack([data.g, data.extras["remaining"]])
    assert set(map(tuple, everything.T)) == set(map(tuple, table[:, :21].T))


@pytest.mark.parametrize("columns", [[], [0, 0], [21], [-1], list(range(21))])
def test_bad_columns_are_refused(table, columns):
    with pytest.raises(InputError, match="baseline_columns: found"):
        load_sarcos(baseline_columns=columns)


def test_bad_views_are_refused(table):
    with pytest.raises(InputError, match="views: found 'each', 'joint' or 'columns' is accepted"):
        load_sarcos(views="each")


def test_wrong_table_is_refused(data_folder):
    scipy.io.savemat(data_folder / "sarcos_inv.mat", {"sarcos_inv": np.ones((3, 22))})
    with pytest.raises(InputError, match="found 22 columns, 28 are expected"):
        load_sarcos()


def test_offline(nowhere, monkeypatch):
    monkeypatch.delenv("TUPI_DATA", raising=False)
    monkeypatch.setattr(module, "URLS", (nowhere,))
    with pytest.raises(DatasetUnavailableError, match=r"TUPI_DATA to a folder that holds sarcos\.npz or sarcos_inv"):
        load_sarcos()
