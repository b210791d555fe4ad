"""Small changes to the code, one at a time: do the tests of that code notice?

    python -m tests.mutation [--share 1.0] [--only MODULE] [--minutes 40]

A *mutant* is a module with one change: another operator or comparison, a number that is one more, a condition that is
turned around. It is killed if one of the tests that belong to the module fails. Each mutant runs in a process of its
own, forked after the large libraries and the folders below the module's were imported; the source stays as it is. The
order of mutants is drawn at random, so that those of a run that ends after some minutes stand for all of them.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib.abc
import importlib.util
import os
import resource
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from tupi.runtime import computing

SOURCE = Path(__file__).parents[1] / "src"
TESTS = {
    "tupi.algorithm.energy": ["tests/algorithm/test_energy.py"],
    "tupi.algorithm.denoiser": ["tests/algorithm/test_denoiser.py", "tests/algorithm/test_energy.py"],
    "tupi.algorithm.trajectory": ["tests/algorithm/test_choice.py", "tests/algorithm/test_trajectory.py"],
    "tupi.judging.gain": ["tests/judging/test_gain.py", "tests/methods/auto/test_guard.py"],
    "tupi.judging.folds": ["tests/judging/test_folds.py", "tests/judging/test_rare.py"],
    "tupi.judging.metrics": ["tests/judging/test_metrics.py"],
    "tupi.judging.ndcg": ["tests/judging/test_ndcg.py"],
    "tupi.judging.conformal": ["tests/judging/test_conformal.py"],
    "tupi.judging.evidence": [
        "tests/judging/test_stated.py",
        "tests/judging/test_evidence.py",
        "tests/judging/test_veto.py",
    ],
    "tupi.judging.whole": ["tests/judging/test_losses.py", "tests/judging/test_ndcg.py"],
    "tupi.judging.catalogue": ["tests/judging/test_losses.py", "tests/judging/test_catalogue.py"],
    "tupi.judging.labelled_folds": ["tests/judging/test_labelled_folds.py"],
    "tupi.methods.auto.guard": ["tests/methods/auto/test_guard.py", "tests/methods/auto/test_shares.py"],
}
FOLDERS = ("runtime", "inputs", "blocks", "embedding", "judging", "rankers", "algorithm", "methods")  # lowest first
LONGEST = 20  # seconds of a processor for the tests of one mutant: what runs on for ever is noticed, too
QUICKLY = ["-x", "-q", "--assert=plain", "-p", "no:cacheprovider", "-p", "no:unraisableexception", "-o", "addopts="]
OPERATORS: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult, ast.MatMult: ast.Mult,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And, ast.USub: ast.UAdd, ast.BitAnd: ast.BitOr,
    ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip


def changes(node: ast.AST) -> Iterator[tuple[str, Any]]:
    """Give what can be changed in one node: a field of it, and the other value."""
    if isinstance(node, (ast.BinOp, ast.BoolOp, ast.UnaryOp, ast.AugAssign)) and type(node.op) in OPERATORS:
        yield "op", OPERATORS[type(node.op)]()
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in OPERATORS:
        yield "ops", [OPERATORS[type(node.ops[0])](), *node.ops[1:]]
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield "value", not node.value
    elif isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        yield "value", node.value + 1
    elif isinstance(node, (ast.If, ast.IfExp)):
        yield "test", ast.UnaryOp(ast.Not(), node.test)


def mutants(source: str) -> Iterator[tuple[int, str, ast.Module]]:
    """Give each mutant of a module: the line, what was changed, and the tree."""
    tree = ast.parse(source)
    nodes = [node for node in ast.walk(tree) if hasattr(node, "lineno")]
    # Options of decorators, such as frozen=True of a dataclass, guard against slips and compute nothing.
    decorators = [one for node in nodes for one in getattr(node, "decorator_list", ())]
    skipped = {id(part) for one in decorators for part in ast.walk(one)}
    for number, node in enumerate(nodes):
        for field, other in () if id(node) in skipped else changes(node):
            changed = copy.deepcopy(tree)
            target = [one for one in ast.walk(changed) if hasattr(one, "lineno")][number]
            setattr(target, field, other)
            yield node.lineno, ast.unparse(target).splitlines()[0], ast.fix_missing_locations(changed)


class Replaced(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module from a tree in place of its file."""

    def __init__(self, name: str, tree: ast.Module) -> None:
        self.name, self.tree = name, tree

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        """Return where the module comes from, if it is the one."""
        return importlib.util.spec_from_loader(fullname, self) if fullname == self.name else None

    def exec_module(self, module: Any) -> None:
        """Run the changed module."""
        exec(compile(self.tree, self.name, "exec"), module.__dict__)


def forget(name: str) -> None:
    """Forget what was imported of the package, but for the folders below that of a module: these do not know it."""
    below = FOLDERS[: FOLDERS.index(name.split(".")[1])]
    package = sys.modules["tupi"]
    for one in [one for one in sys.modules if one.startswith("tupi.") and one.split(".")[1] not in below]:
        del sys.modules[one]
    for attribute, value in list(vars(package).items()):
        home = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        if isinstance(home, str) and home.startswith("tupi.") and home not in sys.modules:
            delattr(package, attribute)


def is_killed(name: str, tree: ast.Module, tests: list[str]) -> bool:
    """Run the tests of a module on a mutant in a forked process; return whether one fails, or none ends."""
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (LONGEST, LONGEST))
        signal.alarm(30 * LONGEST)  # what waits for ever takes no processor; machines are shared
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        forget(name)
        computing.private_folder = lambda: None  # compiled code of a mutant must not be kept for anyone
        sys.meta_path.insert(0, Replaced(name, tree))
        os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # importing those of other packages takes most of the time
        import pytest

        os._exit(int(pytest.main([*QUICKLY, *tests])))
    return os.waitpid(child, 0)[1] != 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="of the mutants, drawn at random")
    parser.add_argument("--only", choices=list(TESTS), action="append")
    parser.add_argument("--minutes", type=float, default=float("inf"))
    given = parser.parse_args()
    import hypothesis  # noqa: F401
    import numba  # noqa: F401
    import pandas  # noqa: F401
    import pytest  # noqa: F401
    import scipy.integrate
    import scipy.stats  # noqa: F401
    import sklearn  # noqa: F401

    import tupi.api  # noqa: F401

    rng, began = np.random.default_rng(0), time.monotonic()
    all_killed = all_made = 0
    for name, tests in TESTS.items():
        if given.only and name not in given.only:
            continue
        source = (SOURCE / Path(*name.split("."))).with_suffix(".py").read_text()
        if is_killed(name, ast.parse(source), tests):
            print(f"{name}: its tests fail without any change")
            return 1
        all_of_it = list(mutants(source))
        drawn = rng.permutation(len(all_of_it))[: round(given.share * len(all_of_it))]
        made = killed = 0
        for line, change, tree in (all_of_it[k] for k in drawn):
            if time.monotonic() - began > 60 * given.minutes:
                break
            dead = is_killed(name, tree, tests)
            made, killed = made + 1, killed + dead
            if not dead:
                print(f"  {name}:{line} survives as: {change}", flush=True)
        of = "" if made == len(all_of_it) else f" of {len(all_of_it)}"
        print(f"{name}: {killed} of {made}{of} killed, {100 * killed / max(made, 1):.0f}%", flush=True)
        all_killed, all_made = all_killed + killed, all_made + made
    share = all_killed / max(all_made, 1)
    print(f"{all_killed} of {all_made} mutants killed, {100 * share:.0f}%, in {time.monotonic() - began:.0f} s")
    return 0 if share >= 0.9 else 1


if __name__ == "__main__":
    raise SystemExit(main())
