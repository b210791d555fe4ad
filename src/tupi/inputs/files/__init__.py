"""Files that `tupi.denoise` takes: text tables, Parquet, Excel, NPY and NPZ."""

from tupi.inputs.files.inputs import InputFiles, Inputs, read_inputs, read_two
from tupi.inputs.files.reading import SUFFIXES, read_arrays, read_table

__all__ = [
    "SUFFIXES",
    "InputFiles",
    "Inputs",
    "read_arrays",
    "read_inputs",
    "read_table",
    "read_two",
]
