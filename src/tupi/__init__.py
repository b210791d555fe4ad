"""tupi: improve predictions that nobody can retrain, with features that the predictor never saw."""

from tupi import methods
from tupi.algorithm.denoiser import Step
from tupi.algorithm.points import denoise_points
from tupi.api import denoise
from tupi.compare import Comparison, compare
from tupi.embedding.hsic import hsic
from tupi.estimator import TupiDenoiser
from tupi.inputs.labels import Pairs, Values
from tupi.judging.evidence import Evidence
from tupi.judging.metrics import pairwise_accuracy
from tupi.results.result import Denoised, load
from tupi.runtime.errors import InputError

__version__ = "0.1.0"

__all__ = [
    "Comparison",
    "Denoised",
    "Evidence",
    "InputError",
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
    "pairwise_accuracy",
]
