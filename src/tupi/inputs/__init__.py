"""What comes in: predictions, views and labels, checked once."""
