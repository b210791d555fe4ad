"""The experiments themselves, on small data and with few settings."""

import itertools
import re

import numpy as np
import pytest

from tupi.inputs.labels import Values
from tupi.methods.coconut import Coconut
from tupi.methods.kim import Kim
from tupi.methods.tupi import Tupi, TupiJoint
from tupi.research.experiments import paper
from tupi.research.experiments.accuracy import Accuracy
from tupi.research.experiments.combination import Combination
from tupi.research.experiments.experiment import accuracies
from tupi.research.experiments.protocol import Trial
from tupi.research.experiments.readings import Readings, TupiWithGrid
from tupi.research.experiments.scaling import Scaling
from tupi.research.experiments.significance import Significance, in_common, published_signs
from tupi.research.experiments.store import Cell
from tupi.research.experiments.surface import Surface
from tupi.research.experiments.t_tests import sign_of_difference
from tupi.research.experiments.table1 import Table1, checks, counts
from tupi.research.experiments.table2 import Table2
from tupi.research.experiments.unlabelled import BEFORE, FOUND_ON, Unlabelled

FEW = Tupi(lam=0.4, sigma_w2=0.1, n_iter=3, rank=20)


def test_table1_makes_the_paper_s_variants(trial):
    variants = Table1().variants(trial)
    assert list(variants) == ["O", "R", "S1", "S3", "G1", "G2", "G3"]
    assert set(variants["R"]) == {"a", "b", "c"} | {f"random {k}" for k in range(10)}
    assert all(2 <= variants["R"][f"random {k}"].shape[1] <= 20 for k in range(10))
    assert [len(variants[name]) for name in ("S1", "S3")] == [1, 3]
    scaled = (trial.truth - trial.truth.min()) / np.ptp(trial.truth)
    for name, deviation in (("G1", 1.0), ("G2", 0.2)):
        noise = variants[name]["truth"][:, 0] - scaled
        assert noise.std() == pytest.approx(deviation, rel=0.2)
        assert noise.mean() == pytest.approx(0.0, abs=0.3 * deviation)
    np.testing.assert_allclose(variants["G3"]["truth"][:, 0], scaled)


def test_table1_draws_by_seed(trial):
    first, again = (Table1().variants(trial) for _ in range(2))
    np.testing.assert_array_equal(first["G1"]["truth"], again["G1"]["truth"])


def test_table1_with_the_truth_as_view_ranks_best(trial):
    accuracy = Table1(method=FEW, default=Coconut(lam=1.0, n_neighbors=5), n_random=2).run(trial)["accuracy"]
    assert set(accuracy) == {*paper.TABLE1_COLUMNS, "auto"}
    assert max(accuracy, key=accuracy.get) == "G3"
    assert accuracy["O"] > accuracy["I"]


def record(target, seed, **accuracy):
    cell = {"dataset": "mfeat", "target": target, "seed": seed}
    return {"cell": cell, "result": {"accuracy": accuracy}, "seconds": 1.0}


def paper_table(**changes):
    rows = []
    for view, values in paper.TABLE1.items():
        rows.append(record(view, 0, **(dict(zip(paper.TABLE1_COLUMNS, values, strict=True)) | changes)))
    return accuracies(rows)


def test_checks_of_table1_can_pass_and_fail():
    assert all(line.startswith("- **yes**") for line in checks(paper_table(S3=78.0)))
    wrong = {"I": 73.2, "O": 70.0, "R": 75.0, "S1": 80.0, "S3": 79.0, "G2": 86.9, "G3": 98.9}
    assert all(line.startswith("- **no**") for line in checks(paper_table(**wrong)))


def test_better_predictions_with_a_smaller_gain_do_not_pass_for_the_paper_s_gain():
    gain, initial, *others = checks(paper_table(I=90.0, O=91.0))
    assert gain.startswith("- **no**: the gain")
    assert not any("f^O is at least the paper's" in line for line in others)  # f^I alone is above the paper's f^O
    assert initial.startswith("- **no**: f^I is within one point of the paper's on every row: 0 of 6")


def test_table1_counts_rows_that_are_improved_and_degraded():
    found = accuracies([record(view, 0, I=80.0, O=80.0 + k, auto=80.5) for k, view in enumerate(paper.TABLE1, -1)])
    assert counts(found).splitlines() == [
        "- `tupi` improves f^I on 4 of 6 rows and degrades it on 1.",
        "- `auto` improves f^I on 6 of 6 rows and degrades it on 0.",
    ]


def test_table1_shows_ours_the_paper_s_and_the_difference(tmp_path):
    rows = [record("fou", seed, auto=81.0, **dict.fromkeys(paper.TABLE1_COLUMNS, 80.0 + seed)) for seed in (0, 2)]
    text = Table1().section(rows, tmp_path)
    assert "| **fou (F2)** | 81.00 (1.41) |" in text
    assert "| paper | 79.28 (1.23) | 81.45 (1.69) |" in text
    assert "| difference | +1.72 | -0.45 |" in text


def test_table2_copies_hold_the_published_weights_back_and_not_the_discounted(trial):
    few = {"lam": 0.4, "n_iter": 3, "rank": 20}
    wide, discount = Tupi(sigma_w2=3.0, **few), Tupi(sigma_w2=0.1, discount=True, **few)
    options = (("published", FEW), ("wide", wide), ("discount", discount))
    accuracy = Table2(methods=options, copies=(1, 5)).run(trial)["accuracy"]
    assert "discount 1" not in accuracy  # with the most copies and without any is enough
    gain = {key: value - accuracy["I"] for key, value in accuracy.items()}
    assert gain["published 0"] > 1.0 > gain["published 1"] >= gain["published 5"]
    assert gain["wide 0"] >= gain["wide 1"] > gain["published 1"]
    assert gain["discount 5"] == pytest.approx(gain["discount 0"], abs=0.3)
    assert gain["discount 5"] > 1.0


def test_table2_one_copy_does_not_take_all_of_the_gain(trial):
    """A grid of sigma_w2 that ended at 0.3 lost nearly all of it, and the paper's decline is gradual."""
    accuracy = Table2(methods=(("published", Tupi(rank=20)),), copies=(1, 7)).run(trial)["accuracy"]
    none, one, seven = (accuracy[f"published {k}"] - accuracy["I"] for k in (0, 1, 7))
    assert none >= one > seven
    assert one > 0.5 * none > 0.5


def test_table2_checks_can_fail():
    columns = {f"{name} {k}": 80.0 for name in ("published", "discount") for k in (0, *paper.COPIES)}
    found = accuracies([record("fou", 0, I=78.0, **(columns | {"discount 11": 79.0}))])
    assert [line[:8] for line in Table2().checks(found)] == ["- **no**", "- **no**"]


def test_accuracy_leaves_out_what_does_not_apply(trial):
    result = Accuracy(methods=(("kim", Kim()), ("coconut", Coconut()), ("tupi", FEW))).run(trial)
    assert set(result["accuracy"]) == {"initial", "coconut", "tupi"}
    assert "'a' has 3 columns" in result["left_out"]["kim"]


def test_significance_reads_the_cells_of_the_figures():
    assert Significance().label == Accuracy().label
    assert Significance().methods == Accuracy().methods


@pytest.mark.parametrize(
    ("differences", "sign"),
    [
        ([1.0, 1.2, 0.9], 1),
        ([-1.0, -1.2, -0.9], -1),
        ([1.0, -1.2, 0.9], 0),
        ([0.0, 0.0], 0),
        ([2.0, 2.0], 1),
        ([3.0], 0),
    ],
)
def test_signs_of_differences(differences, sign):
    assert sign_of_difference(differences) == sign


def test_the_t_test_is_the_formula():
    rng = np.random.default_rng(0)
    for _ in range(50):
        x = rng.normal(0.6, 1.0, size=10)
        t = x.mean() / (x.std(ddof=1) / np.sqrt(10))
        assert (sign_of_difference(x) != 0) == (abs(t) > 2.262157)  # the 97.5% point of t with 9 degrees
        for t, sign in ((2.25, 0), (2.27, 1), (-2.27, -1)):
            assert sign_of_difference((x - x.mean()) / x.std(ddof=1) + t / np.sqrt(10)) == sign


def test_published_signs_are_complete_and_give_the_paper_s_percentages():
    sizes = {"pubfig": 11, "sarcos": 7, "awa": 1, "shoes": 10, "osr": 6, "zap50k": 4}
    assert {name: len(rows) for name, rows in paper.SIGNIFICANCE.items()} == sizes
    columns = list(zip(*(row for rows in paper.SIGNIFICANCE.values() for row in rows), strict=True))
    shares = {}
    for pair, signs in zip(paper.DIFFERENCES, columns, strict=True):
        given = [sign for sign in signs if sign != "."]
        shares[pair] = [round(100 * given.count(sign) / len(given), 2) for sign in "+-"]
    assert shares["tupi", "initial"] == [87.18, 0.0]
    assert shares["tupi", "kim"] == [62.96, 0.0]
    assert shares["tupi", "graph-ssl"] == [66.67, 33.33]
    assert shares["tupi", "coconut"] == [64.1, 2.56]


def test_surface_and_path(trial):
    surface = Surface(method=Tupi(rank=20), log_lam=(-1.0, 0.0), log_sigma_w2=(-1.0,), along=((0.1, 0.3),), n_iter=4)
    result = surface.run(trial)
    assert np.shape(result["chosen"]) == np.shape(result["fixed"]) == (2, 1)
    assert np.shape(result["along"]) == (1, 5)
    assert result["along"][0][0] == pytest.approx(0.0, abs=1e-9)


def test_what_a_person_can_find_without_labels_loses_on_no_dataset():
    surface = Surface(log_lam=(-2.0, -1.0, 0.0), log_sigma_w2=(0.0, 1.0))
    one = np.array([[0.1, 0.2], [1.0, 0.5], [9.0, 9.0]])
    other = np.array([[0.1, 0.0], [-0.1, 0.4], [-1.0, -1.0]])
    said = surface.by_eye([np.array([one - 0.1, one, one + 0.1]), np.array([other] * 3)])
    assert said.startswith("Without labels, 3 of 6 settings with T = 4 lose on no dataset, none of them with lam above")
    assert "lam = 10^-1 and sigma_w2 = 10^1, gains +0.50 (0.10), +0.40 (0.00) points" in said
    assert surface.by_eye([one[None], -one[None]]) == "Without labels, 0 of 6 settings with T = 4 lose on no dataset."


def test_surface_is_about_the_paper_s_attributes(shoes, protocol):
    (cell,) = Surface(protocol).cells(["shoes"], [0])
    assert cell.target == "shiny"


def test_combination_is_about_pubfig():
    assert Combination().datasets == ("pubfig",)
    assert [name for name, _ in Combination().methods] == ["coconut", "tupi", "tupi+coconut", "select"]


def test_scaling_times_each_engine(store):
    scaling = Scaling(sizes=(("fused", (300,)), ("exact", (300,))), n_views=2, n_columns=3)
    cells = scaling.cells([], [])
    assert cells == [Cell(scaling.label, "synthetic", "fused 300", 0), Cell(scaling.label, "synthetic", "exact 300", 0)]
    for cell in cells:
        result = scaling.compute(cell, store)
        assert (result["n"], result["engine"]) == (300, cell.target.split()[0])
        for times in (result["embed"], result["step"]):
            assert len(times) == scaling.repeats > 1
            assert min(times) > 0


def test_times_are_shown_with_their_spread_beside_the_paper_s(tmp_path):
    result = {"n": 50_000, "engine": "fused", "embed": [1.0, 2.0, 3.0], "step": [0.1, 0.1, 0.1], "load": 1.0}
    text = Scaling().section([{"result": result}], tmp_path)
    assert "| 50,000 | fused | 2.00 (1.00) | 100.00 (0.00) | 3.00 (1.00) |" in text
    assert "| 50,000 | **paper** |  |  | about 1 |" in text
    assert "mean of 3 measurements" in text


def test_signs_are_compared_as_distributions_and_not_row_by_row():
    assert published_signs("osr", ("tupi", "coconut")) == ["0", "+", "+", "+", "+", "+"]
    assert published_signs("osr", ("tupi-joint", "initial")) == []
    theirs = list("+++00-")
    assert in_common([1, 1, 1, 0, 0, -1], theirs) == in_common([-1, 0, 1, 0, 1, 1], theirs) == 6  # in any order
    assert in_common([1] * 6, theirs) == 3
    assert in_common([0, 0, 0, -1, -1, -1], theirs) == 3


def test_another_grid_is_what_labels_choose_from(trial):
    method = TupiWithGrid(lams=(0.1, 0.4), widths=(0.02,), rank=20)
    assert [(one.lam, one.sigma_w2, one.n_iter) for one in method.settings(True)] == [(0.1, 0.02, 50), (0.4, 0.02, 50)]
    chosen = trial.judge(method, trial.prepared())["chosen"]
    assert chosen["sigma_w2"] == 0.02


ALL, NONE = "100% (100% to 100%)", "0% (0% to 0%)"  # whichever seed is left out


def test_readings_show_each_beside_the_paper_s(trial, tmp_path):
    few = Readings(
        methods=(("first", FEW), ("second", Tupi(lam=0.4, sigma_w2=0.1, n_iter=3, rank=10))),
        coconuts=(("tuned", Coconut(lam=3.0, n_neighbors=5)), ("weak", Coconut(lam=0.01, n_neighbors=5))),
    )
    accuracy = few.run(trial)["accuracy"]
    assert set(accuracy) == {"initial", "first", "second", "coconut tuned", "coconut weak"}
    rows = []
    for target in "abcdef":  # better than f^I everywhere, worse than the tuned CoConut, better than the weak one
        for seed in range(3):
            values = {"initial": 80.0, "first": 81.0, "second": 80.0, "coconut tuned": 82.0, "coconut weak": 80.5}
            values = {name: value + 0.01 * seed * (name != "initial") for name, value in values.items()}
            cell = {"dataset": "osr", "target": target, "seed": seed}
            rows.append({"cell": cell, "result": {"accuracy": values}})
    text = few.section(rows, tmp_path)
    # of the paper's signs (6 better than f^I, CoConut 1, 5 better than CoConut): 6 + 1 + 0, and 6 + 1 + 5
    assert f"| first | tuned | +1.01 (0.01) | {ALL} | {ALL} | {NONE} | {ALL} | 7 of 18 |" in text
    assert f"| first | weak | +1.01 (0.01) | {ALL} | {ALL} | {ALL} | {NONE} | 12 of 18 |" in text
    assert "| **paper** |  |  | 100% | 17% | 83% | 0% |  |" in text


GRID = {"lams": (0.1, 0.3), "widths": (0.1, 10.0), "steps": (1, 3)}


def test_without_labels_no_label_is_used(trial):
    few = Unlabelled(chosen=(("`tupi`", Tupi(rank=20)), ("`tupi-joint`", TupiJoint(rank=20))), **GRID)
    accuracy = few.run(trial)["accuracy"]
    other = Trial(trial.initial, trial.views, Values([0, 1], [1.0, 0.0]), trial.judging, trial.truth, trial.seed)
    assert few.run(other)["accuracy"] == accuracy
    assert accuracy["`tupi`"] > accuracy["initial"]
    assert sum(name.startswith("`tupi` lam") for name in accuracy) == 2 * 2 * 2
    assert sum(name.startswith("`tupi-joint` lam") for name in accuracy) == 2 * 2
    for name, method in (
        ("`tupi` lam=0.3, sigma_w2=0.1, T=3", Tupi(rank=20, lam=0.3, sigma_w2=0.1, n_iter=3)),
        ("`tupi-joint` lam=0.1, T=1", TupiJoint(rank=20, lam=0.1, n_iter=1)),
    ):
        alone = trial.judge(method, trial.prepared(trial.views), labelled=False)["accuracy"]
        assert accuracy[name] == pytest.approx(alone, abs=1e-9)


def test_of_a_single_view_sigma_w2_does_not_matter(trial):
    name, view = next(iter(trial.views.items()))
    single = Trial(trial.initial, {name: view}, trial.labels, trial.judging, trial.truth, trial.seed)
    accuracy = Unlabelled(chosen=(("`tupi`", Tupi(rank=20)),), **GRID).run(single)["accuracy"]
    for lam, t in itertools.product((0.1, 0.3), (1, 3)):
        one, other = (f"`tupi` lam={lam:g}, sigma_w2={width:g}, T={t}" for width in (0.1, 10.0))
        assert accuracy[one] == accuracy[other]
        alone = Tupi(rank=20, lam=lam, sigma_w2=0.1, n_iter=t)
        assert accuracy[one] == trial.accuracy(alone.fit(p := single.prepared(), None).predictions(p))


def without_labels(dataset, seeds, target="fou", **gains):
    return [
        {
            "cell": {"dataset": dataset, "target": target, "seed": seed},
            "result": {
                "accuracy": {"initial": 80.0} | {f"`tupi`{name}": 80.0 + gain for name, gain in gains[dataset].items()}
            },
        }
        for seed in seeds
    ]


def test_without_labels_the_page_says_whom_it_harms_and_whom_it_beats(tmp_path):
    gains = {
        "mfeat": {"": 2.0, " a": 3.0, " b": 1.0, " c": 0.5, f" {BEFORE[0]}": 1.5},
        "osr": {"": 0.5, " a": -1.0, " b": 0.25, " c": 0.75, f" {BEFORE[0]}": -2.0},
    }
    rows = [one for data in gains for one in without_labels(data, (4, 5, 6), **gains)]
    text = Unlabelled(chosen=(("`tupi`", Tupi()),)).section(rows, tmp_path)
    assert "What follows is of seeds 4, 5 and 6." in text
    shown = dict(re.findall(r"^\| (.+?) \| ([+-]\d.+) \|$", text.replace("(0.00) ", ""), flags=re.M))
    counts = {k: f"{k} ({k} to {k})" for k in range(3)}
    none, one, two = counts.values()
    each = "each dataset, picked by the truth"
    assert shown == {  # gains, their mean, better and worse than f^I, and the rule better and worse than it
        "**`tupi`**, by its rule": f"+2.00 | +0.50 | +1.25 | {two} | {none} |  | ",
        f"the default before the rule: {BEFORE[0]}": f"+1.50 | -2.00 | -0.25 | {one} | {one} | {two} | {none}",
        "best single fixed setting: a": f"+3.00 | -1.00 | +1.00 | {one} | {one} | {one} | {one}",
        "best single one that loses on no dataset: b": f"+1.00 | +0.25 | +0.62 | {two} | {none} | {two} | {none}",
        f"best fixed setting of {each}": f"+3.00 | +0.75 | +1.88 | {two} | {none} | {none} | {two}",
    }
    assert "Picked by the truth: MFeat a; OSR c." in text
    assert "- 4 fixed settings were tried, and 2 of them lose on no dataset." in text
    assert "- **yes**: `tupi` is significantly worse than f^I on no target: 0 of 2." in text
    assert "- **yes**: `tupi` gains more than each single fixed setting, on average over datasets: +0.25 (0.00)" in text
    assert (
        "- **no**: `tupi` gains at least as much on every dataset as each fixed setting that loses on none: 1 of 2"
        in text
    )
    assert "best there by the truth: margins MFeat -1.00 (0.00), OSR -0.25 (0.00)." in text


def test_the_rule_is_judged_on_seeds_on_which_it_was_not_found(mfeat, protocol):
    few = Unlabelled(protocol)
    assert {cell.seed for cell in few.cells(["mfeat"], range(10))} == set(range(10)) - set(FOUND_ON)
    assert {cell.seed for cell in few.cells(["mfeat"], [0, 1])} == {0, 1}  # better than none


def test_without_labels_harm_is_named(tmp_path):
    gains = {"mfeat": {"": 2.0, " a": -1.0}, "osr": {"": -0.5, " a": -1.0}}
    rows = [one for data in gains for one in without_labels(data, (4, 5, 6), **gains)]
    text = Unlabelled(chosen=(("`tupi`", Tupi()),)).section(rows, tmp_path)
    assert "- **no**: `tupi` loses on no dataset: -0.50 at least." in text
    assert "- The worst single run of `tupi` changes the accuracy by -0.50 points (OSR fou, seed 4), and" in text
    assert "picked by the truth by -1.00 points (MFeat fou, seed 4)." in text
    assert "- **no**: `tupi` is significantly worse than f^I on no target: 1 of 2, OSR fou." in text
    assert "0 of them lose on no dataset" in text
    assert "as each fixed setting that loses on none" not in text  # no empty "yes"


def test_shares_are_of_the_targets_for_which_the_paper_has_the_comparison(tmp_path):
    """It has t-tests of `retrain` on InvDyn and none on OSR."""
    rows = [
        {
            "cell": {"dataset": dataset, "target": f"t{k}", "seed": seed},
            "result": {"accuracy": {"initial": 80.0, "retrain": 80.0 + gain + 0.01 * seed, "tupi": 81.0}},
        }
        for dataset, n, gain in (("osr", 6, 2.0), ("sarcos", 7, -2.0))
        for k in range(n)
        for seed in range(3)
    ]
    text = Significance().section(rows, tmp_path)
    assert f"| `retrain` against f^I | 7 | -1.99 (0.01) | {NONE} | {ALL} | 14% | 71% | 5 of 7 |" in text
    assert f"| `tupi` against f^I | 13 | +1.00 (0.00) | {ALL} | {NONE} | 77% | 0% | 10 of 13 |" in text
    assert (
        "- `tupi` improves f^I on 13 of 13 (13 to 13) targets and degrades it on 0 (0 to 0); significantly on" in text
    )
