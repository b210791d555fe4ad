"""PubFig and OSR: the real files, and the authors' archive in its published layout."""

import io
import zipfile

import numpy as np
import pytest
import scipy.io

from tupi.research.datasets import DatasetUnavailableError, load_osr, load_pubfig
from tupi.research.datasets import relative_attributes as module
from tupi.runtime.errors import InputError

N_CLASSES = 8


def write_archive(path, cell, rng, attributes, columns, n=24):
    """Write relative_attributes/{pubfig,osr}/data.mat as Parikh and Grauman's zip holds them."""
    contents = {}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("__MACOSX/relative_attributes/pubfig/data.mat", b"shadow")
        for folder in ("pubfig", "osr"):
            labels = np.arange(n)[:, None] % N_CLASSES + 1
            content = {
                "feat": rng.normal(size=(n, columns[folder])),
                "class_labels": labels.astype(float),
                "relative_ordering": rng.integers(1, 9, size=(attributes[folder], N_CLASSES)).astype(float),
                "im_names": cell([f"{folder}_{i}.jpg" for i in range(n)], (1, n)),
                "used_for_training": np.ones((n, 1)),
            }
            file = io.BytesIO()
            scipy.io.savemat(file, content, do_compression=True)
            archive.writestr(f"relative_attributes/{folder}/data.mat", file.getvalue())
            contents[folder] = content
    return contents


@pytest.fixture
def archive(data_folder, cell, rng):
    return write_archive(data_folder / module.ARCHIVE, cell, rng, {"pubfig": 11, "osr": 6}, {"pubfig": 542, "osr": 512})


def test_pubfig_real_files(real_data):
    data = load_pubfig()
    assert data.real
    assert data.n == 772
    assert {name: view.shape[1] for name, view in data.views.items()} == {"gist": 512, "color": 30}
    assert data.g.shape == (772, 542)
    assert data.extras == {}
    assert list(data.targets) == [
        "Masculine-looking", "White", "Young", "Smiling", "Chubby", "Visible-forehead",
        "Bushy-eyebrows", "Narrow-eyes", "Pointy-nose", "Big-lips", "Round-face",
    ]  # fmt: skip
    assert np.bincount(data.classes).tolist() == [95, 96, 97, 94, 97, 97, 98, 98]
    # A histogram of colour does not go below zero.
    assert data.views["color"].min() >= 0
    # Parikh and Grauman, Table 1: from least to most masculine S < M < Z < V < J < A < H < C.
    strength = {
        name.split("_")[0]: value for name, value in zip(data.ids, data.targets["Masculine-looking"], strict=True)
    }
    assert [name[0] for name in sorted(strength, key=strength.get)] == list("SMZVJAHC")


def test_osr_real_files(real_data):
    data = load_osr()
    assert data.real
    assert data.n == 2688
    assert data.g.shape == (2688, 512)
    assert list(data.targets) == [
        "natural", "open", "perspective", "large-objects", "diagonal-plane", "close-depth"
    ]  # fmt: skip
    assert np.bincount(data.classes).tolist() == [360, 328, 260, 308, 374, 410, 292, 356]
    kinds = {name.split("_")[0]: value for name, value in zip(data.ids, data.targets["natural"], strict=True)}
    assert kinds["coast"] == kinds["forest"] > kinds["highway"] > kinds["street"] > kinds["tallbuilding"]
    with zipfile.ZipFile(data.images) as pictures:
        assert set(pictures.namelist()) == set(data.ids)


@pytest.mark.parametrize(("load", "folder"), [(load_pubfig, "pubfig"), (load_osr, "osr")])
def test_reads_the_authors_archive(archive, load, folder):
    expected = archive[folder]
    data = load()
    np.testing.assert_array_equal(data.g, expected["feat"])
    np.testing.assert_array_equal(data.classes, expected["class_labels"].ravel() - 1)
    for row, truth in zip(expected["relative_ordering"], data.targets.values(), strict=True):
        for item in range(data.n):
            assert truth[item] == row[int(expected["class_labels"][item, 0]) - 1]
    assert data.ids[:2] == (f"{folder}_0.jpg", f"{folder}_1.jpg")
    assert not data.real
    assert data.images is None


def test_the_note_says_whose_gist(archive, data_folder):
    assert "the authors' GIST." in load_osr().note
    np.savez(
        data_folder / "osr.npz",
        feat=np.ones((2, 512)),
        class_labels=[1, 8],
        relative_order=np.ones((6, 8), dtype=int),
        im_names=["a", "b"],
    )
    assert "GIST recomputed" in load_osr().note


@pytest.mark.parametrize(("load", "file"), [(load_pubfig, "pubfig.npz"), (load_osr, "osr.npz")])
def test_offline(load, file, nowhere, monkeypatch):
    monkeypatch.delenv("TUPI_DATA", raising=False)
    monkeypatch.setattr(module, "URLS", (nowhere,))
    with pytest.raises(DatasetUnavailableError, match=f"set TUPI_DATA to a folder that holds {file} or"):
        load()


def test_wrong_number_of_attributes_is_refused(data_folder, cell, rng):
    write_archive(data_folder / module.ARCHIVE, cell, rng, {"pubfig": 10, "osr": 6}, {"pubfig": 542, "osr": 512})
    with pytest.raises(InputError, match="found 10 rows, 11 attributes are expected"):
        load_pubfig()


def test_labels_outside_the_order_are_refused(data_folder):
    np.savez(
        data_folder / "osr.npz",
        feat=np.ones((2, 512)),
        class_labels=[0, 9],
        relative_order=np.ones((6, 8), dtype=int),
        im_names=["a", "b"],
    )
    with pytest.raises(InputError, match="class_labels: found 0 to 9, 1 to 8 are accepted"):
        load_osr()


def test_an_archive_without_the_file_is_refused(data_folder):
    with zipfile.ZipFile(data_folder / module.ARCHIVE, "w") as archive:
        archive.writestr("readme.txt", "")
    with pytest.raises(InputError, match=r"found 0 files named pubfig/data\.mat"):
        load_pubfig()


def test_a_damaged_archive_is_refused(data_folder):
    (data_folder / module.ARCHIVE).write_bytes(b"<html>")
    with pytest.raises(InputError, match="found no zip archive"):
        load_pubfig()


@pytest.mark.parametrize("content", [b"", b"not a MATLAB file" * 20])
def test_a_damaged_matlab_file_is_refused(data_folder, content):
    with zipfile.ZipFile(data_folder / module.ARCHIVE, "w") as archive:
        archive.writestr("relative_attributes/pubfig/data.mat", content)
    with pytest.raises(InputError, match=r"pubfig/data\.mat: found no readable MATLAB file"):
        load_pubfig()


def test_a_missing_variable_is_named(data_folder):
    file = io.BytesIO()
    scipy.io.savemat(file, {"feat": np.ones((2, 2)), "class_labels": np.ones((2, 1))})
    with zipfile.ZipFile(data_folder / module.ARCHIVE, "w") as archive:
        archive.writestr("relative_attributes/pubfig/data.mat", file.getvalue())
    with pytest.raises(InputError, match="found no variable relative_ordering, im_names"):
        load_pubfig()
