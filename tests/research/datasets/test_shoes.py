import numpy as np
import pytest
import scipy.io

from tupi.research.datasets import DatasetUnavailableError, load_shoes
from tupi.runtime.errors import InputError

N = 20


@pytest.fixture
def published(data_folder, cell, rng):
    """shoes_attributes.mat with the variables that public programs read from it, and more that it holds."""
    content = {
        "feat": rng.normal(size=(N, 990)),
        "class_labels": (np.arange(N)[:, None] % 10 + 1).astype(float),
        "orders": rng.permuted(np.tile(np.arange(1.0, 11.0), (10, 1)), axis=1),
        "im_names": cell([f"img_womens_boots_{i}.jpg" for i in range(N)], (1, N)),
        "mturk_labels": rng.integers(1, 4, size=(5, 5)).astype(float),
        "train_inds": np.arange(1.0, 6.0)[:, None],
    }
    scipy.io.savemat(data_folder / "shoes_attributes.mat", content)
    return content


def test_reads_the_published_layout(published):
    data = load_shoes()
    assert list(data.targets) == [
        "pointy-at-the-front", "open", "bright-in-color", "covered-with-ornaments", "shiny",
        "high-at-the-heel", "long-on-the-leg", "formal", "sporty", "feminine",
    ]  # fmt: skip
    assert {name: view.shape for name, view in data.views.items()} == {"gist": (N, 960), "color": (N, 30)}
    np.testing.assert_array_equal(data.g, published["feat"])
    for row, truth in zip(published["orders"], data.targets.values(), strict=True):
        np.testing.assert_array_equal(truth, [row[i % 10] for i in range(N)])
    assert data.ids[3] == "img_womens_boots_3.jpg"


def test_says_that_it_never_met_the_real_archive(published):
    data = load_shoes()
    assert "not yet run on the real archive" in data.note
    assert not data.real


def test_without_the_file_the_error_names_it_and_its_home(monkeypatch):
    monkeypatch.delenv("TUPI_DATA", raising=False)
    with pytest.raises(DatasetUnavailableError) as caught:
        load_shoes()
    assert str(caught.value) == (
        "Shoes is not downloaded automatically, get it from https://vision.cs.utexas.edu/whittlesearch/; "
        "set TUPI_DATA to a folder that holds shoes_attributes.mat."
    )


def test_a_file_without_features_is_refused(data_folder, published):
    del published["feat"]
    scipy.io.savemat(data_folder / "shoes_attributes.mat", published)
    with pytest.raises(InputError, match=r"shoes_attributes\.mat: found no variable feat"):
        load_shoes()


def test_features_may_lie_beside_a_file_without_them(data_folder, published):
    feat = published.pop("feat")
    scipy.io.savemat(data_folder / "shoes_attributes.mat", published)
    beside = data_folder / "shoes_features.npz"
    np.savez(beside, gist=feat[:, :960], color=feat[:, 960:])
    data = load_shoes()
    assert {name: view.shape for name, view in data.views.items()} == {"gist": (N, 960), "color": (N, 30)}
    np.testing.assert_array_equal(data.g, feat)
    np.savez(beside, gist=feat[:, :960])
    with pytest.raises(InputError, match=r"shoes_features\.npz: found no color; gist and color are needed"):
        load_shoes()
    np.savez(beside, gist=feat[:, :960], color=feat[:, 961:])
    with pytest.raises(InputError, match=r"found color of shape \(20, 29\), 30 columns are expected"):
        load_shoes()
    np.savez(beside, gist=feat[:5, :960], color=feat[:, 960:])
    with pytest.raises(InputError, match=r"found gist of shape \(5, 960\) and 20 rows of color"):
        load_shoes()
