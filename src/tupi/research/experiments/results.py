"""The results page: every table and figure, from the cells in the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tupi.research.experiments.experiment import Experiment
from tupi.research.experiments.protocol import PROTOCOL, Protocol, initial_settings
from tupi.research.experiments.runner import records
from tupi.research.experiments.sources import SOURCES
from tupi.research.experiments.store import Cell, Store, versions
from tupi.research.experiments.summary import summary
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
    parts = [_introduction(datasets, seeds, summary({one.label: found for one, found in kept.items()}))]
    for experiment, found in kept.items():
        if not found:
            continue
        several = len({one.protocol for one in experiments if one.title == experiment.title}) > 1
        how = reading(experiment.protocol) if several or experiment.protocol != PROTOCOL else ""
        minutes = sum(record["seconds"] for record in found) / 60
        took = f"{len(found)} cells, {seeds_of(found)}, {minutes:.1f} minutes on one core"
        took = f"*{took}, by `tupi reproduce {experiment.command or experiment.name}`.*"
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
        f"{initial / 60:.1f} more: what one cell computed and the next of the same trial used again is counted once.*\n"
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


def reading(protocol: Protocol) -> str:
    """Return the part of a title that says how f^I was made."""
    how = "rank SVM or rank network" if "network" in protocol.rankers else "rank SVM alone"
    more = {
        f" from {protocol.n_pairs} comparisons": protocol.n_pairs,
        ", each ranker on items of its own": protocol.apart,
        ", items that trained it denoised and judged too": protocol.whole,
        ", scores by rank": protocol.by_rank,
    }
    return f", f^I by {how}" + "".join(text for text, there in more.items() if there)


def _introduction(datasets: Sequence[str], seeds: Sequence[int], said: str) -> str:
    if "network" in PROTOCOL.rankers:
        ranker = "a rank SVM or a rank network, whichever ranks the validation items better"
    else:
        ranker = "a rank SVM (PyTorch is not installed: no rank network competes with it)"
    run = [SOURCES[name].title for name in datasets]
    pending = [source.title for source in SOURCES.values() if not source.available]
    used = ", ".join(f"{name} {number}" for name, number in versions().items())
    return (
        "# The paper's experiments, reproduced\n\nWritten by `tupi reproduce`, from the cells that it computes "
        "and keeps: no figure here is typed. The paper's values stand beside ours where it gives "
        f"any.\n\n**Protocol.** {PROTOCOL.n_train} items train f^I: {ranker}. The same {PROTOCOL.n_valid} "
        "validation items tune the methods. Pairwise accuracy, in per cent, is measured on all other items. "
        f"Items that trained f^I are neither denoised nor judged. Seeds {min(seeds)} to {max(seeds)}, unless a section "
        "says that it has fewer; `tupi reproduce all` computes what is missing, and goes on where it was stopped; "
        "the last line of a section says which part of it that was. "
        "PubFig, OSR and Shoes: the other attributes' rankers are views of one column. OSR's GIST features are "
        "recomputed from its images. InvDyn (SARCOS): 15 of the 21 measurements, the same for all seeds, are f^I's, "
        "the other six are one view; the data are a subset of 12,620 rows.\n\n**Readings.** What can comes twice. "
        "By rank SVM alone, f^I on MFeat is nearest to the paper's, so that gains can be compared: this is the "
        "reading that we take for the paper's. To the letter of the protocol, our rank networks validate better and "
        "are above the paper's f^I on MFeat, which leaves less to gain. The grid of lam and sigma_w2, the width "
        "rule and how far each step descends are our choices where the paper names none: `docs/paper_map.md` lists "
        f"them.\n\n{said}\n\n**Datasets.** {', '.join(run)}. {', '.join(pending)} run by the same code, which is "
        "tested on small files in their archives' layout; they are not yet run on the real archives.\n\n**Versions.** "
        f"{used}.\n"
    )
