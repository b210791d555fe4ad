"""Count what one call of `tupi.denoise` walks through: ``python -m tests.walk [--names]``.

Functions are those that are called and that have a name of their own: no lambdas, comprehensions, dunder methods or
properties. Those that another file calls are the doors: whoever reads one file need not know the rest of the next one.
Files are those that the functions are in. Classes are those of which any method is called. A compiled function counts
as part of its caller, and one that is defined inside another as part of that one, whoever calls it, such as a thread.
Whatever happens only when modules are imported or compiled is left out, because each call is made once before it is
traced.

To follow the call, though, nobody reads all of these. The landmarks are the doors whose code, without the docstring,
has more than `SHORT` lines: what is shorter says in its name what it does, and what no other file calls belongs to its
caller. ``--source FOLDER`` walks through another tree, such as a checkout of an older commit, so that both are counted
alike.
"""

import argparse
import ast
import inspect
import sys
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np

if "--source" in sys.argv:
    sys.path.insert(0, sys.argv[sys.argv.index("--source") + 1])

import tupi

SOURCE = Path(tupi.__file__).parent
SHORT = 4  # lines of code


class Walk:
    """The functions, files and classes of the package that a call goes through."""

    def __init__(self) -> None:
        self._codes: set[CodeType] = set()
        self._doors: set[CodeType] = set()

    def follow(self, call: Callable[[], Any]) -> "Walk":
        """Make the call, and remember what it executes."""
        threading.setprofile(self._see)
        sys.setprofile(self._see)
        try:
            call()
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
        return self

    def _see(self, frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or not _is_ours(frame.f_code):
            return
        self._codes.add(frame.f_code)
        caller = frame.f_back
        while caller is not None and not _is_ours(caller.f_code):
            caller = caller.f_back
        if caller is None or caller.f_code.co_filename != frame.f_code.co_filename:
            self._doors.add(frame.f_code)

    @property
    def functions(self) -> list[str]:
        """Names such as ``inputs/views.py: View.rows``."""
        return sorted(f"{_file(code)}: {code.co_qualname}" for code in self._codes if _has_a_name(code))

    @property
    def doors(self) -> list[str]:
        """Those of the functions that another file calls."""
        return sorted(f"{_file(code)}: {code.co_qualname}" for code in self._doors if _has_a_name(code))

    @property
    def landmarks(self) -> list[str]:
        """Those of the doors that have more than a few lines."""
        long = (code for code in self._doors if _has_a_name(code) and _lines(code) > SHORT)
        return sorted(f"{_file(code)}: {code.co_qualname}" for code in long)

    @property
    def files(self) -> list[str]:
        """Files that the functions are in, relative to the package."""
        return sorted({_file(code) for code in self._codes if _has_a_name(code)})

    @property
    def lines(self) -> int:
        """How many lines these files have."""
        return sum(len((SOURCE / file).read_text(encoding="utf-8").splitlines()) for file in self.files)

    @property
    def classes(self) -> list[str]:
        """Names such as ``inputs/views.py: View``."""
        return sorted({f"{_file(code)}: {owner}" for code in self._codes if (owner := _class_of(code)) is not None})


def _is_ours(code: CodeType) -> bool:
    return code.co_filename.startswith(str(SOURCE))


def _file(code: CodeType) -> str:
    return str(Path(code.co_filename).relative_to(SOURCE))


def _lines(code: CodeType) -> int:
    """Return how many lines a function's statements have, without signature and docstring."""
    function = ast.parse(textwrap.dedent(inspect.getsource(code))).body[0]
    assert isinstance(function, ast.FunctionDef)
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def _class_of(code: CodeType) -> str | None:
    """Return the class whose body this function stands in, or None."""
    owner, _, name = code.co_qualname.rpartition(".")
    return owner if owner and not owner.endswith("<locals>") and not name.startswith("<") else None


def _has_a_name(code: CodeType) -> bool:
    if code.co_name.startswith(("<", "__")) or "<locals>" in code.co_qualname:
        return False
    owner = _class_of(code)
    kind: Any = sys.modules.get(f"tupi.{_file(code)[:-3].removesuffix('/__init__').replace('/', '.')}")
    if owner is None:
        return not hasattr(getattr(kind, code.co_name, None), "py_func")  # numba shows compiled functions to profilers
    for part in owner.split("."):
        kind = getattr(kind, part, None)
    found = None if kind is None else inspect.getattr_static(kind, code.co_name, None)
    return callable(found) or isinstance(found, (staticmethod, classmethod)) or found is None


def calls() -> dict[str, Callable[[], Any]]:
    """Return the calls to follow: the default method with 40 labels, and the paper's method with as many."""
    rng = np.random.default_rng(0)
    truth = rng.normal(size=300)
    scores = truth + 0.8 * rng.normal(size=300)
    views = {"near": truth[:, None] + 0.3 * rng.normal(size=(300, 2)), "junk": rng.normal(size=(300, 3))}
    labels = tupi.Values(np.arange(40), truth[:40])
    return {name: lambda name=name: tupi.denoise(scores, views, labels, method=name) for name in ("auto", "tupi")}


def main() -> None:
    """Print the counts of each call, and with ``--names`` what was counted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", metavar="FOLDER", help="the folder that holds the package, if not this one")
    parser.add_argument("--names", action="store_true", help="also print what was counted")
    wanted = parser.parse_args()
    for name, call in calls().items():
        call()
        walk = Walk().follow(call)
        doors = f"{len(walk.doors)} of them called from another file, {len(walk.landmarks)} landmarks"
        counts = f"{len(walk.functions)} functions ({doors})"
        print(f"{name}: {counts}, {len(walk.files)} files ({walk.lines:,} lines), {len(walk.classes)} classes")
        for kind in ("functions", "doors", "landmarks", "files", "classes") if wanted.names else ():
            print(f"  {kind}", *getattr(walk, kind), sep="\n    ")


if __name__ == "__main__":
    main()
