import io
import tarfile

import numpy as np
import pytest

from tupi.research.datasets import DatasetUnavailableError, load_awa
from tupi.research.datasets import awa as module
from tupi.runtime.errors import InputError

# As in the real classes.txt, the order is not alphabetical, and names hold a plus.
CLASSES = "     1\tantelope\n     2\tkiller+whale\n     3\tbeaver\n"
PICTURES = ("beaver_0001", "antelope_0001", "killer+whale_0002", "antelope_0002", "killer+whale_0001")
IN_ORDER = ("antelope_0001", "antelope_0002", "killer+whale_0001", "killer+whale_0002", "beaver_0001")
WIDTHS = {"decaf": 4096, "surf": 2000, "phog": 252, "vgg19": 4096}
FOLDERS = {"decaf": "decaf", "surf": "surf-hist", "phog": "phog-hist", "vgg19": "vgg19"}


@pytest.fixture
def features(rng):
    return {
        view: {picture: rng.normal(size=width).astype(np.float32) for picture in PICTURES}
        for view, width in WIDTHS.items()
    }


def texts(features):
    """Yield each text file of the archives: DeCAF a number per line, the others one line."""
    for view, table in features.items():
        between = "\n" if view == "decaf" else " "
        for picture, numbers in table.items():
            animal = picture.rsplit("_", 1)[0]
            path = f"Features/{FOLDERS[view]}/{animal}/{picture}.txt"
            yield view, path, between.join(str(number) for number in numbers) + "\n"


def add(tar, name, text):
    content = text.encode()
    member = tarfile.TarInfo(name)
    member.size = len(content)
    tar.addfile(member, io.BytesIO(content))


def write_archives(folder, features):
    root = "Animals_with_Attributes"
    with tarfile.open(folder / "AwA-base.tar.bz2", "w:bz2") as tar:
        add(tar, f"{root}/trainclasses.txt", "antelope\n")
        add(tar, f"{root}/classes.txt", CLASSES)
    for view in features:
        with tarfile.open(folder / f"AwA-features-{view}.tar.bz2", "w:bz2") as tar:
            add(tar, f"{root}/README-features.txt", "Not a feature file: \u00e9")
            # The VGG19 archive unpacks to Features without the folder above.
            prefix = "" if view == "vgg19" else f"{root}/"
            for _, path, text in texts({view: features[view]}):
                add(tar, prefix + path, text)


def write_folder(folder, features):
    root = folder / "Animals_with_Attributes"
    for _, path, text in texts(features):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    (root / "classes.txt").write_text(CLASSES)


@pytest.mark.parametrize("write", [write_archives, write_folder])
def test_reads_the_published_layout(write, data_folder, features):
    write(data_folder, features)
    data = load_awa()
    assert data.ids == IN_ORDER
    assert data.baseline == ("decaf",)
    assert {name: view.shape[1] for name, view in data.views.items()} == WIDTHS
    for view, table in features.items():
        np.testing.assert_array_equal(data.views[view], [table[picture] for picture in IN_ORDER])
    np.testing.assert_array_equal(data.classes, [0, 0, 1, 1, 2])
    np.testing.assert_array_equal(data.targets["class"], data.classes)


def test_says_that_it_never_met_the_real_archive(data_folder, features):
    write_folder(data_folder, features)
    data = load_awa()
    assert "not yet run on the real archive" in data.note
    assert not data.real


def test_a_picture_that_one_view_lacks_is_refused(data_folder, features):
    del features["phog"]["beaver_0001"]
    write_folder(data_folder, features)
    with pytest.raises(InputError, match="AwA phog: found 1 pictures that only one of phog and decaf has"):
        load_awa()


def test_a_short_file_is_refused(data_folder, features):
    features["phog"]["beaver_0001"] = features["phog"]["beaver_0001"][:-1]
    write_folder(data_folder, features)
    with pytest.raises(InputError, match=r"beaver_0001\.txt: found 251 numbers, 252 are expected"):
        load_awa()


def test_an_animal_without_a_class_is_refused(data_folder, features):
    write_folder(data_folder, features)
    (data_folder / "Animals_with_Attributes" / "classes.txt").write_text("1\tantelope\n2\tbeaver\n")
    with pytest.raises(InputError, match=r"classes\.txt: found no killer\+whale"):
        load_awa()


def test_a_damaged_archive_is_refused(data_folder):
    (data_folder / "AwA-base.tar.bz2").write_bytes(b"<html>")
    with pytest.raises(InputError, match=r"found no readable tar\.bz2 archive"):
        load_awa()


def test_offline(nowhere, monkeypatch):
    monkeypatch.delenv("TUPI_DATA", raising=False)
    monkeypatch.setattr(module, "HOMES", (nowhere.rstrip("/"),))
    with pytest.raises(DatasetUnavailableError, match="folder that holds Animals_with_Attributes or AwA-base"):
        load_awa()
