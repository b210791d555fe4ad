"""The results page: every table and figure, from the cells in the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tupi.research.experiments.experiment import Experiment
from tupi.research.experiments.page import listed
from tupi.research.experiments.protocol import PROTOCOL, initial_settings
from tupi.research.experiments.runner import records
from tupi.research.experiments.sources import SOURCES
from tupi.research.experiments.store import Cell, Store, versions
from tupi.research.experiments.summary import headline, summary
from tupi.runtime.atomic import write_atomically


def write_page(
    experiments: Sequence[Experiment], store: Store, datasets: Sequence[str], seeds: Sequence[int], out: Path
) -> Path:
    """Write ``results.md`` and its pictures, from what is in the store, and return the page's path.

    Parameters
    ----------
    experiments : sequence of Experiment
        What the page shows; an experiment without any finished cell is left out.
    store : Store
        Where the cells are.
    datasets, seeds : sequence of str, of int
        Which cells.
    out : Path
        The folder of the page.
    """
    pictures = out / "pictures"
    pictures.mkdir(parents=True, exist_ok=True)
    kept = {experiment: records(experiment, store, datasets, seeds) for experiment in experiments}
    by_label = {one.label: found for one, found in kept.items()}
    parts = [_introduction(datasets, seeds, headline(by_label), summary(by_label))]
    for experiment, found in kept.items():
        if not found:
            continue
        several = len({one.protocol for one in experiments if one.title == experiment.title}) > 1
        how = f", {experiment.protocol.reading}" if several or experiment.protocol != PROTOCOL else ""
        minutes = sum(record["seconds"] for record in found) / 60
        took = f"{len(found)} cells, {seeds_of(found)}, {minutes:.1f} minutes on one core"
        took = f"*{took}, by `tupi reproduce {experiment.command or experiment.name} --seeds {len(seeds)}`.*"
        parts.append(f"## {experiment.title}{how}\n\n{experiment.section(found, pictures)}\n{took}\n")
    if any(kept.values()):
        parts.append(_time_of_all(kept, store))
    return write_atomically(out / "results.md", "\n".join(parts).encode())


def _time_of_all(kept: Mapping[Experiment, Sequence[dict[str, Any]]], store: Store) -> str:
    """Return how long all cells of the page took, each counted once, f^I apart."""
    seconds = {one.label: sum(record["seconds"] for record in found) for one, found in kept.items()}
    needed = {
        (cell, one.protocol.training)
        for one, found in kept.items()
        for record in found
        for cell in one.needs(Cell(**record["cell"]))
    }
    made = (store.read(cell, initial_settings(cell.dataset, protocol)) for cell, protocol in needed)
    initial = sum(record["seconds"] for record in made if record is not None)
    return (
        f"*All cells of this page took {sum(seconds.values()) / 60:.1f} minutes on one core, and f^I "
        f"{initial / 60:.1f} more. A cell is one target under one seed; what one cell computes and the next one of the "
        "same target and seed uses again is counted once.*\n"
    )


def seeds_of(found: Sequence[dict[str, Any]]) -> str:
    """Return how many seeds some records have; where datasets differ in that, of each."""
    seeds: dict[str, set[int]] = {}
    for record in found:
        seeds.setdefault(record["cell"]["dataset"], set()).add(record["cell"]["seed"])
    numbers = {len(some) for some in seeds.values()}
    if len(numbers) == 1:
        (number,) = numbers
        return f"{number} {'seed' if number == 1 else 'seeds'}"
    return "seeds: " + ", ".join(f"{SOURCES[name].title} {len(some)}" for name, some in seeds.items())


def _introduction(datasets: Sequence[str], seeds: Sequence[int], first: str, said: str) -> str:
    if "network" in PROTOCOL.rankers:
        ranker = "a rank SVM or a rank network, whichever ranks the validation items better"
    else:
        ranker = "a rank SVM (PyTorch is not installed: no rank network competes with it)"
    run = [SOURCES[name].title for name in datasets]
    pending = [source.title for source in SOURCES.values() if not source.available]
    used = ", ".join(f"{name} {number}" for name, number in versions().items())
    return INTRODUCTION.format(
        ranker=ranker,
        n_train=PROTOCOL.n_train,
        n_valid=PROTOCOL.n_valid,
        headline=f"{first} [Below](#what-is-reproduced-and-what-is-not) stands what else is and is not reproduced, and "
        "what we believe the reasons are.\n\n"
        if first
        else "",
        first=min(seeds),
        last=max(seeds),
        run=listed(run),
        pending=listed(pending),
        used=used,
        said=f"## What is reproduced, and what is not\n\n{said}\n" if said else "",
    )


INTRODUCTION = """# The paper's experiments, reproduced

Kim and Tompkin (*Testing using Privileged Information by Adapting Features with Statistical Dependence*, ICCV 2021)
improve the predictions of a ranker that cannot be retrained, by features that it has never seen. This page repeats
the tables and figures of their paper and puts the paper's values beside ours. The command `tupi reproduce all`
computes every figure and writes the whole page; no figure is typed by hand. The last line of each section names the
command for that section alone. [From the paper to the code](paper_map.md) lists what the paper leaves open and what
we chose.

{headline}## Words

- A **ranker** gives each item a score, by which items are put in order. A *rank SVM* is a linear one, and a *rank
  network* is a small neural network; both are trained by comparisons of two items.
- **f^I** are the initial predictions: the scores that a ranker gives to all items. **f^O** are the scores after
  denoising.
- A **view** is a further set of features of the same items, which the ranker has not seen.
- A **target** is what the items are ranked by: an attribute of images, a torque of a robot, or the digit of an image.
  On MFeat, where the digit is the only target, each of six feature sets makes f^I in turn, and a row of a table is
  named after it.
- **Accuracy** is pairwise: of all pairs of judged items that differ in truth, the per cent that are in the right
  order. A **gain** is the accuracy of f^O minus that of f^I, in points.
- A **seed** says how items are dealt. A figure is a mean over seeds, and the standard deviation stands in brackets
  behind it. **Significantly** better or worse means that a two-sided t-test of the differences, paired by seed, says
  so at 5%. Behind the number or the share of targets on which something is so, brackets hold its least and its largest
  value if one seed after the other is left out: "5 of 24 (4 to 7)". With one seed less a t-test finds fewer
  differences, so that both may lie below the number itself where there are few seeds.
- The **methods**: `tupi` is the paper's. `tupi-joint` is the paper's with all views in one kernel, as we recommend
  it. `auto` is our default. The paper compares itself with four others. `coconut` (CoConut) smooths f^I over items that
  are neighbours by their views, `kim` combines f^I with the scores of other rankers, `graph-ssl` spreads the labels
  over neighbours, and `retrain` trains a new ranker on the views with the labels.
- The **settings** of `tupi`: **lam** says how strongly each step pulls towards the views, **sigma_w2** how evenly the
  views are weighted, **T** is the number of steps, and **K** the number of basis points by which kernels are
  approximated. CoConut has a strength **lam^C**.

## Protocol

{n_train} items train f^I: {ranker}. {n_valid} further items validate: they choose the ranker, and they are the labels
by which the methods are tuned. All other items judge. Items that trained f^I are neither denoised nor judged. There
are seeds {first} to {last}, and fewer where the last line of a section says so.

Most experiments come twice. **By rank SVM alone** f^I on MFeat is nearest to the paper's, so that gains can be
compared; we take this reading for the paper's. **By rank SVM or rank network** is the protocol to the letter. Our
networks are better than the paper's f^I, and leave less to gain.

The datasets are {run}. On PubFig, OSR and Shoes, the scores of the other attributes' rankers are the views, one
column each. OSR's GIST features are recomputed from its images, since the authors' file could not be had. InvDyn is
SARCOS, of which we have 12,620 rows and the paper had 45,000: 15 of its 21 measurements, the same for all seeds, make
f^I, and the other six are one view. {pending} run by the same code, which is tested on small files in the layout of
their archives; the archives themselves could not be had.

Versions: {used}.

{said}"""
