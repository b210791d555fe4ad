"""From Parquet to Parquet on a Dask cluster, without ever holding the data in one place.

::

    python examples/parquet_on_dask.py [folder] [address of a scheduler]

Without an address a local cluster starts for the call and ends with it.
"""

# ruff: noqa: T201 - an example says what it did
import sys
import tempfile
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd

import tupi

N_FILES, ROWS = 4, 10_000


def write_inputs(folder: Path) -> None:
    """Write scores and two views of the same items, each as a folder of Parquet files in the same order."""
    for name in ("scores", "near", "bent"):
        (folder / name).mkdir(parents=True)
    for k in range(N_FILES):
        rng = np.random.default_rng(k)
        truth = rng.normal(size=ROWS)
        tables = {
            "scores": {"score": truth + rng.normal(size=ROWS), "truth": truth},
            "near": {"x": truth + 0.5 * rng.normal(size=ROWS), "y": rng.normal(size=ROWS)},
            "bent": {"cosine": np.cos(2 * truth), "square": truth**2 + 0.3 * rng.normal(size=ROWS)},
        }
        for name, table in tables.items():
            pd.DataFrame(table).to_parquet(folder / name / f"part-{k:05d}.parquet", index=False)


def main(folder: Path, scheduler: str | None = None) -> None:
    """Write inputs, denoise them, and read back what was written."""
    write_inputs(folder)
    scores = dd.read_parquet(folder / "scores", columns=["score"])["score"]
    views = {name: dd.read_parquet(folder / name) for name in ("near", "bent")}
    result = tupi.denoise(
        scores,
        views,
        method="tupi",
        lam=0.3,
        n_iter=10,
        client=scheduler,
        checkpoint=folder / "checkpoints",  # the same call goes on from here if this one is interrupted
    )
    result.to_parquet(folder / "better")

    better = dd.read_parquet(folder / "better")
    truth = dd.read_parquet(folder / "scores", columns=["truth"])["truth"].compute()
    before, after = (tupi.pairwise_accuracy(better[name].compute(), truth) for name in ("initial", "prediction"))
    print(f"{len(truth):,} items: pairwise accuracy {before:.3f} before, {after:.3f} after")
    print(result.weights.iloc[-1].round(3).to_dict())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        main(Path(sys.argv[1] if len(sys.argv) > 1 else temporary), sys.argv[2] if len(sys.argv) > 2 else None)
