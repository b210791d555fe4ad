"""Drawn calls about labels of several kinds and raters, groups, sparse views, scikit-learn's interface and `tune`."""

from __future__ import annotations

import traceback
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

import tupi
from tests.fuzz import inputs, later
from tests.fuzz.inputs import Rng, pick
from tests.fuzz.outcomes import NO_NUMBER, Case, finite_result
from tupi.runtime.errors import InputError

LEVELS = (0.9, 0.95, 0.5, 1e-9, 1 - 1e-12, 0, 1, np.nan, "x", None, True)
NAMES = ("ann", "bob", "", "<b>", "ü", 7, None, "ann ")
SIZES = (9, *range(10, 20), *range(10, 20), 30, 40)


def _or(rng: Rng, plain: Any, *odd: Any) -> Any:
    """Return what is plain, and one time in eight something odd: these calls have so many parts that few would do."""
    return pick(rng, *odd) if rng.random() < 0.125 else plain


def _column(rng: Rng, n: int) -> Any:
    """Return numbers, most often plain ones."""
    return inputs.column(rng, n) if rng.random() < 0.3 else rng.normal(size=n)


def _views(rng: Rng, n: int) -> Any:
    """Return views, most often plain ones."""
    if rng.random() < 0.3:
        return inputs.features(rng, n)
    gaps = np.where(rng.random((n, 1)) < 0.2, np.nan, rng.normal(size=(n, 2)))
    return {
        "a": rng.normal(size=(n, 2)),
        "b": pick(rng, gaps, np.round(rng.normal(size=(n, 1))), rng.normal(size=(n, 3))),
    }


def _of_each(rng: Rng, k: int) -> Any:
    """Return a weight for each of k labels, or nearly."""
    weights = pick(rng, np.ones(k), rng.random(k), rng.integers(1, 5, k), np.exp(rng.normal(size=k)))
    return _or(rng, weights, inputs.dressed(rng, weights), inputs.column(rng, k), np.zeros(k))


def _raters(rng: Rng, k: int) -> Any:
    """Return a name for each of k labels, or nearly."""
    some = NAMES[: int(pick(rng, 1, 2, 3, 4, 5, _or(rng, 2, len(NAMES))))]
    names = [some[place] for place in rng.integers(len(some), size=k)]
    return _or(rng, names, np.array(names, object), pd.Series(names, dtype=object), names[1:], "ann", 3)


def _more(rng: Rng, k: int) -> dict[str, Any]:
    """Return what may stand beside k labels: weights and raters."""
    found: dict[str, Any] = {}
    if rng.random() < 0.4:
        found["weights"] = _of_each(rng, k)
    if rng.random() < 0.6:
        found["raters"] = _raters(rng, k)
    return found


def opinions(rng: Rng, n: int, classes: int) -> Any:
    """Return labels of raters, with weights, of some items more than once: values, comparisons, or both."""
    k = int(rng.integers(1, 3 * n))
    truth = rng.integers(classes, size=n).astype(float) if classes else _column(rng, n)
    index = rng.integers(n, size=k)
    said = truth[index] if classes or rng.random() < 0.3 else truth[index] + 0.3 * rng.normal(size=k)
    values = tupi.Values(index, said, **_more(rng, k))
    if classes and rng.random() < 0.9:
        return values
    m = int(pick(rng, 1, 2, 5, 8, 10, rng.integers(1, 30)))
    tied = {"tied": rng.random(m) < pick(rng, 0.0, 0.2, 1.0)} if rng.random() < 0.3 else {}
    higher = rng.integers(n, size=m)
    lower = (higher + rng.integers(_or(rng, 1, 0), n, size=m)) % n
    pairs = tupi.Pairs(higher, lower, **tied, **_more(rng, m))
    listed = [values, pairs], [pairs, values], [values, values], [pairs]
    return _or(rng, pick(rng, values, pairs, *listed), [], [values, None], (values, pairs), {"a": values})


def groups(rng: Rng, n: int) -> Any:
    """Return a group for each item, or nearly."""
    numbers = rng.integers(int(pick(rng, 1, 2, 3, n)), size=n)
    named = [pick(rng, "q1", "q2", "q3", "ü") for _ in range(n)]
    odd = inputs.dressed(rng, numbers.astype(float)), named[1:], [*named[1:], None], [*named[1:], 7]
    return _or(rng, pick(rng, numbers, named), *odd)


def sparse_views(rng: Rng, n: int) -> Any:
    """Return views of which one is a sparse matrix of some format."""
    values = np.where(rng.random((n, 4)) < 0.3, np.column_stack([_column(rng, n) for _ in range(4)]), 0.0)
    if rng.random() < 0.1 and n:
        values[:] = 0.0
    form = pick(rng, sparse.csr_array, sparse.csc_matrix, sparse.coo_array, sparse.lil_matrix, sparse.bsr_array)
    one = form(values)
    if rng.random() < 0.1 and n:  # entries that stand twice, out of order, and that are zero
        places = rng.integers(n, size=6), rng.integers(4, size=6)
        one = sparse.coo_array((rng.integers(0, 2, 6).astype(float), places), shape=(n, 4))
    return pick(rng, one, {"s": one}, {"s": one, "d": inputs.view(rng, n)}, [rng.normal(size=(n, 2)), one])


def _bounds_are_right(result: Any, rng: Rng) -> bool:
    level = pick(rng, *LEVELS)
    low, high = result.interval(level)
    known = np.isfinite(result.uncertainty)
    return bool((low[known] <= high[known]).all() and (level > 1 - 1e-9 or np.isfinite(low[known] + high[known]).all()))


def _sets_are_right(result: Any, rng: Rng) -> bool:
    sets = result.class_sets(pick(rng, *LEVELS), bool(rng.integers(2)))
    return len(sets) == len(result.predictions) and bool(sets.dtypes.eq(bool).all())


def _suggestions_are_right(result: Any, rng: Rng) -> bool:
    items = np.ravel(result.suggest(pick(rng, 1, 5, 10**6, 0, "x")))
    return bool(((items >= 0) & (items < len(result.predictions))).all())


def _reasons_are_right(result: Any, rng: Rng) -> bool:
    reasons = result.reasons(pick(rng, 0, 1, 5, 8, -1, 10**9, "i0", None, 1.5))
    return bool(np.isclose(reasons.parts["amount"].sum(), reasons.change, rtol=1e-6, atol=1e-9))


def _gains_are_right(result: Any, rng: Rng) -> bool:
    known = result.view_gains.dropna()
    return bool((known["low"] <= known["high"]).all())


def _raters_are_right(result: Any, rng: Rng) -> bool:
    return result.raters is None or not np.isinf(result.raters.select_dtypes("number").to_numpy(float)).any()


QUESTIONS = (
    *(_bounds_are_right, _sets_are_right, _suggestions_are_right, _reasons_are_right, _gains_are_right),
    *(_raters_are_right,) * 3,
)


def wrong_answer(result: Any, rng: Rng) -> str | None:
    """Ask a result one more thing that it may know; return what is wrong with the answer, if it is no refusal."""
    asked = pick(rng, *QUESTIONS)
    try:
        right = asked(result, rng)
    except InputError:
        return None
    if not right:
        return f"an answer for which {asked.__name__} does not hold"
    return "no number in the five lines" if NO_NUMBER.search(repr(result)) else None


def several(rng: Rng) -> Case:
    """Draw a call with labels of several kinds, raters, weights, groups or sparse views, and look at the result."""
    n, classes = int(pick(rng, *SIZES)), int(pick(rng, 0, 0, 0, 0, 2, 3))
    task = "classification" if classes else pick(rng, "ranking", "ranking", "ranking", "regression")
    method = "boost" if rng.random() < 0.05 else pick(rng, "auto", "auto", "auto", "fuse", "tupi", "ridge", "gp", "knn")
    given = {
        "predictions": inputs.dressed(rng, inputs.predictions(rng, n, classes) if classes else _column(rng, n)),
        "features": sparse_views(rng, n) if rng.random() < 0.3 else _views(rng, n),
        "labels": opinions(rng, n, classes) if rng.random() < 0.8 else inputs.labels(rng, n, classes),
        "method": method,
        "task": task,
        "metric": pick(rng, *later.METRICS) if rng.random() < 0.2 else None,
        **({"n_iter": 2} if method == "tupi" else {"n_estimators": 5} if method == "boost" else {}),
    }
    if rng.random() < (0.3 if task == "ranking" else 0.02):
        given["groups"] = groups(rng, n)
    seed = int(rng.integers(2**31))

    def check(words: Any, result: Any) -> str | None:
        return wrong_answer(result, np.random.default_rng(seed)) or finite_result(words, result)

    return Case("several labels", given, lambda words: tupi.denoise(**words), check)


def _by_sklearn(problem: BaseException) -> bool:
    """Return whether scikit-learn refused an input, which it does in words that its own tests ask for."""
    last = traceback.extract_tb(problem.__traceback__)[-1].filename
    return isinstance(problem, (ValueError, TypeError)) and "sklearn/utils" in last


def estimator(rng: Rng) -> Case:
    """Draw a `TupiDenoiser` with its table, and what it says of other rows."""
    n, classes = int(pick(rng, *SIZES)), int(pick(rng, 0, 0, 2, 3))
    width = max(classes, 1)
    scores = rng.dirichlet(np.ones(classes), n) if classes else _column(rng, n)[:, None]
    view = inputs.view(rng, n) if rng.random() < 0.3 else rng.normal(size=(n, 2))
    X: Any = np.column_stack([scores, view])
    y: Any = rng.integers(classes, size=n).astype(float) if classes else _column(rng, n)
    y = np.where(rng.random(n) < 0.6, y, np.nan)
    headings: Any = [*range(width), *(f"c{k}" for k in range(width, X.shape[1]))]
    if rng.random() < 0.3:
        X = pd.DataFrame(X, [f"i{k}" for k in range(n)], [str(one) for one in headings])
        X["kind"] = _or(rng, [pick(rng, "x", "y") for _ in range(n)], None, 3)
        y = pd.Series(y, X.index).map(lambda one: None if np.isnan(one) else str(int(one))) if classes else y
    own = _or(rng, list(range(width)), 0, [0], "c0", -1, 99, "no", [], slice(0, 1), True, None)
    columns = {"a": [width]}, {"a": [width], "b": slice(width, None)}, [0], {"a": ["x"]}, {"a": []}
    words = {
        "predictions": own,
        "views": _or(rng, None, *columns),
        "task": "classification" if classes else pick(rng, "ranking", "regression"),
        "impute": _or(rng, "median", None, "x"),
        "method": pick(rng, "auto", "auto", "auto", "tupi", "smooth", _or(rng, "auto", "ridge")),
        "params": _or(rng, None, {"no_such": 1}, {}),
    }
    words["params"] = {"n_iter": 2, "lam": 0.3, "sigma_w2": 0.1} if words["method"] == "tupi" else words["params"]
    given = {
        "words": words,
        "X": X if isinstance(X, pd.DataFrame) else inputs.dressed(rng, X),
        "y": inputs.dressed(rng, y) if isinstance(y, np.ndarray) else y,
    }
    given["labels"] = _or(rng, None, inputs.labels(rng, n, classes))

    def call(given: Any) -> Any:
        made = tupi.TupiDenoiser(**given["words"])
        try:
            made.fit(given["X"], given["y"], given["labels"])
            if given["words"]["predictions"] is None:
                return made.denoised_, None, None
            rows = given["X"][:5]
            return made.denoised_, made.predict(rows), made.score(given["X"], given["y"])
        except (ValueError, TypeError) as problem:
            if isinstance(problem, InputError) or not _by_sklearn(problem):
                raise
            raise InputError("refused by scikit-learn.") from None

    def check(given: Any, found: Any) -> str | None:
        denoised, predicted, score = found
        if not np.isfinite(denoised).all() or len(denoised) != len(given["X"]):
            return "denoised predictions that are not finite, or of other items"
        if predicted is None:
            return None
        numbers = given["words"]["task"] != "classification"
        if len(predicted) != min(5, len(given["X"])) or (numbers and not np.isfinite(predicted).all()):
            return "predictions that are not finite, or of other items"
        return None if score <= 1 else f"a score of {score}"

    return Case("estimator", given, call, check)


@cache
def models() -> list[Any]:
    """Return small models of one's own, fitted to two columns."""
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2))
    y = X[:, 0] + rng.normal(size=20)
    numbers = [Ridge(), LinearRegression(), KernelRidge(kernel="rbf"), GaussianProcessRegressor(normalize_y=True)]
    fitted = [one.fit(X, y) for one in (*numbers, make_pipeline(StandardScaler(), Ridge()))]
    fitted += [LogisticRegression().fit(X, y > 0), LogisticRegression().fit(X, np.digitize(y, [-0.5, 0.5]))]
    return [
        *fitted,
        RandomForestRegressor(2).fit(X, y),
        Ridge(),
        None,
        "model",
        Ridge().fit(X, np.column_stack([y, y])),
    ]


def tune(rng: Rng) -> Case:
    """Draw a call of `tupi.tune`."""
    n, which = int(pick(rng, *SIZES)), _or(rng, int(rng.integers(6)), *range(len(models())))
    X = _or(rng, rng.normal(size=(n, 2)), inputs.view(rng, n), inputs.dressed(rng, rng.normal(size=(n, 2))))
    given = {
        "X": X,
        "features": _views(rng, n),
        "labels": _or(rng, tupi.Values(range(8), rng.normal(size=8)), inputs.labels(rng, n, 0)),
        "method": pick(rng, "auto", "ridge", "ridge", _or(rng, "smooth", "x")),
    }

    def call(words: Any) -> Any:
        before = models()[which]
        frozen = (
            {name: np.array(value) for name, value in vars(before).items() if name.endswith("_")} if which < 4 else {}
        )
        found = tupi.tune(before, **words)
        assert all(np.array_equal(value, getattr(before, name)) for name, value in frozen.items()), "the model changed"
        return found

    def check(words: Any, found: Any) -> str | None:
        said = np.asarray(found.predict(np.random.default_rng(1).normal(size=(5, 2))))
        return None if len(said) == 5 and (said.dtype == bool or np.isfinite(said).all()) else f"predicts {said}"

    return Case("tune", given, call, check)


def small(rng: Rng) -> Case:
    """Draw a call of `tupi.ndcg`, `tupi.denoise_points` or of the folds of `tupi.LabelledKFold`."""
    n, kind = int(pick(rng, 1, 2, 3, *SIZES)), rng.integers(3)
    if kind == 0:
        grades = _or(rng, rng.integers(5, size=n), inputs.column(rng, n), rng.integers(5, size=n).astype(float))
        given: Any = (inputs.dressed(rng, inputs.column(rng, n)), inputs.dressed(rng, np.asarray(grades)))
        given += (groups(rng, n) if rng.random() < 0.5 else None, _or(rng, 10, 1, 10**9, 0, 1.5, "x", None, True))
        within = lambda _, value: None if 0 <= value <= 1 else f"a value of {value}"  # noqa: E731
        return Case("ndcg", given, lambda words: tupi.ndcg(*words), within)
    if kind == 1:
        options = {
            "n_iter": pick(rng, 1, 2, 5, 0, "x", 1.5),
            "n_neighbors": pick(rng, 1, 2, 5, 10, 10**9, 0, None),
            "gamma": pick(rng, 1.0, 1e-9, 1e9, 0, np.nan, "x"),
            "sigma2": pick(rng, None, None, 1.0, 1e-300, 1e300, 0),
        }
        given = {
            "points": inputs.dressed(rng, inputs.view(rng, n)),
            **{k: v for k, v in options.items() if rng.random() < 0.15},
        }
        finite = lambda _, found: None if np.isfinite(found.points).all() else "points that are not finite"  # noqa: E731
        return Case("denoise_points", given, lambda words: tupi.denoise_points(**words), finite)
    y = np.where(rng.random(n) < 0.6, inputs.column(rng, n), np.nan)
    given = (_or(rng, 2, 5, 1, 0, "x", 10**9), inputs.dressed(rng, y), groups(rng, n) if rng.random() < 0.3 else None)

    def folds(words: Any) -> Any:
        return list(tupi.LabelledKFold(words[0]).split(None, words[1], words[2]))

    def apart(_: Any, found: Any) -> str | None:
        together = any(np.intersect1d(train, test).size for train, test in found)
        return "an item on both sides" if together or len(found) < 2 else None

    return Case("folds", given, folds, apart)
