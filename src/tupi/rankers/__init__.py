"""Rankers that make the predictions f^I of experiments: a linear rank SVM and a rank network."""

from tupi.rankers.rank_net import RankNet, paper_network
from tupi.rankers.rank_svm import RankSVM, RankSVMCV

__all__ = ["RankNet", "RankSVM", "RankSVMCV", "paper_network"]
