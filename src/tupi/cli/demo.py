"""`tupi demo`: the whole way on data that comes with scikit-learn."""

from __future__ import annotations

from pathlib import Path

import click

from tupi.cli.options import output_folder

EXAMPLE = """\b
Example:
  tupi demo --out demo-output
"""


@click.command(epilog=EXAMPLE)
@output_folder("demo-output", "Where the files go.")
@click.option("--no-report", is_flag=True, help="Write no HTML report (which needs plotly).")
@click.option("--quiet", is_flag=True, help="Show no progress bar and no summary.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
def demo(out: Path, no_report: bool, quiet: bool, as_json: bool) -> None:
    """Show what tupi does, on 1,797 handwritten digits, in under a minute.

    The digits have six views (sets of features). For each of them in turn, 200 labelled digits train a ranker on that
    view alone. The other five views and 50 further labels improve its scores. The remaining labels, which nobody used,
    judge the scores before and after.
    """
    from tupi.cli.printing import check_can_report, print_demo, print_json
    from tupi.cli.progress import ProgressBar
    from tupi.research.datasets.digits import VIEWS
    from tupi.research.demo import run_demo

    if not no_report:
        check_can_report()
    with ProgressBar(show=not quiet, parts=len(VIEWS) + 1) as bar:
        found = run_demo(out, not no_report, bar.part, bar.say, bar.step)
    if as_json:
        print_json(
            {
                "n": found.n_items,
                "n_judging": found.n_judging,
                "accuracy": found.table.set_index("view").to_dict(orient="index"),
                "outputs": {name: str(path) for name, path in found.files.items()},
                "command": found.command,
            }
        )
    elif not quiet:
        print_demo(found)
