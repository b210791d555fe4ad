"""Kernels of views and of predictions, as feature maps that are computed once."""
