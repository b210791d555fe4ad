"""The paper's datasets and experiments, and the demo."""
