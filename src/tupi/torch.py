"""`tupi.torch`: the paper's energy as a loss, for models whose parameters can still be tuned."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.algorithm.denoiser import view_weights
from tupi.algorithm.engines.plain import LowRankEngine
from tupi.embedding.embedding import EmbeddingOptions, embed
from tupi.embedding.gaussian import PredictionKernel, check_bandwidth, squared_bandwidth
from tupi.embedding.prepared import standardize
from tupi.inputs.numbers import check_positive
from tupi.inputs.problem import make_problem
from tupi.inputs.types import FeaturesLike, Table
from tupi.runtime.errors import InputError

try:
    import torch
except ImportError:
    raise ImportError('tupi.torch needs PyTorch: run `pip install "tupi[torch]"`.') from None

TINY = 1e-300  # a kernel that is zero, since no item of a batch has the view, stays zero when it is normalised


class DependenceLoss(torch.nn.Module):
    """The paper's energy (label ``e:denoisingalgorithm``) of a model's outputs: low if they depend on the views.

    `tupi.denoise` changes predictions one by one, since it does not know the function that made them. Whoever has the
    function itself, such as a network, can change its parameters instead, at test time and without labels: the tuned
    network then also serves items whose views nobody has. Algorithm 1 becomes

    1. `step` with the outputs for all items, which fixes f(t) and the weights of the views;
    2. some moves of an optimiser on the loss, of all items or of batches;
    3. again from 1.

    The loss of a batch is the energy of its items alone: kernels are centred and normalised within the batch, with
    widths and basis points of all items. Batches of a few hundred items are large enough.

    Parameters
    ----------
    predictions : array_like or Tensor of shape (n,)
        The model's outputs for all items before any tuning, f^I. Tuning begins at these: `step` is called with them.
    features : dict, list, array_like or DataFrame
        Views of the same items, as `tupi.denoise` takes them. Items without any view are left out of the energy.
    lam : float
        lambda: how strongly each step pulls towards the views.
    sigma_w2 : float
        sigma_w^2: how evenly the views are weighted; small picks the most dependent one.
    rank : int
        K: basis points per view.
    bandwidth, prediction_bandwidth : str or float
        Width rules of the kernels of the views and of the predictions, see `tupi.embedding.gaussian`.
    impute : {None, "median"}
        What to do about single missing values within a row of a view: fail, or fill in the column's median.
    random_state : int
        Seed of the basis points.

    Attributes
    ----------
    names : list of str
        The views.
    weights : Tensor of shape (m,)
        w_i(t), how much each view counts at this step.

    Notes
    -----
    Sums are computed in double precision whatever the model's: the kernel of the predictions is nearly singular. What
    `torch.nn.Module.to` moves are the factors of the views; they are no part of ``state_dict``.

    Examples
    --------
    >>> import numpy as np, torch
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(size=200)
    >>> G = torch.from_numpy(np.column_stack([truth, rng.normal(size=(200, 3))]))
    >>> model = torch.nn.Sequential(torch.nn.Linear(4, 1), torch.nn.Flatten(0)).double()
    >>> loss = DependenceLoss(model(G), {"view": truth[:, None]})
    >>> before = loss(model(G)).item()
    >>> optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    >>> for _ in range(20):
    ...     optimizer.zero_grad()
    ...     loss(model(G)).backward()
    ...     optimizer.step()
    >>> loss(model(G)).item() < before
    True
    """

    # What `register_buffer` sets, for readers and type checkers.
    weights: torch.Tensor
    _factors: torch.Tensor
    _present: torch.Tensor
    _view_of: torch.Tensor
    _row_of: torch.Tensor
    _at_step: torch.Tensor
    _grid: torch.Tensor
    _root: torch.Tensor

    def __init__(
        self,
        predictions: Table | torch.Tensor,
        features: FeaturesLike,
        *,
        lam: float = 0.3,
        sigma_w2: float = 0.1,
        rank: int = 50,
        bandwidth: str | float = "std-as-sigma",
        prediction_bandwidth: str | float = "std-as-sigma",
        impute: str | None = None,
        random_state: int = 0,
    ) -> None:
        super().__init__()
        check_positive("lam", lam, optional=False)
        check_positive("sigma_w2", sigma_w2, optional=False)
        check_bandwidth(prediction_bandwidth, "prediction_bandwidth")
        options = EmbeddingOptions(
            rank=rank, bandwidth=bandwidth, random_state=random_state, spared=0.0, dtype="float64"
        )
        initial = _as_array(predictions) if isinstance(predictions, torch.Tensor) else predictions
        problem = make_problem(initial, features, impute=impute)
        self.names, self.lam, self.sigma_w2 = problem.names, float(lam), float(sigma_w2)
        self._items = np.flatnonzero(problem.covered)
        embedding = embed(problem.views, options, self._items)
        f = standardize(problem.columns, problem.covered)[0]
        sigma2 = squared_bandwidth(np.sort(f, axis=0), prediction_bandwidth)
        self._engine = LowRankEngine(embedding, sigma2, rank)
        row_of = np.full(problem.n, -1)
        row_of[self._items] = np.arange(len(self._items))
        self._keep("_row_of", row_of)
        self._keep("_factors", np.ascontiguousarray(embedding.factors))
        self._keep("_present", np.column_stack([view.present[self._items] for view in problem.views]))
        self._keep("_view_of", np.repeat(np.arange(len(self.names)), np.diff(embedding.offsets)))
        self.step(problem.initial)

    def _keep(self, name: str, array: NDArray[Any]) -> None:
        """Keep an array where `torch.nn.Module.to` finds it: on the device of what was kept first."""
        device = self._row_of.device if hasattr(self, "_row_of") else None
        self.register_buffer(name, torch.from_numpy(array).to(device), persistent=False)

    def step(self, predictions: Table | torch.Tensor) -> None:
        """Begin the next step t of Algorithm 1 at the model's present outputs for all items, f(t).

        Until the next call the energy pulls towards these outputs and towards the views, weighted by how much they
        depend on these outputs (label ``e:wupdate``).
        """
        outputs = np.asarray(_as_array(predictions), np.float64)
        if outputs.shape != self._row_of.shape or not np.isfinite(outputs).all():
            raise InputError(
                f"predictions: found shape {outputs.shape}, all finite: {bool(np.isfinite(outputs).all())}; accepted: "
                f"finite outputs of shape {tuple(self._row_of.shape)}, one for each item."
            )
        if not np.ptp(outputs[self._items]) > 0:
            raise InputError("predictions: all outputs are equal; accepted: outputs that differ.")
        columns, scale, shift = standardize(outputs[self._items, None])
        f, self._scale, self._shift = columns[:, 0], float(scale[0]), float(shift[0])
        kernel = PredictionKernel(f, self._engine.sigma2, self._engine.rank)
        self._keep("weights", view_weights(self._engine.dependence(f), self.sigma_w2))
        self._keep("_grid", kernel.grid)
        self._keep("_root", kernel.root)
        self._keep("_at_step", kernel.features(f))

    def forward(self, predictions: torch.Tensor, items: torch.Tensor | NDArray[np.int64] | None = None) -> torch.Tensor:
        """Return the energy of the model's outputs.

        Parameters
        ----------
        predictions : Tensor of shape (b,)
            The model's outputs for some items.
        items : Tensor or ndarray of int of shape (b,), optional
            The positions of these items among all; None if these are all items, in their order.

        Returns
        -------
        Tensor of shape ()
            The energy, between 0 and 1 + lam.
        """
        rows = self._row_of if items is None else self._row_of[torch.as_tensor(items, device=self._row_of.device)]
        if predictions.shape != rows.shape:
            raise InputError(
                f"predictions: found shape {tuple(predictions.shape)} for {len(rows)} item(s); accepted: one output "
                f"per item, of shape {tuple(rows.shape)}. A model with one output column needs a Flatten(0) after it."
            )
        f = (predictions[rows >= 0].double() - self._shift) / self._scale
        rows = rows[rows >= 0]
        if len(rows) < 2:
            raise InputError(f"items: found {len(rows)} item(s) with a view; accepted: at least 2.")
        kernel = torch.exp((f[:, None] - self._grid) ** 2 / -self._engine.sigma2)
        Z = _centered(kernel @ self._root)
        anchor = _centered(self._at_step[rows])
        present = self._present[rows][:, self._view_of]
        U = self._factors[rows]
        U = torch.where(present, U - U.sum(dim=0) / present.sum(dim=0).clamp(min=1), 0.0)  # zero where there is no view
        alignment = _squares(anchor.T @ Z) / _norm(anchor)
        for k, weight in enumerate(self.weights):
            phi = U[:, self._view_of == k]
            alignment = alignment + self.lam * weight * _squares(phi.T @ Z) / _norm(phi)
        return (1.0 + self.lam - alignment / _norm(Z)).to(predictions.dtype)


def _as_array(predictions: Any) -> Any:
    return predictions.detach().cpu().numpy() if isinstance(predictions, torch.Tensor) else predictions


def _centered(phi: torch.Tensor) -> torch.Tensor:
    return phi - phi.mean(dim=0)


def _squares(matrix: torch.Tensor) -> torch.Tensor:
    return matrix.square().sum()


def _norm(phi: torch.Tensor) -> torch.Tensor:
    """Return ||phi phi^T||_F, the norm of the kernel whose factor this is."""
    return torch.sqrt(_squares(phi.T @ phi).clamp(min=TINY))
