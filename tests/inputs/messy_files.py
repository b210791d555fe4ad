"""Forty files as people have them: how each is made, and what must be read from it or said of it.

``python -m tests.inputs.messy_files FOLDER`` writes them all into a folder, to look at.
"""

from __future__ import annotations

import gzip
import io
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

N = 40
RNG = np.random.default_rng(0)
SCORES = np.round(RNG.random(N), 3)
PRICES = np.round(RNG.uniform(1, 3000, N), 2)
CITIES = [("Zürich", "Genève", "Łódź")[k % 3] for k in range(N)]
DAYS = pd.date_range("2024-01-05", periods=N, freq="9D")
IDS = [f"k{k:03d}" for k in range(N)]


@dataclass(frozen=True)
class Messy:
    """A file of features, and what must come of it.

    Attributes
    ----------
    name : str
        The file's name.
    content : callable
        Returns its bytes.
    kinds : dict
        By column: the kind that it must be taken for.
    says : str
        What must be said of a file that is refused; empty if it must be read.
    warns : str
        What must be warned of.
    options : dict
        Of `read_inputs`.
    """

    name: str
    content: Callable[[], bytes]
    kinds: dict[str, str]
    says: str = ""
    warns: str = ""
    options: dict | None = None


def text(columns: dict, separator: str = ",", encoding: str = "utf-8", ids: bool = True) -> bytes:
    """Return a table as text, each entry as it stands, quoted where it has to be."""
    rows = [[*(["id"] if ids else []), *columns]]
    rows += [[*([IDS[k]] if ids else []), *(str(values[k]) for values in columns.values())] for k in range(N)]
    quoted = [[f'"{cell}"' if separator in cell else cell for cell in row] for row in rows]
    return "".join(separator.join(row) + "\n" for row in quoted).encode(encoding)


def comma(values: np.ndarray) -> list[str]:
    return [str(value).replace(".", ",") for value in values]


def excel(frame: pd.DataFrame, **options) -> bytes:
    buffer = io.BytesIO()
    frame.to_excel(buffer, index=False, **options)
    return buffer.getvalue()


def parquet(frame: pd.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.to_parquet(buffer, index=False)
    return buffer.getvalue()


def gapped(word: str) -> list[str]:
    return [word if k % 4 == 0 else f"{value}" for k, value in enumerate(PRICES)]


def bomb() -> bytes:
    """Return 20 kB of gzip that unpack to 20 MB."""
    return gzip.compress(b"id,price\n" + b"0" * (1 << 20), 9) * 20


FRAME = pd.DataFrame({"id": IDS, "price": PRICES, "city": CITIES, "day": DAYS})
PLAIN = {"price": PRICES, "city": CITIES}
EXPECTED = {"price": "number", "city": "category"}
REPEATED = text({"price": PRICES}) + f"{IDS[3]},7.5\n".encode()
LOREM = "quiet bright old new flat house garden lake town centre view station".split()  # noqa: SIM905
TEXTS = [" ".join(np.random.default_rng(k).choice(LOREM, 4)) for k in range(N)]

CASES = [
    # Separators and encodings
    Messy("plain.csv", lambda: text(PLAIN), EXPECTED),
    Messy("semicolons.csv", lambda: text({"price": comma(PRICES), "city": CITIES}, ";"), EXPECTED),
    Messy("tabs.csv", lambda: text(PLAIN, "\t"), EXPECTED),
    Messy("tabs.tsv", lambda: text(PLAIN, "\t"), EXPECTED),
    Messy("bars.txt", lambda: text(PLAIN, "|"), EXPECTED),
    Messy("blanks.txt", lambda: text(PLAIN, " "), EXPECTED),
    Messy("excel_says.csv", lambda: b"sep=;\n" + text(PLAIN, ";"), EXPECTED),
    Messy("bom.csv", lambda: text(PLAIN, encoding="utf-8-sig"), EXPECTED),
    Messy("utf16.csv", lambda: text(PLAIN, "\t", "utf-16"), EXPECTED),
    Messy("utf16_without_mark.csv", lambda: text({"price": PRICES}, encoding="utf-16-le"), {"price": "plain"}),
    Messy(
        "latin1.csv",
        lambda: text({"price": PRICES, "city": [c[0] + "é" for c in "abc" * 14][:N]}, encoding="latin-1"),
        EXPECTED,
    ),
    Messy("windows_lines.csv", lambda: text(PLAIN).replace(b"\n", b"\r\n"), EXPECTED),
    Messy("trailing_separator.csv", lambda: text(PLAIN).replace(b"\n", b",\n"), EXPECTED),
    Messy("packed.csv.gz", lambda: gzip.compress(text(PLAIN)), EXPECTED),
    Messy("packed_without_saying_so.csv", lambda: gzip.compress(text(PLAIN)), EXPECTED),
    Messy("book.xlsx", lambda: excel(FRAME), {**EXPECTED, "day": "date"}),
    Messy("table.parquet", lambda: parquet(FRAME), {**EXPECTED, "day": "date"}),
    # Columns
    Messy("dollars.csv", lambda: text({"price": [f"${v:,.2f}" for v in PRICES]}), {"price": "number"}),
    Messy(
        "euros.csv",
        lambda: text({"price": [f"{v:,.2f} €".translate(str.maketrans(",.", ".,")) for v in PRICES]}, ";"),
        {"price": "number"},
    ),
    Messy("percent.csv", lambda: text({"price": [f"{100 * v:.0f}%" for v in SCORES]}), {"price": "number"}),
    Messy("decimal_commas.csv", lambda: text({"price": comma(PRICES)}), {"price": "number"}),
    Messy(
        "brackets.csv", lambda: text({"price": [f"({v})" if v > 2000 else str(v) for v in PRICES]}), {"price": "number"}
    ),
    Messy("na.csv", lambda: text({"price": gapped("N/A"), "city": CITIES}), EXPECTED),
    Messy("dash.csv", lambda: text({"price": gapped("-")}), {"price": "number"}),
    Messy("unknown.csv", lambda: text({"price": gapped("unknown")}), {"price": "number"}),
    Messy("days.csv", lambda: text({"day": DAYS.strftime("%Y-%m-%d")}), {"day": "date"}),
    Messy("german_days.csv", lambda: text({"day": DAYS.strftime("%d.%m.%Y")}), {"day": "date"}),
    Messy("american_days.csv", lambda: text({"day": DAYS.strftime("%m/%d/%Y %I:%M %p")}), {"day": "date"}),
    Messy("yes_no.csv", lambda: text({"city": ["Yes" if k % 3 else "No" for k in range(N)]}), {"city": "boolean"}),
    Messy("texts.csv", lambda: text({"title": TEXTS}), {"title": "text"}),
    Messy(
        "codes.csv",
        lambda: text({"price": PRICES, "city": CITIES, "code": [f"X{k * 37}" for k in range(N)]}),
        {**EXPECTED, "code": "id"},
    ),
    Messy("constant.csv", lambda: text({**PLAIN, "currency": ["EUR"] * N}), {**EXPECTED, "currency": "constant"}),
    # Ids
    Messy(
        "catalogue.csv",
        lambda: text(PLAIN) + b"k900,1.5,Bern\nk901,2.5,Bern\n",
        EXPECTED,
        warns="2 id(s) are not among",
    ),
    Messy(
        "some_rows.csv",
        lambda: b"\n".join(text(PLAIN).split(b"\n")[:31]) + b"\n",
        EXPECTED,
        warns="10 of 40 items have no row",
    ),
    Messy("twice.csv", lambda: REPEATED, {}, says="1 id(s) in column 'id' occur more than once (first: k003)"),
    Messy("twice_mean.csv", lambda: REPEATED, {"price": "plain"}, options={"duplicates": "mean"}),
    Messy("capitals.csv", lambda: text(PLAIN).replace(b"\nk", b"\nK"), {}, says="differ only by upper and lower case"),
    # What cannot be read
    Messy("web_page.csv", lambda: b"<!DOCTYPE html><html>Sign in</html>", {}, says="is a web page"),
    Messy("book_called.csv", lambda: excel(FRAME), {}, says="is an Excel file or another zip archive"),
    Messy("old_book.xls", lambda: b"\xd0\xcf\x11\xe0", {}, says="saved as .xlsx or .csv"),
    Messy("no_names.csv", lambda: b"1,2\n3,4\n", {}, says="the first line holds numbers only"),
    Messy("ragged.csv", lambda: b"id,a\nk000,1\nk001,2,3\n", {}, says="cannot be read as a table"),
    Messy("half.csv.gz", lambda: gzip.compress(text(PLAIN))[:60], {}, says="cannot be unpacked"),
    Messy("bomb.csv.gz", bomb, {}, says="unpacks to more than"),
    Messy(
        "damaged.csv", lambda: text(PLAIN).replace("Ł".encode(), b"\xff", 1), {}, says="is UTF-8 text but for 1 byte(s)"
    ),
    Messy("noise.csv", lambda: np.random.default_rng(1).bytes(3000), {}, says="holds bytes that are no text"),
    Messy("cut.parquet", lambda: parquet(FRAME)[:-30], {}, says="is not a Parquet file, or a damaged one"),
    Messy("cut.xlsx", lambda: excel(FRAME)[:500], {}, says="is not an Excel file"),
]


def write(folder: Path) -> None:
    """Write all files into a folder, and the scores that they belong to."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "scores.csv").write_bytes(text({"score": SCORES}))
    for case in CASES:
        (folder / case.name).write_bytes(case.content())


if __name__ == "__main__":
    write(Path(sys.argv[1]))
