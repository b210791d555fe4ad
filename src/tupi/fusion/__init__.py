"""Parts of the default method: which views matter, how much to smooth, and one Gaussian process on the labels."""
