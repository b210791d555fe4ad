"""The demonstration: scikit-learn's digits, a ranker that saw one view, and what the other views add to it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from tupi.algorithm.trajectory import Watch
from tupi.api import denoise
from tupi.embedding.prepared import Progress, silent
from tupi.inputs.files import InputFiles
from tupi.inputs.labels import Values
from tupi.judging.metrics import pairwise_accuracy
from tupi.rankers import RankSVM
from tupi.research.datasets.dataset import Dataset, FloatArray
from tupi.research.datasets.digits import load_digits
from tupi.results.report import write_report
from tupi.results.result import Denoised
from tupi.results.writing import write_result, write_table
from tupi.runtime.atomic import replacing

# The view of the ranker that the report is about: without phases it is weak, and the other views know what it lacks.
SHOWN = "fou"
N_TRAINING, N_TUNING = 200, 50
SEED = 0


@dataclass(frozen=True, eq=False)
class Case:
    """A ranker that saw one view, and what there is to denoise its scores with.

    Attributes
    ----------
    view : str
        The view that the ranker saw.
    predictions : ndarray of shape (n,)
        Its scores.
    features : dict
        The other views.
    labels : Values
        Labels that tune the denoising.
    unused : Values
        Labels that neither the ranker nor the denoising sees: they judge both.
    """

    view: str
    predictions: FloatArray
    features: dict[str, FloatArray]
    labels: Values
    unused: Values

    def write(self, folder: Path) -> InputFiles:
        """Write the scores, views and labels as files that `tupi denoise` reads."""
        folder.mkdir(parents=True, exist_ok=True)
        scores = pd.DataFrame({"id": np.arange(len(self.predictions)), "score": self.predictions})
        labels = pd.DataFrame({"id": self.labels.index, "digit": self.labels.values})
        paths = {}
        for name, features in self.features.items():
            paths[name] = str(folder / f"{name}.npy")
            with replacing(folder / f"{name}.npy") as temporary, temporary.open("wb") as file:
                np.save(file, features)
        scores_file, labels_file = (
            write_table(scores, folder / "scores.csv"),
            write_table(labels, folder / "labels.csv"),
        )
        return InputFiles(str(scores_file), paths, str(labels_file))


@dataclass(frozen=True)
class CaseResult:
    """One view taken as the predictor's own, and all others as features that it never saw.

    Attributes
    ----------
    case : Case
        The predictor and what it left to denoise.
    before, after : float
        Pairwise accuracy of the predictor and of the denoised scores, on items whose labels nobody used.
    result : Denoised
        What `tupi.denoise` returned.
    """

    case: Case
    before: float
    after: float
    result: Denoised

    @property
    def view(self) -> str:
        """The predictor's view."""
        return self.case.view

    @property
    def gain(self) -> float:
        """How much more accurate the denoised scores are."""
        return self.after - self.before


@dataclass(frozen=True)
class Demo:
    """All trials, and what was written.

    Attributes
    ----------
    trials : tuple of CaseResult
        One per view.
    n_items, n_judging : int
        How many items there are, and how many of them judge.
    files : dict
        Paths of the files by what they are.
    command : str
        The same as the shown trial, from the files, as a command to type.
    """

    trials: tuple[CaseResult, ...]
    n_items: int
    n_judging: int
    files: dict[str, Path]
    command: str

    @property
    def table(self) -> pd.DataFrame:
        """Accuracy before and after, one row per view."""
        rows = [(trial.view, trial.before, trial.after, trial.gain) for trial in self.trials]
        return pd.DataFrame(rows, columns=["view", "before", "after", "gain"])


def case_of(data: Dataset, view: str) -> Case:
    """Deal the items to training, tuning and judging, and train a ranker on one view."""
    (truth,) = data.targets.values()
    order = np.random.default_rng(SEED).permutation(data.n)
    training, tuning, judging = np.split(order, [N_TRAINING, N_TRAINING + N_TUNING])
    own = data.views[view]
    scores = RankSVM().fit(own[training], truth[training]).predict(own)
    others = {name: features for name, features in data.views.items() if name != view}
    return Case(view, scores, others, Values(tuning, truth[tuning]), Values(judging, truth[judging]))


def demo_case() -> Case:
    """Return the case that the demonstration's report and page are about."""
    return case_of(load_digits(SHOWN), SHOWN)


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
        Called with a view's name when its trial begins and with "files" when all are done, and with a sentence when
        something long begins within any of these parts.
    callback : callable, optional
        Sees each Step.
    data : Dataset, optional
        Other data than the digits, with one target.
    """
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    data = load_digits(SHOWN) if data is None else data
    trials = []
    for view in data.views:
        part(view)
        progress("Training the ranker")
        case = case_of(data, view)
        trials.append(_trial(case, progress, callback))
    shown = next(trial for trial in trials if trial.view == data.baseline[0])
    part("files")
    progress("Writing")
    files = {
        "accuracy": out / "accuracy.csv",
        "predictions": write_result(shown.result, out / "better.csv"),
        "result": shown.result.save(out / "run.npz"),
    }
    command = _command(shown.case.write(out / "inputs"), out)
    if report:
        files["report"] = write_report(shown.result, out / "report.html", [("command", command)])
    demo = Demo(tuple(trials), data.n, len(shown.case.unused.index), files, command)
    write_table(demo.table, files["accuracy"])
    return demo


def _trial(case: Case, progress: Progress, callback: Watch | None) -> CaseResult:
    """Denoise the scores of a ranker with the views that it never saw, and judge them."""
    result = denoise(
        pd.Series(case.predictions, index=pd.RangeIndex(len(case.predictions), name="id")),
        case.features,
        case.labels,
        random_state=SEED,
        callback=callback,
        progress=progress,
    )
    assert isinstance(result, Denoised)  # arrays are denoised in memory
    before, after = (pairwise_accuracy(scores, case.unused) for scores in (case.predictions, result.predictions))
    return CaseResult(case, before, after, result)


def _command(files: InputFiles, out: Path) -> str:
    """Return the command that denoises the files."""
    features = [f"--features {name}={path}" for name, path in files.features.items()]
    return " ".join(["tupi denoise", files.scores, *features, f"--labels {files.labels} --out {out / 'again.csv'}"])
