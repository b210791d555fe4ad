"""The first seconds: what an import brings along, and where the package runs at all."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tupi
from tupi.cli.group import COMMANDS
from tupi.cli.group import tupi as group

HEAVY = {"numpy", "pandas", "scipy", "sklearn", "numba", "rich", "dask", "distributed", "plotly", "torch", "matplotlib"}
EXTRAS = ("dask", "distributed", "plotly", "torch", "matplotlib", "faiss", "pyarrow", "starlette", "uvicorn", "zarr")

DENOISE = """
import numpy as np
import tupi
rng = np.random.default_rng(0)
truth = rng.normal(size=60)
views = {"p": np.column_stack([truth, truth**2]) + 0.2 * rng.normal(size=(60, 2))}
"""
AUTO = DENOISE + "print(tupi.denoise(truth + rng.normal(size=60), views).method)"


def python(code, *words, **variables):
    return subprocess.run(
        [sys.executable, "-c", code, *words],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import tupi", ()),
        ("from tupi.cli import main\ntry:\n    main()\nexcept SystemExit:\n    pass", ("--help",)),
        ("from tupi.cli import main\ntry:\n    main()\nexcept SystemExit:\n    pass", ("--version",)),
    ],
)
def test_a_start_imports_nothing_that_takes_long(code, words):
    found = python(f"{code}\nimport sys\nprint(*sys.modules)", *words)
    imported = {name.split(".")[0] for name in found.stdout.splitlines()[-1].split()}
    assert "tupi" in imported
    assert not imported & HEAVY


def test_everything_public_is_there_when_it_is_asked_for():
    for name in tupi.__all__:
        assert getattr(tupi, name) is not None
        assert name in dir(tupi)
    with pytest.raises(AttributeError, match="no attribute 'denoize'"):
        tupi.denoize  # noqa: B018


def test_compare_is_the_function_whoever_imports_the_module_of_that_name():
    found = python("import tupi\nfrom tupi.compare import Comparison\nprint(type(tupi.compare).__name__)")
    assert found.stdout == "function\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_what_they_say_themselves(name):
    assert group.get_command(None, name).get_short_help_str(200) == COMMANDS[name]


def test_the_default_method_does_not_wait_for_what_it_does_not_use():
    labelled = AUTO.replace("views)", "views, labels=tupi.Values(range(20), truth[:20]))")
    found = python(labelled + "\nimport sys\nprint(*{'sklearn', 'scipy.stats', 'dask', 'torch'} & set(sys.modules))")
    assert found.stdout == "auto\n\n", found.stderr


def test_a_plain_installation_has_no_extras_and_works():
    code = f"""
import sys
class Missing:
    def find_spec(self, name, *rest):
        if name.split(".")[0] in {EXTRAS}:
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Missing())
import tupi.cli.demo, tupi.cli.denoise, tupi.cli.printing, tupi.research.demo
"""
    found = python(code + AUTO)
    assert found.stdout == "auto\n", found.stderr


@pytest.fixture
def sealed(tmp_path):
    """A copy of the package where nothing can be written beside the modules, also by root."""
    source = Path(tupi.__file__).parent
    shutil.copytree(source, tmp_path / "tupi", ignore=shutil.ignore_patterns("__pycache__", "static"))
    for folder in [tmp_path / "tupi", *(tmp_path / "tupi").rglob("*")]:
        if folder.is_dir():
            (folder / "__pycache__").touch()  # a file: there can be no folder of that name
    (tmp_path / "temporary").mkdir()
    return {
        "PYTHONPATH": str(tmp_path),
        "HOME": os.devnull,
        "XDG_CACHE_HOME": f"{os.devnull}/cache",
        "TMPDIR": str(tmp_path / "temporary"),
        "NUMBA_CACHE_DIR": "",  # as if nobody had named a folder for compiled code
    }


def test_nothing_needs_to_be_writable_but_temporary_files(sealed, tmp_path):
    found = python(AUTO + "\nprint(tupi.__file__)", **sealed)
    assert found.stdout == f"auto\n{tmp_path}/tupi/__init__.py\n", found.stderr
    folder = tmp_path / "temporary" / f"tupi-compiled-{os.getuid()}"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert list(folder.rglob("*.nbi"))


def test_compiled_code_is_not_taken_from_a_folder_that_others_may_write_to(sealed, tmp_path):
    folder = tmp_path / "temporary" / f"tupi-compiled-{os.getuid()}"
    folder.mkdir()
    folder.chmod(0o777)
    found = python(AUTO, **sealed)
    assert found.stdout == "auto\n", found.stderr
    assert not list(folder.iterdir())
