"""AwA: 30,475 pictures of fifty kinds of animal, through four feature sets."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import numpy as np

from tupi.research.datasets.dataset import Dataset, FloatArray
from tupi.research.datasets.fetch import find_or_download, in_data_folder
from tupi.runtime.errors import InputError

N_ITEMS = 30475
HOMES = ("http://www.ist.ac.at/~chl/AwA", "http://pub.ist.ac.at/~chl/AwA")

#: View: (archive, folder below Features, columns). Histograms of visual words end in -hist.
FEATURES = {
    "decaf": ("AwA-features-decaf.tar.bz2", "decaf", 4096),
    "surf": ("AwA-features-surf.tar.bz2", "surf-hist", 2000),
    "phog": ("AwA-features-phog.tar.bz2", "phog-hist", 252),
    "vgg19": ("AwA-features-vgg19.tar.bz2", "vgg19", 4096),
}
BASE = "AwA-base.tar.bz2"
FOLDER = "Animals_with_Attributes"


def load_awa() -> Dataset:
    """Load Animals with Attributes of Lampert, Nickisch and Harmeling (CVPR 2009), features only.

    ``decaf`` (4,096 columns) is the baseline; ``surf`` (2,000), ``phog`` (252) and ``vgg19`` (4,096) are the
    extra views. The target ``class`` is the number of the animal in ``classes.txt``, an order without
    meaning of its own, as in the paper.

    Files: the folder ``Animals_with_Attributes`` in ``TUPI_DATA`` (``classes.txt``, and
    ``Features/<set>/<animal>/<animal>_0001.txt`` with one picture's numbers each), or the archives
    ``AwA-base.tar.bz2`` and ``AwA-features-<set>.tar.bz2`` there, in the cache or at their public home.
    Reading the archives takes minutes.

    Returns
    -------
    Dataset
        30,475 items in single precision, 1 target, 50 classes, sorted by class.
    """
    animals = _read_animals()
    tables = {view: _read_features(view) for view in FEATURES}
    unknown = {_animal(name) for name in tables["decaf"]} - animals.keys()
    if unknown:
        raise InputError(f"AwA classes.txt: found no {', '.join(sorted(unknown))}")
    ids = sorted(tables["decaf"], key=lambda name: (animals[_animal(name)], name))
    for view, table in tables.items():
        if table.keys() != tables["decaf"].keys():
            differ = len(table.keys() ^ tables["decaf"].keys())
            raise InputError(f"AwA {view}: found {differ} pictures that only one of {view} and decaf has")
    classes = np.array([animals[_animal(name)] for name in ids], dtype=np.intp)
    return Dataset(
        name="awa",
        views={view: np.stack([table[name] for name in ids]) for view, table in tables.items()},
        targets={"class": classes.astype(float)},
        baseline=("decaf",),
        classes=classes,
        ids=tuple(ids),
        real=len(ids) == N_ITEMS,
        note=(
            "Lampert, Nickisch and Harmeling, Animals with Attributes (CVPR 2009), the authors' features; "
            "not yet run on the real archive. The target is the number of the class."
        ),
    )


def _animal(name: str) -> str:
    return name.rsplit("_", 1)[0]


def _read_animals() -> dict[str, int]:
    """Return each animal's place in ``classes.txt``, whose lines are a number and a name."""
    folder = in_data_folder(FOLDER)
    if folder is not None:
        text = (folder / "classes.txt").read_text(encoding="latin-1")
    else:
        texts = [text for path, text in _members(_download(BASE)) if path.name == "classes.txt"]
        if not texts:
            raise InputError(f"{BASE}: found no classes.txt")
        text = texts[0]
    return {line.split()[1]: place for place, line in enumerate(text.splitlines()) if line.strip()}


def _read_features(view: str) -> dict[str, FloatArray]:
    """Return each picture's numbers by the picture's name."""
    archive, below, columns = FEATURES[view]
    folder = in_data_folder(FOLDER)
    files = _files(folder / "Features" / below) if folder is not None else _members(_download(archive))
    table = {}
    for path, text in files:
        if path.parent.parent.name != below:  # a README beside the features
            continue
        # A file is one line of numbers, or a number per line, with spaces or commas between.
        numbers = np.array(text.replace(",", " ").split(), dtype=np.float32)
        if len(numbers) != columns:
            raise InputError(f"AwA {path}: found {len(numbers)} numbers, {columns} are expected")
        table[path.stem] = numbers
    if not table:
        raise InputError(f"AwA {view}: found no feature files in {folder or archive}")
    return table


def _download(archive: str) -> Path:
    urls = [f"{home}/{archive}" for home in HOMES]
    return find_or_download(archive, urls, expected=f"{FOLDER} or {archive}")


def _files(folder: Path) -> Iterator[tuple[PurePosixPath, str]]:
    for path in sorted(folder.glob("*/*.txt")):
        yield PurePosixPath(path.as_posix()), path.read_text(encoding="latin-1")


def _members(archive: Path) -> Iterator[tuple[PurePosixPath, str]]:
    # As a stream: a compressed archive can only be read from front to back at a sensible speed.
    try:
        with tarfile.open(archive, mode="r|bz2") as tar:
            for member in tar:
                content = tar.extractfile(member) if member.name.endswith(".txt") else None
                if content is not None:
                    yield PurePosixPath(member.name), content.read().decode("latin-1")
    except (tarfile.ReadError, EOFError) as error:
        raise InputError(f"{archive}: found no readable tar.bz2 archive ({error})") from error
