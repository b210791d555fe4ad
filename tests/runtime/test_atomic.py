"""Files appear whole, and what a killed process leaves is removed by the next one that writes there."""

import os
import subprocess
import sys

import pytest

from tupi.runtime.atomic import filling, is_free, remove_abandoned, replacing, write_atomically

KILLED = """
import os, signal, sys
from pathlib import Path
from tupi.runtime.atomic import replacing
with replacing(Path(sys.argv[1])) as temporary:
    temporary.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def hidden(folder):
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


def test_the_next_write_removes_what_a_killed_process_left(tmp_path):
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "a.csv")], check=False)
    assert len(hidden(tmp_path)) == 1
    write_atomically(tmp_path / "b.csv", b"whole")
    assert [path.name for path in tmp_path.iterdir()] == ["b.csv"]


def test_a_file_that_is_being_written_stays(tmp_path):
    with replacing(tmp_path / "a.csv") as temporary:
        temporary.write_text("mine")
        # As if this process were of another machine, where its number means nothing: the lock alone tells.
        foreign = temporary.with_name(temporary.name.replace(str(os.getpid()), "999999999"))
        temporary.rename(foreign)
        remove_abandoned(tmp_path)
        assert foreign.exists()
        foreign.rename(temporary)
    assert (tmp_path / "a.csv").read_text() == "mine"


def test_hidden_files_of_others_stay(tmp_path):
    for name in (".tupi-notes", ".profile", ".tupi-12-"):
        (tmp_path / name).touch()
    write_atomically(tmp_path / "b.csv", b"")
    assert len(hidden(tmp_path)) == 3


def test_a_link_stays_a_link_and_a_long_name_is_no_obstacle(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to(tmp_path / "real" / "a.csv")
    write_atomically(tmp_path / "link.csv", b"new")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real" / "a.csv").read_text() == "new"
    longest = tmp_path / ("n" * 251 + ".csv")
    assert write_atomically(longest, b"x").read_bytes() == b"x"


KILLED_PARTS = """
import os, signal, sys
from pathlib import Path
from tupi.runtime.atomic import filling
with filling(Path(sys.argv[1]), "part-*"):
    (Path(sys.argv[1]) / "part-0").write_text("one of two")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_folder_that_a_killed_process_filled_by_half_is_free_again(tmp_path):
    folder = tmp_path / "parts"
    subprocess.run([sys.executable, "-c", KILLED_PARTS, str(folder)], check=False)
    write_atomically(folder / "other", b"")  # which removes temporary files, but does not make the folder whole
    (folder / "other").unlink()
    assert sorted(path.name[:5] for path in folder.iterdir()) == [".tupi", "part-"]
    assert is_free(folder, "part-*")
    assert not list(folder.iterdir())


def test_a_folder_that_is_being_filled_or_was_filled_is_not_free(tmp_path):
    assert is_free(tmp_path / "parts", "part-*")
    with filling(tmp_path / "parts", "part-*"):
        (tmp_path / "parts" / "part-0").write_text("all")
        assert not is_free(tmp_path / "parts", "part-*")
    assert [path.name for path in (tmp_path / "parts").iterdir()] == ["part-0"]
    assert not is_free(tmp_path / "parts", "part-*")
    assert not is_free(tmp_path / "parts" / "part-0", "part-*")


def test_a_folder_is_emptied_when_filling_it_fails(tmp_path):
    def interrupted():
        with filling(tmp_path / "parts", "part-*"):
            (tmp_path / "parts" / "part-0").write_text("one of two")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not list((tmp_path / "parts").iterdir())
