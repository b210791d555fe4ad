"""What the page tells of one item: its facts, its label, what moved it, and the items that are most like it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tupi.inputs.labels import Labels, Pairs
from tupi.methods.supervised import CACHED_ENTRIES, stacked_views
from tupi.page.explorer import Explorer
from tupi.page.source import PageSource
from tupi.results.reasons import Reasons
from tupi.runtime.errors import InputError
from tupi.runtime.json_values import plain

N_ALIKE = 6
N_PULLS = 5
LONGEST = 200  # characters of a fact


class Panel:
    """Tells of single items.

    Parameters
    ----------
    source : PageSource
        The data, with titles and facts.
    explorer : Explorer
        Knows what methods made of them.
    names : list of str or None
        The items' ids.
    """

    def __init__(self, source: PageSource, explorer: Explorer, names: list[str] | None) -> None:
        self._source, self._explorer, self._names = source, explorer, names
        self._problem = explorer.prepared.problem

    def item(self, position: int) -> dict[str, Any]:
        """Return what a person may know about an item who is asked about it: nothing that a ranking says."""
        if not 0 <= position < self._problem.n:
            raise InputError(f"item: found {position}; accepted: 0 to {self._problem.n - 1}.")
        row = {} if self._source.facts is None else self._source.facts.iloc[position].to_dict()
        facts = {str(key): _short(value)[:LONGEST] for key, value in row.items() if not pd.isna(value)}
        groups = self._problem.groups
        return {
            "item": position,
            "name": str(position) if self._names is None else self._names[position],
            "title": None if self._source.titles is None else self._source.titles[position],
            "group": None if groups is None else str(groups.ids[position]),
            "facts": facts,
        }

    def about(self, position: int, method: str, labels: Labels | None) -> dict[str, Any]:
        """Return all that is known of an item, as the result of a method sees it.

        Parameters
        ----------
        position : int
            The item.
        method : str
            The method whose result is looked at; only some tell what moved an item.
        labels : Values, Pairs or None
            What is known so far.
        """
        item, found = self.item(position), self._explorer.found(method)
        told = None
        if found is not None and found[1].result.origin is not None:
            reasons = found[1].result.origin.reasons(position)
            compared = isinstance(found[1].known.labels, Pairs)  # those that the method was given
            told = None if reasons is None else self._told(reasons) | {"compared": compared}
        return item | {
            "label": self._label(position, labels),
            "compared": isinstance(labels, Pairs),
            "reasons": told,
            "alike": [{"label": self._label(one, labels)} | self.item(one) for one in self.alike(position)],
        }

    def _label(self, position: int, labels: Labels | None) -> str | None:
        """Return an item's label in words; None if it has none."""
        if labels is None:
            return None
        if isinstance(labels, Pairs):
            above, below = (int(np.sum(side == position)) for side in (labels.higher, labels.lower))
            return f"above {above} and below {below} others, by comparisons" if above + below else None
        if not (there := np.flatnonzero(labels.index == position)).size:
            return None
        value = labels.values[there[0]]
        if self._problem.task == "classification":
            return str(value if self._problem.classes is None else self._problem.classes[int(value)])
        return f"{value:.4g}"

    def _told(self, reasons: Reasons) -> dict[str, Any]:
        """Return what moved an item: the parts, and the labelled items that pulled it most."""
        nearest = reasons.neighbours.head(N_PULLS)
        index = self._problem.index
        items = nearest["item"].to_list() if index is None else index.get_indexer(pd.Index(nearest["item"])).tolist()
        pulls = nearest.drop(columns="item").assign(label=nearest["label"].map(_short)).to_dict("records")
        return plain(
            {
                "sentence": reasons.sentence,
                "unit": reasons.unit,
                "decimals": reasons.decimals,
                "before": reasons.before,
                "after": reasons.after,
                "parts": reasons.parts.to_dict("records"),
                "pulls": [self.item(item) | pull for item, pull in zip(items, pulls, strict=True)],
            }
        )

    def alike(self, position: int) -> list[int]:
        """Return the items that are most like one by all its views together, the nearest first."""
        prepared = self._explorer.prepared
        place = int(np.searchsorted(prepared.items, position))
        missing = place == len(prepared.items) or prepared.items[place] != position
        if missing or len(prepared.items) * sum(view.d for view in prepared.problem.views) > CACHED_ENTRIES:
            return []
        H = stacked_views(prepared, slice(None))
        distances = np.einsum("nd,nd->n", H, H) - 2 * (H @ H[place])
        distances[place] = np.inf
        if self._problem.groups is not None:  # items of other groups are not compared with it
            numbers = self._problem.groups.numbers[prepared.items]
            distances[numbers != numbers[place]] = np.inf
        k = min(N_ALIKE, int(np.isfinite(distances).sum()))
        nearest = np.argpartition(distances, k - 1)[:k] if k else np.empty(0, np.int64)
        order = nearest[np.argsort(distances[nearest], kind="stable")]
        return [int(item) for item in prepared.items[order]]


def _short(value: Any) -> str:
    """Return a number with four digits, or as a whole one if it is or has more, and anything else as it is."""
    if not isinstance(value, (float, np.floating)):
        return str(value)
    number = float(value)
    return f"{number:.0f}" if number.is_integer() or 1e4 <= abs(number) < 1e15 else f"{number:.4g}"
