"""Regression and classification on real data: the paper's one-sentence recipe against the one that `tupi` uses.

Regression: SARCOS torques, ridge regression on 15 of the 21 measurements from 200 items, the other 6 as the view; error
(RMSE) relative to that of f^I. Classification: MFeat digits, logistic regression on one view from 200 items, the other
five as views; accuracy and log loss. Without labels after fixed numbers of steps, and with 50 labels that choose.

    python experiments/tasks.py [--seeds 3]
"""

import argparse
import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.metrics import log_loss

import tupi
from tupi.algorithm.trajectory import follow
from tupi.embedding.prepared import Prepared, restore, standardize
from tupi.inputs.problem import make_problem
from tupi.methods.tupi import Tupi
from tupi.research.datasets import load_mfeat, load_sarcos

STEPS = (1, 3, 5, 10, 20)
WITH_LABELS = {"ours, 50 labels choose": "tupi", "auto, 50 labels": "auto"}
N_REGRESSION = 2500  # of SARCOS's items, so that the experiment takes minutes


def papers_recipe(initial, f):
    """Store means and scales, normalise, denoise, restore; for probabilities clip and normalise the rows."""
    columns = initial.reshape(len(initial), -1)
    _, scale, shift = standardize(columns)
    restored = f * scale + shift
    if initial.ndim == 2:
        restored = np.maximum(restored, 1e-6)
        restored /= restored.sum(axis=1, keepdims=True)
    return restored.reshape(initial.shape)


def steps_of(prepared):
    """Return the steps without labels."""
    trajectory = Tupi(kernel="diffusion", lam=0.3, sigma_w2=0.1, n_iter=max(STEPS)).trajectory(prepared)
    follow([trajectory])
    return trajectory.steps


def raw_steps(initial, views):
    """Return the steps of the columns as they are (probabilities not as logarithms), for the paper's recipe."""
    problem = make_problem(initial * 1.0, views, task="ranking" if initial.ndim == 1 else "classification")
    object.__setattr__(problem, "task", "ranking")  # columns are then denoised as they are
    return steps_of(Prepared(problem))


def our_steps(initial, views, task):
    prepared = Prepared(make_problem(initial, views, task=task))
    for step in steps_of(prepared):
        yield step.t, restore(prepared, step.f)


def regression_case(data, target, seed):
    order = np.random.default_rng(seed).permutation(data.n)[: 200 + N_REGRESSION]
    train, items = order[:200], order[200:]
    G, truth = data.g, data.targets[target]
    center, scale = G[train].mean(axis=0), G[train].std(axis=0)
    model = RidgeCV(np.logspace(-2, 3, 10)).fit((G[train] - center) / scale, truth[train])
    views = {name: values[items] for name, values in data.extras.items()}
    return model.predict((G[items] - center) / scale), views, truth[items]


def classification_case(data, truth, baseline, seed):
    order = np.random.default_rng(seed).permutation(len(truth))
    train, items = order[:200], order[200:]
    X = data.views[baseline]
    X = (X - X[train].mean(axis=0)) / np.maximum(X[train].std(axis=0), 1e-9)
    model = LogisticRegression(C=0.1, max_iter=1000).fit(X[train], truth[train])
    views = {name: values[items] for name, values in data.views.items() if name != baseline}
    return model.predict_proba(X[items]), views, truth[items]


def show(title, rows, unit):
    print(f"\n{title}")
    print(f"{'recipe':<28}{'mean':>9}{'worst':>9}{'best':>9}   {unit}")
    for name, values in rows.items():
        ends = (max(values), min(values)) if "RMSE" in unit else (min(values), max(values))
        print(f"{name:<28}{np.mean(values):9.2f}{ends[0]:9.2f}{ends[1]:9.2f}")


def regression(seeds):
    data = load_sarcos()
    rows = {}
    for seed in range(seeds):
        for target in data.targets:
            initial, views, truth = regression_case(data, target, seed)

            def change(f, unseen=slice(50, None), initial=initial, truth=truth):
                errors = [np.sqrt(np.mean((g - truth)[unseen] ** 2)) for g in (initial, f)]
                return 100 * (errors[1] / errors[0] - 1)

            for step in raw_steps(initial, views):
                if step.t in STEPS:
                    rows.setdefault(f"paper, {step.t} steps", []).append(change(papers_recipe(initial, step.f)))
            for t, predictions in our_steps(initial, views, "regression"):
                if t in STEPS:
                    rows.setdefault(f"ours, {t} steps", []).append(change(predictions))
            labels = tupi.Values(np.arange(50), truth[:50])
            for name, method in WITH_LABELS.items():
                result = tupi.denoise(initial, views, labels=labels, method=method, task="regression")
                rows.setdefault(name, []).append(change(result.predictions))
    show(f"Regression on SARCOS, {seeds} seeds, 7 torques", rows, "change of RMSE in per cent (negative is better)")


def classification(seeds):
    data = load_mfeat()
    truth = next(iter(data.targets.values())).astype(int)
    accuracy, loss = {}, {}
    for seed in range(seeds):
        for baseline in data.views:
            initial, views, classes = classification_case(data, truth, baseline, seed)

            def note(name, f, initial=initial, classes=classes):
                right = [np.mean(p[50:].argmax(axis=1) == classes[50:]) for p in (initial, f)]
                losses = [log_loss(classes[50:], p[50:], labels=np.arange(10)) for p in (initial, f)]
                accuracy.setdefault(name, []).append(100 * (right[1] - right[0]))
                loss.setdefault(name, []).append(100 * (1 - losses[1] / losses[0]))

            for step in raw_steps(initial, views):
                if step.t in STEPS:
                    note(f"paper, {step.t} steps", papers_recipe(initial, step.f))
            for t, predictions in our_steps(initial, views, "classification"):
                if t in STEPS:
                    note(f"ours, {t} steps", predictions)
            labels = tupi.Values(np.arange(50), classes[:50])
            for name, method in WITH_LABELS.items():
                result = tupi.denoise(initial, views, labels=labels, method=method, task="classification")
                note(name, result.predictions)
    show(f"Classification on MFeat, {seeds} seeds, 6 views", accuracy, "gain of accuracy in points")
    show("", loss, "decrease of log loss in per cent")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    regression(args.seeds)
    classification(args.seeds)


if __name__ == "__main__":
    main()
