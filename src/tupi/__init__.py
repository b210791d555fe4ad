"""tupi: improve predictions that nobody can retrain, with features that the predictor never saw."""

from tupi.api import denoise
from tupi.compare import Comparison, compare
from tupi.denoiser import Step
from tupi.dependence import hsic
from tupi.errors import InputError
from tupi.estimator import TupiDenoiser
from tupi.labels import Pairs, Values, pairwise_accuracy
from tupi.manifold import denoise_points
from tupi.methods import methods
from tupi.result import Denoised, Evidence, load

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
