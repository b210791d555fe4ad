"""What labels say: metrics, folds over labels, gains and their evidence."""
