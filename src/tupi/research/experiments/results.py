"""The results page: every table and figure, from the cells in the store."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tupi.research.experiments.experiment import Experiment
from tupi.research.experiments.protocol import PROTOCOL, Protocol
from tupi.research.experiments.runner import records
from tupi.research.experiments.sources import SOURCES
from tupi.research.experiments.store import Store, versions
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
    parts = [_introduction(datasets, seeds)]
    for experiment in experiments:
        found = records(experiment, store, datasets, seeds)
        if not found:
            continue
        several = len({one.protocol for one in experiments if one.title == experiment.title}) > 1
        how = reading(experiment.protocol) if several else ""
        minutes = sum(record["seconds"] for record in found) / 60
        n_seeds = len({record["cell"]["seed"] for record in found})
        took = (
            f"*{len(found)} cells, {n_seeds} {'seed' if n_seeds == 1 else 'seeds'}, {minutes:.1f} minutes on one core.*"
        )
        parts.append(f"## {experiment.title}{how}\n\n{experiment.section(found, pictures)}\n{took}\n")
    return write_atomically(out / "results.md", "\n".join(parts).encode())


def reading(protocol: Protocol) -> str:
    """Return the part of a title that says how f^I was made."""
    how = "rank SVM or rank network" if "network" in protocol.rankers else "rank SVM alone"
    return f", f^I by {how}" + (f" from {protocol.n_pairs} comparisons" if protocol.n_pairs else "")


def _introduction(datasets: Sequence[str], seeds: Sequence[int]) -> str:
    if "network" in PROTOCOL.rankers:
        ranker = "a rank SVM or a rank network, whichever ranks the validation items better"
    else:
        ranker = "a rank SVM (PyTorch is not installed: no rank network competes with it)"
    run = [SOURCES[name].title for name in datasets]
    pending = [source.title for source in SOURCES.values() if not source.available]
    used = ", ".join(f"{name} {number}" for name, number in versions().items())
    return (
        "# The paper's experiments, reproduced\n\nWritten by `tupi reproduce`, from the cells that it computes "
        "and keeps: nothing here is typed. The paper's values stand beside ours where it gives "
        f"any.\n\n**Protocol.** {PROTOCOL.n_train} items train f^I: {ranker}. The same {PROTOCOL.n_valid} "
        "validation items tune the methods. Pairwise accuracy, in per cent, is measured on all other items. "
        f"Items that trained f^I are neither denoised nor judged. Seeds {min(seeds)} to {max(seeds)}. PubFig, "
        "OSR and Shoes: the other attributes' rankers are views of one column. InvDyn (SARCOS): 15 of the 21 "
        "measurements are f^I's, the other six are the view; the data are a subset of 12,620 "
        "rows.\n\n**Readings.** Tables 1 and 2 come twice. By rank SVM alone, f^I on MFeat is near the paper's, so "
        "that gains can be compared: this is the reading that we take for the paper's. To the letter of the "
        "protocol, our rank networks validate better on MFeat and are far above the paper's f^I, which leaves less to "
        f"gain.\n\n**Datasets.** {', '.join(run)}. {', '.join(pending)} run by the same code, which is tested on "
        "small files in their archives' layout; they are not yet run on the real archives.\n\n**Versions.** "
        f"{used}.\n"
    )
