"""Draw the folders and what they import: ``python docs/draw_architecture.py``.

It writes docs/pictures/architecture.svg and the table in docs/architecture.md, from the import graph of the package;
the order of the rooms is that of the contract in pyproject.toml. An arrow that others imply (a imports b, b imports c,
and a imports c too) is left out of the picture, not of the table.
"""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "tupi"
PAGE = ROOT / "docs" / "architecture.md"
PICTURE = ROOT / "docs" / "pictures" / "architecture.svg"
WIDTH, BOX, ROW = 640, (118, 30), 62  # of the picture, of a room, and from one row of rooms to the next
DRAWN = re.compile(r"(?<=<!-- drawn -->\n).*?(?=<!-- end of what is drawn -->)", re.DOTALL)


def layers() -> list[list[str]]:
    """Return the rooms by layer, the highest first."""
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    return [layer.split(" | ") for layer in contract["layers"]]


def imports() -> dict[str, set[str]]:
    """Return which rooms each room imports directly."""
    graph = grimp.build_graph("tupi", cache_dir=None)
    rooms = [room for layer in layers() for room in layer]
    found: dict[str, set[str]] = {room: set() for room in rooms}
    for module in graph.modules - {"tupi"}:
        room = module.split(".")[1]
        targets = graph.find_modules_directly_imported_by(module) - {"tupi"}
        found[room] |= {target.split(".")[1] for target in targets} - {room}
    return found


def reduced(arrows: dict[str, set[str]]) -> dict[str, set[str]]:
    """Return the arrows that no chain of others implies; there are no cycles."""

    def reach(room: str) -> set[str]:
        return arrows[room].union(*(reach(other) for other in arrows[room]))

    return {
        room: {to for to in direct if not any(to in reach(other) for other in direct - {to})}
        for room, direct in arrows.items()
    }


def purpose(room: str) -> str:
    """Return the first sentence of a room's docstring."""
    path = SOURCE / room / "__init__.py" if (SOURCE / room).is_dir() else SOURCE / f"{room}.py"
    first = (ast.get_docstring(ast.parse(path.read_text())) or "").split("\n")[0]
    return first.replace("|", "\\|")


def drawing() -> str:
    """Return the table of rooms."""
    arrows = imports()
    rooms = [room for layer in layers() for room in layer]
    table = [
        f"| `{room}` | {purpose(room)} | {', '.join(sorted(arrows[room], key=rooms.index)) or 'nothing'} |"
        for room in rooms
    ]
    return "\n".join(["| room | what it holds | what it imports |", "|---|---|---|", *table, ""])


def picture() -> str:
    """Return the rooms with the arrows between them as SVG: a room is one row above the highest that it imports."""
    kept = reduced(imports())
    rooms = [room for layer in layers() for room in layer]
    height: dict[str, int] = {}
    for room in reversed(rooms):  # lower ones first
        height[room] = 1 + max((height[to] for to in kept[room]), default=-1)
    rows = [[room for room in rooms if height[room] == k] for k in range(max(height.values()) + 1)]
    place = {
        room: (WIDTH * (k + 1) // (len(row) + 1), 24 + ROW * (len(rows) - 1 - height[room]))
        for row in rows
        for k, room in enumerate(row)
    }
    half = BOX[1] // 2
    lines = []
    for room in rooms:
        x, y = place[room]
        for to in sorted(kept[room], key=rooms.index):
            (u, v), middle = place[to], (y + place[to][1]) // 2
            lines.append(f'<path d="M{x} {y + half} C{x} {middle} {u} {middle} {u} {v - half - 6}"/>')
    boxes = [
        f'<rect x="{x - BOX[0] // 2}" y="{y - half}" width="{BOX[0]}" height="{BOX[1]}" rx="5"/>'
        f'<text x="{x}" y="{y + 5}">{room}{"/" if (SOURCE / room).is_dir() else ".py"}</text>'
        for room, (x, y) in place.items()
    ]
    tall = ROW * (len(rows) - 1) + 48
    style = (
        "rect{fill:#eef4fa;stroke:#0072b2}text{font:14px sans-serif;text-anchor:middle;fill:#1b1f24}"
        "path{fill:none;stroke:#565d66;marker-end:url(#end)}"
    )
    end = (
        '<marker id="end" viewBox="0 0 8 8" refX="1" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<polygon points="0,0 8,4 0,8" fill="#565d66"/></marker>'
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {tall}" width="{WIDTH}" height="{tall}">',
            f"<style>{style}</style><defs>{end}</defs>",
            '<rect width="100%" height="100%" style="fill:white;stroke:none"/>',
            *lines,
            *boxes,
            "</svg>\n",
        ]
    )


def redrawn(page: str) -> str:
    """Return the page with its drawing made anew."""
    return DRAWN.sub(lambda _: drawing(), page)


if __name__ == "__main__":
    PAGE.write_text(redrawn(PAGE.read_text()))
    PICTURE.write_text(picture())
