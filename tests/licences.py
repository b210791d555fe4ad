"""Under which licence is what tupi needs? Lists everything that it installs, directly or not, from its own metadata.

    python -m tests.licences [--write]

With ``--write`` the table goes into `docs/licences.md`.
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "licences.md"
EXTRAS = ("report", "parquet", "excel", "torch", "app", "graph", "boost", "experiments", "distributed")
HEAD = """# Licences

tupi itself is under the MIT licence. This table lists what it installs, directly or through others, with the extras in
which a package is needed ("core": always), and what each package says of its own licence. `python -m tests.licences
--write` makes it from the metadata of the installed packages; of those that are not
installed it gives no licence.

| package | needed for | licence |
|---|---|---|
"""


def licence(package: Distribution) -> str:
    """Return what a package says of its licence, in a few words."""
    metadata = package.metadata
    said = metadata.get("License-Expression")
    if said is None:
        classified = [
            one.rpartition(" :: ")[2] for one in metadata.get_all("Classifier") or () if one.startswith("License ::")
        ]
        text = (metadata.get("License") or "").strip().splitlines()
        said = ", ".join(classified) or (text[0] if text else "not said")
    return said if len(said) <= 100 else f"{said[:99]}…"


def needed(requirement: str, extra: str) -> str | None:
    """Return the package that a requirement names, if it holds for an extra ("": without any)."""
    name = re.match(r"[\w.-]+", requirement)
    marker = requirement.partition(";")[2]
    wanted = re.search(r"extra\s*==\s*['\"]([\w-]+)['\"]", marker)
    if name is None or (wanted[1] if wanted else "") != extra:
        return None
    rest = re.sub(r"\(?\s*(and\s+)?extra\s*==\s*['\"][\w-]+['\"]\s*\)?", "", marker).strip()
    elsewhere = ("win32", "Windows", "darwin", "emscripten", "python_version <", "python_full_version <", "PyPy")
    return None if any(word in rest for word in elsewhere) else name[0].lower().replace("_", "-")


def everything() -> dict[str, set[str]]:
    """Return all packages that tupi needs, and for what."""
    found: dict[str, set[str]] = {}
    own = distribution("tupi").requires or []
    for extra in ("", *EXTRAS):
        waiting = [name for one in own if (name := needed(one, extra))]
        while waiting:
            name = waiting.pop()
            if (extra or "core") in found.get(name, set()) or "core" in found.get(name, set()):
                continue
            found.setdefault(name, set()).add(extra or "core")
            try:
                waiting += [more for one in distribution(name).requires or [] if (more := needed(one, ""))]
            except PackageNotFoundError:
                continue
    return found


def table() -> str:
    """Return the table, a line per package."""
    lines = []
    for name, why in sorted(everything().items()):
        try:
            said = licence(distribution(name))
        except PackageNotFoundError:
            said = "not installed here"
        lines.append(f"| {name} | {', '.join(sorted(why))} | {said} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    found = table()
    print(found, end="")
    if "--write" in sys.argv:
        PAGE.write_text(HEAD + found)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
