"""Forty files as people have them: each is read right, or refused in one sentence that says what to change."""

import warnings

import numpy as np
import pytest

from tests.inputs.messy_files import CASES, CITIES, PRICES, SCORES, text
from tupi.inputs.files import read_inputs, unpacking
from tupi.inputs.problem import make_problem
from tupi.results.outcome import columns_table
from tupi.runtime.errors import InputError


def test_there_are_forty():
    assert len(CASES) >= 40
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_messy_file(tmp_path, monkeypatch, case):
    monkeypatch.setattr(unpacking, "LARGE", 1 << 24)  # so that a small bomb does
    scores = tmp_path / "scores.csv"
    scores.write_bytes(text({"score": SCORES}))
    path = tmp_path / case.name
    path.write_bytes(case.content())
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", UserWarning)
        if case.says:
            with pytest.raises(InputError) as caught:
                read_inputs(scores, {"v": path}, **(case.options or {}))
            assert case.says in str(caught.value)
            assert case.name in str(caught.value)
            assert "\n" not in str(caught.value)
            return
        read = read_inputs(scores, {"v": path}, **(case.options or {}))
        problem = make_problem(read.predictions, read.features)
    assert [case.warns in str(warning.message) for warning in warned] == [True] * bool(case.warns)
    np.testing.assert_array_equal(problem.initial, SCORES)
    found = columns_table(problem.encodings.values()).set_index("column")["kind"].to_dict()
    expected = {column: kind for column, kind in case.kinds.items() if kind != "plain"}
    assert found == expected
    if "price" in case.kinds and "percent" not in case.name:
        check_prices(case, problem)


def check_prices(case, problem):
    """Compare the numbers that methods see with those that were written."""
    (view,) = problem.views
    column = 0
    expected = np.array(PRICES)
    if case.name == "brackets.csv":
        expected = np.where(expected > 2000, -expected, expected)
    if case.name == "twice_mean.csv":
        expected[3] = (expected[3] + 7.5) / 2
    known = view.present.copy()
    if case.name in ("na.csv", "dash.csv", "unknown.csv"):
        known[::4] = False
        assert (problem.encodings["v"].outputs[:2]) == ["price", "price is missing"]
    np.testing.assert_allclose(view.source[known, column], expected[known])


def test_cities_are_read_in_any_encoding(tmp_path):
    for name, encoding in (("a.csv", "utf-8"), ("b.csv", "utf-16"), ("c.csv", "utf-8-sig"), ("d.csv", "cp1252")):
        cities = [city.replace("Łódź", "Málaga") for city in CITIES]
        (tmp_path / "scores.csv").write_bytes(text({"score": SCORES}))
        (tmp_path / name).write_bytes(text({"city": cities}, encoding=encoding))
        read = read_inputs(tmp_path / "scores.csv", {"v": tmp_path / name})
        assert list(read.features["v"]["city"]) == cities
        assert {"a": "UTF-8", "b": "UTF-16", "c": "UTF-8", "d": "Latin-1"}[name[0]] in read.understood[1]
