import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tupi.research.datasets import DatasetUnavailableError
from tupi.research.datasets import fetch as fetch_module
from tupi.research.datasets.fetch import cache_folder, find_or_download, in_data_folder, package_folder
from tupi.runtime.errors import InputError

CONTENT = bytes(range(256)) * 20_000  # 5 MB: several chunks


class Handler(BaseHTTPRequestHandler):
    """Serve the server's content; paths choose how it goes wrong."""

    def do_GET(self):
        self.server.requests.append(self.path)
        if self.path == "/missing":
            self.send_error(404)
            return
        content = self.server.content
        self.send_response(200)
        self.send_header("Content-Type", "text/html" if self.path == "/page" else "application/zip")
        if self.path != "/no-length":
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if self.path == "/broken" else content)

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.content = CONTENT
        running.requests = []
        running.url = f"http://127.0.0.1:{running.server_port}"
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_downloads_once_and_records_the_checksum(server, own_cache):
    seen = []
    path = find_or_download("x.zip", [f"{server.url}/ok"], progress=lambda done, total: seen.append((done, total)))
    assert path == own_cache / "x.zip"
    assert path.read_bytes() == CONTENT
    assert (own_cache / "x.zip.sha256").read_text() == f"{hashlib.sha256(CONTENT).hexdigest()}  x.zip\n"
    assert names(own_cache) == ["x.zip", "x.zip.sha256"]
    assert [total for _, total in seen] == [len(CONTENT)] * len(seen)
    assert len(seen) > 1
    assert seen == sorted(seen)
    assert seen[-1][0] == len(CONTENT)

    assert find_or_download("x.zip", [f"{server.url}/ok"]) == path
    assert server.requests == ["/ok"]


def test_length_may_be_unknown(server):
    seen = []
    path = find_or_download("x.zip", [f"{server.url}/no-length"], progress=lambda *at: seen.append(at))
    assert path.read_bytes() == CONTENT
    assert seen[-1] == (len(CONTENT), None)


def test_the_next_address_is_tried(server, nowhere):
    path = find_or_download("x.zip", [nowhere, f"{server.url}/missing", f"{server.url}/ok"])
    assert path.read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/broken", "the connection closed after 2560000 of 5120000 bytes"),
        ("/missing", "HTTP Error 404"),
        ("/page", "the answer is a web page, not the file"),
    ],
)
def test_a_failed_download_leaves_nothing_behind(server, own_cache, path, reason):
    with pytest.raises(DatasetUnavailableError, match=reason):
        find_or_download("x.zip", [server.url + path])
    assert names(own_cache) == []
    # The next attempt starts afresh.
    assert find_or_download("x.zip", [f"{server.url}/ok"]).read_bytes() == CONTENT


def test_an_interrupted_download_leaves_nothing_behind(server, own_cache):
    def interrupt(done, total):
        assert names(own_cache) != ["x.zip"]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        find_or_download("x.zip", [f"{server.url}/ok"], progress=interrupt)
    assert names(own_cache) == []


def test_a_changed_file_at_the_home_is_an_error(server, own_cache):
    find_or_download("x.zip", [f"{server.url}/ok"]).unlink()
    server.content = b"something else"
    with pytest.raises(DatasetUnavailableError, match=r"x\.zip has SHA-256 .* was recorded when it was first seen"):
        find_or_download("x.zip", [f"{server.url}/ok"])
    assert names(own_cache) == ["x.zip.sha256"]


def test_a_changed_file_in_the_cache_is_an_error(server):
    path = find_or_download("x.zip", [f"{server.url}/ok"])
    path.write_bytes(CONTENT[:-1])
    with pytest.raises(DatasetUnavailableError, match=r"delete .*x\.zip and x\.zip\.sha256 beside it"):
        find_or_download("x.zip", [f"{server.url}/ok"])


def test_a_file_put_into_the_cache_by_hand_is_recorded(own_cache):
    own_cache.mkdir()
    (own_cache / "x.zip").write_bytes(b"by hand")
    find_or_download("x.zip", [])
    assert (own_cache / "x.zip.sha256").read_text().split()[0] == hashlib.sha256(b"by hand").hexdigest()


def test_offline_gets_one_sentence_that_names_the_file_and_the_variable(nowhere, monkeypatch):
    monkeypatch.delenv("TUPI_DATA", raising=False)
    with pytest.raises(DatasetUnavailableError) as caught:
        find_or_download("x.zip", [nowhere], expected="x.npz")
    message = str(caught.value)
    assert message.startswith(f"x.zip could not be downloaded from {nowhere} (")
    assert message.endswith("; set TUPI_DATA to a folder that holds x.npz.")
    assert "\n" not in message
    assert isinstance(caught.value, OSError)


def test_the_data_folder_comes_first(data_folder, server):
    (data_folder / "x.zip").write_bytes(b"mine")
    assert find_or_download("x.zip", [f"{server.url}/ok"]) == data_folder / "x.zip"
    assert server.requests == []
    assert in_data_folder("other") is None


def test_a_data_folder_that_does_not_exist_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setenv("TUPI_DATA", str(tmp_path / "typo"))
    with pytest.raises(InputError, match=r"TUPI_DATA: found '.*typo', the path of an existing folder"):
        in_data_folder("x.zip")


def test_a_bar_is_shown_on_a_terminal_only(server, monkeypatch, capsys):
    find_or_download("x.zip", [f"{server.url}/ok"])
    assert capsys.readouterr() == ("", "")
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich then takes stderr for a terminal
    find_or_download("y.zip", [f"{server.url}/ok"])
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "y.zip" in shown.err


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {"XDG_CACHE_HOME": "/somewhere"}, Path("/somewhere/tupi")),
        ("linux", {}, Path("/home/me/.cache/tupi")),
        ("darwin", {}, Path("/home/me/Library/Caches/tupi")),
        ("win32", {"LOCALAPPDATA": "/local"}, Path("/local/tupi")),
    ],
)
def test_cache_folder_follows_the_platform(monkeypatch, platform, variables, expected):
    for name in ("TUPI_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(fetch_module.sys, "platform", platform)
    monkeypatch.setattr(Path, "home", lambda: Path("/home/me"))
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert cache_folder() == expected


def test_a_package_is_found_without_being_imported(tmp_path, monkeypatch):
    folder = tmp_path / "unimportable"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    assert package_folder("unimportable") == folder
    assert package_folder("no_such_package_anywhere") is None
