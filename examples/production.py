"""A result in production: made on Monday, used on Tuesday by another process, taught on Wednesday when items change.

::

    python examples/production.py [folder]

Each day is a process of its own, as on a server, and finds what it needs in the folder. Each can also be run alone:
``python examples/production.py folder monday``.
"""

# ruff: noqa: T201 - an example says what it did
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import tupi

ITEMS, LABELS = 600, 30


def write_data(folder: Path) -> None:
    """Write each day's scores and two views of its items; on Wednesday another sensor is in use, which reads higher."""
    rng = np.random.default_rng(0)
    for day in ("monday", "tuesday", "wednesday"):
        truth = rng.normal(size=ITEMS)
        ids = pd.Index([f"{day}-{k}" for k in range(ITEMS)], name="id")
        pd.DataFrame({"score": truth + rng.normal(size=ITEMS)}, ids).to_csv(folder / f"{day}_scores.csv")
        sensor = {"a": truth + 0.5 * rng.normal(size=ITEMS), "b": truth + rng.normal(size=ITEMS)}
        if day == "wednesday":
            sensor["a"] = 2 * sensor["a"] + 1
        pd.DataFrame(sensor, ids).to_csv(folder / f"{day}_sensor.csv")
        sheet = {"grade": np.where(truth + 0.5 * rng.normal(size=ITEMS) > 0, "good", "poor"), "size": truth**2}
        pd.DataFrame(sheet, ids).to_csv(folder / f"{day}_sheet.csv")
        pd.DataFrame({"truth": truth}, ids).to_csv(folder / f"{day}_truth.csv")


def read(folder: Path, day: str) -> tuple[pd.Series, dict[str, pd.DataFrame], pd.Series]:
    """Return a day's scores, views and truth, by id."""
    scores, sensor, sheet, truth = (
        pd.read_csv(folder / f"{day}_{name}.csv", index_col="id") for name in ("scores", "sensor", "sheet", "truth")
    )
    return scores["score"], {"sensor": sensor, "sheet": sheet}, truth["truth"]


def monday(folder: Path) -> None:
    """Improve Monday's scores, and save what new items will need."""
    scores, views, truth = read(folder, "monday")
    result = tupi.denoise(scores, views)
    result.save(folder / "run.npz")
    before, after = (tupi.pairwise_accuracy(f, truth) for f in (scores, result.predictions))
    print(f"Monday: pairwise accuracy {before:.3f} before, {after:.3f} after")


def tuesday(folder: Path) -> None:
    """Improve the scores of Tuesday's items, which the result has never seen."""
    scores, views, truth = read(folder, "tuesday")
    result = tupi.load(folder / "run.npz")
    told = result.predict(scores, views, details=True)
    before, after = (tupi.pairwise_accuracy(f, truth) for f in (scores, told.predictions))
    print(f"Tuesday: pairwise accuracy {before:.3f} before, {after:.3f} after; {np.mean(told.familiar):.0%} familiar")
    print(f"Tuesday: {result.drift(scores, views)}")
    told.to_frame().to_csv(folder / "tuesday_better.csv")


def wednesday(folder: Path) -> None:
    """Notice that items have changed, take them in with a few labels, and save again."""
    scores, views, truth = read(folder, "wednesday")
    result = tupi.load(folder / "run.npz")
    found = result.drift(scores, views)
    print(f"Wednesday: {found}")
    if not found.ask_for_labels:
        return
    before = result.predict(scores, views)
    first, first_views, _ = read(folder, "monday")  # a file has no features of its items
    result = tupi.denoise(first, first_views).update(predictions=scores, features=views)
    result = result.update(labels=truth.sample(LABELS, random_state=0))
    result.save(folder / "run.npz", items=False)  # the model alone: small, however many items there were
    again = tupi.load(folder / "run.npz").predict(scores, views)
    accuracy = [tupi.pairwise_accuracy(f, truth) for f in (scores, before, again)]
    print("Wednesday: pairwise accuracy {:.3f}, by Monday's model {:.3f}, with labels {:.3f}".format(*accuracy))


DAYS = {"monday": monday, "tuesday": tuesday, "wednesday": wednesday}


def main(folder: Path) -> None:
    """Run all days, each in a process of its own."""
    write_data(folder)
    for day in DAYS:
        subprocess.run([sys.executable, __file__, str(folder), day], check=True)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        DAYS[sys.argv[2]](Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(sys.argv[1] if len(sys.argv) > 1 else temporary))
