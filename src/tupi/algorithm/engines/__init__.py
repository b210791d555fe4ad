"""Engines: how sums over items are computed. All are a `tupi.algorithm.denoiser.Engine`."""

ENGINES = ("fused", "reference", "exact", "dask")
