"""The label-free answer of a problem that got more items: anchors and views are known, and sums are added to.

What takes long is not done again: the views are not tested, the anchors are not placed, and no earlier item looks for
its own. The nearest anchors of the new items are found, what they add to the sums is added, and the averages follow
from these as always (`tupi.methods.auto.labelfree`). Low passes and kernels of the graph stay those of the items for
which the anchors were placed.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tupi.blocks.home import Home, Memory, Rows, reads_views
from tupi.embedding.anchors import MOST, Near, mirrored
from tupi.embedding.prepared import Prepared
from tupi.methods.auto.items import Space, content_order
from tupi.methods.auto.kernels import laid_out
from tupi.methods.auto.labelfree import Array, LabelFree, averages_of, normal_scores, placed
from tupi.runtime.threads import one_blas_thread

LABEL_FREE = "label-free"  # where `Prepared` keeps it, see `tupi.methods.auto.auto.label_free_of`
REMEMBERED = 1 << 28  # bytes of views that may be kept
MOST_GROWTH = 1.5  # times the items for which anchors were placed: beyond, others would stand for them better


def can_grow(prepared: Prepared, more: int) -> bool:
    """Return whether anchors may stay where they are for so many more items; of few items, each is an anchor itself."""
    if not prepared.has(LABEL_FREE):
        return False
    base = _of(prepared)
    n = base.home.n
    return base.space is not None and n > MOST and n + more <= MOST_GROWTH * (base.n_placed or n)


def remember(prepared: Prepared) -> None:
    """Keep the views as the process sees them, for the labels that are still to come: to read them again takes long."""
    if not prepared.has(LABEL_FREE):
        return
    base = _of(prepared)
    layout = base.layout
    size = 4 if layout.single else 8
    if base.remembered or base.home.n * size * layout.offsets((*layout.related, *layout.rest))[-1] > REMEMBERED:
        return
    with one_blas_thread():
        base.remembered.append(base.home.each(laid_out, layout=layout))


def grow(old: Prepared, new: Prepared) -> None:
    """Let a problem use what is known of an earlier one, whose items it begins with."""
    base, ranked = _of(old), new.problem.task == "ranking"
    with one_blas_thread():  # as in a fresh run
        new.once(LABEL_FREE, lambda: grown(base, Memory(new.problem.views, new.items), new.f, ranked))


def _of(prepared: Prepared) -> LabelFree:
    """Return the label-free answer that was computed."""
    found: LabelFree = prepared.once(LABEL_FREE, lambda: None)
    return found


@reads_views
def _placed(rows: Rows, *, space: Space) -> list[Array]:
    near = placed(rows, space=space)
    return [near.numbers, near.weights]  # type: ignore[list-item]


def grown(base: LabelFree, home: Home, f: Array, ranked: bool) -> LabelFree:
    """Return the label-free answer of more items.

    Parameters
    ----------
    base : LabelFree
        That of the earlier ones, with anchors.
    home : Home
        All items, the earlier ones first.
    f : ndarray of shape (n, c)
        Their predictions, standardised.
    ranked : bool
        Whether only the order of the predictions counts.
    """
    assert base.space is not None
    assert base.near is not None
    assert base.graph is not None
    order = content_order(home, f)
    f = normal_scores(f) if ranked else f
    before = base.home.fetched(base.near)
    new = Near(*home.picked(np.arange(base.home.n, home.n), _placed, space=base.space))
    numbers = np.concatenate([*(one.numbers for one in before), new.numbers])
    weights = np.concatenate([*(one.weights for one in before), new.weights])
    near = [Near(*rows) for rows in zip(home.dealt(numbers), home.dealt(weights), strict=True)]
    together = base.graph.shared + mirrored(new.shared(len(base.graph.sizes)))
    first, n = base.kernel_graph or base.graph, base.n_placed or base.home.n
    alike = averages_of(home, home.dealt(f), near, together, (first, n))
    return replace(
        base,
        home=home,
        order=order,
        near=near,
        n_placed=n,
        kernel_graph=first,
        **alike._asdict(),
    )
