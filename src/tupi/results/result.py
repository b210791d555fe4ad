"""What `tupi.denoise` returns: predictions with everything that explains them; saved and loaded as one file."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm

from tupi.algorithm.denoiser import Step
from tupi.judging.evidence import Evidence
from tupi.runtime.atomic import write_atomically
from tupi.runtime.errors import InputError

FORMAT = 1  # of saved files
NORMAL = 20  # labels as much as which a normal distribution counts in `Denoised.interval`


def weights_table(steps: Sequence[Step], names: Sequence[str], changed: bool) -> pd.DataFrame:
    """Return the weights of the views, one row per step; zero if nothing changed, since then no view was used."""
    rows = np.array([step.weights for step in steps]) if changed else np.zeros((len(steps), len(names)))
    return pd.DataFrame(rows, columns=list(names), index=pd.RangeIndex(len(rows), name="step"))


def history_table(steps: Sequence[Step], scores: Sequence[float]) -> pd.DataFrame:
    """Return the energy before and after each step and, if there are any, the scores on the labels."""
    frame = pd.DataFrame(
        {
            "energy_start": [step.energies[0] if step.energies else np.nan for step in steps],
            "energy_end": [step.energies[-1] if step.energies else np.nan for step in steps],
        },
        index=pd.RangeIndex(len(steps), name="step"),
    )
    if scores:
        frame["score"] = scores
    return frame


@dataclass(frozen=True, eq=False)
class Denoised:
    """The result of `tupi.denoise`.

    Attributes
    ----------
    predictions : ndarray of shape (n,) or (n, c)
        The improved predictions, in the input's order and scale.
    initial : ndarray of the same shape
        What came in.
    weights : DataFrame
        One row per step, one column per view: how much each view counts; zero if the predictions came back unchanged.
    dependence : DataFrame
        One row per view: how strongly it depends on the predictions ``before`` and ``after``, by
        ``tupi.hsic(view, predictions, normalized=True)``, and the ``p_value`` of independence from the initial ones,
        times the number of views: below 0.01 a view is said to depend on them. The test sees kernels of median width
        and at most 1,000 items, without columns that repeat the predictions.
    evidence : Evidence or None
        With labels: what they say about the gain.
    method : str
        The method that was used.
    params : dict
        All its settings, chosen ones included.
    history : DataFrame
        One row per step: energies and, with labels, the score on them.
    task : str
        What the predictions are for.
    index : pandas.Index or None
        The items' ids.
    classes : tuple or None
        Names of class columns.
    notes : tuple of str
        What the method wants a person to know, such as which setting was chosen and why.
    uncertainty : ndarray of shape (n,) or None
        From "fuse" and "auto" with labels: standard deviation of the label that each item would get, in the units of
        the labels (of the predictions if labels are comparisons, of a class's share for classification); NaN for items
        without any view.
    expected : ndarray of shape (n,) or None
        From "fuse" and "auto" for ranking, if labels are values: the label that each item is expected to get. Scores
        have a scale of their own, so this is what `interval` is built around.
    suggested : ndarray of shape (k,) or (k, 2), or None
        Items, or pairs, to label next, see `suggest`.
    left_out_errors : ndarray or None
        Absolute errors of labels that were left out, in units of their uncertainty, see `interval`.
    """

    predictions: NDArray[np.float64]
    initial: NDArray[np.float64]
    weights: pd.DataFrame
    dependence: pd.DataFrame
    evidence: Evidence | None
    method: str
    params: dict[str, Any]
    history: pd.DataFrame
    task: str = "ranking"
    index: pd.Index | None = None
    classes: tuple[Any, ...] | None = None
    notes: tuple[str, ...] = field(default=())
    uncertainty: NDArray[np.float64] | None = None
    suggested: NDArray[np.int64] | None = None
    left_out_errors: NDArray[np.float64] | None = None
    expected: NDArray[np.float64] | None = None

    @property
    def changed(self) -> bool:
        """Whether any prediction differs from the initial one."""
        return not np.array_equal(self.predictions, self.initial)

    def interval(self, level: float = 0.95) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return bounds between which the label of each item is expected with a given probability.

        They are as many uncertainties from the prediction as that share of the labels were when left out, so they hold
        for errors that are not normal. With few labels they come close to those of a normal distribution, which counts
        as much as `NORMAL` labels.

        Parameters
        ----------
        level : float
            The probability, between 0 and 1.

        Returns
        -------
        low, high : ndarray of shape (n,)
            Bounds, in the units of the labels; NaN for items without any view.
        """
        if not isinstance(level, (int, float, np.number)) or isinstance(level, bool) or not 0 < level < 1:
            raise InputError(f"level: found {level!r}; accepted: a number between 0 and 1.")
        center = self.expected if self.task == "ranking" else self.predictions
        if self.left_out_errors is None or self.uncertainty is None or center is None:
            raise InputError(
                f"interval: found a result of method {self.method!r} without errors of left-out labels; accepted: one "
                "of 'auto' or 'fuse' for ranking or regression, whose labels are values."
            )
        normal = norm.ppf(0.5 + (np.arange(NORMAL) + 0.5) / (2 * NORMAL))
        reach = np.quantile(np.concatenate([self.left_out_errors, normal]), level) * self.uncertainty
        return center - reach, center + reach

    def suggest(self, k: int = 10) -> NDArray[np.int64]:
        """Return the items to label next: those whose labels would lower the uncertainty of all items most.

        The first one is best alone, the next one best after it, and so on; two alike items do not come together.

        Parameters
        ----------
        k : int
            How many.

        Returns
        -------
        ndarray of shape (k,) or (k, 2)
            Positions of items; of pairs to compare, if the labels were pairs. Fewer if there are no more, and without
            labels at most 100.
        """
        if not isinstance(k, (int, np.integer)) or isinstance(k, bool) or k < 1:
            raise InputError(f"k: found {k!r}; accepted: a whole number of at least 1.")
        if self.suggested is None:
            raise InputError(
                f"suggest: method {self.method!r} does not know how sure it is; accepted: method 'auto' or 'fuse', "
                "or 'smooth' without labels."
            )
        if len(self.suggested) >= k or self.suggested.ndim == 2 or self.uncertainty is None:
            return self.suggested[:k]
        others = np.setdiff1d(np.flatnonzero(np.isfinite(self.uncertainty)), self.suggested)
        others = others[np.argsort(-self.uncertainty[others], kind="stable")]
        return np.concatenate([self.suggested, others])[:k]

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row per item: initial, prediction, and for scores the rank before and after."""
        if self.initial.ndim == 1:
            frame = pd.DataFrame({"initial": self.initial, "prediction": self.predictions}, index=self.index)
            for column, source in (("rank_before", "initial"), ("rank_after", "prediction")):
                frame[column] = frame[source].rank(ascending=False, method="min").astype(int)
            return frame
        names = self.classes or tuple(range(self.initial.shape[1]))
        before = pd.DataFrame(self.initial, columns=[f"initial_{c}" for c in names], index=self.index)
        after = pd.DataFrame(self.predictions, columns=[f"prediction_{c}" for c in names], index=self.index)
        return before.join(after)

    def report(self, path: str | Path) -> Path:
        """Write a self-contained HTML report that opens offline, and return its path."""
        from tupi.results.report import write_report  # the report needs plotly, an extra

        return write_report(self, Path(path))

    def save(self, path: str | Path) -> Path:
        """Write everything into one .npz file, whole or not at all; `tupi.load` reads it."""
        meta = {
            "format": FORMAT,
            "method": self.method,
            "params": _plain(self.params),
            "task": self.task,
            "evidence": asdict(self.evidence) if self.evidence else None,
            "classes": [_name(c) for c in self.classes] if self.classes else None,
            "notes": list(self.notes),
            "index_name": None,
        }
        arrays = {
            "predictions": self.predictions,
            "initial": self.initial,
            **{name: _to_text(getattr(self, name)) for name in ("weights", "dependence", "history")},
        }
        optional = ("uncertainty", "suggested", "left_out_errors", "expected")
        arrays |= {name: value for name in optional if (value := getattr(self, name)) is not None}
        if self.index is not None:
            levels = [self.index.get_level_values(k) for k in range(self.index.nlevels)]
            arrays |= {f"index{k or ''}": _ids(level) for k, level in enumerate(levels)}
            names = [None if level.name is None else str(level.name) for level in levels]
            meta["index_name"] = names if isinstance(self.index, pd.MultiIndex) else names[0]
        arrays["meta"] = np.array(json.dumps(meta))
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
        return write_atomically(Path(path), buffer.getvalue())


def _ids(index: pd.Index) -> NDArray[Any]:
    """Return ids as numbers if that is what they are, and as text otherwise."""
    return index.to_numpy() if index.dtype.kind in "iuf" else index.astype(str).to_numpy(dtype=str)


def _name(name: Any) -> Any:
    """Return a class's name as JSON can hold it; labels are matched with it, so that a number stays one."""
    plain = name.item() if isinstance(name, np.generic) else name
    return plain if isinstance(plain, (str, int, float, bool)) else str(plain)


def _to_text(frame: pd.DataFrame) -> NDArray[np.str_]:
    return np.array(frame.to_json(orient="split", double_precision=15))


def _plain(value: Any) -> Any:
    """Return settings as JSON can hold them."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, np.generic):
        return value.item()
    return value if isinstance(value, (str, int, float, bool, type(None))) else repr(value)


def load(path: str | Path) -> Denoised:
    """Read a result that `Denoised.save` wrote."""
    try:
        with np.load(Path(path), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        meta = json.loads(str(arrays["meta"]))
        version = meta["format"]
        if version > FORMAT:
            raise InputError(f"path: {Path(path).name!r} was saved by a newer tupi (format {version}).")
        frames = {
            name: pd.read_json(io.StringIO(str(arrays[name])), orient="split", precise_float=True)
            for name in ("weights", "dependence", "history")
        }
        return _restored(arrays, meta, frames)
    except (FileNotFoundError, InputError):
        raise
    except KeyError as missing:
        raise InputError(f"path: {Path(path).name!r} is not a result saved by tupi (it lacks {missing}).") from None
    except (TypeError, ValueError, OSError, zipfile.BadZipFile, zlib.error) as problem:
        raise InputError(f"path: {Path(path).name!r} is not a result saved by tupi ({problem}).") from None


def _restored(arrays: dict[str, NDArray[Any]], meta: dict[str, Any], frames: dict[str, pd.DataFrame]) -> Denoised:
    """Return the result whose parts were read."""
    index, name = None, meta["index_name"]
    if isinstance(name, list):
        levels = [arrays[f"index{k or ''}"] for k in range(len(name))]
        index = pd.MultiIndex.from_arrays(levels, names=name)
    elif "index" in arrays:
        index = pd.Index(arrays["index"], name=name)
    for frame in frames.values():
        frame.columns = frame.columns.astype(str)
    frames["weights"].index.name, frames["history"].index.name = "step", "step"
    frames["dependence"].index = frames["dependence"].index.astype(str)
    frames["dependence"].index.name = "view"
    return Denoised(
        predictions=arrays["predictions"],
        initial=arrays["initial"],
        evidence=Evidence(**meta["evidence"]) if meta["evidence"] else None,
        method=meta["method"],
        params=meta["params"],
        task=meta["task"],
        index=index,
        classes=tuple(meta["classes"]) if meta["classes"] else None,
        notes=tuple(meta["notes"]),
        uncertainty=arrays.get("uncertainty"),
        suggested=arrays.get("suggested"),
        left_out_errors=arrays.get("left_out_errors"),
        expected=arrays.get("expected"),
        **frames,
    )
