"""LETOR files, as search teams have them: ``2 qid:10 1:0.53 7:0.1 # note``, one result of a query per line.

They are tables with the columns ``relevance``, ``qid`` and one per feature, called by its number; a feature that a line
lacks is zero. The same lines with features alone are those of SVMlight.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd

from tupi.inputs.files.unpacking import opened, refusing
from tupi.runtime.errors import InputError

RELEVANCE, QUERY = "relevance", "qid"
MOST_CELLS = 2**28  # two gigabytes of numbers: features are few, and numbers beyond are a slip
FIRST = re.compile(rb"\s*\S+\s+qid:\S+\s+\d+:\S")


def is_letor(path: Path) -> bool:
    """Return whether the first line that is no comment is one of a LETOR file."""
    with (
        refusing(path, "cannot be unpacked; accepted: a whole gzip file, or the unpacked table."),
        opened(path) as file,
    ):
        for line in file:
            if line.strip() and not line.lstrip().startswith(b"#"):
                return FIRST.match(line) is not None
    return False


def read_letor(path: Path) -> pd.DataFrame:
    """Return the table."""
    queries: list[str] = []
    relevance, rows, columns, values = [], [], [], []
    with opened(path) as file:
        for number, line in enumerate(file, 1):
            fields = line.partition(b"#")[0].decode("utf-8", "replace").split()
            if not fields:
                continue
            try:
                grade, (name, query) = float(fields[0]), fields[1].split(":", 1)
                pairs = [field.split(":") for field in fields[2:]]
                found = [(int(feature), float(value)) for feature, value in pairs]
            except (ValueError, IndexError):
                name, found = "", []
            if name != QUERY or any(feature < 0 for feature, _ in found):
                raise InputError(
                    f"{path}: line {number} is not one of a LETOR file; accepted: a grade, a query and features, such "
                    "as 2 qid:10 1:0.53 7:0.1."
                )
            columns += [feature for feature, _ in found]
            values += [value for _, value in found]
            rows += [len(queries)] * len(found)
            relevance.append(grade)
            queries.append(query)
    d = max(columns, default=0) + 1
    if len(queries) * d > MOST_CELLS:
        raise InputError(f"{path}: has a feature of number {d - 1}; accepted: numbers of features from 0 on.")
    table = np.zeros((len(queries), d))
    table[rows, columns] = values
    features = pd.DataFrame(table, columns=[str(k) for k in range(d)])
    if not np.any(table[:, 0]):
        features = features.iloc[:, 1:]  # features are numbered from 1, as a rule
    return pd.concat([pd.DataFrame({RELEVANCE: relevance, QUERY: queries}), features], axis=1)
