"""Small changes to the code, one at a time: do the tests of that code notice?

    python -m tests.mutation [--only MODULE]

A *mutant* is a module with one change: another operator or comparison, a number that is one more, a condition that is
turned around. It is killed if one of the tests that belong to the module fails. Each mutant runs in a process of its
own, and the source stays as it is.

What takes long is to import everything, so most mutants are tried twice at most. First a process that has imported the
package and collected the tests runs all tests once, notes which lines each of them reaches and how long it takes, and
then forks once per mutant: the fork puts the changed code into the functions that are there already, wherever else they
were imported to, and runs the tests that reach the changed line, quickest first. Changes outside functions and in
compiled ones cannot be put in like that, and changes that no test noticed might have come too late: these are tried
again in a process that imports the changed module before anything else does, and runs all tests.
"""

from __future__ import annotations

import argparse
import ast
import copy
import gc
import importlib.abc
import importlib.util
import os
import pickle
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from tupi.runtime import computing

SOURCE = Path(__file__).parents[1] / "src"
TESTS = {
    "tupi.algorithm.energy": ["tests/algorithm/test_energy.py"],
    "tupi.algorithm.denoiser": ["tests/algorithm/test_denoiser.py", "tests/algorithm/test_energy.py"],
    "tupi.algorithm.trajectory": ["tests/algorithm/test_choice.py", "tests/algorithm/test_trajectory.py"],
    "tupi.judging.folds": [
        "tests/judging/test_folds.py",
        "tests/judging/test_rare.py",
        "tests/judging/test_evidence.py",
    ],
    "tupi.judging.metrics": ["tests/judging/test_metrics.py"],
    "tupi.judging.ndcg": ["tests/judging/test_ndcg.py"],
    "tupi.judging.conformal": ["tests/judging/test_conformal.py"],
    "tupi.judging.evidence": [
        "tests/judging/test_gain.py",
        "tests/methods/auto/test_guard.py",
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
LEAST = 0.9  # share of the mutants of each module that must be killed
LONGEST = 12  # seconds of a processor for the tests of one mutant: what runs on for ever is noticed, too
QUICKLY = ["-x", "-q", "--assert=plain", "-p", "no:cacheprovider", "-p", "no:unraisableexception", "-o", "addopts="]
OPERATORS: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult, ast.MatMult: ast.Mult,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And, ast.USub: ast.UAdd, ast.BitAnd: ast.BitOr,
    ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change of a module.

    Attributes
    ----------
    line : int
        Where it is.
    change : str
        The changed expression.
    tree : ast.Module
        The whole module with the change.
    reached : range
        The lines of the statement that was changed.
    in_function : bool
        Whether it is in the body of a function that Python itself runs.
    """

    line: int
    change: str
    tree: ast.Module
    reached: range
    in_function: bool


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


def mutants(source: str) -> Iterator[Mutant]:
    """Give each mutant of a module."""
    tree = ast.parse(source)
    nodes = [node for node in ast.walk(tree) if hasattr(node, "lineno")]
    # Options of decorators, such as frozen=True of a dataclass, guard against slips and compute nothing.
    decorators = [one for node in nodes for one in getattr(node, "decorator_list", ())]
    skipped = {id(part) for one in decorators for part in ast.walk(one)}
    above = {id(child): node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for number, node in enumerate(nodes):
        for field, other in () if id(node) in skipped else changes(node):
            changed = copy.deepcopy(tree)
            target = [one for one in ast.walk(changed) if hasattr(one, "lineno")][number]
            setattr(target, field, other)
            text = ast.unparse(target).splitlines()[0]
            place = lines_of(node, above), is_in_function(node, above)
            yield Mutant(node.lineno, text, ast.fix_missing_locations(changed), *place)


def lines_of(node: ast.AST, above: dict[int, ast.AST]) -> range:
    """Return the lines of the statement that a node belongs to, without those of statements inside it."""
    while not isinstance(node, ast.stmt):
        node = above[id(node)]
    inner = [one.lineno for one in getattr(node, "body", ()) if isinstance(one, ast.stmt)]
    end = min(inner) - 1 if inner else node.end_lineno or node.lineno
    return range(node.lineno, max(end, node.lineno) + 1)


def is_in_function(node: ast.AST, above: dict[int, ast.AST]) -> bool:
    """Return whether a node is in the body of a function that is not compiled."""
    found = False
    while id(node) in above:
        child, node = node, above[id(node)]
        if isinstance(node, ast.FunctionDef):
            found = found or child in node.body
            if any("compiled" in ast.unparse(one) for one in node.decorator_list):
                return False
    return found


class Replaced(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module from compiled code in place of its file."""

    def __init__(self, name: str, code: CodeType) -> None:
        self.name, self.code = name, code

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        """Return where the module comes from, if it is the one."""
        return importlib.util.spec_from_loader(fullname, self) if fullname == self.name else None

    def exec_module(self, module: Any) -> None:
        """Run the changed module."""
        exec(self.code, module.__dict__)


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


def forked(work: Callable[[], Any]) -> Any:
    """Do some work in a forked process, quietly; return what it returns, or None if it fails or does not end."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
            answer = pickle.dumps(work())
            with os.fdopen(writer, "wb") as pipe:
                pipe.write(answer)
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return pickle.loads(answer) if answer else None


def limit() -> None:
    """Let this process end when it has taken too long."""
    resource.setrlimit(resource.RLIMIT_CPU, (LONGEST, LONGEST))
    signal.alarm(30 * LONGEST)  # what waits for ever takes no processor; machines are shared


def pytest_on(tests: list[str], *plugins: object) -> int:
    """Run pytest in this process, without plugins of other packages: importing those takes most of the time."""
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    import pytest

    return int(pytest.main([*QUICKLY, *tests], plugins=list(plugins)))


def is_killed(name: str, tree: ast.Module, tests: list[str]) -> bool:
    """Import a mutant before anything else does and run tests; return whether one fails, or takes too long."""

    def passes() -> bool:
        limit()
        forget(name)
        computing.private_folder = lambda: None  # compiled code of a mutant must not be kept for anyone
        sys.meta_path.insert(0, Replaced(name, compile(tree, name, "exec", dont_inherit=True)))
        return pytest_on(tests) == 0

    return not forked(passes)


class Server:
    """Runs the tests of a module on one mutant after the other: a plugin of pytest, in place of its loop over tests.

    Parameters
    ----------
    name, source : str
        The module.
    made : list of Mutant
        Its mutants.

    Attributes
    ----------
    order : list of str
        The tests, quickest first; empty if one fails without any change.
    killed : set of int
        Which mutants were killed.
    """

    def __init__(self, name: str, source: str, made: list[Mutant]) -> None:
        self.path, self.source, self.made = sys.modules[name].__file__, source, made
        self.order: list[str] = []
        self.killed: set[int] = set()
        self.failed = False

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note whether a test failed."""
        self.failed = self.failed or report.failed

    def pytest_runtestloop(self, session: Any) -> bool:
        """Run all tests once, and then those that reach a mutant, for each in a fork."""
        gc.collect()
        functions = [one for one in gc.get_objects() if isinstance(one, FunctionType)]
        functions = [one for one in functions if one.__code__.co_filename == self.path]
        unchanged = list(codes(compile(self.source, self.path or "", "exec", dont_inherit=True)))
        gc.freeze()
        found = forked(lambda: self.watch(session.items))
        if found is None:
            return True
        items = sorted(session.items, key=lambda item: found[item.nodeid][0])
        self.order = [item.nodeid for item in items]
        for number, one in enumerate(self.made):
            chosen = [item for item in items if not found[item.nodeid][1].isdisjoint(one.reached)]
            if one.in_function and chosen:
                code = codes(compile(one.tree, self.path or "", "exec", dont_inherit=True))
                changed = dict(zip(unchanged, code, strict=True))
                if not forked(partial(self.passes, functions, changed, chosen)):
                    self.killed.add(number)
        return True

    def passes(self, functions: list[FunctionType], changed: dict[CodeType, CodeType], items: list[Any]) -> bool:
        """Give functions their changed code and run tests; return whether none fails."""
        limit()
        for one in functions:
            one.__code__ = changed.get(one.__code__, one.__code__)
        return self.run(items)

    def run(self, items: list[Any]) -> bool:
        """Run tests until one fails; return whether none does."""
        for item, following in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.failed:
                return False
        return True

    def watch(self, items: list[Any]) -> dict[str, tuple[float, set[int]]] | None:
        """Run each test; return how long it takes, and which lines of the module it reaches. None if one fails."""
        found = {}
        for item in items:
            lines: set[int] = set()

            def trace(frame: Any, event: str, _: Any, lines: set[int] = lines) -> Any:
                if frame.f_code.co_filename != self.path:
                    return None
                lines.add(frame.f_lineno)
                return trace

            began = time.process_time()
            threading.settrace(trace)
            sys.settrace(trace)
            passed = self.run([item])
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]
            if not passed:
                return None
            found[item.nodeid] = time.process_time() - began, lines
        return found


def codes(code: CodeType) -> Iterator[CodeType]:
    """Give the code of a module and of all functions in it, always in the same order."""
    yield code
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from codes(one)


def killed_of(name: str) -> Iterator[tuple[Mutant, bool]]:
    """Give each mutant of a module, and whether it is killed."""
    source = (SOURCE / Path(*name.split("."))).with_suffix(".py").read_text()
    made = list(mutants(source))

    def serve() -> tuple[list[str], set[int]]:
        importlib.import_module(name)
        server = Server(name, source, made)
        pytest_on(TESTS[name], server)
        return server.order, server.killed

    order, killed = forked(serve) or ([], set())
    if not order or is_killed(name, ast.parse(source), order):
        raise SystemExit(f"{name}: its tests fail without any change")
    for number, one in enumerate(made):
        yield one, number in killed or is_killed(name, one.tree, order)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=list(TESTS), action="append")
    given = parser.parse_args()
    import hypothesis  # noqa: F401
    import numba  # noqa: F401
    import pandas  # noqa: F401
    import pytest  # noqa: F401
    import scipy.integrate
    import scipy.stats  # noqa: F401
    import sklearn  # noqa: F401

    import tupi.api  # noqa: F401

    began, enough = time.monotonic(), True
    for name in given.only or TESTS:
        made = killed = 0
        for one, dead in killed_of(name):
            made, killed = made + 1, killed + dead
            if not dead:
                print(f"  {name}:{one.line} survives as: {one.change}", flush=True)
        enough = enough and killed >= LEAST * made
        took = time.monotonic() - began
        print(f"{name}: {killed} of {made} killed, {100 * killed / made:.0f}%, after {took:.0f} s", flush=True)
    return 0 if enough else 1


if __name__ == "__main__":
    raise SystemExit(main())
