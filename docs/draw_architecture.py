"""Draw the folders and what they import into docs/architecture.md: ``python docs/draw_architecture.py``.

The picture is made from the import graph of the package; the order of the rooms is that of the contract in
pyproject.toml. An arrow that others imply (a imports b, b imports c, and a imports c too) is left out of the
picture, not of the table.
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
    """Return the picture as Mermaid text, and the table of rooms."""
    arrows = imports()
    rooms = [room for layer in layers() for room in layer]
    shapes = [f"    {room}[{room}/]" if (SOURCE / room).is_dir() else f"    {room}({room}.py)" for room in rooms]
    kept = reduced(arrows)
    lines = [f"    {room} --> {to}" for room in rooms for to in sorted(kept[room], key=rooms.index)]
    table = [
        f"| `{room}` | {purpose(room)} | {', '.join(sorted(arrows[room], key=rooms.index)) or 'nothing'} |"
        for room in rooms
    ]
    head = ["| room | what it holds | what it imports |", "|---|---|---|"]
    return "\n".join(["```mermaid", "flowchart TD", *shapes, *lines, "```", "", *head, *table, ""])


def redrawn(page: str) -> str:
    """Return the page with its drawing made anew."""
    return DRAWN.sub(lambda _: drawing(), page)


if __name__ == "__main__":
    PAGE.write_text(redrawn(PAGE.read_text()))
