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
LOWEST = "with the lowest versions of others"
EARLIER = {  # what `python -m tests.licences` printed besides in an environment of `python -m tests.lowest`
    "crc32c": ("distributed", "GNU Lesser General Public License v2 or later (LGPLv2+)"),
    "pytz": ("core", "MIT License"),
    "urllib3": ("distributed", "MIT"),
}
HEAD = """# Licences

tupi itself is under the MIT licence. This table lists what it installs, directly or through others, with the extras in
which a package is needed ("core": always), and what each package says of its own licence. Some packages are needed
only if others have the lowest versions that tupi allows. `python -m tests.licences --write` makes this table from the
metadata of the installed packages; of those that are not installed it gives no licence.

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


def needed(requirement: str, extra: str) -> tuple[str, tuple[str, ...]] | None:
    """Return the package that a requirement names and its extras, if it holds for an extra ("": without any)."""
    name = re.match(r"([\w.-]+)\s*(?:\[([\w,\s-]+)\])?", requirement)
    marker = requirement.partition(";")[2]
    wanted = re.search(r"extra\s*==\s*['\"]([\w-]+)['\"]", marker)
    if name is None or (wanted[1] if wanted else "") != extra:
        return None
    rest = re.sub(r"\(?\s*(and\s+)?extra\s*==\s*['\"][\w-]+['\"]\s*\)?", "", marker).strip()
    elsewhere = ("win32", "Windows", "darwin", "emscripten", "python_version <", "python_full_version <", "PyPy")
    if any(word in rest for word in elsewhere):
        return None
    return name[1].lower().replace("_", "-"), tuple(re.findall(r"[\w-]+", name[2] or ""))


def everything() -> dict[str, set[str]]:
    """Return all packages that tupi needs, and for what."""
    found: dict[str, set[str]] = {}
    own = distribution("tupi").requires or []
    core: set[tuple[str, str]] = set()  # packages, each without and with those of its extras that are needed
    for extra in ("", *EXTRAS):
        waiting, seen = [more for one in own if (more := needed(one, extra))], set(core)
        while waiting:
            name, extras = waiting.pop()
            if "core" not in found.setdefault(name, set()):
                found[name].add(extra or "core")
            for part in {"", *extras} - {known for package, known in seen if package == name}:
                seen.add((name, part))
                try:
                    requirements = distribution(name).requires or []
                except PackageNotFoundError:
                    continue
                waiting += [more for one in requirements if (more := needed(one, part))]
        core = core or seen
    return found


def table() -> str:
    """Return the table, a line per package."""
    rows = {name: (f"{why}, {LOWEST}", said) for name, (why, said) in EARLIER.items()}
    for name, why in everything().items():
        try:
            said = licence(distribution(name))
        except PackageNotFoundError:
            said = "not installed here"
        rows[name] = ", ".join(sorted(why)), said
    return "".join(f"| {name} | {why} | {said} |\n" for name, (why, said) in sorted(rows.items()))


def main() -> int:
    found = table()
    print(found, end="")
    if "--write" in sys.argv:
        PAGE.write_text(HEAD + found)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
