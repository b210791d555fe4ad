"""The paper: energy, Algorithm 1, trajectories, the choice of settings, and engines that compute sums over items."""
