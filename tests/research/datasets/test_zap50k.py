import io
import zipfile

import numpy as np
import pytest
import scipy.io

from tupi.research.datasets import DatasetUnavailableError, load_zap50k
from tupi.research.datasets import zap50k as module
from tupi.runtime.errors import InputError

N = 12

# Columns: first image, second image, attribute, judgement, confidence, agreement (images counted from one).
COARSE = [
    [[1, 2, 1, 1, 1.0, 1.0], [3, 4, 1, 2, 1.2, 0.8]],
    [[5, 6, 2, 3, 1.0, 1.0], [12, 1, 2, 1, 1.0, 1.0]],
    [[8, 7, 3, 2, 1.0, 1.0]],
    [[9, 10, 4, 3, 1.4, 0.6]],
]
FINE = [[[2, 1, k, 1, 1.0, 1.0]] for k in range(1, 5)]


def mat(**variables):
    file = io.BytesIO()
    scipy.io.savemat(file, variables)
    return file.getvalue()


@pytest.fixture
def files(cell, rng):
    def labels(rows):
        return cell([np.array(cell_rows, dtype=float) for cell_rows in rows], (1, len(rows)))

    return {
        "ut-zap50k-data": {
            "zappos-labels.mat": mat(mturkOrder=labels(COARSE)),
            "zappos-labels-fg.mat": mat(mturkHard=labels(FINE)),
            "image-path.mat": mat(imagepath=cell([f"Boots/Ankle/{i}.jpg" for i in range(N)], (N, 1))),
            "readme.txt": b"",
        },
        "ut-zap50k-feats": {
            "zappos-color.mat": mat(colorfeats=rng.random((N, 30))),
            "zappos-gist.mat": mat(gistfeats=rng.random((N, 960)).astype(np.float32)),
        },
    }


def write_zips(folder, files):
    for name, members in files.items():
        with zipfile.ZipFile(folder / f"{name}.zip", "w") as archive:
            for member, content in members.items():
                archive.writestr(f"{name}/{member}", content)


def write_folders(folder, files):
    for name, members in files.items():
        (folder / name).mkdir()
        for member, content in members.items():
            (folder / name / member).write_bytes(content)


def as_lists(pair):
    return [side.tolist() for side in pair]


@pytest.mark.parametrize("write", [write_zips, write_folders])
def test_reads_the_published_layout(write, data_folder, files):
    write(data_folder, files)
    data = load_zap50k()
    assert {name: view.shape for name, view in data.views.items()} == {"color": (N, 30), "gist": (N, 960)}
    assert data.baseline == ("color",)
    assert list(data.extras) == ["gist"]
    assert data.targets == {}
    assert data.ids[0] == "Boots/Ankle/0.jpg"
    assert list(data.pairs) == ["open", "pointy", "sporty", "comfort"]
    assert as_lists(data.pairs["open"]) == [[0, 3], [1, 2]]
    assert as_lists(data.pairs["pointy"]) == [[11], [0]]
    assert as_lists(data.pairs["sporty"]) == [[6], [7]]
    assert as_lists(data.pairs["comfort"]) == [[], []]


def test_the_readmes_own_example():
    """The archive's readme explains the row 44836 5597 3 2 1 1: image 44836 is less sporty than 5597."""
    higher, lower = module._ordered_pairs(np.array([[44836, 5597, 3, 2, 1, 1]]))
    assert (higher.tolist(), lower.tolist()) == ([5596], [44835])


def test_fine_comparisons(data_folder, files):
    write_zips(data_folder, files)
    data = load_zap50k("fine")
    assert all(as_lists(pair) == [[1], [0]] for pair in data.pairs.values())
    assert "fine comparisons" in data.note
    with pytest.raises(InputError, match="comparisons: found 'all', 'coarse' or 'fine' is accepted"):
        load_zap50k("all")


def test_says_that_it_never_met_the_real_archive(data_folder, files):
    write_zips(data_folder, files)
    data = load_zap50k()
    assert "not yet run on the real archive" in data.note
    assert not data.real


def test_pairs_outside_the_images_are_refused(data_folder, files):
    files["ut-zap50k-feats"] = {
        "zappos-color.mat": mat(colorfeats=np.ones((5, 30))),
        "zappos-gist.mat": mat(gistfeats=np.ones((5, 960))),
    }
    files["ut-zap50k-data"]["image-path.mat"] = mat(imagepath=np.array([["a"], ["b"]] * 2 + [["c"]], dtype=object))
    write_zips(data_folder, files)
    with pytest.raises(InputError, match=r"pairs\['pointy'\]: found positions 0 to 11, 0 to 4 are accepted"):
        load_zap50k()


def test_labels_of_another_release_are_refused(data_folder, files, cell):
    ten = cell([np.ones((1, 6))] * 10, (1, 10))
    files["ut-zap50k-data"]["zappos-labels.mat"] = mat(mturkOrder=ten)
    write_zips(data_folder, files)
    with pytest.raises(InputError, match=r"zappos-labels\.mat: found 10 cells"):
        load_zap50k()


def test_offline(nowhere, monkeypatch):
    monkeypatch.delenv("TUPI_DATA", raising=False)
    monkeypatch.setattr(module, "HOME", nowhere.rstrip("/"))
    with pytest.raises(DatasetUnavailableError, match=r"TUPI_DATA to a folder that holds ut-zap50k-data\.zip"):
        load_zap50k()
