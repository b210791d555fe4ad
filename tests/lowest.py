"""Do the lowest and the newest versions that `pyproject.toml` allows pass the tests?

    python -m tests.lowest [--newest] [--torch] [FOLDER [TEST ...]]

Installs the lowest versions, or the newest ones, into an environment of their own, prints each package with the version
that was installed, and runs the tests that are named, or all of them. With a folder, the environment is made there,
stays, and is used again, so that the tests can be run in parts. PyTorch is installed with ``--torch`` only: it takes
gigabytes. Tests that need it are skipped without it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import tempfile
import tomllib
import venv
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXTRAS = ("report", "parquet", "excel", "app", "graph", "boost", "experiments", "distributed", "bench")


def lowest_versions(text: str, extras: Iterable[str] = EXTRAS) -> dict[str, str]:
    """Return the lowest version of each package that a `pyproject.toml` names, for the core and the extras."""
    project = tomllib.loads(text)["project"]
    named = [*project["dependencies"], *(one for name in extras for one in project["optional-dependencies"][name])]
    found = {}
    for requirement in named:
        match = re.fullmatch(r"(?P<name>[\w.-]+)(?P<extras>\[[\w,]+\])?>=(?P<version>[\d.]+)", requirement)
        if match is None:
            raise ValueError(f"{requirement!r} has no lowest version")
        found[match["name"] + (match["extras"] or "")] = match["version"]
    return found


def tools(text: str) -> list[str]:
    """Return what the tests themselves need, of any version: users do not install it."""
    named = tomllib.loads(text)["project"]["optional-dependencies"]["test"]
    return [re.split(r"[<>=\[]", requirement)[0] for requirement in named if not requirement.startswith("tupi")]


def bare(name: str) -> str:
    """Return the name of a package without its extras."""
    return name.partition("[")[0]


def install(folder: Path, packages: Iterable[str], pins: Iterable[str]) -> None:
    """Make an environment with these packages, of the versions that pins say, and the package itself."""
    venv.create(folder, with_pip=True)
    pinned = folder / "pins.txt"
    pinned.write_text("".join(f"{pin}\n" for pin in pins))
    pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-compile"]
    subprocess.run([*pip, "--constraint", pinned, *packages], check=True)
    subprocess.run([*pip, "--no-deps", "--editable", ROOT], check=True)
    (folder / "complete").touch()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--newest", action="store_true")
    parser.add_argument("--torch", action="store_true")
    parser.add_argument("folder", nargs="?", type=Path)
    given, tests = parser.parse_known_args()  # what follows is pytest's
    project = (ROOT / "pyproject.toml").read_text()
    versions = lowest_versions(project, [*EXTRAS, "torch"] if given.torch else EXTRAS)
    pins = [] if given.newest else [f"{bare(name)}=={version}.*" for name, version in versions.items()]
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        if not (folder / "complete").exists():
            install(folder, [*versions, *tools(project)], pins)
        python = folder / "bin" / "python"
        listed = subprocess.run(
            [python, "-m", "pip", "list", "--format", "json"], check=True, capture_output=True, text=True
        ).stdout
        installed = {one["name"].lower(): one["version"] for one in json.loads(listed)}
        for name, version in versions.items():
            print(f"{name} >= {version}: {installed.get(bare(name), 'missing')}", flush=True)
        # The code that numba keeps beside the source is that of another version of numba.
        source = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
        places = {"PYTHONPATH": source, "NUMBA_CACHE_DIR": str(folder / "compiled")}
        command = [python, "-m", "pytest", "-p", "no:cacheprovider", *tests]
        return subprocess.run(command, cwd=ROOT, env={**os.environ, **places}, check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main())
