"""The notebooks of the gallery run from top to bottom, and show what they are said to show."""

import pytest

from tests.run_notebooks import DOCS, NOTEBOOKS, executed, last_picture


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path):
    pytest.importorskip("nbclient")
    notebook = executed(path, tmp_path)
    assert last_picture(notebook).startswith(b"\x89PNG")
    assert f"notebooks/{path.name}" in (DOCS / "gallery.md").read_text()
    assert (DOCS / "pictures" / f"notebook-{path.stem}.png").exists()
