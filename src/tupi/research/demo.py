"""The demonstration: scikit-learn's digits, a ranker that saw one view, and what the other views add to it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tupi.algorithm.trajectory import Watch
from tupi.api import denoise
from tupi.embedding.prepared import Progress, silent
from tupi.inputs.labels import Values
from tupi.judging.metrics import pairwise_accuracy
from tupi.rankers import RankSVM
from tupi.research.datasets.dataset import Dataset, FloatArray
from tupi.research.datasets.digits import load_digits
from tupi.results.result import Denoised
from tupi.results.writing import write_result, write_table
from tupi.runtime.atomic import replacing

# The view of the ranker that the report is about: without phases it is weak, and the other views know what it lacks.
SHOWN = "fou"
N_TRAINING, N_TUNING = 200, 50
SEED = 0


@dataclass(frozen=True)
class Trial:
    """One view taken as the predictor's own, and all others as features that it never saw.

    Attributes
    ----------
    view : str
        The predictor's view.
    before, after : float
        Pairwise accuracy of the predictor and of the denoised scores, on items whose labels nobody used.
    result : Denoised
        What `tupi.denoise` returned.
    """

    view: str
    before: float
    after: float
    result: Denoised

    @property
    def gain(self) -> float:
        """How much more accurate the denoised scores are."""
        return self.after - self.before


@dataclass(frozen=True)
class Demo:
    """All trials, and what was written.

    Attributes
    ----------
    trials : tuple of Trial
        One per view.
    n_items, n_judging : int
        How many items there are, and how many of them judge.
    files : dict
        Paths of the files by what they are.
    command : str
        The same as the shown trial, from the files, as a command to type.
    """

    trials: tuple[Trial, ...]
    n_items: int
    n_judging: int
    files: dict[str, Path]
    command: str

    @property
    def table(self) -> pd.DataFrame:
        """Accuracy before and after, one row per view."""
        rows = [(trial.view, trial.before, trial.after, trial.gain) for trial in self.trials]
        return pd.DataFrame(rows, columns=["view", "before", "after", "gain"])


@dataclass(frozen=True)
class Split:
    """Which items train the predictor, which tune the denoising, and which judge both."""

    training: NDArray[np.intp]
    tuning: NDArray[np.intp]
    judging: NDArray[np.intp]


def run_demo(
    out: str | Path,
    report: bool = True,
    part: Progress = silent,
    progress: Progress = silent,
    callback: Watch | None = None,
    data: Dataset | None = None,
) -> Demo:
    """Run the demonstration and write its files.

    Parameters
    ----------
    out : path
        Folder for the files; it is made if it is not there.
    report : bool
        Whether to write the HTML report, which needs plotly.
    part, progress : callable, optional
        Called with a view's name when its trial begins, and with a sentence when something long begins within it.
    callback : callable, optional
        Sees each Step.
    data : Dataset, optional
        Other data than the digits, with one target.
    """
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    data = load_digits(SHOWN) if data is None else data
    (truth,) = data.targets.values()
    order = np.random.default_rng(SEED).permutation(data.n)
    split = Split(*np.split(order, [N_TRAINING, N_TRAINING + N_TUNING]))
    trials = []
    for view in data.views:
        part(view)
        trials.append(_trial(data, truth, split, view, progress, callback))
    shown = next(trial for trial in trials if trial.view == data.baseline[0])
    progress("Writing")
    files = {
        "accuracy": out / "accuracy.csv",
        "predictions": write_result(shown.result, out / "better.csv"),
        "result": shown.result.save(out / "run.npz"),
    }
    if report:
        files["report"] = shown.result.report(out / "report.html")
    command = _write_inputs(out, data, truth, split, shown)
    demo = Demo(tuple(trials), data.n, len(split.judging), files, command)
    write_table(demo.table, files["accuracy"])
    return demo


def _trial(
    data: Dataset, truth: FloatArray, split: Split, view: str, progress: Progress, callback: Watch | None
) -> Trial:
    """Train a ranker on one view and denoise its scores with the others."""
    progress("Training the ranker")
    own = data.views[view]
    scores = RankSVM().fit(own[split.training], truth[split.training]).predict(own)
    ids = pd.RangeIndex(data.n, name="id")
    result = denoise(
        pd.Series(scores, index=ids),
        {name: features for name, features in data.views.items() if name != view},
        Values(split.tuning, truth[split.tuning]),
        random_state=SEED,
        callback=callback,
        progress=progress,
    )
    assert isinstance(result, Denoised)  # arrays are denoised in memory
    unused = Values(split.judging, truth[split.judging])
    return Trial(view, pairwise_accuracy(scores, unused), pairwise_accuracy(result.predictions, unused), result)


def _write_inputs(out: Path, data: Dataset, truth: FloatArray, split: Split, shown: Trial) -> str:
    """Write what the shown trial began with, and return the command that repeats it."""
    folder = out / "inputs"
    folder.mkdir(exist_ok=True)
    scores = pd.DataFrame({"id": np.arange(data.n), "score": shown.result.initial})
    labels = pd.DataFrame({"id": split.tuning, "digit": truth[split.tuning]})
    write_table(scores, folder / "scores.csv")
    write_table(labels, folder / "labels.csv")
    words = ["tupi denoise", str(folder / "scores.csv")]
    for name in data.views:
        if name != shown.view:
            path = folder / f"{name}.npy"
            with replacing(path) as temporary, temporary.open("wb") as file:
                np.save(file, data.views[name])
            words.append(f"--features {name}={path}")
    words.append(f"--labels {folder / 'labels.csv'} --out {out / 'again.csv'}")
    return " ".join(words)
