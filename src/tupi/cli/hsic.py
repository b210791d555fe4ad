"""`tupi hsic`: how much two sets of features depend on each other."""

from __future__ import annotations

import click

from tupi.cli.options import whole_number

EXAMPLE = """\b
Examples:
  tupi hsic scores.npy gist.npy --normalized
  tupi hsic color.csv views.npz:gist --normalized --rank 50
"""


@click.command(epilog=EXAMPLE)
@click.argument("x", type=str)
@click.argument("y", type=str)
@click.option("--normalized", is_flag=True, help="Between 0 and 1 (biased estimator).")
@click.option("--estimator", default="biased", show_default=True, help="biased or unbiased.")
@whole_number("--rank", 50, "Basis points; 0 for whole kernel matrices, which need O(n^2) memory.")
@click.option(
    "--bandwidth", default="std-as-sigma", show_default=True, help="std-squared, std, std-as-sigma, median or a number."
)
@click.option("--id", "id_column", metavar="COLUMN", help="Column that identifies items, in both tables.")
@click.option("--impute", type=click.Choice(["median"]), help="Fill in single missing values.")
@whole_number("--seed", 0, "Seed for the basis points.")
@click.option("--json", "as_json", is_flag=True, help="Print the value and the settings as JSON.")
def hsic(
    x: str,
    y: str,
    normalized: bool,
    estimator: str,
    rank: int,
    bandwidth: str,
    id_column: str | None,
    impute: str | None,
    seed: int,
    as_json: bool,
) -> None:
    """Print the Hilbert-Schmidt independence criterion of the features in X and Y.

    Zero means independent, up to noise. Files are CSV, TSV, Parquet, NPY or NPZ, by suffix; a table's columns form
    one set of features. Tables that share a column of ids are joined by it.
    """
    import tupi
    from tupi.cli.denoise import parsed_value
    from tupi.cli.printing import print_json
    from tupi.inputs.files import read_two

    first, second, joined = read_two(x, y, id_column)
    value = tupi.hsic(
        first,
        second,
        normalized=normalized,
        estimator=estimator,
        rank=rank or None,
        bandwidth=parsed_value(bandwidth),
        random_state=seed,
        impute=impute,
    )
    if not as_json:
        click.echo(f"{value:.10g}")
        return
    print_json(
        {
            "hsic": value,
            "n": len(first),
            "normalized": normalized,
            "estimator": estimator,
            "rank": rank or None,
            "bandwidth": bandwidth,
            "id": joined,
        }
    )
