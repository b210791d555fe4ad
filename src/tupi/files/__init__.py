"""Files: what `tupi.denoise` takes and gives, as CSV, TSV, Parquet, NPY and NPZ."""

from tupi.files.inputs import Inputs, read_inputs, read_two
from tupi.files.reading import SUFFIXES, read_arrays, read_table
from tupi.files.writing import check_output, write_result, write_table

__all__ = [
    "SUFFIXES",
    "Inputs",
    "check_output",
    "read_arrays",
    "read_inputs",
    "read_table",
    "read_two",
    "write_result",
    "write_table",
]
