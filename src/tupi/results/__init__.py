"""What comes out: the result, its summary, plots and report."""
