"""What commands say when they are done: tables for people, JSON for scripts."""

from __future__ import annotations

import importlib.util
import json
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click
import pandas as pd
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tupi import __version__
from tupi.cli.showing import shown
from tupi.inputs.files import Inputs
from tupi.inputs.labels import amount
from tupi.judging.metrics import PER_CENT
from tupi.results.result import Denoised
from tupi.results.summary import MEANINGS, judgement, next_step, views_worth, what_changed
from tupi.runtime.errors import InputError
from tupi.runtime.json_values import plain

if TYPE_CHECKING:  # the demonstration's rankers and data, and Dask, are of no use to other commands
    from tupi.research.demo import Demo

USUAL = "separated by commas, UTF-8."  # how text files are read that need no mention
PLURALS = {"category": "categories"}  # of kinds of columns
CHOSEN = ("lam", "sigma_w2", "n_iter", "kernel")  # settings that people ask about first


def check_can_report() -> None:
    """Complain before anything long begins if there is nothing to write a report with."""
    if importlib.util.find_spec("plotly") is None:
        raise InputError("the report needs plotly: pip install 'tupi[report]', or ask for none.")


@contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """Collect warnings as sentences, instead of printing them between the lines of a progress bar."""
    messages: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            yield messages
        finally:
            messages.extend(dict.fromkeys(" ".join(str(warning.message).split()) for warning in caught))


def print_warnings(warned: list[str]) -> None:
    """Print collected warnings to stderr, a paragraph each."""
    for warning in warned:
        say(f"tupi: warning: {warning}", err=True)


def say(sentence: str, err: bool = False) -> None:
    """Print a sentence; a terminal breaks it between words, and a file or another program gets it as one line."""
    console = Console(stderr=err, highlight=False)
    console.print(shown(sentence), markup=False, soft_wrap=not console.is_terminal)


def facts(result: Denoised, inputs: Inputs, written: dict[str, str], warned: list[str]) -> dict[str, Any]:
    """Return everything a script may want to know about a run."""
    return common_facts(result, written, warned) | {
        "id": inputs.id_column,
        "scores": list(inputs.score_columns),
        "matched_by_order": list(inputs.by_order),
        "read": list(inputs.understood),
        "columns": result.columns.to_dict(orient="records"),
        "raters": None if result.raters is None else result.raters.to_dict(orient="index"),
        "agreement": None if result.agreement is None else result.agreement.to_dict(orient="records"),
        "view_gains": None if (gains := result.quick_gains) is None else gains.to_dict(orient="index"),
    }


def common_facts(result: Denoised, written: dict[str, str], warned: list[str]) -> dict[str, Any]:
    """Return what there is to know about a run wherever it ran."""
    return {
        "tupi": __version__,
        "n": result.initial.shape[0],
        "task": result.task,
        "method": result.method,
        "params": result.params,
        "changed": result.changed,
        "evidence": None if result.evidence is None else asdict(result.evidence) | {"gain": result.evidence.gain},
        "weights": result.weights.iloc[-1].to_dict(),
        "dependence": result.dependence.to_dict(orient="index"),
        "notes": list(result.notes),
        "warnings": warned,
        "outputs": written,
    }


def print_json(value: Any) -> None:
    """Print strict JSON: what is not a finite number becomes null."""
    text = json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False)
    click.echo(text.encode("utf-8", "backslashreplace").decode())  # names of files need not be UTF-8


def print_reading(sentences: Sequence[str]) -> None:
    """Print to stderr how tables were read, a line each."""
    for sentence in sentences:
        say(sentence, err=True)


def print_summary(result: Denoised, inputs: Inputs, written: dict[str, str], verbose: bool = False) -> None:
    """Print what a person wants to know about a run; what changed, whether labels confirm it and what to do is last.

    How files were read and columns encoded is told if ``verbose``; of text files that are not the usual ones, always.
    """
    console = Console(highlight=False)
    chosen = [f"{name}={_short(result.params[name])}" for name in CHOSEN if name in result.params]
    settings = f" ({', '.join(chosen)})" if chosen else ""
    console.print(f"{len(result.initial):,} items, method {result.method}{settings}", markup=False)
    console.print(_views_table(result))
    print_reading([one for one in inputs.understood if verbose or ("separated by" in one and not one.endswith(USUAL))])
    if verbose and len(result.columns):
        console.print(_columns_table(result.columns))
    encoded = "" if verbose else _encoded(result.columns)
    wrote = f"Wrote {', '.join(written.values())}."
    for line in filter(None, (*result.notes, views_worth(result), inputs.sentence, encoded, wrote)):
        say(line)
    print_ending(result, what_changed(result))


def print_ending(result: Denoised, changed: str) -> None:
    """Print the three lines that a person needs; the first of them is given."""
    click.echo()
    for head, sentence in (
        ("What changed", changed),
        ("Labels", judgement(result.evidence, result.changed)),
        ("What next", next_step(result)),
    ):
        say(f"{head}: {sentence[0].lower()}{sentence[1:]}")


def _encoded(columns: pd.DataFrame) -> str:
    """Return how many columns of which kind became features, in a sentence; nothing if all were numbers."""
    if not len(columns):
        return ""
    counted = columns["kind"].value_counts(sort=False).items()
    counts = [f"{n} {kind if n == 1 else PLURALS.get(str(kind), f'{kind}s')}" for kind, n in counted]
    views = [shown(str(view)) for view in columns["view"].unique()]
    tables = f"{len(views)} views" if len(views) > 5 else f"view{'s' if len(views) > 1 else ''} {', '.join(views)}"
    return f"Columns of {tables} by kind: {', '.join(counts)} (--verbose lists them)."


def _columns_table(columns: pd.DataFrame) -> Table:
    table = Table(box=box.SIMPLE_HEAD, title="What became of each column of the features")
    for name in columns.columns:
        table.add_column(name, overflow="fold")
    for row in columns.itertuples(index=False):
        table.add_row(*(Text(str(cell)) for cell in row))  # text, since names may look like markup
    return table


def _views_table(result: Denoised) -> Table:
    table = Table(box=box.SIMPLE_HEAD, title="Views: weight, and dependence (normalised HSIC) on the predictions")
    for name in ("view", "weight", "before", "after", "p-value"):
        table.add_column(name, justify="left" if name == "view" else "right", overflow="fold")
    frame = result.dependence.assign(weight=result.weights.iloc[-1])  # methods without weights leave this empty
    for view, row in frame.iterrows():
        table.add_row(
            Text(shown(view)),  # plain text: brackets in a name are no markup
            _share(row["weight"]) if result.changed else "unused",
            f"{row['before']:.3f}",
            f"{row['after']:.3f}",
            _p(row["p_value"]),
        )
    return table


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _share(weight: float) -> str:
    return "" if pd.isna(weight) else f"{100 * weight:.0f}%"


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _levels(before: float, after: float) -> tuple[str, str, str]:
    """Return two accuracies and the gain between them."""
    return PER_CENT.level(before), PER_CENT.level(after), PER_CENT.difference(after - before)


def print_demo(demo: Demo) -> None:
    """Print what the demonstration is, its table, and what to do next."""
    console = Console(highlight=False)
    labels = demo.trials[0].case.labels
    say(
        f"{len(demo.trials)} weak rankers sorted {demo.n_items:,} pictures of handwritten digits from 0 to 9. Each saw "
        "one set of features, called a view. tupi improved its scores with the views that it never saw and "
        f"{amount(len(labels.index), 'label')}. {MEANINGS['pairwise accuracy']}"
    )
    table = Table(box=box.SIMPLE_HEAD, title=f"Pairwise accuracy on {demo.n_judging:,} items whose labels nobody used")
    for name in ("view of the ranker", "before", "after", "gain"):
        table.add_column(name, justify="left" if name == "view of the ranker" else "right")
    for trial in demo.trials:
        table.add_row(trial.view, *_levels(trial.before, trial.after))
    mean = demo.table[["before", "after"]].mean()
    table.add_section()
    table.add_row("mean", *_levels(mean["before"], mean["after"]))
    console.print(table)
    say(f"Wrote {', '.join(str(path) for path in demo.files.values())}.")
    if "report" in demo.files:
        say(f"Open {demo.files['report']} in a browser: it is about the first ranker, and begins with a verdict.")
    say("tupi serve --demo shows the digits themselves. The same from files, for the first ranker:")
    console.print(f"  {demo.command}", markup=False, soft_wrap=True)  # in one piece, to be copied
