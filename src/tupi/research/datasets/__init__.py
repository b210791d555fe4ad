"""The paper's datasets, and a small one that needs no files.

Each loader looks in the folder that the environment variable ``TUPI_DATA`` names, then in an installed
package that ships the data, then in the cache (``TUPI_CACHE``, or the user's cache folder), and last at the
dataset's public home.
"""

from tupi.research.datasets.awa import load_awa
from tupi.research.datasets.dataset import Dataset
from tupi.research.datasets.digits import load_digits
from tupi.research.datasets.fetch import DatasetUnavailableError
from tupi.research.datasets.mfeat import load_mfeat
from tupi.research.datasets.osr import load_osr
from tupi.research.datasets.pubfig import load_pubfig
from tupi.research.datasets.sarcos import load_sarcos
from tupi.research.datasets.shoes import load_shoes
from tupi.research.datasets.zap50k import load_zap50k

__all__ = [
    "Dataset",
    "DatasetUnavailableError",
    "load_awa",
    "load_digits",
    "load_mfeat",
    "load_osr",
    "load_pubfig",
    "load_sarcos",
    "load_shoes",
    "load_zap50k",
]
