"""`tupi denoise --scheduler`, and the example, from Parquet to Parquet."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import tupi
from tests.cluster.conftest import apart, make_items
from tupi.cli import tupi as commands

pytest.importorskip("distributed")
pytest.importorskip("pyarrow")
N = 9000


@pytest.fixture
def folder(tmp_path):
    """Return a folder with scores, two views and labels, all with ids."""
    truth, scores, views = make_items(N)
    ids = [f"item-{k}" for k in range(N)]
    pd.DataFrame({"id": ids, "score": scores}).to_parquet(tmp_path / "scores.parquet", index=False)
    for name, X in views.items():
        frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])]).assign(id=ids)
        frame.to_parquet(tmp_path / f"{name}.parquet", index=False, row_group_size=2000)
    pd.DataFrame({"id": ids[::300], "value": truth[::300]}).to_csv(tmp_path / "labels.csv", index=False)
    return tmp_path


def run(folder, *arguments):
    files = [f"--features={name}={folder / name}.parquet" for name in "ab"]
    settings = ["--method=tupi", "--set", "n_iter=2", "--set", "lam=0.4", "--set", "sigma_w2=0.1"]
    command = ["denoise", str(folder / "scores.parquet"), *files, f"--out={folder / 'out'}", *settings, *arguments]
    return CliRunner().invoke(commands, command)


def test_parquet_in_parquet_out_with_ids_and_labels(client, folder):
    address = client.scheduler_info()["address"]
    labels = f"--labels={folder / 'labels.csv'}"
    done = run(folder, "--scheduler", address, "--id=id", labels, "--json", f"--checkpoint={folder / 'saved'}")
    assert done.exit_code == 0, done.output
    truth, scores, views = make_items(N)
    known = tupi.Values(np.arange(0, N, 300), truth[::300])
    expected = tupi.denoise(scores, views, known, method="tupi", n_iter=2, lam=0.4, sigma_w2=0.1)
    table = pd.concat([pd.read_parquet(path) for path in sorted((folder / "out").iterdir())])
    assert list(table.columns) == ["id", "initial", "prediction"]
    assert table["id"].tolist() == [f"item-{k}" for k in range(N)]
    assert apart(table["prediction"].to_numpy(), expected.predictions) < 1e-4
    facts = json.loads(done.stdout)
    assert facts["n"] == N
    assert facts["evidence"]["sentence"] == expected.evidence.sentence
    assert list((folder / "saved").iterdir())


def test_a_local_cluster_and_a_summary(folder):
    for name in ("scores", "a", "b"):  # without ids, rows are matched by their order
        frame = pd.read_parquet(folder / f"{name}.parquet").drop(columns="id")
        frame.to_parquet(folder / f"{name}.parquet", index=False)
    done = run(folder, "--scheduler=local")
    assert done.exit_code == 0, done.output
    assert f"{N:,} items, method tupi, 2 steps" in done.stdout
    assert "Wrote" in done.stdout
    assert list(pd.read_parquet(folder / "out").columns) == ["initial", "prediction"]


def test_a_run_ends_with_the_three_lines_of_any_other_run(client, folder, monkeypatch):
    words = ["--id=id", f"--labels={folder / 'labels.csv'}"]
    there = ["--scheduler", client.scheduler_info()["address"]]

    def ending(*more):
        done = run(folder, *words, *more)
        assert done.exit_code == 0, done.output
        *_, before, changed, labels, step = done.stdout.rstrip().splitlines()
        assert before == ""
        return changed, labels, step

    on_cluster, here = ending(*there), ending(f"--out={folder / 'here.csv'}")
    assert on_cluster[0].startswith("What changed: the scores of 9,000 items were adjusted with 2 views (")
    assert on_cluster[1].startswith("Labels: on 30 labels, each held out in turn")
    assert on_cluster[1:] == here[1:]

    def places(line):
        return int(re.search(r"moved by at most (?:about )?([\d,]+) places", line)[1].replace(",", ""))

    assert places(on_cluster[0]) == pytest.approx(places(here[0]), rel=0.01)  # of as few items, all are looked at
    monkeypatch.setattr("tupi.cluster.result.SOME", 1000)
    sampled = ending(*there, f"--out={folder / 'again'}")
    assert "moved by at most about" in sampled[0]
    assert places(sampled[0]) == pytest.approx(places(here[0]), rel=0.15)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (["--id=name"], "has no column 'name'"),
        (["--id=id", "--report=r.html"], "accepted there: --out alone"),
        (["--id=id", "--score=a", "--score=b"], "--score: found 2 columns"),
        (["--id=id", "--out=out.csv"], "not a new or an empty folder"),
        ([], "a column 'id' of"),
    ],
)
def test_what_does_not_run_is_one_line(folder, arguments, match):
    done = run(folder, "--scheduler=local", *arguments)
    assert done.exit_code == 2
    assert match in " ".join(done.stderr.split())


def test_the_default_method_is_the_one_of_files_in_memory(folder):
    words = ["denoise", str(folder / "scores.parquet"), f"--features=a={folder / 'a.parquet'}", "--id=id"]
    done = CliRunner().invoke(commands, [*words, f"--out={folder / 'out'}", "--scheduler=local"])
    assert done.exit_code == 0, done.stderr
    assert CliRunner().invoke(commands, [*words, f"--out={folder / 'here.csv'}"]).exit_code == 0
    found = pd.concat([pd.read_parquet(part) for part in sorted((folder / "out").glob("*.parquet"))])
    expected = pd.read_csv(folder / "here.csv")
    assert (found["id"].to_numpy() == expected["id"].to_numpy()).all()
    np.testing.assert_allclose(found["prediction"], expected["prediction"], rtol=1e-9)


def test_text_labels_are_one_line(folder):
    pd.DataFrame({"id": ["item-1", "item-2"], "value": ["low", "high"]}).to_csv(folder / "labels.csv", index=False)
    done = run(folder, "--scheduler=local", "--id=id", f"--labels={folder / 'labels.csv'}")
    assert done.exit_code == 2
    assert "labels: found text such as 'low'" in done.stderr


def test_ids_must_be_in_the_same_order(folder):
    frame = pd.read_parquet(folder / "b.parquet").iloc[::-1]
    frame.to_parquet(folder / "b.parquet", index=False)
    done = run(folder, "--scheduler=local", "--id=id")
    assert done.exit_code == 2
    assert "row 0 of view 'b' is 'item-8999', and 'item-0' in the predictions" in " ".join(done.stderr.split())


def test_the_example_runs(tmp_path):
    example = Path(__file__).parents[2] / "examples" / "parquet_on_dask.py"
    done = subprocess.run([sys.executable, str(example), str(tmp_path)], capture_output=True, text=True, check=True)
    first = done.stdout.splitlines()[0].replace(",", "").split()
    before, after = (float(word) for word in first if word.startswith("0."))
    assert after > before + 0.02
