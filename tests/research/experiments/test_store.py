import json

import pytest

from tupi.research.experiments.store import Cell, Store

CELL = Cell("table1", "mfeat", "fou", 3)
SETTINGS = {"lam": (0.1, 0.4), "method": {"name": "tupi"}}


def test_what_is_written_comes_back_with_seed_versions_and_settings(store):
    store.write(CELL, SETTINGS, 1.25, {"accuracy": {"I": 79.123456789012345}})
    record = store.read(CELL, SETTINGS)
    assert record["result"] == {"accuracy": {"I": 79.123456789012345}}
    assert record["cell"]["seed"] == 3
    assert record["settings"] == {"lam": [0.1, 0.4], "method": {"name": "tupi"}}
    assert {"tupi", "numpy", "python"} <= record["versions"].keys()
    assert record["seconds"] == 1.25


@pytest.mark.parametrize("other", [{"lam": (0.1, 0.5), "method": {"name": "tupi"}}, {}, SETTINGS | {"more": None}])
def test_other_settings_do_not_reuse_a_cell(store, other):
    store.write(CELL, SETTINGS, 1.0, {})
    assert store.read(CELL, other) is None


def test_cells_do_not_meet_in_one_file(store):
    cells = [
        CELL,
        Cell("table1", "mfeat", "fou", 4),
        Cell("table1", "mfeat", "kar", 3),
        Cell("table2", "mfeat", "fou", 3),
    ]
    cells.append(Cell("table1", "osr", "large-objects", 3))
    assert len({store.path(cell) for cell in cells}) == len(cells)
    for k, cell in enumerate(cells):
        store.write(cell, SETTINGS, 1.0, {"k": k})
    assert [store.read(cell, SETTINGS)["result"]["k"] for cell in cells] == list(range(len(cells)))


def test_names_that_a_file_cannot_have_are_still_told_apart(store):
    store.write(Cell("a", "b", "x/y", 0), {}, 1.0, {})
    assert store.read(Cell("a", "b", "x y", 0), {}) is None  # the same file, but not the same cell


def test_a_half_written_file_counts_as_missing(store):
    store.write(CELL, SETTINGS, 1.0, {})
    path = store.path(CELL)
    path.write_text(path.read_text()[:-20])
    assert store.read(CELL, SETTINGS) is None


def test_a_failed_write_leaves_nothing_behind(tmp_path):
    store = Store(tmp_path)
    with pytest.raises(TypeError):
        store.write(CELL, {}, 1.0, {"not": object()})
    assert list(tmp_path.rglob("*.json")) == []


def test_files_are_plain_json(store):
    store.write(CELL, SETTINGS, 1.0, {"accuracy": {}})
    assert json.loads(store.path(CELL).read_text())["cell"]["target"] == "fou"
