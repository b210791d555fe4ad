"""Drawn calls about two classes, metrics, and items that come later: `predict`, `update`, `drift`, saved models."""

from __future__ import annotations

import json
import os
import tempfile
import traceback
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

import tupi
from tests.fuzz import inputs
from tests.fuzz.inputs import Rng, pick
from tests.fuzz.outcomes import NO_NUMBER, Case, finite_result
from tupi.runtime.errors import InputError

SEEN = 30  # items of the results that are asked about others
WIDTHS = {"a": 2, "b": 1}


def own_metric(truth: Any, predictions: Any) -> float:
    """Return how near predictions are, as somebody's own function might."""
    return -float(np.mean(np.abs(truth - np.asarray(predictions, float).reshape(len(truth), -1)[:, -1])))


def no_metric(truth: Any, predictions: Any) -> float:
    """Return no number."""
    return float("nan")


METRICS = (
    None, None, "pairwise", "ndcg@10", "ndcg@0", "ndcg@x", "map", "auc", "r2", "rmse", "mae", "accuracy", "AUC ",
    "balanced_accuracy", "log_loss", "brier", "calibration_error", "", "x", 3, [], own_metric, no_metric,
)  # fmt: skip
COSTS = (1, 1.0, 5, 1e-300, 1e300, 0, -1, np.nan, np.inf, "1", None, True, np.float32(2))


def _chances(rng: Rng, n: int) -> np.ndarray:
    """Return one probability per item, some of them exactly 0 or 1, or hardly different."""
    kind = rng.integers(8)
    if kind == 0:
        return np.round(rng.random(n))
    if kind == 1:
        return np.clip(pick(rng, 0.0, 0.5, 1.0) + 1e-9 * rng.normal(size=n), 0, 1)
    if kind == 2:
        return inputs.column(rng, n)
    return rng.beta(0.5, 0.5, size=n)


def _two_values(rng: Rng, n: int) -> Any:
    """Return labels of two classes under many names, and sometimes of one or three."""
    names = pick(
        rng, (0, 1), (False, True), ("no", "yes"), ("a", "b"), (-1, 1), (0.5, 0.25), (1, 1), (0, 1, 2), ("", 1)
    )
    values = [names[k] for k in rng.integers(len(names), size=n)]
    if rng.random() < 0.5:
        some = rng.permutation(n)[: rng.integers(0, n + 1)]
        return tupi.Values(some, [values[k] for k in some])
    known = rng.random(n) < 0.7
    return np.array([value if has else None for value, has in zip(values, known, strict=True)], object)


def binary(rng: Rng) -> Case:
    """Draw a call with one probability per item or another metric, and then decisions at some cost."""
    n, task = inputs.size(rng), pick(rng, "classification", "classification", "ranking", "regression")
    two = task == "classification"
    given = {
        "predictions": inputs.dressed(rng, _chances(rng, n) if two else inputs.column(rng, n)),
        "features": inputs.features(rng, n),
        "labels": _two_values(rng, n) if two and rng.random() < 0.8 else inputs.labels(rng, n, 0),
        "method": pick(rng, "auto", "auto", "auto", "smooth", "ridge", "knn", "gp", "graph-ssl"),
        "task": task,
        "metric": pick(rng, *METRICS),
    }
    costs = pick(rng, *COSTS), pick(rng, *COSTS)

    def call(words: Any) -> Any:
        result = tupi.denoise(**words)
        try:
            return result, result.decide(*costs)
        except InputError:
            return result, None

    def check(words: Any, found: Any) -> str | None:
        result, decided = found
        if decided is not None:
            good = np.isfinite([decided.threshold, decided.expected_cost]).all() and 0 <= decided.threshold <= 1
            if not good or len(decided.decisions) != len(result.predictions) or NO_NUMBER.search(decided.sentence):
                return f"decisions at {costs}: {decided}"
        if two and result.binary and not ((result.predictions >= 0) & (result.predictions <= 1)).all():
            return "probabilities out of bounds"
        return finite_result(words, result)

    return Case("binary", given, call, check)


@cache
def results() -> list[Any]:
    """Return small results of each kind, which are asked about other items."""
    rng = np.random.default_rng(0)
    truth = rng.normal(size=SEEN)
    views = {"a": truth[:, None] + 0.5 * rng.normal(size=(SEEN, 2)), "b": rng.normal(size=(SEEN, 1))}
    holes = {"a": np.where(rng.random((SEEN, 1)) < 0.3, np.nan, views["a"]), "b": views["b"]}
    tables = {"a": pd.DataFrame({"kind": np.where(truth > 0, "x", "y"), "size": truth}), "b": views["b"]}
    scores, some = truth + rng.normal(size=SEEN), np.arange(15)
    chance, three = 1 / (1 + np.exp(-2 * scores)), rng.dirichlet(np.ones(3), SEEN)
    values = tupi.Values(some, truth[some])
    return [
        tupi.denoise(scores, views, values),
        tupi.denoise(scores, holes, tupi.Pairs(some, some + 15)),
        tupi.denoise(scores, holes, values, task="regression"),
        tupi.denoise(scores, views),
        tupi.denoise(scores, tables, values),
        tupi.denoise(chance, views, tupi.Values(some, truth[some] > 0), task="classification"),
        tupi.denoise(three, views, tupi.Values(some, rng.integers(3, size=15)), task="classification"),
        tupi.denoise(scores, views, values, method="tupi", n_iter=2, lam=0.3, sigma_w2=0.1, rank=5),
        tupi.denoise(pd.Series(scores, [f"i{k}" for k in range(SEEN)]), views, values, method="smooth"),
        tupi.denoise(scores, views, values, method="ridge"),
        tupi.denoise(scores, views, values, impute="median"),
        tupi.denoise(scores, views, [values, tupi.Pairs(some, some + 15, raters=list("abababababababa"))]),
        tupi.denoise(scores, views, tupi.Values([*some, *some], truth[[*some, *some]], raters=["a"] * 15 + ["b"] * 15)),
        tupi.denoise(scores, {"a": sparse.csr_array(views["a"]), "b": views["b"]}, values),
        tupi.denoise(scores, views, values, groups=np.arange(SEEN) % 3),
        tupi.denoise(scores, views, values, method="boost", n_estimators=5),
    ]


def _more_views(rng: Rng, n: int) -> Any:
    """Return features of items that come later: mostly those of `results`, some of them missing or of other forms."""
    if rng.random() < 0.15:
        return inputs.features(rng, n)
    kept = {name: width for name, width in WIDTHS.items() if rng.random() < 0.9}
    found: dict[Any, Any] = {}
    for name, width in kept.items():
        values = np.column_stack([inputs.column(rng, n) for _ in range(width)])
        if n and rng.random() < 0.3:
            values[rng.random(n) < rng.random()] = np.nan
        table = pd.DataFrame({"size": values[:, 0], "kind": pick(rng, "x", "y", "z", None, 3)})
        found[name] = table if name == "a" and rng.random() < 0.15 else inputs.dressed(rng, values)
    if rng.random() < 0.03:
        found["no such view"] = np.zeros((n, 1))
    return found


def _more_items(rng: Rng, which: int, n: int) -> tuple[Any, Any]:
    """Return predictions and features of items that come later."""
    width = results()[which].initial.shape[1:]
    if width or rng.random() < 0.1:
        predictions = inputs.predictions(rng, n, 3)
    elif results()[which].task == "classification":
        predictions = _chances(rng, n)
    else:
        predictions = inputs.column(rng, n)
    if rng.random() < 0.1 and predictions.ndim == 1:
        predictions = pd.Series(predictions, [f"{pick(rng, 'n', 'i')}{k}" for k in range(n)])
        return predictions, _more_views(rng, n)
    return inputs.dressed(rng, predictions), _more_views(rng, n)


def _wrong_prediction(predictions: Any, found: Any) -> str | None:
    """Return what is wrong with what `predict` said, or None."""
    details = not isinstance(found, (np.ndarray, pd.Series, pd.DataFrame))
    values = np.asarray(found.predictions if details else found, float)
    if not np.isfinite(values).all():
        return "predictions of new items that are not finite"
    if len(values) != len(predictions):
        return "predictions of other items"
    if not details:
        return None
    if not ((found.familiar >= 0) & (found.familiar <= 1)).all():
        return "familiarity out of bounds"
    seen = found.familiar > 0
    sure = found.uncertainty is None or (
        np.isfinite(found.uncertainty[seen]).all() and (found.uncertainty[seen] >= 0).all()
    )
    return None if sure else "uncertainty that is no deviation"


def predict(rng: Rng) -> Case:
    """Draw a call of `predict`."""
    which = int(rng.integers(len(results())))
    given = (*_more_items(rng, which, int(pick(rng, 0, 1, 1, 2, 3, 10, 30))), bool(rng.integers(2)))
    return Case(
        "predict",
        given,
        lambda words: results()[which].predict(*words),
        lambda words, found: _wrong_prediction(words[0], found),
    )


def update(rng: Rng) -> Case:
    """Draw a call of `update`: more labels, more items, or both."""
    which, n = int(rng.integers(len(results()))), int(pick(rng, 0, 1, 2, 10))
    predictions, features = _more_items(rng, which, n) if rng.random() < 0.6 else (None, None)
    if rng.random() < 0.05:
        features = None
    classes = {5: 2, 6: 3}.get(which, 0)
    labels = inputs.labels(rng, SEEN + (0 if predictions is None else n), classes) if rng.random() < 0.7 else None
    given = {"labels": labels, "predictions": predictions, "features": features}
    return Case("update", given, lambda words: results()[which].update(**words), finite_result)


def drift(rng: Rng) -> Case:
    """Draw a call of `drift`."""
    which = int(rng.integers(len(results())))
    given = _more_items(rng, which, int(pick(rng, 0, 5, 10, 12, 30, 60)))

    def check(_: Any, found: Any) -> str | None:
        table = found.table[["distance", "missing_before", "missing_now", "p_value"]].to_numpy(float)
        good = np.isfinite(table).all() and table.min() >= 0 and table[:, 1:].max() <= 1 and table[:, 0].max() < 2
        return None if good and not NO_NUMBER.search(str(found)) else f"{found!r}"

    return Case("drift", given, lambda words: results()[which].drift(*words), check)


def _foresight(path: Path) -> Any:
    """Return what a saved result says: its predictions, and those of three items that come later."""
    result = tupi.load(path)
    rng = np.random.default_rng(1)
    predictions = result.initial[:3] + (0 if result.task == "classification" else 0.1)
    views = {"a": rng.normal(size=(3, 2)), "b": rng.normal(size=(3, 1))}
    found = result.predict(predictions, views, details=True)
    return np.array(result.predictions), np.array(found.predictions), np.array(found.familiar)


@cache
def saved() -> list[tuple[bytes, Any]]:
    """Return files of saved models, and what they say."""
    found = []
    for which in (0, 1, 2, 3, 5, 6, 7):
        with tempfile.TemporaryDirectory() as folder:
            path = results()[which].save(Path(folder) / "run.npz")
            found.append((path.read_bytes(), _foresight(path)))
    return found


def _reading(content: bytes) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.npz"
        path.write_bytes(content)
        return _foresight(path)


def damaged(rng: Rng) -> Case:
    """Draw a file of a saved model with flipped bits, or cut short: what is read of it must be what was written."""
    whole, said = saved()[rng.integers(len(saved()))]
    content = bytearray(whole)
    kind = rng.integers(5)
    if kind == 0:
        del content[rng.integers(len(content)) :]
    elif kind == 1:
        first, last = np.sort(rng.integers(len(content), size=2))
        del content[first:last]
    for place in rng.integers(max(len(content), 1), size=rng.integers(1, 4)) if content and kind else ():
        content[place] ^= 1 << rng.integers(8)

    def check(_: Any, found: Any) -> str | None:
        same = all(np.array_equal(one, other) for one, other in zip(said, found, strict=True))
        return None if same else "other numbers than those that were saved"

    return Case("damaged model", bytes(content), _reading, check)


def _changed_array(rng: Rng, array: np.ndarray) -> np.ndarray:
    """Return an array of another length, shape, type or with other values."""
    kind = rng.integers(6)
    if kind == 0:
        return array[: rng.integers(len(array) + 1)] if array.ndim else array[None]
    if kind == 1:
        return array.T if array.ndim > 1 else array[..., None]
    if kind == 2:
        return array.astype(str)
    if kind == 3:
        return np.zeros(0)
    changed = np.array(array)
    if changed.size and changed.dtype.kind in "fiu":
        value = (
            pick(rng, -1, 10**6, 2**31 - 1, 0) if changed.dtype.kind in "iu" else pick(rng, np.nan, np.inf, 1e300, 0)
        )
        with np.errstate(over="ignore"):
            changed.flat[rng.integers(changed.size)] = np.asarray(value).astype(changed.dtype)
    return changed


def _changed_tree(rng: Rng, tree: Any) -> Any:
    """Return JSON of which one part is another."""
    if isinstance(tree, (dict, list)) and tree and rng.random() < 0.85:
        key = pick(rng, *(tree if isinstance(tree, dict) else range(len(tree))))
        inside = dict(tree) if isinstance(tree, dict) else list(tree)
        inside[key] = _changed_tree(rng, inside[key])
        return inside
    return pick(rng, None, True, -1, 0, 1e308, 10**30, "x", [], {}, {"array": "model0"}, {"array": "none"}, [[1], 2])


def altered(rng: Rng) -> Case:
    """Draw a whole file of which one part was replaced, as a person or another program may do it."""
    import io

    whole, _ = saved()[rng.integers(len(saved()))]
    with np.load(io.BytesIO(whole)) as file:
        arrays = dict(file)
    if rng.random() < 0.5:
        name = pick(rng, *arrays)
        arrays[name] = _changed_array(rng, arrays[name])
    else:
        meta = json.loads(str(arrays["meta"]))
        part = "model" if rng.random() < 0.8 else pick(rng, *meta)
        arrays["meta"] = np.array(json.dumps(meta | {part: _changed_tree(rng, meta[part])}))
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)

    def check(_: Any, found: Any) -> str | None:
        return None if np.isfinite(found[1]).all() else "predictions of new items that are not finite"

    return Case("altered model", buffer.getvalue(), _reading, check)


def command(rng: Rng) -> Case:
    """Draw a line of `tupi predict` with its files."""
    n = int(pick(rng, 0, 1, 3, 10))
    ids = [pick(rng, f"i{k}", f"i{k}", f"=i{k}", f"ü{k}", "same") for k in range(n)]
    tables = {
        "scores.csv": pd.DataFrame({"id": ids, "score": inputs.column(rng, n)}),
        "a.csv": pd.DataFrame(inputs.column(rng, 2 * n).reshape(n, 2), columns=["p", "q"]).assign(id=ids),
        "b.csv": pd.DataFrame({"id": ids, "r": inputs.column(rng, n)}),
    }
    contents = {name: table.to_csv(index=False).encode() for name, table in tables.items()}
    contents["run.npz"] = saved()[rng.integers(len(saved()))][0]
    if rng.random() < 0.3:
        inputs.damage(rng, contents)
    out = pick(rng, "out.csv", "out.csv", "out.parquet", "out.xyz", "no/out.csv", "run.npz", "scores.csv")
    words = ["predict", pick(rng, "run.npz", "run.npz", "run.npz", "none.npz", "a.csv"), "scores.csv", "--out", out]
    for name in "ab":
        words += ["--features", f"{pick(rng, name, name, name, 'c')}={name}.csv"] if rng.random() < 0.9 else []
    extra = ("--json", "--quiet", "--score score", "--id x", "--duplicates mean", "--verbose", "--escape-formulas")
    words += [word for option in extra if rng.random() < 0.15 for word in option.split()]
    return Case("command predict", contents, lambda files: run_command(words, files), command_outcome)


def run_command(words: list[str], files: dict[str, bytes]) -> Any:
    """Return what came of a command line in a folder of some files, and hidden files that it left there."""
    from click.testing import CliRunner

    from tupi.cli import tupi as group

    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        try:
            os.chdir(folder)
            for name, content in files.items():
                Path(name).write_bytes(content)
            outcome = CliRunner().invoke(group, words)
            left = sorted(path.name for path in Path().rglob(".*"))
        finally:
            os.chdir(before)
    return outcome, left


def command_outcome(_: Any, found: Any) -> str | None:
    """Return what is wrong with what came of a command line, or None."""
    outcome, left = found
    if left:
        return f"files left behind: {left}"
    if outcome.exception is not None and not isinstance(outcome.exception, SystemExit):
        return "".join(traceback.format_exception(outcome.exception))[-600:]
    *before, last = outcome.stderr.splitlines() or [""]  # what was noticed on the way may precede the sentence
    warned = all(line.startswith("tupi: warning: ") for line in before)
    refused = outcome.exit_code == 2 and last.startswith("tupi: ") and warned
    return None if outcome.exit_code == 0 or refused else f"exit code {outcome.exit_code}: {outcome.output[-300:]}"
