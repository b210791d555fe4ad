"""Run the notebooks of the gallery, and write what they show into them and into docs/pictures.

python -m tests.run_notebooks
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[1] / "docs"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))


def executed(path: Path, folder: Path) -> Any:
    """Return a notebook after all its cells ran in a folder; a cell that fails raises."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(folder)}}, record_timing=False).execute()
    return notebook


def last_picture(notebook: Any) -> bytes:
    """Return the last picture that a notebook shows."""
    shown = [output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", ())]
    return base64.b64decode([data["image/png"] for data in shown if "image/png" in data][-1])


def main() -> None:
    import tempfile

    import nbformat

    for path in NOTEBOOKS:
        with tempfile.TemporaryDirectory() as folder:
            notebook = executed(path, Path(folder))
        notebook.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
        nbformat.write(notebook, path)
        (DOCS / "pictures" / f"notebook-{path.stem}.png").write_bytes(last_picture(notebook))


if __name__ == "__main__":
    main()
