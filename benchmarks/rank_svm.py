"""Speed of the rank SVM against loops over pairs, and its accuracy on the six views of MFeat.

Run with ``TUPI_DATA`` naming the folder that holds ``mfeat.npz``::

    python benchmarks/rank_svm.py

The rivals minimise the same objective by the same Newton method, and differ only in how they sum over pairs.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.preprocessing import StandardScaler

from tupi.rankers import RankSVM, RankSVMCV
from tupi.rankers.rank_loss import LossAt, RankLoss
from tupi.rankers.rank_svm import minimise

N_TRAIN, N_VALIDATION, N_SEEDS = 200, 50, 3
REPEATS = 7
LIMIT = 0.1  # of the time of the loop over pairs


class LoopLoss:
    """The mean pair loss by a loop over pairs."""

    def __init__(self, y: np.ndarray) -> None:
        n = range(len(y))
        self.pairs = [(i, j) for i in n for j in n if y[i] > y[j]]
        self.n_pairs = len(self.pairs)

    def at(self, f: np.ndarray) -> LossAt:
        """Return the loss at the scores f."""
        scores, total, gradient, active = f.tolist(), 0.0, [0.0] * len(f), []
        for i, j in self.pairs:
            margin = 1.0 - scores[i] + scores[j]
            if margin > 0.0:
                total += margin * margin
                gradient[i] -= 2.0 * margin
                gradient[j] += 2.0 * margin
                active.append((i, j))

        def hessian_times(v: np.ndarray) -> np.ndarray:
            values, product = v.tolist(), [0.0] * len(v)
            for i, j in active:
                difference = 2.0 * (values[i] - values[j])
                product[i] += difference
                product[j] -= difference
            return np.array(product) / self.n_pairs

        return LossAt(total / self.n_pairs, np.array(gradient) / self.n_pairs, hessian_times)


class ArrayLoss:
    """The mean pair loss by numpy on explicit arrays of pairs."""

    def __init__(self, y: np.ndarray) -> None:
        self.higher, self.lower = np.nonzero(np.subtract.outer(y, y) > 0)
        self.n_pairs = len(self.higher)

    def at(self, f: np.ndarray) -> LossAt:
        """Return the loss at the scores f."""
        margin = 1.0 - f[self.higher] + f[self.lower]
        active = margin > 0.0
        margin, higher, lower = margin[active], self.higher[active], self.lower[active]

        def scatter(weights: np.ndarray) -> np.ndarray:
            up, down = np.bincount(higher, weights, len(f)), np.bincount(lower, weights, len(f))
            return (up - down) / self.n_pairs

        def hessian_times(v: np.ndarray) -> np.ndarray:
            return scatter(2.0 * (v[higher] - v[lower]))

        return LossAt(float(margin @ margin) / self.n_pairs, scatter(-2.0 * margin), hessian_times)


def fit_naively(loss_class: Callable[[np.ndarray], RankLoss], X: np.ndarray, y: np.ndarray, C: float) -> float:
    Z = StandardScaler().fit_transform(X)
    return minimise(Z, loss_class(y), C, np.zeros(X.shape[1]), RankSVM().tol, RankSVM().max_iter).objective


def seconds(call: Callable[[], float], repeats: int) -> tuple[float, float]:
    """Return the median time of a call, and what it returned."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = call()
        times.append(time.perf_counter() - start)
    return float(np.median(times)), result


def compare_speed(view: str, X: np.ndarray, y: np.ndarray, C: float) -> None:
    call = {
        "RankSVM": lambda: RankSVM(C=C).fit(X, y).objective_,
        "numpy over pairs": lambda: fit_naively(ArrayLoss, X, y, C),
        "loop over pairs": lambda: fit_naively(LoopLoss, X, y, C),
    }
    call["RankSVM"]()  # compile
    result = {name: seconds(one, 1 if name.startswith("loop") else REPEATS) for name, one in call.items()}
    ours, objective = result["RankSVM"]
    print(f"{view}, {len(y)} items, {X.shape[1]} columns, C={C:g}: RankSVM {1e3 * ours:.1f} ms")
    for name in ("numpy over pairs", "loop over pairs"):
        theirs, other = result[name]
        difference = abs(objective - other) / other
        print(f"  {ours / theirs:.4f} times the {name} ({1e3 * theirs:.0f} ms); objectives differ {difference:.1e}")
        if difference > RankSVM().tol:
            raise SystemExit(f"the objectives of RankSVM and {name} differ")
    if ours > LIMIT * result["loop over pairs"][0]:
        raise SystemExit(f"RankSVM takes more than {LIMIT} times the loop over pairs")


def growth(n_items: tuple[int, ...] = (1_000, 10_000, 100_000)) -> None:
    rng = np.random.default_rng(0)
    for n in n_items:
        X = rng.normal(size=(n, 20))
        y = X[:, 0] + rng.normal(size=n)
        elapsed, _ = seconds(lambda X=X, y=y: RankSVM().fit(X, y).objective_, 3)
        print(
            f"  {n:>7} items, {n * (n - 1) // 2:.1e} pairs: {1e3 * elapsed:.1f} ms, {1e6 * elapsed / n:.2f} us per item"
        )


def accuracy(data: dict[str, np.ndarray], y: np.ndarray) -> None:
    means = []
    for view, X in data.items():
        found = []
        for seed in range(N_SEEDS):
            order = np.random.default_rng(seed).permutation(len(y))
            train, judge, rest = np.split(order, [N_TRAIN, N_TRAIN + N_VALIDATION])
            model = RankSVMCV().fit(X[train], y[train], X_val=X[judge], y_val=y[judge])
            found.append(100 * model.score(X[rest], y[rest]))
        means.append(np.mean(found))
        print(f"  {view}: {means[-1]:.1f} (by seed {', '.join(f'{one:.1f}' for one in found)})")
    print(f"  mean: {np.mean(means):.1f}")


def main() -> None:
    with np.load(Path(os.environ["TUPI_DATA"]) / "mfeat.npz") as file:
        y = file["y"].astype(float)
        data = {view: file[view].astype(float) for view in ("fac", "fou", "kar", "mor", "pix", "zer")}
    some = np.random.default_rng(0).permutation(len(y))[:N_TRAIN]
    print("Speed on MFeat")
    for view in ("fou", "fac"):
        for C in (1.0, 100.0):
            compare_speed(view, data[view][some], y[some], C)
    print("Speed with 200 distinct values: digits plus noise")
    distinct = y[some] + np.random.default_rng(1).normal(size=N_TRAIN)
    compare_speed("fou", data["fou"][some], distinct, 1.0)
    print("Growth")
    growth()
    print(f"Pairwise accuracy on the rest of MFeat, {N_TRAIN} training and {N_VALIDATION} validation items")
    accuracy(data, y)


if __name__ == "__main__":
    main()
