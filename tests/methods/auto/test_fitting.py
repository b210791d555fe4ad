import numpy as np
import pytest

from tests.conftest import make_problem_arrays
from tupi.embedding.prepared import Prepared
from tupi.inputs.problem import make_problem
from tupi.methods.auto.fitting import fit_values
from tupi.methods.auto.labelfree import label_free
from tupi.methods.auto.process import JITTER

_, SCORES, VIEWS = make_problem_arrays(120)


@pytest.mark.parametrize("constant", [1.0, 0.1])
@pytest.mark.parametrize("sign", [1, -1])
def test_what_is_said_of_labelled_items_fits_their_labels_under_any_prior_of_a_shift(sign, constant):
    """The mean of the process misses a label by the noise times its dual; few labels against f are fitted anew."""
    prepared = Prepared(make_problem(SCORES, VIEWS))
    base = label_free(prepared)
    rows = np.arange(5, 120, 10)
    z = sign * base.f[rows]
    z = (z - z.mean()) / z.std() + 0.5
    found = fit_values(base, prepared, rows, z, constant=constant)
    duals = (z - found.held_out)[:, 0] * np.diag(found.belief.middles[0])
    np.testing.assert_allclose(z - found.g[rows], (found.noise + JITTER) * duals[:, None], atol=1e-4)
