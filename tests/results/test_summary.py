"""A result in three sentences."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tests.reported import classes, evidence, labelled, scores
from tupi.results.summary import (
    evidence_verdict,
    judged,
    key_figures,
    labels_needed,
    shortened,
    summary,
    verdict,
)

NAN = float("nan")
UNKNOWN = {"before": NAN, "after": NAN, "low": NAN, "high": NAN}


def test_three_sentences_on_a_ranking_without_labels():
    initial = np.arange(20.0)
    moved = initial.copy()
    moved[[18, 19]] = moved[[19, 18]]
    done, views, judgement = summary(scores(20, initial=initial, predictions=moved))
    assert done.startswith("The scores of 20 items were adjusted with 2 views (sets of features that the predictor ")
    assert "never saw: gist and color)" in done
    assert done.endswith("half of the items moved by at most 0 places in the ranking.")
    assert views.startswith("Most weight went to gist (0.70) and color (0.30); the link between gist")
    assert "went from 0.10 to 0.40" in views
    assert views.endswith("no sign of a link was found for color (p of at least 0.01).")
    assert judgement == "There were no labels, so whether the result is better cannot be told from these data."


def test_typical_move_is_the_median():
    initial = np.arange(10.0)
    done = summary(scores(10, initial=initial, predictions=-initial))[0]
    assert "at most 5 places" in done  # moves 9 7 5 3 1 1 3 5 7 9
    done = summary(scores(10, initial=initial, predictions=initial + 0.5, task="regression"))[0]
    assert done.startswith("The predictions of 10 items")
    assert done.endswith("half of them changed by at most 0.5.")


def test_classes_are_counted():
    result = classes()
    changed = sum(b.argmax() != a.argmax() for b, a in zip(result.initial, result.predictions, strict=True))
    assert summary(result)[0].endswith(f"changed for {changed} items ({100 * changed / 60:.1f}%).")
    assert ("items with a new class", str(changed)) in key_figures(result)
    assert summary(classes(predictions=0.9 * result.initial))[0].endswith(
        "no item has another most likely class than before."
    )


def test_unchanged_predictions_are_said_to_be_left_alone():
    result = labelled()
    result = labelled(predictions=result.initial, evidence=evidence(accepted=False))
    done, views, _ = summary(result)
    assert done.endswith("and left exactly as they were.")
    assert "weight" not in views
    assert ("predictions", "unchanged") in key_figures(result)


def test_without_labels_what_stayed_is_not_called_better_or_worse():
    stayed = scores(20)
    stayed = scores(20, predictions=stayed.initial)
    assert summary(stayed)[2] == "There were no labels to look for a gain with."


def test_what_was_turned_down_is_not_said_to_have_happened():
    """Unchanged scores "went from 80.0% to 79.5%", and a view had all the weight."""
    fields = {
        "predictions": labelled().initial,
        "evidence": evidence(accepted=False, after=0.795, low=-0.03, high=0.02),
    }
    for result in (labelled(**fields), labelled(**fields, dependence=labelled().dependence.loc[["gist"]])):
        _, views, judgement = summary(result)
        assert "pairwise accuracy would have gone from 80.0% to 79.5%" in judgement
        assert "was not used" in views or views.startswith("No view was used; ")
        assert ("gain of the candidate that was turned down, in pairwise accuracy, points", "-0.5") in key_figures(
            result
        )
    assert "would have confirmed a gain" in evidence_verdict(evidence(accepted=False))


def test_comparisons_are_counted_as_such():
    compared = evidence(noun="comparison", n_labels=80)
    assert "On 80 comparisons, each held out" in summary(labelled(evidence=compared))[2]
    few = evidence(**UNKNOWN, noun="comparison", n_labels=1)
    assert summary(labelled(evidence=few))[2] == "1 comparison could not judge the change; more of them would."
    assert ("comparisons", "1, too few to judge") in key_figures(labelled(evidence=few))


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "the labels confirm a gain"),
        ({"low": -0.01}, "cannot tell"),
        ({"low": 0.0}, "cannot tell"),
        ({"after": 0.7, "low": -0.2, "high": -0.01}, "advise against"),
        ({"after": 0.8, "low": 0.0, "high": 0.0}, "no difference"),
        (UNKNOWN | {"n_labels": 5}, "5 labels could not judge"),
        (UNKNOWN | {"n_labels": 1}, "1 label could not judge"),
    ],
)
def test_verdict_follows_the_interval(changes, verdict):
    found = evidence(**changes)
    assert verdict in evidence_verdict(found)
    assert verdict in summary(labelled(evidence=found))[2]


def test_figures_in_points_and_in_r2():
    sentence = summary(labelled())[2]
    assert "pairwise accuracy went from 80.0% to 83.0% (gain +3.0 points, 95% interval +1.0 to +5.0)" in sentence
    assert ("gain in pairwise accuracy, points", "+3.0") in key_figures(labelled())
    sentence = summary(labelled(evidence=evidence(metric="R²")))[2]
    assert "R² went from 0.800 to 0.830 (gain +0.030, 95% interval +0.010 to +0.050)" in sentence


def test_a_bound_just_above_zero_does_not_read_as_zero():
    assert "interval +0.02 to +5.0" in summary(labelled(evidence=evidence(low=0.0002)))[2]


def test_too_few_labels_give_no_number():
    found = evidence(**UNKNOWN, n_labels=5)
    assert not judged(found)
    text = " ".join(
        [*summary(labelled(evidence=found)), *(value for _, value in key_figures(labelled(evidence=found)))]
    )
    assert "nan" not in text


def test_even_unknown_and_single_weights():
    even = pd.DataFrame({"gist": [0.5], "color": [0.5]})
    assert "counted about the same (weights 0.50 to 0.50)" in summary(scores(weights=even))[1]
    unknown = pd.DataFrame({"gist": [np.nan], "color": [np.nan]})
    assert summary(scores(weights=unknown))[1].startswith("The view that the predictions depend on most is gist")
    result = scores()
    alone = scores(weights=result.weights[["gist"]], dependence=result.dependence.loc[["gist"]])
    assert summary(alone)[1].startswith("The only view was gist; ")


def test_many_views_are_counted_not_listed():
    names = [f"view{k}" for k in range(9)]
    dependence = pd.DataFrame({"before": 0.1, "after": 0.2, "p_value": 0.5}, index=names)
    weights = pd.DataFrame(np.ones((2, 9)) / 9, columns=names)
    done = summary(scores(dependence=dependence, weights=weights))[0]
    assert "never saw: view0, view1, view2, view3, view4 and 4 more)" in done


def test_the_typical_change_is_in_the_units_of_the_reader():
    initial = np.array([3.0, 1.0, 2.0, 5.0, 4.0])
    assert ("median move, places", "0") in key_figures(scores(5, initial=initial, predictions=np.exp(initial)))
    assert ("median move, places", "2") in key_figures(scores(5, initial=initial, predictions=-initial))
    values = scores(5, initial=initial, predictions=initial + np.array([0.5, 40, -1.25, 2, 1]), task="regression")
    assert ("median change", "1.25") in key_figures(values)
    precise = scores(5, initial=initial, predictions=initial + 15_823.4567, task="regression")
    assert ("median change", "15,800") in key_figures(precise)
    binary = scores(5, initial=initial / 10, predictions=initial / 10 + 0.0238901, task="classification")
    assert (
        "half of them changed by at most 0.0239, and the most likely class changed for 1 item (20.0%)."
        in summary(binary)[0]
    )


@pytest.mark.parametrize("known", [{}, UNKNOWN | {"n_labels": 5}])
def test_labels_that_were_left_aside_are_to_be_checked(known):
    """The advice was to add labels, although those that there were did not belong to the items."""
    params = {"guard": True, "confirmed": 0.01}
    found = verdict(labelled(params=params, evidence=evidence(**known)))
    assert found.kind == "leave"
    assert found.step.startswith("check whether the labels belong to these items")
    assert "keep the scores that you have" in found.step
    for used in ({"confirmed": 0.05}, {"guard": False}):
        assert "check" not in verdict(labelled(params=params | used, evidence=evidence(**known))).step


def test_long_names_lose_their_middle():
    assert shortened("abc", 3) == "abc"
    assert shortened("abcdefgh", 5) == "ab…gh"
    assert len(shortened("x" * 100, 40)) == 40


def test_printing_a_result_takes_five_lines():
    text = repr(scores(20))
    head, done, views, judgement, step = text.splitlines()
    assert head == "20 items, ranking by method 'tupi'"
    assert [done, views, judgement] == summary(scores(20))
    assert step.startswith("What to do next: label about 30 items drawn at random")


def test_a_notebook_shows_names_and_no_markup_of_theirs():
    result = scores(20)
    html = scores(
        20,
        weights=result.weights.set_axis(["<b>x", "color"], axis=1),
        dependence=result.dependence.set_axis(["<b>x", "color"], axis=0),
    )._repr_html_()
    assert "&lt;b&gt;x" in html
    assert "<b>x" not in html


@pytest.mark.parametrize(
    ("changes", "kind", "says"),
    [
        ({}, "use", "use the new scores."),
        ({"after": 0.82, "low": -0.02, "high": 0.06}, "care", "or add about 360 labels"),
        ({"after": 0.801, "low": -0.1, "high": 0.102}, "care", "too small for labels to show"),
        ({"after": 0.79, "low": -0.05, "high": 0.03}, "leave", "so far they show no gain"),
        ({"after": 0.7, "low": -0.2, "high": -0.01}, "leave", "try another method"),
        ({"accepted": False}, "leave", "other features, or more labels"),
        (UNKNOWN | {"n_labels": 5}, "label", "add about 25 labels of items drawn at random"),
    ],
)
def test_what_to_do_follows_the_interval(changes, kind, says):
    found = verdict(scores(2_000, evidence=evidence(**changes)))
    assert found.kind == kind
    assert says in found.step


def test_no_more_labels_are_asked_for_than_there_are_items():
    unclear = evidence(after=0.82, low=-0.02, high=0.06)
    assert "too few for labels to show whether the gain is real" in verdict(scores(400, evidence=unclear)).step
    assert "add about 360 labels" in verdict(scores(411, evidence=unclear)).step


def test_without_labels_a_change_needs_them_and_no_change_does_not():
    assert verdict(scores()).kind == "label"
    result = scores(predictions=scores().initial)
    assert verdict(result).kind == "leave"
    assert verdict(result).step.startswith("keep the scores that you have; without labels nothing was found")


def test_more_labels_narrow_the_interval_by_their_square_root():
    found = evidence(n_labels=50, before=0.8, after=0.82, low=-0.04, high=0.08)
    total = found.n_labels + labels_needed(found)
    error = 0.06 / 1.96 * np.sqrt(50 / total)
    assert 0.02 / error == pytest.approx(1.96 + 0.84, rel=0.01)
