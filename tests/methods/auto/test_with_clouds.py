"""What the default method makes of clouds: shares that labels left out choose, what is told of them, and gains."""

from types import SimpleNamespace

import numpy as np
import pytest

import tupi
from tests.conftest import group_chances, make_group_arrays
from tests.methods.auto.dense import everyone
from tupi.embedding.prepared import Prepared
from tupi.inputs.labels import Values
from tupi.inputs.problem import make_problem
from tupi.methods.auto import auto, class_fitting, clouds, fitting
from tupi.methods.auto.auto import label_free_of
from tupi.methods.auto.clouds import found, left_out, world_of
from tupi.methods.auto.fitting import fitted
from tupi.methods.auto.guard import mean_shares, shares_by
from tupi.methods.auto.items import scale_of

TRUTH, SCORES, VIEWS = make_group_arrays()


def answered(labels=50, task="ranking", truth=TRUTH, given=SCORES):
    values = Values(np.arange(labels), truth[:labels])
    prepared = Prepared(make_problem(given, VIEWS, values, task))
    return fitted(label_free_of(prepared), values, scale_of(prepared))


@pytest.mark.parametrize("doubted", [False, True])
def test_values_are_a_mean_of_clouds_and_of_what_others_say_by_labels_that_were_left_out(monkeypatch, doubted):
    if doubted:
        monkeypatch.setattr(clouds, "belief", lambda *given: (0.6, np.linspace(0.2, 0.9, 50)))
    answer, z = answered(), (TRUTH[:50] - TRUTH[:50].mean()) / TRUTH[:50].std()
    fused = answer.fused
    with monkeypatch.context() as patch:
        patch.setattr(clouds, "repeat", lambda which: False)
        others = answered().fused
    assert others.clouds is None
    z, items = z[answer.rows], everyone(answer.problem)
    columns = np.column_stack([*items.views, items.base[:, 0, 1]]).astype(np.float32)  # of the views, and f
    values, which = np.unique(z, return_inverse=True)
    world = world_of(columns)
    said, far = found(world, columns[answer.rows], which, values[:, None])(columns)
    expected = others.said(items) + fused.clouds_share * (said - far[:, None] * others.said(items))
    np.testing.assert_allclose(fused.said(items), expected, atol=1e-7)
    told = left_out(world, columns[answer.rows], which, values[:, None])
    (said, far), before = told[:2], others.left_out.held_out[:, 0]
    both = np.array([before, said[:, 0] + (1 - far) * before])
    believed, without = clouds.belief(told, which, values, before)
    share = believed * mean_shares(z - both, *clouds.prior_share(which))[1]
    assert fused.clouds_share == pytest.approx(share, abs=1e-7)
    assert share < 0.6 if doubted else 0.3 < share < 1
    assert (fused.left_out.held_out[:, 0] >= both.min(axis=0) - 1e-9).all()
    assert (fused.left_out.held_out[:, 0] <= both.max(axis=0) + 1e-9).all()
    np.testing.assert_allclose(fused.left_out.differences, -fused.left_out.differences.T)
    # What judges a label takes shares that all others chose, by predictions that left it out, too.
    errors = z[:, None] - np.array([others.left_out.twice, said + (1 - far[:, None]) * others.left_out.twice])
    for i in (0, 31):
        rest = np.delete(np.arange(50), i)
        share = without[i] * mean_shares(errors[:, rest, i], *clouds.prior_share(which))[1]
        assert fused.left_out.held_out[i, 0] == pytest.approx(both[0, i] + share * (both[1, i] - both[0, i]), abs=1e-7)


@pytest.mark.parametrize("missing", [None, 2])
def test_classes_are_a_mean_of_clouds_and_of_what_others_say(monkeypatch, missing):
    """Others leave a class without labels as it is; whoever is in the cloud of another class is less likely of it."""
    truth = TRUTH.astype(int) if missing is None else np.where(np.isin(TRUTH, missing), 7, TRUTH).astype(int)
    settings = {"task": "classification", "truth": truth, "given": group_chances(SCORES)}
    answer = answered(**settings)
    with monkeypatch.context() as patch:
        patch.setattr(clouds, "repeat", lambda which: False)
        others = answered(**settings).fused
    fused, items = answer.fused, everyone(answer.problem)
    columns = np.column_stack([*items.views, items.base[:, :, 1]]).astype(np.float32)
    known, which = np.unique(truth[answer.rows], return_inverse=True)
    world, labelled = world_of(columns), columns[answer.rows]
    unit, frequency = answer.chances.unit, answer.chances.frequency
    values = (np.eye(8)[known] - frequency) / unit
    said, far = found(world, labelled, which, values)(columns)
    expected = others.said(items) + fused.clouds_share * (said - far[:, None] * others.said(items))
    np.testing.assert_allclose(fused.said(items), expected, atol=1e-7)
    if missing is not None:
        lower = frequency[2] + unit[2] * fused.said(items)[:, 2]
        rest = (1 - fused.clouds_share * far) * (frequency[2] + unit[2] * others.said(items)[:, 2])
        np.testing.assert_allclose(lower, rest, atol=1e-7)
    said, far = left_out(world, labelled, which, values)[:2]
    before = others.left_out.held_out
    both = np.array([before, said + (1 - far[:, None]) * before])
    z = (np.eye(8)[truth[answer.rows]] - frequency) / unit
    errors = unit * (z - both) / np.sqrt(np.sum(unit**2))
    prior = clouds.prior_share(which)
    products = np.array([[np.sum(a * b) for b in errors] for a in errors])
    share = shares_by(products, 50, *prior)[1]
    assert fused.clouds_share == pytest.approx(share, abs=1e-7)
    assert share > 0.3
    for i in (0, 44):
        rest = np.delete(errors, i, axis=1)
        own = shares_by(np.einsum("aic,bic->ab", rest, rest), 49, *prior)
        np.testing.assert_allclose(fused.left_out.held_out[i], own @ both[:, i], atol=1e-7)


def test_values_in_steps_have_next_to_no_clouds(monkeypatch):
    """Labels repeat, but items of the same value lie nowhere in particular."""
    rng = np.random.default_rng(0)
    views = {"first": rng.normal(size=(400, 3)), "second": rng.normal(size=(400, 3))}
    truth = views["first"][:, 0] + views["second"][:, 0] + 0.3 * rng.normal(size=400)
    scores, labels = truth + rng.normal(size=400), Values(np.arange(60), np.round(2 * truth[:60]) / 2)
    told = [tupi.denoise(scores, views, labels).params["clouds_share"]]
    monkeypatch.setattr(clouds, "belief", lambda *given: (1.0, np.ones(60)))
    told.append(tupi.denoise(scores, views, labels).params["clouds_share"])
    assert told[0] < 0.03 < told[1]


def gain(monkeypatch, seed, task):
    """Return the score of what comes back with clouds, less that without."""
    truth, scores, views = make_group_arrays(600, seed)
    given, labels = scores, Values(np.arange(50), truth[:50])
    if task == "classification":
        given, labels = group_chances(scores), Values(np.arange(50), truth[:50].astype(int))
    both = [tupi.denoise(given, views, labels, task=task)]
    with monkeypatch.context() as patch:
        patch.setattr(fitting, "with_clouds", lambda base, fused, z: fused)
        patch.setattr(class_fitting, "with_class_clouds", lambda base, fused, classes, chances: fused)
        both.append(tupi.denoise(given, views, labels, task=task))
    assert [one.params["clouds_share"] > 0.3 for one in both] == [True, False]
    said = [one.predictions[50:] for one in both]
    if task == "ranking":
        return np.subtract(*(tupi.pairwise_accuracy(one, truth[50:]) for one in said))
    if task == "regression":
        return np.subtract(*(1 - np.mean((one - truth[50:]) ** 2) / truth.var() for one in said))
    return np.subtract(*(np.mean(one.argmax(axis=1) == truth[50:]) for one in said))


@pytest.mark.parametrize(("task", "least"), [("ranking", 0.03), ("regression", 0.06), ("classification", 0.02)])
def test_groups_whose_values_have_another_order_than_their_places_gain(monkeypatch, task, least):
    gains = [gain(monkeypatch, seed, task) for seed in range(4)]
    assert min(gains) > 0
    assert np.mean(gains) > least


@pytest.mark.parametrize("case", ["all differ", "weights", "groups", "nothing to look at", "comparisons"])
def test_where_nothing_repeats_or_labels_are_of_another_kind_clouds_say_nothing(case):
    views, truth, labels, settings = VIEWS, TRUTH, None, {}
    if case == "all differ":
        truth = TRUTH + 1e-6 * np.arange(300)
        assert not clouds.repeat(np.unique(truth[:40], return_inverse=True)[1])
    elif case == "weights":
        labels = Values(np.arange(40), TRUTH[:40], weights=np.linspace(1, 2, 40))
    elif case == "groups":
        settings = {"groups": np.arange(300) % 5}
    elif case == "nothing to look at":
        views = {"copy": SCORES[:, None]}
    else:
        labels = tupi.Pairs(
            *np.where(TRUTH[:40] > TRUTH[40:80], [range(40), range(40, 80)], [range(40, 80), range(40)])
        )
    labels = Values(np.arange(40), truth[:40]) if labels is None else labels
    result = tupi.denoise(SCORES, views, labels, guard=False, **settings)
    assert result.params["clouds_share"] == 0
    assert "clouds" not in result.notes[0]
    result = tupi.denoise(SCORES, VIEWS, Values(np.arange(40), TRUTH[:40]))
    assert result.params["clouds_share"] > 0.1


@pytest.mark.parametrize("task", ["ranking", "classification"])
def test_what_is_said_of_shares_adds_up(task):
    given, truth = (SCORES, TRUTH) if task == "ranking" else (group_chances(SCORES), TRUTH.astype(int))
    result = tupi.denoise(given, VIEWS, Values(np.arange(50), truth[:50]), task=task)
    fused, told = result.origin.fit.moved.__self__.answer.fused, result.params
    others = 1 - fused.clouds_share
    assert told["clouds_share"] == fused.clouds_share > 0.3
    assert told["trees_share"] == pytest.approx(others * fused.forest_share)
    assert told["trees_share"] > 0
    assert told["plain_share"] == pytest.approx(others * fused.plain_share)
    assert f"{100 * fused.clouds_share:.0f}% by clouds of items around labels of the same value" in result.notes[0]
    shares = [int(word[:-1]) for word in result.notes[0].split("learned from")[1].split(". ")[0].split() if "%" in word]
    assert sum(shares) == 100


@pytest.mark.parametrize(("task", "unit"), [("ranking", -3.0), ("regression", 3.0)])
def test_neither_order_nor_units_of_values_matter(task, unit):
    """Nor which end of a ranking is up; values in units are close to that, but for what trees draw."""
    order = np.random.default_rng(0).permutation(300)
    place = np.argsort(order)
    views = {name: view[order] for name, view in reversed(VIEWS.items())}
    before = tupi.denoise(SCORES, VIEWS, Values(np.arange(50), TRUTH[:50]), task=task)
    after = tupi.denoise(2 + unit * SCORES[order], views, Values(place[:50], 2 + unit * TRUTH[:50]), task=task)
    assert before.params["clouds_share"] > 0.3
    np.testing.assert_allclose(after.predictions[place], 2 + unit * before.predictions, atol=1e-5)


def test_the_order_of_classes_does_not_matter():
    names, chances, classes = np.random.default_rng(0).permutation(8), group_chances(SCORES), TRUTH.astype(int)
    before = tupi.denoise(chances, VIEWS, Values(np.arange(50), classes[:50]), task="classification")
    other = chances[:, np.argsort(names)]
    after = tupi.denoise(other, VIEWS, Values(np.arange(50), names[classes[:50]]), task="classification")
    assert before.params["clouds_share"] > 0.3
    np.testing.assert_allclose(after.predictions[:, names], before.predictions, atol=1e-6)


@pytest.mark.parametrize("task", ["ranking", "classification"])
def test_clouds_are_saved_and_say_the_same_of_the_same_items_later(task, tmp_path, monkeypatch):
    given, truth = (SCORES, TRUTH) if task == "ranking" else (group_chances(SCORES), TRUTH.astype(int))
    said, spoken = [], clouds.Clouds.__call__
    monkeypatch.setattr(clouds.Clouds, "__call__", lambda *some: said.append(spoken(*some)) or said[-1])
    result = tupi.denoise(given, VIEWS, Values(np.arange(50), truth[:50]), task=task)
    assert result.params["clouds_share"] > 0.3
    again = result.predict(given, VIEWS)
    result.save(tmp_path / "run.npz")
    np.testing.assert_array_equal(tupi.load(tmp_path / "run.npz").predict(given, VIEWS), again)
    first, *others = (both for both in said if len(both[1]) == len(given))
    assert len(others) == 3  # as new items, for the uncertainty that a file has, and from that file
    for one in others:
        np.testing.assert_allclose(one[0], first[0], atol=1e-9)
        np.testing.assert_allclose(one[1], first[1], atol=1e-9)


def test_rounded_shares_are_all_together():
    """Of three shares that are all of it each may be rounded up; nobody has less than nothing."""
    for shares in ((0.338, 0.336, 0.326), (0.25, 0.25, 0.25), (0.005, 0.005, 0.99), (0.0, 0.505, 0.495)):
        fused = SimpleNamespace(shares=dict(enumerate(shares)))
        words = auto._learners(SimpleNamespace(fused=fused)).split()
        told = [int(word[:-1]) for word in words if word.endswith("%")]
        assert sum(told) == 100
        assert min(told) > 0


@pytest.mark.parametrize("task", ["ranking", "classification"])
def test_how_items_lie_is_found_once_and_no_label_has_a_part_in_it(monkeypatch, task):
    given, kind = (SCORES, float) if task == "ranking" else (group_chances(SCORES), int)
    calls, world_of = [], clouds.world_of
    monkeypatch.setattr(clouds, "world_of", lambda items: calls.append(1) or world_of(items))
    first = tupi.denoise(given, VIEWS, Values(np.arange(50), TRUTH[:50].astype(kind)), task=task)
    calls.clear()
    later = first.update(labels=Values(np.arange(50, 60), TRUTH[50:60].astype(kind)))
    assert not calls
    whole = tupi.denoise(given, VIEWS, Values(np.arange(60), TRUTH[:60].astype(kind)), task=task)
    np.testing.assert_allclose(later.predictions, whole.predictions, atol=1e-9)
    assert later.params["clouds_share"] > 0.1
