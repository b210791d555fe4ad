"""A slice of the real experiments, for real: one view of MFeat under one seed."""

import os
from dataclasses import dataclass

import pytest

from tupi.research.experiments.protocol import SVM_ONLY
from tupi.research.experiments.runner import records, run
from tupi.research.experiments.table1 import Table1


@dataclass(frozen=True)
class OneView(Table1):
    def targets(self, dataset):
        return ("zer",)


@pytest.mark.skipif(not os.environ.get("TUPI_DATA"), reason="TUPI_DATA is not set: the real dataset files are needed")
def test_one_row_of_table1(fresh, store):
    experiment = OneView(SVM_ONLY)
    run([experiment], store, ["mfeat"], [0], 1)
    (record,) = records(experiment, store, ["mfeat"], [0])
    accuracy = record["result"]["accuracy"]
    assert 75 < accuracy["I"] < 82
    assert accuracy["O"] - accuracy["I"] > 5.15  # the paper's gain
    assert abs(accuracy["R"] - accuracy["O"]) < 1.5
    assert accuracy["G3"] > 97
    assert accuracy["G2"] > 85
