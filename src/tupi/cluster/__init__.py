"""The same on a Dask cluster: blocks of items stay on the workers."""
