"""Bytes that a fuzzer makes up, read as files: whatever is in a file, there is a table or one sentence.

    python -m tests.fuzz.readers --seconds 60

atheris (``pip install atheris``) keeps those bytes that reach new lines of the readers, and goes on from there. It
begins with a good file of each kind, and the first byte says which kind a file is called.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import io
import re
import subprocess
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

KINDS = (".csv", ".tsv", ".txt.gz", ".npy", ".npz", ".parquet", ".xlsx")
LONGEST = 20  # seconds for one file
MEMORY = 2048  # megabytes for all of them
LARGEST = 8192  # bytes of a file


def good_files() -> list[bytes]:
    """Return a small file of each kind, after the byte that says which."""
    import numpy as np
    import pandas as pd

    frame = pd.DataFrame({"id": ["a", "b", "ü"], "x": [0.5, None, -1e9], "on": ["2020-01-02", "", "2021-03-04"]})
    text = frame.to_csv(index=False)
    arrays, archive, parquet, excel = (io.BytesIO() for _ in range(4))
    np.save(arrays, np.arange(6.0).reshape(3, 2))
    np.savez_compressed(archive, a=np.arange(3), b=np.zeros((3, 2), np.float32))
    frame.to_parquet(parquet)
    frame.to_excel(excel, index=False)
    contents = [text.encode(), frame.to_csv(index=False, sep="\t").encode("utf-16"), gzip.compress(text.encode())]
    contents += [one.getvalue() for one in (arrays, archive, parquet, excel)]
    return [bytes([kind]) + content for kind, content in enumerate(contents)]


def problem_with(content: bytes, folder: Path) -> str | None:
    """Read bytes as a file; return what must not have happened, or None."""
    from tupi.inputs.features import as_views
    from tupi.inputs.files.reading import is_table, read, read_arrays
    from tupi.runtime.errors import InputError

    if not content:
        return None
    path = folder / f"file{KINDS[content[0] % len(KINDS)]}"
    path.write_bytes(content[1:])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if is_table(path):
                table = read(path)
                as_views({"view": table.frame}, len(table.frame))
            else:
                read_arrays(path)
    except InputError as refusal:
        said = str(refusal)
        return None if "\n" not in said and said.endswith((".", "?")) else f"said {said!r}"
    except Exception as other:  # whatever it is, it is what is looked for
        return "".join(traceback.format_exception(other))[-900:]
    return None


def fuzz(seconds: int) -> None:
    """Let atheris make up files for some time; what is found is printed, once for each place where it happens."""
    import atheris

    with atheris.instrument_imports(include=["tupi.inputs", "zipfile", "numpy.lib"]):
        from tupi.inputs.files import reading  # noqa: F401
    found: set[str] = set()
    with tempfile.TemporaryDirectory() as name:
        folder, corpus = Path(name), Path(name) / "corpus"
        corpus.mkdir()
        for kind, content in enumerate(good_files()):
            (corpus / str(kind)).write_bytes(content)

        def one(content: bytes) -> None:
            wrong = problem_with(content, folder)
            if wrong is not None and wrong[-300:] not in found:
                found.add(wrong[-300:])
                print(f"--- {base64.b64encode(content).decode()}\n{wrong}", flush=True)

        limits = [f"-timeout={LONGEST}", f"-rss_limit_mb={MEMORY}", f"-max_len={LARGEST}", "-print_final_stats=1"]
        words = [sys.argv[0], str(corpus), f"-max_total_time={seconds}", *limits, f"-artifact_prefix={name}/"]
        atheris.Setup(words, one)
        atheris.Fuzz()  # ends the process


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--here", action="store_true", help="in this process, which atheris ends")
    given = parser.parse_args()
    if given.here:
        fuzz(given.seconds)
    words = [sys.executable, "-m", "tests.fuzz.readers", "--here", "--seconds", str(given.seconds)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    print(done.stdout, end="")
    files = re.search(r"number_of_executed_units:\s*(\d+)", done.stderr)
    if files is None or done.returncode:
        print(f"The fuzzer ended with exit code {done.returncode}:\n{done.stderr[-2000:]}")
        return 1
    reached = re.findall(r"cov: (\d+)", done.stderr)
    failed = done.stdout.count("--- ")
    places = f"{reached[-1]} places (at first {reached[0]})"
    print(f"{int(files[1]):,} files in {given.seconds} s reached {places}, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
