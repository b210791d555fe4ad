"""Engines: how sums over items are computed. All offer `dependence` and `objective` (`tupi.denoiser.Engine`)."""

ENGINES = ("fused", "reference", "exact", "dask")
