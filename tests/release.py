"""Is this tree a release? `python -m tests.release` checks, builds, and tries what was built; it uploads nothing.

1. The version in `src/tupi/__init__.py` is that of `CITATION.cff` and has a section in `CHANGELOG.md` with text in it.
2. A wheel and a source archive are built into `dist`.
3. Each is installed with its extras into clean environments, once with the newest and once with the lowest versions
   that `pyproject.toml` allows, and passes a small test there. The extra `torch` is left out: it takes gigabytes.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

import tupi
from tests.lowest import bare, lowest_versions

ROOT = Path(__file__).resolve().parent.parent
EXTRAS = ("report", "parquet", "excel", "app", "graph", "boost", "experiments", "distributed")
SMOKE = """
import faiss, lightgbm, matplotlib, openpyxl, plotly, pyarrow, starlette, uvicorn
import dask.array as da
import numpy as np
import tupi
assert "site-packages" in tupi.__file__, tupi.__file__
rng = np.random.default_rng(0)
truth = rng.normal(size=200)
views = {"near": truth[:, None] + 0.3 * rng.normal(size=(200, 3)), "far": rng.normal(size=(200, 2))}
scores = truth + rng.normal(size=200)
for method in ("auto", "tupi"):
    result = tupi.denoise(scores, views, labels=tupi.Values(np.arange(30), truth[:30]), method=method)
    before, after = (tupi.pairwise_accuracy(f[30:], truth[30:]) for f in (scores, result.predictions))
    assert after > before, (method, before, after)
    result.report(method + ".html")
    result.save(method + ".npz")
    assert np.array_equal(tupi.load(method + ".npz").predictions, result.predictions)
lazy = {name: da.from_array(view, chunks=(100, -1)) for name, view in views.items()}
lazy = tupi.denoise(da.from_array(scores, chunks=100), lazy)
assert len(lazy.predictions) == 200
print(f"tupi {tupi.__version__} with numpy {np.__version__}: {before:.3f} to {after:.3f}")
"""


def problems(version: str, changelog: str, citation: str) -> list[str]:
    """Return what keeps a version from being released, a sentence each."""
    found = []
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        found.append(f"the version is {version}; accepted: three numbers, such as 0.2.0.")
    section = re.search(rf"^## {re.escape(version)}\b[^\n]*\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    if section is None:
        found.append(f"CHANGELOG.md has no section '## {version}'.")
    elif not section[1].strip():
        found.append(f"the section of {version} in CHANGELOG.md is empty.")
    if f"\nversion: {version}\n" not in citation:
        found.append(f"CITATION.cff is not about version {version}.")
    return found


def lowest(pyproject: str) -> list[str]:
    """Return constraints to the lowest versions that a `pyproject.toml` allows, of the core and of the extras."""
    return [f"{bare(name)}=={version}.*" for name, version in lowest_versions(pyproject).items()]


def try_out(package: Path, constraints: list[str]) -> None:
    """Install a package with its extras into an environment of its own and run the small test there."""
    # Without this the small test would find the source that this process runs from.
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python, pins = Path(folder) / "bin" / "python", Path(folder) / "pins.txt"
        pins.write_text("\n".join(constraints))
        install = [python, "-m", "pip", "install", "--quiet", "--no-compile", "--constraint", pins]
        subprocess.run([*install, f"{package}[{','.join(EXTRAS)}]"], env=clean, check=True)
        subprocess.run([python.with_name("tupi"), "--version"], env=clean, check=True)
        subprocess.run([python, "-c", SMOKE], cwd=folder, env=clean, check=True)


def main() -> int:
    found = problems(tupi.__version__, (ROOT / "CHANGELOG.md").read_text(), (ROOT / "CITATION.cff").read_text())
    for problem in found:
        print(f"release: {problem}", file=sys.stderr)
    if found and "--anyway" not in sys.argv:
        return 1
    pins = lowest((ROOT / "pyproject.toml").read_text())
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "build", "--outdir", folder, ROOT], check=True, stdout=subprocess.DEVNULL)
        built = sorted(Path(folder).iterdir())
        for package in built:
            for name, constraints in (("newest", []), ("lowest", pins)):
                print(f"--- {package.name} with the {name} versions", flush=True)
                begin = time.perf_counter()
                try_out(package, constraints)
                print(f"passed in {time.perf_counter() - begin:.0f} s", flush=True)
        (ROOT / "dist").mkdir(exist_ok=True)
        for package in built:
            (ROOT / "dist" / package.name).write_bytes(package.read_bytes())
    print(f"release: dist has {', '.join(package.name for package in built)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
