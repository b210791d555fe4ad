"""The paper's datasets, and a small one that needs no files.

Each loader looks in the folder that the environment variable ``TUPI_DATA`` names, then in an installed
package that ships the data, then in the cache (``TUPI_CACHE``, or the user's cache folder), and last at the
dataset's public home.
"""

from tupi.datasets.awa import load_awa
from tupi.datasets.dataset import Dataset
from tupi.datasets.digits import load_digits
from tupi.datasets.fetch import DatasetUnavailableError
from tupi.datasets.mfeat import load_mfeat
from tupi.datasets.osr import load_osr
from tupi.datasets.pubfig import load_pubfig
from tupi.datasets.sarcos import load_sarcos
from tupi.datasets.shoes import load_shoes
from tupi.datasets.zap50k import load_zap50k

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
