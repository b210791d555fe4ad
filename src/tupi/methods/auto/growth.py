"""The label-free answer of a problem that got more items: anchors and views are known, and sums are added to.

What takes long is not done again: the views are not tested, the anchors are not placed, and no earlier item looks for
its own. The nearest anchors of the new items are found, what they add to the sums is added, and the averages follow
from these as always (`tupi.methods.auto.labelfree`). Low passes and kernels of the graph stay those of the items for
which the anchors were placed.
"""

from __future__ import annotations

from dataclasses import replace

from tupi.blocks.home import Memory
from tupi.embedding.anchors import MOST
from tupi.embedding.prepared import Prepared
from tupi.methods.auto.items import content_order, normal_scores, places, scale_of
from tupi.methods.auto.labelfree import LABEL_FREE, Array, LabelFree, averages_of
from tupi.runtime.computing import one_blas_thread

MOST_GROWTH = 1.5  # times the items for which anchors were placed: beyond, others would stand for them better


def can_grow(prepared: Prepared, more: int) -> bool:
    """Return whether anchors may stay where they are for so many more items; of few items, each is an anchor itself."""
    if not prepared.has(LABEL_FREE):
        return False
    base = _of(prepared)
    n = base.home.n
    return base.space is not None and n > MOST and n + more <= MOST_GROWTH * base.n_placed


def grow(old: Prepared, new: Prepared) -> None:
    """Let a problem use what is known of an earlier one, whose items it begins with."""
    base, ranked = _of(old), new.problem.task == "ranking"
    f = scale_of(new).worked_on(new.f)
    home = Memory(new.problem.views, new.items, first=base.home.bounds)
    with one_blas_thread():  # as in a fresh run
        new.once(LABEL_FREE, lambda: grown(base, home, f, ranked))


def _of(prepared: Prepared) -> LabelFree:
    """Return the label-free answer that was computed."""
    found: LabelFree = prepared.once(LABEL_FREE, lambda: None)
    return found


def grown(base: LabelFree, home: Memory, f: Array, ranked: bool) -> LabelFree:
    """Return the label-free answer of more items.

    Parameters
    ----------
    base : LabelFree
        That of the earlier ones, with anchors.
    home : Memory
        All items, the earlier ones first, in the blocks in which they were.
    f : ndarray of shape (n, c)
        Their predictions, standardised.
    ranked : bool
        Whether only the order of the predictions counts.
    """
    assert base.space is not None
    assert base.near is not None
    assert base.graph is not None
    order = content_order(home, f)
    scores = home.dealt(f) if base.scored else None
    f = normal_scores(f) if ranked else f
    new, views = places(home.after(base.home.n), base.space, base.views is not None)
    near = [*base.near, *new]
    return replace(
        base,
        home=home,
        order=order,
        near=near,
        views=None if base.views is None or views is None else [*base.views, *views],
        **averages_of(home, home.dealt(f), near, len(base.graph.sizes), scores, (base.graph, base.n_placed))._asdict(),
    )
