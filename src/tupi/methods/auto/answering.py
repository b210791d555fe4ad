"""From labels of any kind to an answer: which of them are used, what they are to the process, and who judges it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.embedding.relevance import evenly
from tupi.inputs.groups import relative_labels
from tupi.inputs.labels import Labels, Pairs, labelled_items
from tupi.methods.auto.answers import Answer, ComparisonAnswer, RankingAnswer, RegressionAnswer
from tupi.methods.auto.binary_answer import BinaryAnswer
from tupi.methods.auto.class_answer import CLASS_SHIFT, ClassAnswer, label_free_chances
from tupi.methods.auto.experts import with_experts
from tupi.methods.auto.fitting import fit_pairs, fit_values, most_labels
from tupi.methods.auto.flips import Answers
from tupi.methods.auto.kernels import pick_features
from tupi.methods.auto.labelfree import LabelFree
from tupi.methods.auto.scale import Scale

Positions = NDArray[np.int64]


def fitted(base: LabelFree, labels: Labels, scale: Scale) -> tuple[Answer, Positions]:
    """Fit the process to labels of any kind; also return which items it was fitted to."""
    most = most_labels(base.home.n)
    labels = relative_labels(labels, scale.groups)
    if isinstance(labels, Pairs):
        return _from_pairs(base, labels, scale, most)
    place = np.empty(base.home.n, np.int64)
    place[base.order] = np.arange(base.home.n)
    # Thinned out evenly over their values; equal values in the order of the items' content.
    by_value = np.lexsort([place[labels.index], labels.values])
    used = by_value[evenly(len(by_value), most)]
    used = used[np.argsort(place[labels.index[used]])]
    rows, values = labels.index[used], labels.values[used]
    weights = None if labels.weights is None else labels.weights[used]
    labelled = pick_features(base, rows)
    if scale.task == "classification" and len(scale.scale) > 1:
        chances = label_free_chances(base, scale)
        z = (np.eye(len(chances.unit))[values.astype(np.int64)] - chances.frequency) / chances.unit
        fused = fit_values(base, labelled, z, chances, CLASS_SHIFT, weights=weights)
        return ClassAnswer(base, scale, fused, len(values), values.astype(np.int64), chances), rows
    z = ((values - values.mean()) / values.std())[:, None]
    kinds = {"regression": RegressionAnswer, "ranking": RankingAnswer, "classification": BinaryAnswer}
    kind: Any = kinds[scale.task]
    groups = None if labels.groups is None else np.unique(labels.groups[used], return_inverse=True)[1]
    levels = scale.groups is None or scale.groups.levels
    fused = with_experts(base, fit_values(base, labelled, z, groups=groups, levels=levels, weights=weights), z)
    return kind(base, scale, fused, len(values), values), rows


def _who(labels: Pairs, order: Positions) -> tuple[NDArray[Any] | None, Positions | None]:
    """Return names and numbers of who compared; what values imply is said by one who is nobody else."""
    if labels.raters is None and labels.implied is None:
        return None, None
    who = np.full(len(order), "") if labels.raters is None else labels.raters[order]
    implied = np.zeros(len(order), bool) if labels.implied is None else labels.implied[order]
    names, numbers = np.unique(who, return_inverse=True)
    return np.append(names, "values") if implied.any() else names, np.where(implied, len(names), numbers)


def _from_pairs(base: LabelFree, labels: Pairs, scale: Scale, most: int) -> tuple[Answer, Positions]:
    place = np.empty(base.home.n, np.int64)
    place[base.order] = np.arange(base.home.n)
    higher, lower = place[labels.higher], place[labels.lower]
    order = np.lexsort([lower, higher])
    if len(labelled_items(labels)) > most:
        order = order[evenly(len(order), most // 2)]
    higher, lower = higher[order], lower[order]
    compared = np.unique(np.concatenate([higher, lower]))
    higher, lower = np.searchsorted(compared, higher), np.searchsorted(compared, lower)
    rows = base.order[compared]
    groups = None if scale.groups is None else np.unique(scale.groups.numbers[rows], return_inverse=True)[1]
    weights = None if labels.weights is None else labels.weights[order]
    names, raters = _who(labels, order)
    answers = Answers.of(higher, lower, weights, raters)
    fused = fit_pairs(base, pick_features(base, rows), answers, groups)
    return ComparisonAnswer(base, scale, fused, len(higher), higher, lower, names), rows
