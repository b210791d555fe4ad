"""Comparisons: `auto` beside BoTorch's Gaussian process for pairs, and a rank SVM on f and the views.

f^I, splits and accuracy as in `auto.py`. Pairs are drawn among items that nobody trained on. The process of BoTorch
(PairwiseGP with a Laplace approximation, a Gaussian kernel with one width for each column, settings by marginal
likelihood) sees f beside the leading principal directions of all views. It needs the extra ``rivals``:

    pip install 'tupi[rivals]'
    python experiments/pair_rivals.py [--seeds 2] [--pairs 20,50] [--datasets mfeat,osr] [--directions 10]
"""

import argparse
import time
import warnings
from collections import defaultdict

import numpy as np
import torch
from botorch.fit import fit_gpytorch_mll
from botorch.models.pairwise_gp import PairwiseGP, PairwiseLaplaceMarginalLogLikelihood

import tupi
from auto import instances

BLOCK = 2000  # items that the process predicts at once


def pairs_of(one, k, seed):
    """Return k comparisons of items whose labels may be used."""
    rng = np.random.default_rng(seed)
    first, second = (rng.permutation(one.valid)[:k] for _ in range(2))
    differ = one.truth[first] != one.truth[second]
    first, second = first[differ], second[differ]
    up = one.truth[first] > one.truth[second]
    return tupi.Pairs(np.where(up, first, second), np.where(up, second, first))


def pairwise_gp(one, pairs, directions):
    """Return scores by BoTorch's process for pairs."""
    H = np.hstack([(view - view.mean(axis=0)) / (view.std(axis=0) + 1e-12) for view in one.views.values()])
    axes = np.linalg.eigh(H.T @ H)[1]
    X = np.column_stack([one.initial, H @ axes[:, ::-1][:, :directions]])
    X = torch.as_tensor((X - X.mean(axis=0)) / X.std(axis=0))
    compared, where = np.unique(np.concatenate([pairs.higher, pairs.lower]), return_inverse=True)
    comparisons = torch.as_tensor(where.reshape(2, -1).T)
    model = PairwiseGP(X[compared], comparisons)
    fit_gpytorch_mll(PairwiseLaplaceMarginalLogLikelihood(model.likelihood, model))
    with torch.no_grad():
        return np.concatenate([model.posterior(some).mean[:, 0].numpy() for some in X.split(BLOCK)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--pairs", default="20,50")
    parser.add_argument("--datasets", default="mfeat,osr")
    parser.add_argument("--directions", type=int, default=10)
    asked = parser.parse_args()
    warnings.filterwarnings("ignore")  # BoTorch warns of inputs that are not scaled to the unit cube
    torch.set_num_threads(1)
    print("| dataset | comparisons | method | gain in points | worst | seconds |\n|---|---|---|---|---|---|")
    for dataset in asked.datasets.split(","):
        for k in map(int, asked.pairs.split(",")):
            found = defaultdict(list)
            for seed in range(asked.seeds):
                for one in instances(dataset, seed):
                    pairs, before = pairs_of(one, k, seed), one.accuracy(one.initial)
                    for name in ("auto", "ridge", "PairwiseGP"):
                        start = time.process_time()
                        if name == "PairwiseGP":
                            scores = pairwise_gp(one, pairs, asked.directions)
                        else:
                            scores = tupi.denoise(one.initial, one.views, labels=pairs, method=name).predictions
                        found[name].append((one.accuracy(scores) - before, time.process_time() - start))
            for name, runs in found.items():
                gains, seconds = np.transpose(runs)
                told = f"{gains.mean():+.2f} | {gains.min():+.2f} | {seconds.mean():.1f}"
                print(f"| {dataset} | {k} | {name} | {told} |", flush=True)


if __name__ == "__main__":
    main()
