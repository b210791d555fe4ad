"""Tables with columns of any kind, and what becomes of each column before it is a view of numbers."""

from tupi.inputs.tables.encoding import ColumnEncoding, Encoding

__all__ = ["ColumnEncoding", "Encoding"]
