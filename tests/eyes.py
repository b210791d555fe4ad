"""What an eye would see on a page in a browser, see `eyes.js`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

LOOK = (Path(__file__).parent / "eyes.js").read_text(encoding="utf-8")
WIDTHS = (360, 768, 1400)
SCHEMES = ("light", "dark")


PATIENCE = 40  # looks, a quarter of a second apart: figures follow the window late on a busy machine


def complaints(page: Any) -> list[str]:
    """Return all that an eye would complain about on a page, and goes on to when nothing changes any more."""
    found: list[str] = []
    for _ in range(PATIENCE):
        found = page.evaluate(LOOK)
        if not found:
            break
        page.wait_for_timeout(250)
    return found


def windows(page: Any) -> Iterator[str]:
    """Give a page each width and each scheme of colours in turn."""
    for width in WIDTHS:
        for scheme in SCHEMES:
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=scheme)
            yield f"{width} {scheme}"
