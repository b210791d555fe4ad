"""From views to features: kernels, widths, basis points, neighbours, graphs, and HSIC."""
