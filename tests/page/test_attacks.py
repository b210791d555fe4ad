"""Attacks as a real browser would carry them out: scripts in names and pictures, other sites, and clients that dawdle.

What other clients can send is in test_server.py.
"""

from __future__ import annotations

import contextlib
import http.server
import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from benchmarks.page import CHROMIUM, FLAGS

from tests.page.conftest import N, Served, truth
from tests.page.test_browser import Person
from tests.reported import labelled
from tupi.page.demo_files import grey_png
from tupi.results.report import write_report

SCRIPTS = (
    "<script>window.pwned=1</script>",
    "<img src=x onerror=window.pwned=1>",
    "\"><svg onload='window.pwned=1'>",
    "<a href='javascript:window.pwned=1'>click</a>",
    "</script><script>window.pwned=1</script>",
    "{{constructor.constructor('window.pwned=1')()}}",
    "&lt;img src=x onerror=window.pwned=1&gt;",
    "javascript:window.pwned=1",
)
VIEW = "<img src onerror window.pwned()>"  # a name on the command line ends at its first "="
# What must not have come of any name: a value that only a script sets, and elements that the page has none of.
HARM = """() => [
  window.pwned ?? null,
  document.querySelectorAll("[onerror], [onload], [src=x], a[href^='javascript' i]").length,
  [...document.scripts].filter((one) => /pwned/.test(one.textContent) && one.type !== "application/json").length,
]"""
SAFE = [None, 0, 0]


def names() -> list[str]:
    return [f"{SCRIPTS[k % len(SCRIPTS)]} {k}" for k in range(N)]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """`tupi serve` with scripts for ids, names, titles and pictures."""
    folder = tmp_path_factory.mktemp("hostile")
    rng, true, evil = np.random.default_rng(1), truth(), SCRIPTS[0]
    pictures = [f"p{k}.png" for k in range(N)]
    pictures[:3] = ["evil.svg", "page.png", "../secret.png"]
    table = {"id": names(), "score": true + rng.normal(size=N), "picture": pictures, f"note{evil}": SCRIPTS[1]}
    pd.DataFrame(table).to_csv(folder / "scores.csv", index=False)
    np.save(folder / "clean.npy", true[:, None] + 0.3 * rng.normal(size=(N, 2)))
    pd.DataFrame({"id": names()[:30], "value": true[:30]}).to_csv(folder / "labels.csv", index=False)
    (folder / "pictures").mkdir()
    (folder / "secret.png").write_bytes(b"secret")
    (folder / "pictures" / "evil.svg").write_text(f"<svg xmlns='http://www.w3.org/2000/svg'>{evil}</svg>")
    (folder / "pictures" / "page.png").write_text(f"<!doctype html><body>{evil}</body>")
    for name in pictures[3:]:
        (folder / "pictures" / name).write_bytes(grey_png(np.full((4, 4), 128.0), 8))
    served = Served(
        folder,
        *("scores.csv", "--score", "score", "--features", f"{VIEW}=clean.npy", "--labels", "labels.csv"),
        *("--image-column", "picture", "--images", "pictures"),
    )
    yield served
    served.stop()


class Site(http.server.ThreadingHTTPServer):
    """Somebody else's site, with one page."""

    def __init__(self, page: str) -> None:
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(page.encode())

            def log_message(self, *_: Any) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()


def test_names_with_scripts_are_text_all_over_the_page(browser: Any, hostile: Served) -> None:
    person = Person(browser, hostile.address)
    person.settle()
    page = person.page
    page.fill("#search", SCRIPTS[1])
    page.wait_for_selector("#overview-list .found")
    shown = page.eval_on_selector_all("#overview-list .found", "all => all.map((one) => one.textContent)")
    assert any(SCRIPTS[1] in text for text in shown)
    page.wait_for_selector("#views-table tbody tr")
    assert VIEW in person.text("#views-table")
    person.by_hand()
    page.wait_for_selector("#plot-dependence .main-svg")
    assert person.page.evaluate(HARM) == SAFE
    person.go("teach")
    person.pair()
    page.keyboard.press("ArrowLeft")
    person.go("decide")
    assert page.evaluate(HARM) == SAFE
    assert page.locator(".main-svg a").count() == 0
    # A person's own name comes back into the page, too.
    kept = page.evaluate(
        """async (name) => {
          const said = await fetch(`/api/question?rater=${encodeURIComponent(name)}`);
          return [said.status, said.headers.get("content-type")];
        }""",
        SCRIPTS[1],
    )
    assert kept == [200, "application/json"]
    refused = [problem for problem in person.problems if "404" not in problem]  # two items have no picture
    assert refused == [], "the browser had to refuse something, or something failed"
    person.context.close()


def test_pictures_are_pictures_or_nothing(browser: Any, hostile: Served) -> None:
    person = Person(browser, hostile.address)
    base = f"http://127.0.0.1:{hostile.port}/api/image"
    # An SVG file can hold scripts, and a path can lead out of the folder: neither is a picture here.
    assert [person.page.goto(f"{base}/{item}").status for item in (0, 2)] == [404, 404]
    shown = person.page.goto(f"{base}/1")  # a page that is called a picture stays one, a broken one
    assert shown.headers["content-type"] == "image/png"
    assert shown.headers["x-content-type-options"] == "nosniff"
    assert person.page.evaluate("window.pwned ?? null") is None
    person.context.close()


def write_pages(folder: Path) -> None:
    index, views = pd.Index([f"{SCRIPTS[k % len(SCRIPTS)]} {k}" for k in range(40)], name=SCRIPTS[1]), list(SCRIPTS[:2])
    plain = labelled()
    result = labelled(
        index=index,
        weights=plain.weights.set_axis(views, axis=1),
        dependence=plain.dependence.set_axis(views, axis=0),
        notes=tuple(SCRIPTS),
        params={SCRIPTS[2]: SCRIPTS[3]},
    )
    write_report(result, folder / "report.html", [(SCRIPTS[0], SCRIPTS[1])])
    # A notebook puts what a result says, and its figures, into a page that forbids nothing.
    figures = [
        figure.to_html(full_html=False, include_plotlyjs=number == 0)
        for number, figure in enumerate(result.plot().values())
    ]
    cell = "<!doctype html><meta charset=utf-8><body>" + result._repr_html_() + "".join(figures)
    (folder / "notebook.html").write_text(cell)


@pytest.mark.parametrize("name", ["report", "notebook"])
def test_names_with_scripts_are_text_in_a_report_and_a_notebook(browser: Any, tmp_path: Path, name: str) -> None:
    write_pages(tmp_path)
    page = browser.new_page()
    page.goto((tmp_path / f"{name}.html").as_uri())
    page.wait_for_selector(".main-svg")
    assert page.evaluate(HARM)[:2] == SAFE[:2]  # the figures' data are in scripts of the page's own
    assert page.locator(".main-svg a").count() == 0
    assert "window.pwned" in page.evaluate("document.body.textContent")
    page.close()


ELSEWHERE = """<!doctype html><meta charset=utf-8>
<form id=form method=post enctype=text/plain target=frame action={base}/api/answer>
<input name='{{"rater":"evil","key":"form","answer":"left","left":0,"right":1,"x":"' value='"}}'></form>
<iframe name=frame></iframe><iframe id=framed src={base}/></iframe><img id=image src={base}/api/image/5>
<script src={base}/api/facts></script>
<script>
const body = JSON.stringify({{rater: "evil", key: "fetch", answer: "left", left: 0, right: 1}});
const tries = [
  fetch("{base}/api/answer", {{method: "POST", mode: "no-cors", credentials: "include", body}}),
  fetch("{base}/api/answer", {{method: "POST", credentials: "include", body,
                               headers: {{"Content-Type": "application/json"}}}}),
  fetch("{base}/api/ids", {{credentials: "include"}}).then((said) => said.text()).then((text) => window.read = text),
];
document.getElementById("form").submit();
Promise.allSettled(tries).then((ends) => {{ window.ends = ends.map((end) => end.status); }});
</script>"""


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])  # of the same site, and of another one
def test_other_sites_cannot_answer_read_or_frame(browser: Any, hostile: Served, host: str) -> None:
    person = Person(browser, hostile.address)  # whose cookie is in this browser
    answers, base = hostile.folder / "answers.jsonl", f"http://127.0.0.1:{hostile.port}"
    before = answers.read_bytes()
    site = Site(ELSEWHERE.format(base=base))
    page = person.context.new_page()
    page.goto(f"http://{host}:{site.server_port}/")
    page.wait_for_function("window.ends")
    assert page.evaluate("window.ends[1] + window.ends[2]") == "rejectedrejected"
    assert page.evaluate("window.read ?? null") is None
    assert page.evaluate("document.getElementById('image').naturalWidth") == 0
    framed = page.frames[-1] if page.frames[-1].name != "frame" else page.frames[1]
    assert framed.query_selector("#overview") is None
    page.wait_for_timeout(300)
    assert answers.read_bytes() == before
    assert "evil" not in answers.read_text()
    assert hostile.logged.count("refused POST") >= 2
    site.shutdown()
    person.context.close()


def test_a_name_that_was_made_to_point_here_is_not_served(browser: Any, hostile: Served) -> None:
    rebound = browser.browser_type.launch(
        executable_path=CHROMIUM, args=[*FLAGS, "--host-resolver-rules=MAP evil.test 127.0.0.1"]
    )
    page = rebound.new_page()
    said = page.goto(f"http://evil.test:{hostile.port}/?token={hostile.token}")
    assert said.status == 421
    assert "not served here" in page.inner_text("body")
    rebound.close()


def test_the_token_opens_the_page_and_no_script_can_read_it(browser: Any, hostile: Served) -> None:
    stranger = browser.new_context().new_page()
    assert stranger.goto(f"http://127.0.0.1:{hostile.port}/").status == 403
    assert stranger.goto(f"http://127.0.0.1:{hostile.port}/?token={'x' * 32}").status == 403
    assert stranger.evaluate("fetch('/api/facts').then((said) => said.status)") == 403
    stranger.context.close()
    person = Person(browser, hostile.address)
    assert hostile.token not in person.page.url
    assert hostile.token not in person.page.content()
    assert person.page.evaluate("document.cookie") == ""
    person.context.close()


def test_the_page_itself_reaches_no_other_file_and_sends_nothing_large(browser: Any, hostile: Served) -> None:
    person = Person(browser, hostile.address)
    tries = ["/static/..%2fserver.py", "/static/%2e%2e%2fserver.py", "/api/export/..%2fscores.csv", "/scores.csv"]
    statuses = "paths => Promise.all(paths.map((path) => fetch(path).then((said) => said.status)))"
    assert person.page.evaluate(statuses, tries) == [404] * len(tries)
    large = """() => fetch("/api/answer", {method: "POST", headers: {"Content-Type": "application/json"},
        body: "x".repeat(200000)}).then((said) => said.status)"""
    assert person.page.evaluate(large) == 413
    assert person.page.evaluate("fetch('/api/facts').then((said) => said.status)") == 200
    person.context.close()


def test_clients_that_dawdle_do_not_keep_others_out(browser: Any, hostile: Served) -> None:
    def begin(token: str) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", hostile.port), timeout=60)
        lines = ["POST /api/answer HTTP/1.1", f"Host: 127.0.0.1:{hostile.port}", f"X-Tupi-Token: {token}"]
        lines += ["Content-Type: application/json", "Content-Length: 90", "", '{"rater": "sl']
        connection.sendall("\r\n".join(lines).encode())
        return connection

    strangers = [begin("x" * 32) for _ in range(100)]
    for connection in strangers:  # at once, whatever is still to come; or closed in favour of those who came later
        with contextlib.suppress(ConnectionResetError):
            assert connection.recv(100)[:12] in (b"HTTP/1.1 403", b"")
    began, known = time.monotonic(), [begin(hostile.token) for _ in range(40)]
    person = Person(browser, hostile.address)
    person.go("teach")
    left, right = person.pair()
    assert left != right
    for connection in known:  # after ten seconds
        assert connection.recv(100).startswith(b"HTTP/1.1 408")
    assert time.monotonic() - began > 9
    for connection in (*strangers, *known):
        connection.close()
    lines = (hostile.folder / "answers.jsonl").read_text().splitlines()
    assert all(json.loads(line).get("rater") != "sl" for line in lines)
    person.context.close()
