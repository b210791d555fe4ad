"""Which branches of the most trusted code no test takes: what reads input, judges, keeps answers and lets people in.

    python -m tests.branches

Runs the tests that belong to that code, lists lines and branches that none of them took, and ends with an error if
there are any. `tests/branches.toml` says which modules are looked at, and what is left out.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

TESTS = [
    "tests/inputs",
    "tests/judging",
    "tests/cli/test_groups.py",
    "tests/cli/test_predict.py",
    "tests/cli/test_tables.py",
    "tests/methods/test_groups.py",
    "tests/methods/auto/test_guard.py",
    "tests/page/test_answers.py",
    "tests/page/test_kills.py",
    "tests/page/test_security.py",
    "tests/results/test_drift.py",
    "tests/test_binary.py",
    "tests/test_denoise.py",
    "tests/test_new_items.py",
    "tests/test_partly_seen.py",
    "tests/test_refusals.py",
    "tests/test_update.py",
]


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        words = ["--cov", "--cov-config=tests/branches.toml", "--cov-report=term-missing:skip-covered"]
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words, *(sys.argv[1:] or TESTS)],
            cwd=Path(__file__).parents[1],
            env={**os.environ, "COVERAGE_FILE": str(Path(folder) / "coverage")},
            check=False,
        ).returncode


if __name__ == "__main__":
    raise SystemExit(main())
