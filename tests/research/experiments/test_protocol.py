from dataclasses import replace

import numpy as np
import pytest

from tupi.inputs.labels import Pairs, Values, labelled_items
from tupi.methods.tupi import Tupi
from tupi.research.experiments.protocol import (
    APART,
    BY_RANK,
    COMPARISONS,
    PROTOCOL,
    SVM_ONLY,
    WHOLE,
    Protocol,
    all_pairs,
    drawn_pairs,
    initial_cells,
    initial_scores,
    initial_settings,
    make_trial,
    split,
    split_of,
)  # fmt: skip
from tupi.research.experiments.sources import SOURCES, dataset_of, digest_of, source_of
from tupi.research.experiments.store import Cell
from tupi.runtime.errors import InputError

from .conftest import N, write_mfeat


def keep_initial(store, dataset, target, seed, protocol):
    settings = initial_settings(dataset, protocol)
    for cell in initial_cells(dataset, target, seed, protocol):
        store.write(cell, settings, 0.0, initial_scores(cell, protocol))


def test_the_paper_s_numbers():
    assert (PROTOCOL.n_train, PROTOCOL.n_valid) == (200, 50)


def test_values_are_dealt_without_overlap():
    truth = Values(np.arange(400), np.random.default_rng(0).normal(size=400))
    parts = split(truth, 400, 7, Protocol())
    train, valid, test = (labelled_items(part) for part in (parts.train, parts.valid, parts.test))
    assert (len(train), len(valid), len(test)) == (200, 50, 150)
    np.testing.assert_array_equal(np.sort(np.concatenate([train, valid, test])), np.arange(400))
    np.testing.assert_array_equal(parts.items, np.sort(np.concatenate([valid, test])))
    for part in (parts.train, parts.valid, parts.test):
        np.testing.assert_array_equal(part.values, truth.values[part.index])


def test_another_seed_deals_anew_and_the_same_seed_does_not():
    truth = Values(np.arange(300), np.arange(300.0))
    first, again, other = (split(truth, 300, seed, Protocol()).items for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_comparisons_are_dealt_in_thirds_and_training_items_are_not_denoised():
    rng = np.random.default_rng(0)
    pairs = rng.permutation(600).reshape(300, 2)
    parts = split(Pairs(pairs[:, 0], pairs[:, 1]), 700, 0, Protocol())
    assert [len(part.higher) for part in (parts.train, parts.valid, parts.test)] == [100, 100, 100]
    assert not np.isin(labelled_items(parts.train), parts.items).any()
    assert np.isin(labelled_items(parts.test), parts.items).all()
    assert len(parts.items) == 500


def test_trial_of_mfeat_holds_the_other_views_and_judges_unseen_items(mfeat, store, protocol):
    keep_initial(store, "mfeat", "mor", 1, protocol)
    trial = make_trial("mfeat", "mor", 1, store, protocol)
    data = dataset_of("mfeat")
    truth = data.targets["digit"]
    parts = split(Values(np.arange(N), truth), N, 1, protocol)
    assert list(trial.views) == ["fac", "fou", "kar", "pix", "zer"]
    np.testing.assert_array_equal(trial.views["kar"], data.views["kar"][parts.items])
    np.testing.assert_array_equal(trial.truth, truth[parts.items])
    np.testing.assert_array_equal(parts.items[trial.judging.index], labelled_items(parts.test))
    np.testing.assert_array_equal(trial.truth[trial.labels.index], trial.labels.values)
    assert not set(trial.labels.index) & set(trial.judging.index)
    judged = trial.judge(Tupi(lam=0.4, sigma_w2=0.1), trial.prepared())
    assert judged["accuracy"] > trial.accuracy(trial.initial) > 55


def test_rankers_of_other_attributes_are_the_views(shoes, store, protocol):
    keep_initial(store, "shoes", "open", 0, protocol)
    trial = make_trial("shoes", "open", 0, store, protocol)
    assert len(trial.views) == 9
    assert "open" not in trial.views
    settings = initial_settings("shoes", protocol)
    kept = store.read(Cell(protocol.initial, "shoes", "shiny", 0), settings)["result"]["scores"]
    items = split_of(Cell(protocol.initial, "shoes", "open", 0), protocol).items
    np.testing.assert_array_equal(trial.views["shiny"][:, 0], np.array(kept)[items])


def test_rankers_that_are_trained_apart_have_items_of_their_own(shoes, store, protocol):
    apart = replace(protocol, apart=True)
    keep_initial(store, "shoes", "open", 0, apart)
    trained = {
        (one.apart, target): set(split_of(Cell("", "shoes", target, 0), one).train.index.tolist())
        for one in (protocol, apart)
        for target in ("open", "shiny")
    }
    assert trained[False, "open"] == trained[False, "shiny"]
    assert trained[True, "open"] != trained[True, "shiny"]
    trial = make_trial("shoes", "open", 0, store, apart)
    parts = split_of(Cell("", "shoes", "open", 0), apart)
    assert not trained[True, "open"] & set(parts.items.tolist())  # never those that trained the target's own ranker
    kept = store.read(Cell(apart.initial, "shoes", "shiny", 0), initial_settings("shoes", apart))["result"]["scores"]
    np.testing.assert_array_equal(trial.views["shiny"][:, 0], np.array(kept)[parts.items])
    assert apart.initial == "initial-svm-apart"


def test_all_items_can_be_denoised_and_all_but_those_that_validate_judge(shoes, protocol):
    whole = replace(protocol, whole=True)
    parts = split_of(Cell("", "shoes", "open", 0), whole)
    usual = split_of(Cell("", "shoes", "open", 0), protocol)
    assert parts.items.tolist() == list(range(140))
    np.testing.assert_array_equal(parts.train.index, usual.train.index)
    assert sorted([*parts.test.index, *parts.valid.index]) == list(range(140))
    truth = source_of("shoes").truth(dataset_of("shoes"), "open")
    np.testing.assert_array_equal(parts.test.values, truth.values[parts.test.index])


def test_without_stored_predictions_there_is_no_trial(mfeat, store, protocol):
    with pytest.raises(LookupError, match=r"initial-svm mfeat mor, seed 0: f\^I is not in"):
        make_trial("mfeat", "mor", 0, store, protocol)


def test_other_data_have_another_digest(mfeat):
    first = digest_of("mfeat")
    for cached in (dataset_of, digest_of):
        cached.cache_clear()
    write_mfeat(mfeat, seed=1)
    assert digest_of("mfeat") != first


def test_the_better_ranker_on_the_validation_items_makes_the_predictions(mfeat):
    pytest.importorskip("torch")
    cell = Cell("initial", "mfeat", "mor", 0)
    svm, network, both = (
        initial_scores(cell, Protocol(50, 30, rankers)) for rankers in (("svm",), ("network",), ("svm", "network"))
    )
    best = max(svm, network, key=lambda one: one["validation"])
    assert both == best


def test_sources_name_what_the_paper_names():
    assert [source.title for source in SOURCES.values()] == [
        "MFeat", "PubFig", "OSR", "InvDyn", "Shoes", "AwA", "Zap50K", "Zap50K (coarse)",
    ]  # fmt: skip
    with pytest.raises(InputError, match="Did you mean 'pubfig'"):
        source_of("pubfug")


def test_comparisons_are_drawn_between_the_items_that_train(mfeat, store):
    few = Protocol(n_train=50, n_valid=30, rankers=("svm",), n_pairs=40)
    values = np.array([3.0, 1.0, 1.0, 2.0])
    higher, lower = all_pairs(values)
    assert sorted(zip(higher.tolist(), lower.tolist(), strict=True)) == [(0, 1), (0, 2), (0, 3), (3, 1), (3, 2)]
    some = drawn_pairs(values, 3, 0)
    assert len(set(zip(*some, strict=True))) == 3
    assert (values[some[0]] > values[some[1]]).all()
    cell = Cell(few.initial, "mfeat", "fou", 0)
    assert cell.experiment == "initial-svm-40pairs"
    weak = initial_scores(cell, few)["scores"]
    strong = initial_scores(cell, Protocol(n_train=50, n_valid=30, rankers=("svm",)))["scores"]
    assert len(weak) == len(strong)
    assert weak != strong


def test_a_protocol_without_a_number_of_comparisons_is_stored_as_before():
    assert "n_pairs" not in Protocol().settings()
    assert Protocol(n_pairs=200).settings()["n_pairs"] == 200
    assert {"apart", "whole"} & Protocol().settings().keys() == set()
    assert Protocol(apart=True).settings()["apart"] is True


def test_protocols_that_train_alike_share_their_predictions():
    assert WHOLE.initial == SVM_ONLY.initial == "initial-svm"
    assert BY_RANK.initial == APART.initial == "initial-svm-apart"
    assert COMPARISONS.initial == "initial-svm-200pairs"
