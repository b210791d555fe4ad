"""Do the lowest versions that `pyproject.toml` allows pass the tests? Installs them into an environment of their own.

    python -m tests.lowest [FOLDER [TEST ...]]

Prints each package with the version that was installed, and runs the tests that are named, or those of the core. With a
folder, the environment is made there and stays.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXTRAS = ("report", "parquet", "excel", "app", "graph", "boost", "experiments", "distributed", "bench")
TOOLS = ("pytest", "hypothesis", "httpx", "polars", "playwright")  # as they are now: users do not install them
CORE = [
    *("tests/inputs", "tests/judging", "tests/embedding", "tests/algorithm", "tests/results", "tests/cli"),
    *("tests/page/test_answers.py", "tests/page/test_security.py", "tests/page/test_session.py"),
    *("tests/cluster/test_blocks.py", "tests/test_denoise.py", "tests/test_new_items.py", "tests/test_binary.py"),
    *("tests/test_estimator.py", "tests/test_refusals.py"),
]


def lowest_versions(text: str) -> dict[str, str]:
    """Return the lowest version of each package that a `pyproject.toml` names, for the core and the extras."""
    project = tomllib.loads(text)["project"]
    named = [*project["dependencies"], *(one for name in EXTRAS for one in project["optional-dependencies"][name])]
    found = {}
    for requirement in named:
        match = re.fullmatch(r"(?P<name>[\w.-]+)(?P<extras>\[[\w,]+\])?>=(?P<version>[\d.]+)", requirement)
        if match is None:
            raise ValueError(f"{requirement!r} has no lowest version")
        found[match["name"] + (match["extras"] or "")] = match["version"]
    return found


def bare(name: str) -> str:
    """Return the name of a package without its extras."""
    return name.partition("[")[0]


def install(folder: Path, versions: dict[str, str]) -> Path:
    """Make an environment with these versions and the package itself; return its interpreter."""
    venv.create(folder, with_pip=True)
    python, pins = folder / "bin" / "python", folder / "pins.txt"
    pins.write_text("".join(f"{bare(name)}=={version}.*\n" for name, version in versions.items()))
    pip = [python, "-m", "pip", "install", "--quiet", "--no-compile"]
    subprocess.run([*pip, "--constraint", pins, *versions, *TOOLS], check=True)
    subprocess.run([*pip, "--no-deps", "--editable", ROOT], check=True)
    return python


def main() -> int:
    place, *tests = sys.argv[1:] or [None]
    with tempfile.TemporaryDirectory() as temporary:
        versions = lowest_versions((ROOT / "pyproject.toml").read_text())
        python = install(Path(place or temporary), versions)
        listed = subprocess.run(
            [python, "-m", "pip", "list", "--format", "json"], check=True, capture_output=True, text=True
        ).stdout
        installed = {one["name"].lower(): one["version"] for one in json.loads(listed)}
        for name, version in versions.items():
            print(f"{name} >= {version}: {installed[bare(name)]}")
        command = [python, "-m", "pytest", "-p", "no:cacheprovider", *(tests or CORE)]
        return subprocess.run(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main())
