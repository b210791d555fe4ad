"""The demonstration's data as files, so that its page is served like anybody else's."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import sklearn.datasets
from numpy.typing import NDArray

from tupi.inputs.files import InputFiles
from tupi.research.datasets.digits import INK_LEVELS
from tupi.research.demo import demo_case
from tupi.runtime.atomic import write_atomically

ABOUT = (
    "Each item is a handwritten digit from 0 to 9, and the task is to rank them: the greater the digit, the higher its "
    "score should be. The scores come from a weak ranker that saw only the magnitudes of each picture's Fourier "
    "transform. They have no unit; only their order counts. The views are five other ways to measure the same pictures."
)
SCALE = 8  # screen pixels per pixel of a digit


def write_demo_files(folder: Path) -> tuple[InputFiles, Path]:
    """Write the digits, the scores of a ranker that saw one view, and some labels; return them and the pictures.

    The scores, views and labels are those of `tupi demo`.
    """
    pictures = folder / "pictures"
    pictures.mkdir(parents=True, exist_ok=True)
    files = demo_case().write(folder)
    for k, image in enumerate(sklearn.datasets.load_digits().images):
        path = pictures / f"{k}.png"
        if not path.exists():
            write_atomically(path, grey_png(255 - np.round(image * (255 / INK_LEVELS)), SCALE))
    return files, pictures


def grey_png(pixels: NDArray[np.floating], scale: int = 1) -> bytes:
    """Return a grey picture, from 0 for black to 255 for white, as a PNG file."""
    grey = np.kron(pixels, np.ones((scale, scale))).astype(np.uint8)
    rows = np.hstack([np.zeros((len(grey), 1), np.uint8), grey])  # each row begins with the number of its filter

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", grey.shape[1], grey.shape[0], 8, 0, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows.tobytes())) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body
