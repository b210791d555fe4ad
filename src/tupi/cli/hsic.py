"""`tupi hsic`: how much two sets of features depend on each other."""

from __future__ import annotations

import click

from tupi.cli.inputs import reading_options
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
@reading_options
@click.option("--json", "as_json", is_flag=True, help="Print the value and the settings as JSON.")
def hsic(
    x: str,
    y: str,
    normalized: bool,
    estimator: str,
    rank: int,
    bandwidth: str,
    id_column: str | None,
    columns: tuple[str, ...],
    drop: tuple[str, ...],
    duplicates: str | None,
    impute: str | None,
    verbose: bool,
    seed: int,
    as_json: bool,
) -> None:
    """Print the Hilbert-Schmidt independence criterion of the features in X and Y.

    Zero means independent, up to noise. Files are as in tupi denoise; a table's columns form one set of features, the
    view "x" or "y" for --columns and --drop. Tables that share a column of ids are joined by it.
    """
    import tupi
    from tupi.cli.denoise import parsed_value
    from tupi.cli.printing import collected_warnings, print_json, print_reading, print_warnings
    from tupi.inputs.files import read_two

    with collected_warnings() as warned:
        both = read_two(x, y, id_column, columns, drop, duplicates)
    print_warnings(warned)
    value = tupi.hsic(
        both.x,
        both.y,
        normalized=normalized,
        estimator=estimator,
        rank=rank or None,
        bandwidth=parsed_value(bandwidth),
        random_state=seed,
        impute=impute,
    )
    if verbose:
        print_reading(both.understood)
    if not as_json:
        click.echo(f"{value:.10g}")
        return
    print_json(
        {
            "hsic": value,
            "n": len(both.x),
            "normalized": normalized,
            "estimator": estimator,
            "rank": rank or None,
            "bandwidth": bandwidth,
            "id": both.id_column,
        }
    )
