"""All tables and figures by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tupi.methods.retrain import Retrain
from tupi.research.experiments.accuracy import Accuracy, compared
from tupi.research.experiments.combination import Combination
from tupi.research.experiments.experiment import Experiment
from tupi.research.experiments.invdyn import InvDyn
from tupi.research.experiments.networks import Networks
from tupi.research.experiments.protocol import APART, APART_COMPARISONS, BY_RANK, COMPARISONS, SVM_ONLY, WHOLE
from tupi.research.experiments.readings import Draws, Readings
from tupi.research.experiments.remarks import Remarks
from tupi.research.experiments.scaling import Scaling
from tupi.research.experiments.significance import Significance
from tupi.research.experiments.surface import Surface
from tupi.research.experiments.table1 import Table1
from tupi.research.experiments.table2 import Table2
from tupi.research.experiments.unlabelled import Unlabelled
from tupi.runtime.errors import InputError, nearest

#: The same with f^I, and new rankers, by rank SVM alone.
SVM_ALONE: dict[str, Any] = {"protocol": SVM_ONLY, "methods": compared(Retrain(ranker="svm"))}

#: What can comes twice: with the rank SVM, which is what the paper's f^I must have been on MFeat, and by the protocol.
EXPERIMENTS: Mapping[str, tuple[Experiment, ...]] = {
    "table1": (Table1(protocol=SVM_ONLY), Table1(protocol=COMPARISONS), Table1()),
    "table2": (Table2(protocol=SVM_ONLY), Table2()),
    "accuracy": (Accuracy(**SVM_ALONE), Accuracy()),
    "significance": (Significance(**SVM_ALONE), Significance()),
    "surface": (Surface(protocol=SVM_ONLY), Surface()),
    "combination": (Combination(protocol=SVM_ONLY), Combination()),
    "unlabelled": (Unlabelled(protocol=SVM_ONLY),),
    "readings": (
        Readings(protocol=SVM_ONLY),
        Readings(protocol=COMPARISONS),
        Draws(protocol=APART),
        Draws(protocol=APART_COMPARISONS),
        Draws(protocol=BY_RANK),
        Draws(protocol=WHOLE),
    ),
    "invdyn": (InvDyn(protocol=SVM_ONLY), InvDyn()),
    "remarks": (Remarks(protocol=SVM_ONLY),),
    "networks": (Networks(protocol=SVM_ONLY),),
    "scaling": (Scaling(),),
}


def experiments_of(names: Sequence[str]) -> list[Experiment]:
    """Return experiments by name, in the order of the page; "all" means all of them."""
    for name in names:
        if name != "all" and name not in EXPERIMENTS:
            known = (*EXPERIMENTS, "all")
            raise InputError(f"WHAT: found {name!r}; accepted: {', '.join(known)}.{nearest(name, known)}")
    wanted = EXPERIMENTS if "all" in names else [name for name in EXPERIMENTS if name in names]
    # Without PyTorch both protocols are the same.
    return list(dict.fromkeys(one for name in wanted for one in EXPERIMENTS[name]))
