"""Two tables as they are against the same tables encoded by hand: what the default gains with a few labels.

A predictor is trained on a few columns of a table; the others are the view. They are given as they are in the file, so
that `tupi` encodes them, and once more as numbers that a careful person would make of them. Run with
``TUPI_DATA=folder python experiments/raw_tables.py [--labels 50] [--seeds 10]``; it prints the gain in pairwise
accuracy on items without labels, and the difference of the two forms with its standard error over seeds.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor

import tupi

TRAINING, ITEMS = 300, 1100
SCALES = {"Low": 1, "Medium": 2, "High": 3, "Very_High": 4, "Bad": 1, "Good": 2, "Better": 3, "Best": 4} | {
    **{"Below_College": 1, "College": 2, "Bachelor": 3, "Master": 4, "Doctor": 5},
    **{"Excellent": 3, "Outstanding": 4, "Non-Travel": 0, "Travel_Rarely": 1, "Travel_Frequently": 2},
}


@dataclass(frozen=True)
class Table:
    """A file, its target, the columns that the predictor saw, and the others as numbers made by hand."""

    file: str
    target: Callable[[pd.DataFrame], pd.Series]
    seen: Sequence[str]
    unused: Sequence[str]
    by_hand: Callable[[pd.DataFrame], pd.DataFrame]


def one_hot(table: pd.DataFrame, columns: Sequence[str], most: int = 10) -> pd.DataFrame:
    parts = []
    for column in columns:
        frequent = table[column].value_counts().index[:most]
        parts.append(pd.get_dummies(table[column].where(table[column].isin(frequent)), prefix=column).astype(float))
    return pd.concat(parts, axis=1)


def hotel_by_hand(table: pd.DataFrame) -> pd.DataFrame:
    day = pd.to_datetime(table["arrival_date"])
    year = 2 * np.pi * day.dt.day_of_year / 365.25
    few = ["meal", "market_segment", "distribution_channel", "customer_type"]
    many = ["country", "agent", "company", "reserved_room_type", "assigned_room_type"]
    numbers = pd.DataFrame({"days": (day - day.min()).dt.days, "sine": np.sin(year), "cosine": np.cos(year)})
    numbers["weekday"] = day.dt.day_of_week
    return pd.concat([numbers, one_hot(table, few), one_hot(table, many)], axis=1)


def attrition_by_hand(table: pd.DataFrame) -> pd.DataFrame:
    scaled = [name for name in table if not is_number(table[name]) and set(table[name]) <= set(SCALES)]
    flags = [name for name in ("OverTime", "Gender") if name in table]
    rest = [name for name in table if not is_number(table[name]) and name not in (*scaled, *flags)]
    numbers = table[[name for name in table if is_number(table[name])]]
    levels = table[scaled].apply(lambda column: column.map(SCALES).astype(float))
    truths = table[flags].isin(["Yes", "Female"]).astype(float)
    return pd.concat([numbers, levels, truths, one_hot(table, rest)], axis=1)


def is_number(column: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(column.dtype)


TABLES = (
    Table(
        "hotel_rates.csv.gz",
        lambda table: table["avg_price_per_room"],
        ["lead_time", "adults", "children", "stays_in_week_nights", "stays_in_weekend_nights", "booking_changes"],
        ["avg_price_per_room", "arrival_date_num", "historical_adr", "near_christmas", "near_new_years"],
        hotel_by_hand,
    ),
    Table(
        "attrition.csv",
        lambda table: (table["Attrition"] == "Yes").astype(float),
        ["Age", "MonthlyIncome", "DistanceFromHome", "TotalWorkingYears"],
        ["Attrition"],
        attrition_by_hand,
    ),
)


def scored(table: Table, folder: Path, seed: int, items: int) -> tuple[np.ndarray, np.ndarray, pd.DataFrame]:
    """Return at most so many items: what the predictor says of them, the truth, and the columns that it did not see."""
    rows = pd.read_csv(folder / table.file)
    rows = rows.sample(min(TRAINING + items, len(rows)), random_state=seed).reset_index(drop=True)
    truth = table.target(rows).to_numpy()
    seen = rows[list(table.seen)]
    predictor = HistGradientBoostingRegressor(max_iter=60, random_state=0)
    predictor.fit(seen[:TRAINING], truth[:TRAINING])
    scores, truth = predictor.predict(seen[TRAINING:]), truth[TRAINING:]
    rest = rows.drop(columns=[*table.seen, *table.unused])[TRAINING:].reset_index(drop=True)
    if table.by_hand is hotel_by_hand:
        rest = rest[[name for name in rest if not is_number(rest[name])]]
    return scores, truth, rest


def gains(table: Table, folder: Path, seed: int, n_labels: int) -> dict[str, float]:
    """Return the predictor's pairwise accuracy, and the gain with each form of the view, in points."""
    scores, truth, rest = scored(table, folder, seed, ITEMS)
    labelled = np.random.default_rng(seed).permutation(ITEMS)[:n_labels]
    others = np.setdiff1d(np.arange(ITEMS), labelled)
    found = {"before": 100 * tupi.pairwise_accuracy(scores[others], truth[others])}
    for form, view in (("raw", rest), ("by hand", table.by_hand(rest))):
        result = tupi.denoise(scores, {"table": view}, labels=tupi.Values(labelled, truth[labelled]))
        found[form] = 100 * tupi.pairwise_accuracy(result.predictions[others], truth[others]) - found["before"]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--labels", type=int, default=50)
    parser.add_argument("--seeds", type=int, default=10)
    args = parser.parse_args()
    folder = Path(os.environ["TUPI_DATA"])
    print(f"{args.labels} labels, mean of {args.seeds} seeds; gains in points")
    print(f"{'table':20s} {'before':>7s} {'raw':>7s} {'by hand':>8s} {'difference':>16s}")
    for table in TABLES:
        rows = pd.DataFrame([gains(table, folder, seed, args.labels) for seed in range(args.seeds)])
        mean, apart = rows.mean(), rows["raw"] - rows["by hand"]
        line = f"{table.file:20s} {mean['before']:7.1f} {mean['raw']:+7.1f} {mean['by hand']:+8.1f}"
        print(f"{line} {apart.mean():+9.2f} ± {apart.std() / np.sqrt(len(apart)):.2f}", flush=True)
        for seed, row in rows.iterrows():
            print(f"  seed {seed:<13d} {row['before']:7.1f} {row['raw']:+7.1f} {row['by hand']:+8.1f}", flush=True)


if __name__ == "__main__":
    main()
