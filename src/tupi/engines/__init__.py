"""Engines: how sums over items are computed. All are a `tupi.denoiser.Engine`."""

ENGINES = ("fused", "reference", "exact", "dask")
