"""Columns of any kind: what each becomes, the same for any order of rows, for new items and through JSON."""

from datetime import date, time
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tupi
from tests.conftest import make_problem_arrays
from tupi.inputs.problem import make_problem
from tupi.inputs.tables import Encoding
from tupi.inputs.tables.parsing import date_format, decimal_mark, number
from tupi.results.outcome import columns_table

N = 120
TRUTH, SCORES, VIEWS = make_problem_arrays(N)
QUICK = {"method": "tupi", "n_iter": 2}
WORDS = ["quiet", "bright", "old", "new", "flat", "house", "garden", "lake", "town", "centre", "view", "station"]


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    days = pd.date_range("2020-01-01", periods=N, freq="11D")
    return pd.DataFrame(
        {
            "price": [f"${value:,.2f}" for value in 1000 * np.exp(TRUTH)],
            "share": [f"{value:.1f}%" for value in 50 + 10 * TRUTH],
            "comma": [f"{value:.2f}".replace(".", ",") for value in TRUTH],
            "plain": rng.normal(size=N),
            "gaps": np.where(np.arange(N) % 3 == 0, "unknown", rng.normal(size=N).round(3).astype(str)),
            "flag": np.where(TRUTH > 0, "yes", "no"),
            "truth": TRUTH > 0,
            "city": rng.choice(["Bern", "Basel", "Chur"], N),
            "agent": [f"agent {k}" for k in rng.integers(0, 50, N)],
            "title": [" ".join(rng.choice(WORDS, 3)) for _ in range(N)],
            "day": days.strftime("%d.%m.%Y"),
            "stamp": days,
            "clock": [f"{k % 24:02d}:{k % 60:02d}" for k in range(N)],
            "code": [f"X-{k * 7919 % 100003}" for k in range(N)],
            "row": rng.permutation(N) + 1,
            "customer_id": rng.permutation(10**6)[:N],
            "unit": ["EUR"] * N,
            "nothing": [None] * N,
        }
    )


EXPECTED = {
    "price": "number",
    "share": "number",
    "comma": "number",
    "plain": "number",
    "gaps": "number",
    "flag": "boolean",
    "truth": "boolean",
    "city": "category",
    "agent": "category",
    "title": "text",
    "day": "date",
    "stamp": "date",
    "clock": "date",
    "code": "id",
    "row": "id",
    "customer_id": "id",
    "unit": "constant",
    "nothing": "constant",
}


def test_each_column_is_taken_for_what_it_is(table):
    encoding = Encoding.fit(table)
    listed = columns_table([encoding]).set_index("column")
    assert listed["kind"].to_dict() == EXPECTED
    dropped = listed.index[listed["became"] == "dropped"]
    assert list(dropped) == ["code", "row", "customer_id", "unit", "nothing"]
    assert listed.loc["gaps", "became"] == "2 columns: number, is missing"
    matrix = pd.DataFrame(encoding.transform(table), columns=encoding.outputs)
    np.testing.assert_allclose(matrix["price"], (1000 * np.exp(TRUTH)).round(2), atol=0.005)
    np.testing.assert_allclose(matrix["comma"], TRUTH, atol=0.0051)
    np.testing.assert_allclose(matrix["share"], (50 + 10 * TRUTH) / 100, atol=0.00051)
    np.testing.assert_array_equal(matrix["gaps is missing"], np.arange(N) % 3 == 0)
    np.testing.assert_array_equal(matrix["city = Bern"], table["city"] == "Bern")
    np.testing.assert_array_equal(matrix["flag"], TRUTH > 0)
    np.testing.assert_array_equal(matrix["day days"], matrix["stamp days"])
    assert np.isfinite(matrix).all(axis=None)
    assert matrix.shape[1] < 60


def test_dates_lie_on_circles():
    days = pd.DataFrame({"day": pd.date_range("2023-12-31", periods=800, freq="D")})
    encoding = Encoding.fit(days)
    found = pd.DataFrame(encoding.transform(days), columns=encoding.outputs)
    assert list(found["day days"].diff()[1:].unique()) == [1.0]
    assert list(found["day year"].unique()) == [2023, 2024, 2025, 2026]
    circle = found[["day season (sine)", "day season (cosine)"]].to_numpy()
    assert np.linalg.norm(np.diff(circle, axis=0), axis=1).max() < 0.03  # no jump at New Year
    week = found[["day weekday (sine)", "day weekday (cosine)"]].to_numpy()
    np.testing.assert_allclose(week[7:], week[:-7])
    assert len(np.unique(week[:7].round(6), axis=0)) == 7


def test_the_order_of_rows_does_not_matter(table):
    order = np.random.default_rng(1).permutation(N)
    encoding, shuffled = Encoding.fit(table), Encoding.fit(table.iloc[order])
    assert encoding.to_json() == shuffled.to_json()
    np.testing.assert_array_equal(shuffled.transform(table.iloc[order]), encoding.transform(table)[order])


def test_json_gives_the_same_numbers(table):
    encoding = Encoding.fit(table, "shop")
    back = Encoding.from_json(encoding.to_json())
    assert back.view == "shop"
    np.testing.assert_array_equal(back.transform(table), encoding.transform(table))
    pd.testing.assert_frame_equal(columns_table([back]), columns_table([encoding]))
    for damaged in ("", "{}", '{"format": 99}', encoding.to_json()[:-9]):
        with pytest.raises(tupi.InputError, match="encoding: "):
            Encoding.from_json(damaged)


def test_new_items_are_encoded_as_before(table):
    encoding = Encoding.fit(table)
    new = table.iloc[:3].assign(city=["Bern", "Atlantis", None], price=["oops", "$5.00", 7.0], extra=1)
    found = pd.DataFrame(encoding.transform(new), columns=encoding.outputs)
    assert found["city = Bern"].tolist() == [1.0, 0.0, 0.0]
    assert found.filter(like="city = ").sum(axis=1).tolist() == [1.0, 0.0, 0.0]
    assert found["price"].tolist() == [pytest.approx(np.median((1000 * np.exp(TRUTH)).round(2)), abs=0.01), 5.0, 7.0]
    with pytest.raises(tupi.InputError, match="has no column 'price'"):
        encoding.transform(table.drop(columns="price"))


def test_a_row_without_any_value_is_missing():
    table = pd.DataFrame({"a": ["x", "y", None] * 10, "b": [1.0, 2.0, None] * 10})
    found = Encoding.fit(table).transform(table)
    np.testing.assert_array_equal(np.isnan(found).all(axis=1), [False, False, True] * 10)
    assert not np.isnan(found[0]).any()


@pytest.mark.parametrize(
    ("text", "point", "comma"),
    [
        ("$3.20", 3.2, None),
        ("54%", 0.54, 0.54),
        ("1,234.50", 1234.5, None),
        ("1.234,50 €", None, 1234.5),
        ("(3.20)", -3.2, None),
        ("-$5", -5.0, -5.0),
        ("12 345", 12345.0, 12345.0),
        ("1'234", 1234.0, 1234.0),
        ("0,731", None, 0.731),
        ("1,234", 1234.0, 1.234),
        ("−4", -4.0, -4.0),  # noqa: RUF001
        ("1e5", 1e5, 1e5),
        ("12-3", None, None),
        ("1,2,3", None, None),
        ("abc", None, None),
        ("", None, None),
    ],
)
def test_numbers_in_text(text, point, comma):
    for mark, expected in ((".", point), (",", comma)):
        found = number(text, mark)
        assert np.isnan(found) if expected is None else found == expected


def test_columns_that_can_be_read_in_one_way_say_how_others_are_meant():
    assert decimal_mark([["1,234", "2,345"], ["0,5", "1,25"]]) == ","
    assert decimal_mark([["1,234", "2,345"], ["0.5", "1.25"]]) == "."
    assert decimal_mark([["1,234", "2,345"]]) == "."


@pytest.mark.parametrize(
    ("form", "ambiguous"),
    [("%Y-%m-%d", False), ("%d.%m.%Y", False), ("%m/%d/%Y", False), ("%d %b %Y", True), ("%Y-%m-%dT%H:%M:%S", False)],
)
def test_formats_of_dates(form, ambiguous):
    texts = sorted(pd.date_range("2020-01-01", periods=100, freq="9D").strftime(form))
    found = date_format(texts)
    assert found is not None
    assert found[0] == ("ISO8601" if form.startswith("%Y-") else form)
    assert date_format(["A-12", "B-13"]) is None
    assert date_format(["01/02/2020", "03/04/2020"]) == ("%m/%d/%Y", True)


def test_categories_of_numbers_are_categories():
    table = pd.DataFrame({"level": pd.Categorical([1, 2, 3] * 20)})
    assert Encoding.fit(table).outputs == ["level = 1", "level = 2", "level = 3"]


CELLS = [1, 2.5, None, np.nan, "a", "b c", "", "N/A", "$3", "54%", "1,5", "2020-01-01", "03/04/2020", "12:30", True]
CELLS += [
    Decimal("1.5"),
    Decimal("nan"),
    Fraction(1, 3),
    pd.NA,
    pd.NaT,
    date(2020, 1, 1),
    pd.Timestamp("2020", tz="UTC"),
]
CELLS += [b"xy", [1], {"a": 1}, 1j, np.int8(4), float("inf"), "inf", "x\ny", "007", 10**400, "1" * 400, "1e400", "yes"]
CELLS += [
    np.datetime64("NaT"),
    pd.Timedelta("1D"),
    time(3),
    pd.Period("2020-01"),
    "9999-12-31",
    date(1, 1, 1),
    object(),
]


@pytest.mark.parametrize("seed", range(60))
def test_any_column_is_encoded_or_refused_in_a_sentence(seed):
    rng = np.random.default_rng(seed)
    values = np.empty(40, object)
    for k in range(40):
        values[k] = CELLS[
            rng.choice(rng.permutation(len(CELLS))[: 1 + seed % 4] if seed % 2 else [seed % len(CELLS), 4])
        ]
    table = pd.DataFrame({"a": pd.Series(values, dtype=object)})
    try:
        encoding = Encoding.fit(table)
    except tupi.InputError as refusal:
        said = str(refusal)
    else:
        found = encoding.transform(table)
        assert np.isfinite(found[~np.isnan(found).all(axis=1)]).all()
        return
    assert said.startswith("features, column 'a': ")
    assert "\n" not in said


# In a problem


def test_numbers_alone_are_left_alone():
    frame = pd.DataFrame(VIEWS["near"], columns=["a", "b"]).assign(row=range(N))
    problem = make_problem(SCORES, {"v": frame})
    assert problem.encodings == {}
    np.testing.assert_array_equal(problem.views[0].source, frame.to_numpy())
    assert tupi.denoise(SCORES, {"v": frame}, **QUICK).columns.empty


def test_a_result_lists_what_became_of_columns(table, tmp_path):
    result = tupi.denoise(SCORES, {"shop": table, "near": VIEWS["near"]}, **QUICK)
    assert list(result.columns.columns) == ["view", "column", "kind", "became", "note"]
    assert set(result.columns["view"]) == {"shop"}
    assert dict(zip(result.columns["column"], result.columns["kind"], strict=True)) == EXPECTED
    loaded = tupi.load(result.save(tmp_path / "r.npz"))
    pd.testing.assert_frame_equal(loaded.columns, result.columns, check_dtype=False)


def test_objects_and_text_arrays_are_tables(table):
    columns = ["price", "city", "plain"]
    expected = make_problem(SCORES, table[columns]).views[0].source
    found = make_problem(SCORES, table[columns].to_numpy(dtype=object)).views[0].source
    np.testing.assert_array_equal(found, expected)
    texts = make_problem(SCORES, table["city"].to_numpy(dtype=str)).views[0]
    assert texts.d == 3


def test_a_view_of_ids_alone_is_dropped(table):
    with pytest.warns(UserWarning, match="'codes' is constant"):
        result = tupi.denoise(SCORES, {"codes": table[["code"]], "near": VIEWS["near"]}, **QUICK)
    assert result.columns.loc[0, "became"] == "dropped"


def test_hsic_sees_columns_of_any_kind(table):
    assert tupi.hsic(table[["price"]], TRUTH, normalized=True) > 0.5
    assert tupi.hsic(table[["flag"]], TRUTH, normalized=True) > 10 * tupi.hsic(table[["clock"]], TRUTH, normalized=True)


# Other libraries


def polars(frame):
    return pl.DataFrame({name: frame[name].to_list() for name in frame})


def arrow(frame):
    return pa.table({name: frame[name].to_list() for name in frame})


@pytest.mark.parametrize("convert", [polars, arrow])
def test_tables_of_other_libraries(table, convert):
    expected = tupi.denoise(pd.Series(SCORES), table, labels=pd.Series(TRUTH).where(np.arange(N) < 20), **QUICK)
    labels = convert(pd.DataFrame({"t": [value if k < 20 else None for k, value in enumerate(TRUTH)]}))["t"]
    scores = convert(pd.DataFrame({"s": SCORES}))["s"]
    found = tupi.denoise(scores, convert(table), labels=labels, **QUICK)
    np.testing.assert_array_equal(found.predictions, expected.predictions)
    frame = found.to_frame()
    assert type(frame) is type(convert(table))
    np.testing.assert_array_equal(np.asarray(frame["prediction"]), expected.to_frame()["prediction"])
    assert found.index is None


def test_class_columns_of_polars_have_names():
    shares = np.random.default_rng(0).dirichlet([1, 1], size=N)
    frame = pl.DataFrame({"no": shares[:, 0], "yes": shares[:, 1]})
    labels = tupi.Values([0, 1], ["yes", "no"])
    result = tupi.denoise(frame, VIEWS, labels=labels, task="classification", method="tupi", n_iter=1)
    assert result.classes == ("no", "yes")
    assert result.to_frame().columns == ["initial_no", "initial_yes", "prediction_no", "prediction_yes"]


def test_lazy_tables_are_refused(table):
    with pytest.raises(tupi.InputError, match=r"view 'v': found a lazy table; .*call \.collect\(\) first"):
        tupi.denoise(SCORES, {"v": polars(table).lazy()})


def test_paths_of_text_tables_are_views(table, tmp_path):
    table.to_csv(tmp_path / "t.csv", sep=";", index=False)
    table.to_parquet(tmp_path / "t.parquet")
    by_path = make_problem(SCORES, {"v": tmp_path / "t.csv", "w": str(tmp_path / "t.parquet")})
    assert by_path.encodings["v"].outputs == by_path.encodings["w"].outputs
    frame = pd.DataFrame(VIEWS["near"], columns=["a", "b"])
    frame.to_csv(tmp_path / "n.csv", index=False)
    numbers = make_problem(SCORES, {"v": tmp_path / "n.csv"})
    np.testing.assert_array_equal(numbers.views[0].source, VIEWS["near"])
