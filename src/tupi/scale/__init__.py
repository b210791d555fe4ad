"""Past one machine: views and predictions in blocks on the workers of a Dask cluster, tables and sums on the client.

Dask is an optional extra, imported where it is used; `detect` needs nothing and says whether this package is meant.
"""
