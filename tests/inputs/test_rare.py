"""Inputs that hardly anybody gives, so that each branch that reads them is taken once."""

from __future__ import annotations

import csv
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import tupi
from tests.conftest import make_problem_arrays
from tupi.inputs import numbers
from tupi.inputs.checked_labels import as_labels
from tupi.inputs.classes import TwoClasses, plain_name
from tupi.inputs.features import table_of_more
from tupi.inputs.files import inputs as files
from tupi.inputs.files import letor, reading
from tupi.inputs.files.text import TextFile
from tupi.inputs.files.unpacking import refusing
from tupi.inputs.groups import Groups
from tupi.inputs.labels import Pairs, Values
from tupi.inputs.new_items import grown_problem
from tupi.inputs.numbers import as_float, as_numbers, in_library
from tupi.inputs.sources import MappedRows, as_source
from tupi.inputs.tables import parsing
from tupi.inputs.tables.cells import Cells
from tupi.inputs.tables.parsing import date_format
from tupi.judging.metrics import pairwise_accuracy
from tupi.judging.ndcg import ndcg_of_groups
from tupi.runtime.errors import InputError


def test_names_of_classes_and_values_that_are_times() -> None:
    with pytest.raises(InputError, match="labels: found"):
        TwoClasses()(np.array(["2020-01-01"], "M8[D]"))
    assert [plain_name(one) for one in (2.0, "2", 2.5, "a", None)] == [2, 2, "2.5", "a", "None"]


def test_whole_numbers_beyond_floats() -> None:
    with pytest.raises(InputError, match="x: found a whole number beyond"):
        as_float("x", 10**400)
    with pytest.raises(InputError, match="x: found a sparse matrix"):
        as_numbers("x", sparse.eye_array(2))
    assert as_numbers("x", pd.array([1, 2], "Int64")).tolist() == [1, 2]


def test_pairs_of_ids_that_do_not_pair_up() -> None:
    index = pd.Index(["a", "b", "c"])
    with pytest.raises(InputError, match="labels: found 2 higher and 1 lower items"):
        as_labels(Pairs(["a", "b"], ["c"]), 3, index)


def test_groups_are_counted() -> None:
    assert Groups(np.array([0, 1, 1]), np.array(["x", "y", "y"])).n == 2


def test_scores_without_truth_and_no_scores_at_all() -> None:
    with pytest.raises(InputError, match="truth: found None"):
        pairwise_accuracy([1.0, 2.0], None)
    assert len(ndcg_of_groups(np.empty(0), np.empty(0), np.empty(0, np.int64))) == 0


def test_tables_for_the_library_that_they_came_from() -> None:
    frame = pd.DataFrame({"a": [1, 2]}, index=pd.Index(["x", "y"]))
    assert in_library(frame, "pandas") is frame
    assert in_library(frame, "polars")["id"].to_list() == ["x", "y"]


def test_cells_of_time_spans_complex_numbers_and_infinities() -> None:
    spans = Cells.of("column a", pd.Series(pd.to_timedelta([1, None], unit="s")))
    assert (spans.form, spans.values[0], spans.gaps.tolist()) == ("numbers", 1.0, [False, True])
    with pytest.raises(InputError, match="complex numbers"):
        Cells.of("column a", pd.Series([1j, 2j]))
    days = Cells.of("column a", pd.Series([date(2020, 1, 1), None], dtype=object))
    assert (days.form, days.gaps.tolist()) == ("times", [False, True])
    with pytest.raises(InputError, match="infinite at row 1"):
        Cells.of("column a", pd.Series([0.0, np.inf]))


def test_dates_of_which_most_are_none() -> None:
    many = np.array(["32/13/2020"] * (3 * parsing.SAMPLE), object)
    many[np.linspace(0, len(many) - 1, parsing.SAMPLE).astype(int)] = "2020-01-01"  # those that are tried first
    assert date_format(many.tolist()) is None
    assert date_format(["2020-01-01"] * 2 + ["32/13/2020"] * 9) is None


def test_numbers_for_a_view_whose_columns_were_encoded() -> None:
    table = table_of_more("view a", np.array([[1.0, 2.0]]))
    assert list(table.columns) == ["column 0", "column 1"]


def test_rows_of_a_file_backwards_and_a_file_that_is_cut_short(tmp_path: Path) -> None:
    path, rows = tmp_path / "a.npy", np.arange(12.0).reshape(6, 2)
    np.save(path, rows)
    source = as_source("features", np.load(path, mmap_mode="r"))
    np.testing.assert_array_equal(source[::-2], rows[::-2])
    np.testing.assert_array_equal(MappedRows(rows)._read(1, 3), rows[1:3])
    opened = as_source("features", path)
    np.testing.assert_array_equal(opened[::-2], rows[::-2])
    path.write_bytes(path.read_bytes()[:-16])
    with pytest.raises(InputError, match="is shorter than its header says"):
        opened[:]


def test_chunks_that_are_no_tables() -> None:
    scores = make_problem_arrays()[1]
    with pytest.raises(InputError, match=r"chunk 0: found shape \(2, 2, 2\)"):
        tupi.denoise(scores, {"a": iter([np.zeros((2, 2, 2))])})
    spooled = as_source("features", iter([np.arange(3.0), np.arange(2.0)]))
    assert spooled[:].tolist() == [[0], [1], [2], [0], [1]]


def test_files_asked_for_in_the_wrong_way(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(3.0))
    (tmp_path / "a.csv").write_text("a\n1\n")
    with pytest.raises(InputError, match="holds arrays; accepted: a table"):
        reading.read(tmp_path / "a.npy")
    with pytest.raises(InputError, match="is a table; accepted: arrays"):
        reading.read_arrays(tmp_path / "a.csv")
    with pytest.raises(InputError, match="duplicates: found 'all'"):
        files.read_inputs(str(tmp_path / "a.npy"), {"a": str(tmp_path / "a.npy")}, duplicates="all")
    with pytest.raises(InputError, match="--group: the predictions and features are arrays"):
        files.read_inputs(str(tmp_path / "a.npy"), {"a": str(tmp_path / "a.npy")}, group="query")


def test_names_that_differ_by_blanks_alone(tmp_path: Path) -> None:
    pd.DataFrame({"a": [1], " a": [2]}).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(InputError, match="column 'a' occurs more than once"):
        reading.read(tmp_path / "a.parquet")


def test_lazy_tables_stay_as_they_are() -> None:
    dataframe = pytest.importorskip("dask.dataframe")
    lazy = dataframe.from_pandas(pd.DataFrame({"a": [1, 2]}), npartitions=1)
    assert numbers._narwhals(lazy) is lazy


def test_more_items_need_views_in_memory() -> None:
    in_file = SimpleNamespace(index=None, views=[SimpleNamespace(on_disk=True)])
    with pytest.raises(InputError, match="features: found a view in a file"):
        grown_problem(in_file, SimpleNamespace(index=None, views=[]), keep=True)


def test_excel_without_its_reader_or_with_unnamed_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.xlsx"
    pd.DataFrame([[1, 2, 3]]).to_excel(path, header=["a", "", "c"], index=False)
    with pytest.raises(InputError, match="column 2 of sheet 'Sheet1' has no name"):
        reading.read(path)

    def missing(*_: Any, **__: Any) -> None:
        raise ImportError

    monkeypatch.setattr(pd, "ExcelFile", missing)
    with pytest.raises(InputError, match="openpyxl"):
        reading.read(path)


def test_whole_numbers_with_gaps_as_text() -> None:
    assert reading.as_text(pd.Series([1.0, np.nan, 3.0])).tolist() == ["1", "", "3"]
    assert reading.as_text(pd.Series([1.5, np.nan])).tolist() == ["1.5", ""]


def test_a_letor_file_with_a_feature_of_a_huge_number(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("1 qid:1 0:3 1:2\n0 qid:1 0:1 1:5\n")
    assert list(letor.read_letor(path).columns) == ["relevance", "qid", "0", "1"]
    path.write_text("1 qid:1 99999999999:3\n")
    with pytest.raises(InputError, match="has a feature of number 99999999999"):
        letor.read_letor(path)


def test_text_of_odd_shapes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt"
    path.write_text("a b\n1 2\n3\n")
    assert TextFile.of(path).separator in (",", "\t", ";", "|", " ")
    path.write_text("a,b\n" + "1,2\n" * 40_000)  # of which the beginning is enough to tell
    assert TextFile.of(path).separator == ","
    longest = csv.field_size_limit(3)  # a field may be longer than csv reads
    try:
        path.write_text("a,b\n1234567,2\n")
        assert TextFile.of(path).separator == ","
    finally:
        csv.field_size_limit(longest)

    def too_large(*_: Any, **__: Any) -> None:
        raise InputError("a.txt: unpacks to too much.")

    monkeypatch.setattr(pd, "read_csv", too_large)
    with pytest.raises(InputError, match="unpacks to too much"):
        reading.read(path)


def test_a_file_that_says_that_it_is_huge() -> None:
    with (
        pytest.raises(InputError, match="says that it holds more"),
        refusing("a.npy", "x"),
    ):
        raise MemoryError


def test_predictions_of_new_items_in_other_columns_than_before() -> None:
    truth, scores, views = make_problem_arrays()
    chance = 1 / (1 + np.exp(-scores))
    two = tupi.denoise(chance, views, task="classification")
    later = {name: values[:3] for name, values in views.items()}
    with pytest.raises(InputError, match="predictions: found one for each class; accepted: one column"):
        two.predict(np.full((3, 2), 0.5), later)
    assert len(two.predict(chance[:3], later)) == 3
    three = tupi.denoise(np.column_stack([chance, 1 - chance, chance**2]), views, task="classification")
    with pytest.raises(InputError, match="predictions: found 4 columns; accepted: 3"):
        three.predict(np.full((3, 4), 0.25), later)
    # Labels of two classes that come later name the classes.
    named = two.update(labels=Values(np.arange(20), np.where(truth[:20] > 0, "yes", "no")))
    assert len(named.predictions) == len(scores)


def test_columns_of_one_name_as_text() -> None:
    table = pd.DataFrame([["a", "b"]] * 20, columns=[1, "1"])
    with pytest.raises(InputError, match="two columns have the same name as text"):
        tupi.denoise(np.arange(20.0), {"a": table})
