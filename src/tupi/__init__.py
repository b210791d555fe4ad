"""tupi: improve predictions that nobody can retrain, with features that the predictor never saw."""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what `__getattr__` brings when it is asked for
    from tupi import methods
    from tupi.algorithm.denoiser import Step
    from tupi.algorithm.points import denoise_points
    from tupi.api import denoise, load
    from tupi.compare import Comparison, compare
    from tupi.embedding.hsic import hsic
    from tupi.estimator import TupiDenoiser
    from tupi.inputs.files.inputs import read_inputs
    from tupi.inputs.labels import Pairs, Values
    from tupi.judging.evidence import Evidence
    from tupi.judging.labelled_folds import LabelledKFold
    from tupi.judging.metrics import pairwise_accuracy
    from tupi.judging.ndcg import ndcg
    from tupi.results.result import Denoised
    from tupi.runtime.errors import InputError
    from tupi.tuning import tune

__version__ = "0.2.0"

__all__ = [
    "Comparison",
    "Denoised",
    "Evidence",
    "InputError",
    "LabelledKFold",
    "Pairs",
    "Step",
    "TupiDenoiser",
    "Values",
    "compare",
    "denoise",
    "denoise_points",
    "hsic",
    "load",
    "methods",
    "ndcg",
    "pairwise_accuracy",
    "read_inputs",
    "tune",
]

_HOMES = {
    "Comparison": "tupi.compare",
    "Denoised": "tupi.results.result",
    "Evidence": "tupi.judging.evidence",
    "InputError": "tupi.runtime.errors",
    "LabelledKFold": "tupi.judging.labelled_folds",
    "Pairs": "tupi.inputs.labels",
    "Step": "tupi.algorithm.denoiser",
    "TupiDenoiser": "tupi.estimator",
    "Values": "tupi.inputs.labels",
    "compare": "tupi.compare",
    "denoise": "tupi.api",
    "denoise_points": "tupi.algorithm.points",
    "hsic": "tupi.embedding.hsic",
    "load": "tupi.api",
    "ndcg": "tupi.judging.ndcg",
    "pairwise_accuracy": "tupi.judging.metrics",
    "read_inputs": "tupi.inputs.files.inputs",
    "tune": "tupi.tuning",
}


def __getattr__(name: str) -> Any:
    """Import what people ask for when they do: all of it together takes two seconds."""
    if name in ("methods", "torch"):
        return import_module(f"tupi.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'tupi' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    """The package, in which `compare` is the function: whoever imports the module of that name would replace it."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "compare" and isinstance(value, ModuleType):
            value = value.compare
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
