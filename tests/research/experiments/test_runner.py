from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import ClassVar

import pytest

from tupi.methods.tupi import LAM_GRID, SIGMA_W2_GRID, Tupi
from tupi.research.experiments.experiment import TrialExperiment
from tupi.research.experiments.runner import CellsFailedError, _finished, missing, records, run
from tupi.research.experiments.store import Cell
from tupi.research.experiments.surface import Surface
from tupi.research.experiments.table1 import Table1


@dataclass(frozen=True)
class Counted(TrialExperiment):
    """An experiment that costs nothing, and fails on demand."""

    name: ClassVar[str] = "counted"
    title: ClassVar[str] = "Counted"
    datasets: ClassVar[tuple[str, ...]] = ("mfeat",)

    shift: float = 0.0
    fails_on: str = ""

    def targets(self, dataset):
        return ("fou", "mor")

    def run(self, trial):
        if self.fails_on in trial.views:
            raise ArithmeticError("too much of it")
        return {"accuracy": {"I": trial.accuracy(trial.initial) + self.shift}}

    def seconds(self, dataset):
        return 1.0

    def section(self, records, pictures):
        return ""


@pytest.fixture
def experiment(protocol):
    return Counted(protocol)


def test_all_targets_under_all_seeds_and_their_predictions_first(mfeat, store, experiment):
    jobs = missing([experiment], store, ["mfeat"], range(2))
    kinds = [job.cell.experiment for job in jobs]
    assert kinds == ["initial-svm"] * 4 + ["counted-svm"] * 4
    assert {(job.cell.target, job.cell.seed) for job in jobs} == {(t, s) for t in ("fou", "mor") for s in (0, 1)}


def test_what_only_explains_and_what_trains_networks_takes_fewer_seeds(mfeat, protocol):
    def seeds(experiment):
        return sorted({cell.seed for cell in experiment.cells(["mfeat"], range(10))})

    assert seeds(Table1(protocol)) == list(range(10))  # as many as are asked for
    assert seeds(Table1(replace(protocol, rankers=("svm", "network")))) == list(range(5))
    assert seeds(Surface(protocol)) == [0, 1, 2]
    assert sorted({cell.seed for cell in Surface(protocol).cells(["mfeat"], range(2, 4))}) == [2, 3]


def test_a_stopped_run_resumes_where_it_was(mfeat, store, experiment):
    finished = []

    def stop(done, total, workers, what):
        finished.append(what)
        if len(finished) == 4:  # the start, two predictions, one cell
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run([experiment], store, ["mfeat"], [0], 1, stop)
    assert finished[1:] == [
        "initial-svm mfeat fou, seed 0",
        "initial-svm mfeat mor, seed 0",
        "counted-svm mfeat fou, seed 0",
    ]
    stamps = {path: path.stat().st_mtime_ns for path in store.folder.rglob("*.json")}
    assert len(stamps) == 3
    finished.clear()
    run([experiment], store, ["mfeat"], [0], 1, lambda *told: finished.append(told[-1]))
    assert finished == ["", "counted-svm mfeat mor, seed 0"]
    assert all(path.stat().st_mtime_ns == stamp for path, stamp in stamps.items())
    assert missing([experiment], store, ["mfeat"], [0]) == []


def test_a_changed_configuration_is_computed_again_and_predictions_are_not(mfeat, store, experiment):
    run([experiment], store, ["mfeat"], [0], 1)
    (first, _) = records(experiment, store, ["mfeat"], [0])
    changed = replace(experiment, shift=1.0)
    assert records(changed, store, ["mfeat"], [0]) == []
    assert {job.cell.experiment for job in missing([changed], store, ["mfeat"], [0])} == {"counted-svm"}
    run([changed], store, ["mfeat"], [0], 1)
    (again, _) = records(changed, store, ["mfeat"], [0])
    assert again["result"]["accuracy"]["I"] == first["result"]["accuracy"]["I"] + 1.0


def test_a_method_s_setting_and_its_grid_are_part_of_the_configuration(mfeat, protocol):
    settings = [Table1(protocol, method=method).settings("mfeat") for method in (Tupi(), Tupi(lam=0.4), Tupi(rank=20))]
    assert settings[0] != settings[1] != settings[2] != settings[0]
    grid = settings[0]["experiment"]["method"]["grid"]
    assert len(grid) == len(LAM_GRID) * len(SIGMA_W2_GRID) == 12
    assert settings[0]["initial"]["protocol"]["n_train"] == 50


def test_a_failing_cell_does_not_stop_the_others(mfeat, store, protocol):
    failing = Counted(protocol, fails_on="fou")  # a view of mor, and not of itself
    with pytest.raises(
        CellsFailedError, match="1 of 4 cells failed; the first is counted-svm mfeat mor, seed 0: Arith"
    ):
        run([failing], store, ["mfeat"], [0], 1)
    assert [record["cell"]["target"] for record in records(failing, store, ["mfeat"], [0])] == ["fou"]


def test_work_done_adds_up_to_all_work(mfeat, store, experiment):
    told = []
    run([experiment], store, ["mfeat"], [0], 1, lambda *one: told.append(one))
    done = [one[0] for one in told]
    assert done == sorted(done)
    assert done[0] == 0.0
    assert done[-1] == pytest.approx(told[-1][1])


def test_what_takes_longest_begins_first(mfeat, store, experiment):
    """Else one process may begin with it when the others have just finished."""

    class Pool:
        def __init__(self):
            self.order = []

        def submit(self, work, jobs, store):
            self.order.append(sum(job.seconds for job in jobs))
            done = Future()
            done.set_result([""] * len(jobs))
            return done

    jobs = [job for job in missing([experiment], store, ["mfeat"], [0, 1, 2]) if job.experiment is not None]
    lengths = {0: 1.0, 1: 5.0, 2: 3.0}
    pool = Pool()
    finished = list(_finished([replace(job, seconds=lengths[job.cell.seed]) for job in jobs], store, pool))
    assert pool.order == [10.0, 6.0, 2.0]
    assert len(finished) == len(jobs)


def test_two_processes_give_what_one_gives(mfeat, store, tmp_path, protocol):
    table = Table1(protocol, method=Tupi(lam=0.4, sigma_w2=0.1, n_iter=2), n_random=1)
    cells = [Cell(table.label, "mfeat", target, 0) for target in table.targets("mfeat")]
    results = []
    for workers in (1, 2):
        own = type(store)(tmp_path / f"workers{workers}")
        run([table], own, ["mfeat"], [0], workers)
        results.append([own.read(cell, table.settings("mfeat"))["result"] for cell in cells])
    assert results[0] == results[1]
