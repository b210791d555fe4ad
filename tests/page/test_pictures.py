from __future__ import annotations

from pathlib import Path

import pytest

from tupi.page.demo_files import grey_png
from tupi.page.pictures import MAX_BYTES, find_pictures
from tupi.runtime.errors import InputError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inside = tmp_path / "inside"
    (inside / "sub").mkdir(parents=True)
    (inside / "a.png").write_bytes(b"A")
    (inside / "b.JPG").write_bytes(b"B")
    (inside / "sub" / "c.gif").write_bytes(b"C")
    (inside / "d.svg").write_bytes(b"D")
    (inside / "e.txt").write_bytes(b"E")
    (tmp_path / "secret.png").write_bytes(b"S")
    (inside / "link.png").symlink_to(tmp_path / "secret.png")
    return inside


def test_names_with_and_without_suffix(folder: Path) -> None:
    found = find_pictures(folder, ["a", "b.JPG", "sub/c", "d", "e.txt", "nothing", ""])
    assert [found.read(k) for k in range(7)] == [
        (b"A", "image/png"), (b"B", "image/jpeg"), (b"C", "image/gif"), None, None, None, None,
    ]  # fmt: skip
    assert found.n_found == 3


@pytest.mark.parametrize("name", ["../secret", "../secret.png", "link", "sub/../../secret.png", "x\0y", "n" * 5000])
def test_names_never_lead_out_of_the_folder(folder: Path, name: str) -> None:
    found = find_pictures(folder, ["a", name, str(folder.parent / "secret.png")])
    assert found.read(1) is None
    assert found.read(2) is None


def test_item_numbers_beyond_the_ends_give_nothing(folder: Path) -> None:
    found = find_pictures(folder, ["a"])
    assert found.read(-1) is None
    assert found.read(1) is None


def test_a_picture_that_vanished_or_grew_gives_nothing(folder: Path) -> None:
    found = find_pictures(folder, ["a", "b.JPG"])
    (folder / "a.png").unlink()
    with (folder / "b.JPG").open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    assert found.read(0) is None
    assert found.read(1) is None


def test_a_folder_without_any_picture_is_said(folder: Path) -> None:
    with pytest.raises(InputError, match="no picture for any of 1 items"):
        find_pictures(folder, ["zzz"])
    with pytest.raises(InputError, match="no folder"):
        find_pictures(folder / "none", ["a"])


def test_our_png_is_read_by_others() -> None:
    image = pytest.importorskip("PIL.Image")
    import io

    import numpy as np

    pixels = np.arange(12, dtype=float).reshape(3, 4) * 20
    picture = image.open(io.BytesIO(grey_png(pixels, 2)))
    np.testing.assert_array_equal(np.asarray(picture), np.kron(pixels, np.ones((2, 2))))
