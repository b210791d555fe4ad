"""From tables in blocks to embedded views on the workers: check, sample, embed, normalise."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.cluster import blocks as on_workers
from tupi.cluster.contents import Contents, contents_of
from tupi.cluster.engine import Blocks
from tupi.cluster.moves import broadcast
from tupi.cluster.reading import Rows, common_bounds
from tupi.embedding.bandwidth import SAMPLE as DISTANCES
from tupi.embedding.bandwidth import squared_bandwidth
from tupi.embedding.basis import CONTENT_LIMIT, SAMPLE, canonical_order, in_canonical_order
from tupi.embedding.embedding import EmbeddingOptions, GaussianFeatures, Moments, padded
from tupi.inputs.checks import check_prediction_shape, check_row_count, varying_views
from tupi.inputs.statistics import standardized

STATISTICS = 200_000  # order statistics of the predictions that stand for all of them
Array = NDArray[Any]
Progress = Callable[[str], None]


@dataclass(eq=False)
class Distributed:
    """A problem whose items are on a cluster, checked.

    Attributes
    ----------
    client : distributed.Client
        The cluster.
    scores : Rows
        Predictions.
    views : dict of str to Rows
        The features; constant views are gone.
    bounds : ndarray of int
        Where blocks begin, and the number of items.
    contents : Contents
        What the blocks contain, of the views that are left.
    samples : list of ndarray
        Of each view, the rows that were drawn by position as if none were missing.
    """

    client: Any
    scores: Rows
    views: dict[str, Rows]
    bounds: Array
    contents: Contents
    samples: list[Array]

    @property
    def n(self) -> int:
        """Number of items."""
        return self.scores.shape[0]

    @property
    def standard(self) -> tuple[float, float, float]:
        """Unit, mean and deviation of the predictions of items that take part."""
        unit, mean, deviation = self.contents.scores.standard
        return float(unit[0]), float(mean[0]), float(deviation[0] or 1.0)

    @property
    def ends(self) -> Array:
        """The smallest and the largest standardised prediction."""
        unit, mean, deviation = self.standard
        return (np.array([self.contents.low, self.contents.high]) / unit - mean) / deviation

    @cached_property
    def score_blocks(self) -> list[Any]:
        """The predictions' rows, lazily."""
        return self.scores.blocks(self.bounds)


def read(client: Any, scores: Rows, views: dict[str, Rows]) -> Distributed:
    """Read everything once; complain about what cannot be used; drop constant views."""
    from dask import delayed

    n = scores.shape[0]
    check_prediction_shape((n,) if scores.shape[1] == 1 else scores.shape, "ranking")
    for name, view in views.items():
        check_row_count(name, view.shape[0], n)
    bounds = common_bounds(list(views.values()))
    spread = np.linspace(0, n - 1, SAMPLE).astype(int) if n > SAMPLE else np.arange(n)
    tasks = []
    columns = [scores.blocks(bounds), *(view.blocks(bounds) for view in views.values())]
    for first, stop, *parts in zip(bounds, bounds[1:], *columns, strict=False):
        here = spread[(spread >= first) & (spread < stop)] - first
        tasks.append(delayed(contents_of)(*parts, first=int(first), picks=[here] * len(views)))
    found = client.gather(_submitted(client, tasks))
    contents = reduce(Contents.__add__, (contents for contents, _ in found))  # always in the same order
    contents.check(list(views))
    varying = varying_views({name: each.constant for name, each in zip(views, contents.views, strict=True)})
    if len(varying) < len(views):  # items that have no other view take no part
        return read(client, scores, {name: views[name] for name in varying})
    samples = [np.concatenate(rows) for rows in zip(*(rows for _, rows in found), strict=True)]
    return Distributed(client, scores, views, bounds, contents, samples)


def sample(problem: Distributed, k: int, options: EmbeddingOptions) -> Array:
    """Return the rows of a view that `tupi.embedding.basis.sample_view` would draw."""
    view = list(problem.views.values())[k]
    standard, scaling = problem.contents.views[k].standard, options.scaling
    present = np.array([block[k] for block in problem.contents.present])
    n = int(present.sum())
    by_content = SAMPLE < n <= CONTENT_LIMIT and not view.on_disk
    if n == problem.n and not by_content:
        return in_canonical_order(standardized(problem.samples[k].copy(), *standard, scaling))
    spread = np.linspace(0, n - 1, SAMPLE).astype(int) if n > SAMPLE else np.arange(n)
    if by_content:
        keys = np.concatenate(_gathered(problem, view, on_workers.content_keys, standard, scaling))
        spread = canonical_order(keys[:, 0], keys[:, 1:])[spread]
    order = np.argsort(spread)
    firsts = np.cumsum([0, *present])
    asked = spread[order]
    ranks = [asked[(asked >= a) & (asked < b)] - a for a, b in itertools.pairwise(firsts)]
    rows = np.concatenate(_gathered(problem, view, on_workers.picked, each=ranks))[np.argsort(order)]
    rows = standardized(rows, *standard, scaling)
    return rows if by_content else in_canonical_order(rows)


def on_blocks(
    problem: Distributed, function: Callable[..., Any], own: Sequence[dict[str, Any]] | None = None, **common: Any
) -> list[Any]:
    """Return futures of what workers say of each block, given the rows of its predictions and of its views.

    Parameters
    ----------
    problem : Distributed
        The problem.
    function : callable
        What they say.
    own : sequence of dict, optional
        Arguments that each block has for itself.
    **common : Any
        Arguments that all have alike.
    """
    from dask import delayed

    columns = [problem.score_blocks, *(view.blocks(problem.bounds) for view in problem.views.values())]
    own = [{}] * len(problem.score_blocks) if own is None else own
    tasks = [delayed(function)(*parts, **more, **common) for *parts, more in zip(*columns, own, strict=True)]
    return _submitted(problem.client, tasks)


def _gathered(
    problem: Distributed, view: Rows, function: Callable[..., Any], *common: Any, each: Sequence[Any] | None = None
) -> list[Any]:
    from dask import delayed

    parts = view.blocks(problem.bounds)
    own = [() for _ in parts] if each is None else [(one,) for one in each]
    tasks = [delayed(function)(part, *one, *common) for part, one in zip(parts, own, strict=True)]
    return problem.client.gather(_submitted(problem.client, tasks))


def _submitted(client: Any, tasks: list[Any]) -> Any:
    """Return futures of tasks; arrays that are in this process's memory travel with them, which Dask warns of."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
        return client.compute(tasks)


def embed(problem: Distributed, options: EmbeddingOptions, progress: Progress) -> Blocks:
    """Embed all views, block by block; the blocks stay on the workers."""
    client = problem.client
    maps = []
    for k, name in enumerate(problem.views):
        progress(f"Finding basis points of view {name}")
        features = GaussianFeatures(sample(problem, k, options), options)
        maps.append(on_workers.ViewMap(features, problem.contents.views[k].standard, options.scaling))
    progress("Embedding views")
    sent = client.submit(broadcast, maps, pure=False)
    embedded = on_blocks(problem, on_workers.embed, maps=sent)
    sums = [Moments(each.features.width) for each in maps]
    for parts in client.gather(client.map(on_workers.moments_of, embedded, pure=False)):
        for one, part in zip(sums, parts, strict=True):
            one.add(part)
    offsets = np.cumsum([0, *(each.features.width for each in maps)])
    width = padded(int(offsets[-1]))
    center, scale = np.zeros(width), np.ones(width)
    for i, one in enumerate(sums):
        columns_of = slice(offsets[i], offsets[i + 1])
        center[columns_of], scale[columns_of] = one.normalization()
    futures = client.map(on_workers.centered, embedded, center=center, scale=scale, pure=False)
    return Blocks(client, futures, problem.contents.covered, offsets, width, problem.standard, problem.ends)


def prediction_width(blocks: Blocks, rule: str | float) -> float:
    """Return sigma_f^2 by a rule of `tupi.embedding.bandwidth`, as the fused engine does from sorted predictions."""
    if not isinstance(rule, str):
        return rule
    n = blocks.n
    if n <= CONTENT_LIMIT:
        parts = blocks.client.gather(blocks.each(on_workers.standard_scores, standard=blocks.standard))
        return squared_bandwidth(np.sort(np.concatenate(parts))[:, None], rule)
    low, high = map(float, blocks.ends)
    counts = blocks.total(blocks.each(on_workers.histogram, standard=blocks.standard, low=low, high=high))
    ranks = np.linspace(0, n - 1, STATISTICS if rule == "std-squared" else DISTANCES).astype(int)
    return squared_bandwidth(on_workers.order_statistics(counts, low, high, ranks)[:, None], rule)
