"""What a saved model may be made of: reading a file makes these classes, by name, and no others.

A file that was written once must be read for ever: classes here may get new fields with defaults, and a class that is
renamed keeps its old name in this table.
"""

from __future__ import annotations

from typing import Any

from tupi.embedding.anchors import AnchorGraph, Near, Points
from tupi.inputs.new_items import Known, KnownView
from tupi.inputs.seen import Seen
from tupi.inputs.tables import Encoding
from tupi.inputs.views import Statistics
from tupi.methods.auto.class_answers import ClassColumns, ClassMixture
from tupi.methods.auto.clouds import Clouds
from tupi.methods.auto.fused import Average, Fused, Limits, Process
from tupi.methods.auto.guard import Blend
from tupi.methods.auto.hypotheses import Hypotheses
from tupi.methods.auto.items import Layout, Scale, Space
from tupi.methods.auto.kernels import Chances, Features, Kernels, Linear
from tupi.methods.auto.model import AutoModel, Curve, Mixture, Units
from tupi.methods.auto.process import LeftOut, LogPrior
from tupi.methods.auto.subsets import Subsets
from tupi.methods.auto.trees import Forest
from tupi.methods.explicit import ExplicitModel, KernelFeatures

CLASSES: tuple[Any, ...] = (
    AnchorGraph,
    AutoModel,
    Average,
    Blend,
    Chances,
    ClassColumns,
    ClassMixture,
    Clouds,
    Curve,
    Encoding,
    ExplicitModel,
    Features,
    Forest,
    Fused,
    Hypotheses,
    KernelFeatures,
    Kernels,
    Known,
    KnownView,
    Layout,
    LeftOut,
    Limits,
    Linear,
    LogPrior,
    Mixture,
    Near,
    Points,
    Process,
    Scale,
    Seen,
    Space,
    Statistics,
    Subsets,
    Units,
)
SAVED: dict[str, Any] = {made.__name__: made for made in CLASSES} | {"Anchors": Points}
