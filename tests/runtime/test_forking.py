"""A process that has denoised can be forked: its children compute, and get the same bits."""

import os
import subprocess
import sys

import pytest

CODE = """
import multiprocessing, os, sys
import numpy as np
import tupi
from tupi.runtime import computing

computing.SMALL = 0  # also small passes use several threads

def work(method):
    rng = np.random.default_rng(0)
    truth = rng.normal(size=20_000 if method == "tupi" else 400)
    views = {"p": np.column_stack([truth, truth**2]) + 0.2 * rng.normal(size=(len(truth), 2))}
    settings = {"n_iter": 1, "lam": 0.3, "sigma_w2": 0.1} if method == "tupi" else {}
    return tupi.denoise(truth + rng.normal(size=len(truth)), views, method=method, **settings).predictions

method = sys.argv[1]
mine = work(method)
with multiprocessing.get_context("fork").Pool(2) as pool:
    for theirs in pool.map(work, [method, method]):
        assert np.array_equal(mine, theirs)
child = os.fork()
if child == 0:
    os._exit(0 if np.array_equal(mine, work(method)) else 1)
assert os.waitpid(child, 0)[1] == 0
print("done")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
@pytest.mark.parametrize("method", ["auto", "tupi"])
def test_children_of_a_process_that_denoised_get_the_same_bits(method):
    found = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CODE, method],
        env={**os.environ, "OMP_NUM_THREADS": "2", "NUMBA_NUM_THREADS": "2"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (found.stdout, found.returncode) == ("done\n", 0), found.stderr
