"""The datasets that could not be had: the same experiments on small files in their archives' layout."""

import io

import numpy as np
import pytest
import scipy.io

from tupi.methods.coconut import Coconut
from tupi.methods.graph_ssl import GraphSSL
from tupi.methods.kim import Kim
from tupi.methods.tupi import Tupi
from tupi.research.experiments.accuracy import Accuracy
from tupi.research.experiments.runner import records, run
from tupi.research.experiments.sources import source_of

from .conftest import N, as_cell

METHODS = (
    ("kim", Kim(lam=0.3, sigma2=0.3)),
    ("graph-ssl", GraphSSL(alpha=0.9, n_neighbors=5)),
    ("coconut", Coconut(lam=1.0, n_neighbors=5)),
    ("tupi", Tupi(lam=0.4, sigma_w2=0.1, n_iter=3, rank=20)),
)


@pytest.fixture
def awa(data_folder):
    """Write Animals with Attributes as a folder: four feature sets of three animals."""
    rng = np.random.default_rng(0)
    animals = ("antelope", "beaver", "killer+whale")
    root = data_folder / "Animals_with_Attributes"
    widths = {"decaf": 4096, "surf-hist": 2000, "phog-hist": 252, "vgg19": 4096}
    for folder, width in widths.items():
        means = rng.normal(size=(3, width))
        for k in range(N):
            animal = animals[k % 3]
            path = root / "Features" / folder / animal / f"{animal}_{k:04d}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            numbers = means[k % 3] + 8.0 * rng.normal(size=width)
            path.write_text(" ".join(f"{number:.3f}" for number in numbers))
    (root / "classes.txt").write_text("".join(f"{k}\t{animal}\n" for k, animal in enumerate(animals, start=1)))


def mat(**variables):
    file = io.BytesIO()
    scipy.io.savemat(file, variables)
    return file.getvalue()


@pytest.fixture
def zap50k(data_folder):
    """Write UT-Zap50K as folders: comparisons of pairs, and no value of any item."""
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(N, 4))

    def comparisons(k):
        first, second = (rng.permutation(N)[:90] for _ in range(2))
        rows = [
            [i + 1, j + 1, k + 1, 1 if truth[i, k] > truth[j, k] else 2, 1, 1]
            for i, j in zip(first, second, strict=True)
            if i != j
        ]
        return np.array(rows, float)

    color = np.hstack([truth + rng.normal(size=truth.shape), rng.normal(size=(N, 26))])
    gist = np.hstack([truth + 0.3 * rng.normal(size=truth.shape), 0.1 * rng.normal(size=(N, 956))])
    files = {
        "ut-zap50k-data/zappos-labels-fg.mat": mat(mturkHard=as_cell([comparisons(k) for k in range(4)], (1, 4))),
        "ut-zap50k-data/image-path.mat": mat(imagepath=as_cell([f"Boots/{i}.jpg" for i in range(N)], (N, 1))),
        "ut-zap50k-feats/zappos-color.mat": mat(colorfeats=color),
        "ut-zap50k-feats/zappos-gist.mat": mat(gistfeats=gist),
    }
    for name, content in files.items():
        path = data_folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)


def test_zap50k_is_dealt_from_the_fine_comparisons_and_the_coarse_ones_can_be_asked_for():
    assert source_of("zap50k").load.args == ("fine",)
    assert source_of("zap50k-coarse").load.args == ("coarse",)


@pytest.mark.parametrize(
    ("dataset", "n_targets", "left_out"), [("shoes", 10, set()), ("awa", 1, {"kim"}), ("zap50k", 4, {"kim"})]
)
def test_figures_of_accuracy_run_on_the_published_layout(request, store, protocol, dataset, n_targets, left_out):
    request.getfixturevalue(dataset)
    experiment = Accuracy(protocol, methods=METHODS)
    run([experiment], store, [dataset], [0], 1)
    found = records(experiment, store, [dataset], [0])
    assert len(found) == n_targets
    for record in found:
        accuracy = record["result"]["accuracy"]
        assert set(accuracy) == {"initial", *(name for name, _ in METHODS)} - left_out
        assert set(record["result"]["left_out"]) == left_out
        assert all(0 <= value <= 100 for value in accuracy.values())
    assert np.mean([record["result"]["accuracy"]["initial"] for record in found]) > 52
