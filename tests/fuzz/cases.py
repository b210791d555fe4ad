"""Calls drawn from a seed."""

from __future__ import annotations

import asyncio
import atexit
import json
import logging
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import numpy as np
import pandas as pd

import tupi
from tests.fuzz import inputs, later, surfaces
from tests.fuzz.inputs import Rng, pick
from tests.fuzz.outcomes import Case, finite_result

QUICK_METHODS = ("auto", "auto", "smooth", "tupi", "coconut", "ridge", "gp", "knn", "kim")
SLOW_METHODS = (
    "fuse",
    "trees",
    "boost",
    "retrain",
    "tupi+coconut",
    "select",
    "graph-ssl",
    "correct-and-smooth",
    "tupi",
)
PARAMS: dict[str, tuple[Any, ...]] = {
    "lam": (0.3, 1e-9, 1e9, -1.0, np.nan, "x", None),
    "sigma_w2": (0.1, 1e-9, 1e9, 0),
    "n_iter": (1, 3, 0, 2.5, True),
    "rank": (2, 50, 1, 10**9, None),
    "kernel": ("gaussian", "diffusion", "other", None, []),
    "bandwidth": ("median", "std", 1e-300, 1e300, 1.0, "x", None),
    "prediction_bandwidth": ("median", 1e-3, 1e6, 1e-300),
    "engine": ("fused", "reference", "exact", "other"),
    "n_neighbors": (1, 2, 5, 10**9, 0, None),
    "alpha": (0.5, 0.99, 1e-12, 1e12, -1),
    "no_such": (1,),
}


def _params(rng: Rng) -> dict[str, Any]:
    names = [name for name in PARAMS if rng.random() < 0.12]
    return {name: pick(rng, *PARAMS[name]) for name in names}


def denoise(rng: Rng) -> Case:
    """Draw a call of `tupi.denoise`."""
    n, classes = inputs.size(rng), int(pick(rng, 0, 0, 0, 2, 3))
    slow = rng.random() < 0.06
    method = pick(rng, *SLOW_METHODS) if slow else pick(rng, *QUICK_METHODS)
    params = {"n_iter": 3} if method == "tupi" else {}
    params |= {"lam": 0.3, "sigma_w2": 0.1} if method == "tupi" and not slow else {}  # nothing to choose
    params |= _params(rng) if rng.random() < 0.3 else {}
    task = "classification" if classes else pick(rng, "ranking", "ranking", "regression")
    given = {
        "predictions": inputs.dressed(rng, inputs.predictions(rng, n, classes)),
        "features": inputs.features(rng, n),
        "labels": inputs.labels(rng, n, classes),
        "method": pick(rng, [], None, "x") if rng.random() < 0.01 else method,
        "task": "x" if rng.random() < 0.01 else task,
        "random_state": pick(rng, 1, 2**40, -1, None, 1.5) if rng.random() < 0.05 else 0,
        "impute": pick(rng, "median", "x") if rng.random() < 0.2 else None,
        **params,
    }
    return Case("denoise", given, lambda words: tupi.denoise(**words), finite_result)


def hsic(rng: Rng) -> Case:
    """Draw a call of `tupi.hsic`."""
    n = inputs.size(rng)
    estimator = pick(rng, "biased", "biased", "unbiased", "x")
    given = {
        "x": inputs.dressed(rng, inputs.view(rng, n)),
        "y": inputs.dressed(rng, inputs.view(rng, n)),
        "normalized": bool(rng.integers(2)),
        "estimator": estimator,
        "rank": pick(rng, None, 2, 50, 50, 10**9),
        "bandwidth": pick(rng, "median", "std-as-sigma", 1.0, 1e-3, 1e6, ("std", "median")),
    }

    def check(words: Any, value: float) -> str | None:
        bounded = words["normalized"] and words["estimator"] == "biased"
        good = np.isfinite(value) and (not bounded or 0 <= value <= 1)
        return None if good else f"a value of {value}"

    return Case("hsic", given, lambda words: tupi.hsic(**words), check)


def accuracy(rng: Rng) -> Case:
    """Draw a call of `tupi.pairwise_accuracy`."""
    n = inputs.size(rng)
    given = (inputs.dressed(rng, inputs.column(rng, n)), inputs.labels(rng, n, 0))
    return Case(
        "pairwise_accuracy",
        given,
        lambda words: tupi.pairwise_accuracy(*words),
        lambda _, value: None if 0 <= value <= 1 else f"a value of {value}",
    )


def compare(rng: Rng) -> Case:
    """Draw a call of `tupi.compare`."""
    n = inputs.size(rng)
    given = (inputs.column(rng, n), inputs.features(rng, n), inputs.labels(rng, n, 0))
    method = pick(rng, "ridge", "knn", "smooth", "gp")

    def check(_: Any, found: Any) -> str | None:
        failed = found.table[found.table["verdict"] == "failed"]
        return None if failed.empty else f"{method} failed: {failed['reason'].iloc[0]}"

    return Case("compare", given, lambda words: tupi.compare(*words, methods=[method], n_repeats=1), check)


SAVED = sorted((Path(__file__).parents[1] / "results" / "saved").glob("*.npz"))


def load(rng: Rng) -> Case:
    """Draw a damaged file of a saved result."""
    content = bytearray(SAVED[rng.integers(len(SAVED))].read_bytes())
    kind = rng.integers(4)
    if kind == 0:
        del content[rng.integers(len(content)) :]
    elif kind == 1:
        place = rng.integers(len(content))
        content[place:place] = rng.bytes(int(rng.integers(1, 50)))
    for place in rng.integers(max(len(content), 1), size=rng.integers(0, 5)) if content else ():
        content[place] = rng.integers(256)
    if kind == 3:
        content = bytearray(rng.bytes(int(rng.integers(300))))

    def call(damaged: bytes) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "result.npz"
            path.write_bytes(damaged)
            return tupi.load(path)

    return Case("load", bytes(content), call, finite_result)


def command(rng: Rng) -> Case:
    """Draw a command line with its files."""
    n = inputs.size(rng)
    ids = [pick(rng, f"i{k}", f"i{k}", f"=i{k}", f"i\r{k}", f"ü{k}", f'"{k}', "same") for k in range(n)]
    tables = {
        "scores.csv": pd.DataFrame({"id": ids, "score": inputs.column(rng, n)}),
        "view.csv": pd.DataFrame(inputs.view(rng, n)).assign(id=ids),
        "labels.csv": pd.DataFrame({"id": ids, "value": inputs.column(rng, n)}).sample(frac=0.5, random_state=0),
        "pairs.csv": pd.DataFrame({"higher": ids[: n // 2], "lower": ids[n - n // 2 :]}),
    }
    for table in (tables["labels.csv"], tables["pairs.csv"]):  # who says it, and how much it counts
        if rng.random() < 0.2:
            table["rater"] = [pick(rng, "ann", "bob", "=x", "") for _ in range(len(table))]
        if rng.random() < 0.2:
            table["weight"] = inputs.column(rng, len(table))
    tables["scores.csv"]["query"] = [pick(rng, "q", "r", "") for _ in range(n)]
    quoting = int(pick(rng, 0, 2))
    contents = {name: table.to_csv(index=False, quoting=quoting).encode() for name, table in tables.items()}
    if rng.random() < 0.3:
        inputs.damage(rng, contents)
    out = pick(rng, "out.csv", "out.npz", "out.tsv", "out.xyz", "no/out.csv", "x" * 252 + ".csv", "scores.csv")
    name = pick(rng, "view", "[/a]", "a b", "ü", "")
    files, method = (
        ["scores.csv", "--score", "score", "--features", f"{name}=view.csv"],
        pick(rng, "smooth", "ridge", "auto"),
    )
    words = {
        "denoise": [*files, "--out", out, "--method", method],
        "hsic": ["scores.csv", "view.csv"],
        "compare": [*files, "--labels", "labels.csv", "--methods", "ridge"],
    }
    chosen = pick(rng, "denoise", "denoise", "hsic", "compare")
    extra = (
        *("--labels labels.csv", "--pairs pairs.csv", "--labels pairs.csv", "--group query", "--metric ndcg@3"),
        *("--json", "--quiet", "--task regression", "--seed -1", "--id x", "--report out.html", "--save run.npz"),
    )
    more = [word for option in extra if rng.random() < 0.2 for word in option.split()] if chosen == "denoise" else []

    line = [chosen, *words[chosen], *more]
    return Case(f"command {chosen}", contents, lambda given: later.run_command(line, given), later.command_outcome)


PATHS = (
    "", "api/facts", "api/ids", "api/initial", "api/figures", "api/heat", "api/scores", "api/status", "api/question",
    "api/answer", "api/undo", "api/stop", "api/decision", "api/decided", "api/image/0", "api/item/3", "api/item/-1",
    "api/item/99999999999999999999", "api/titles", "api/groups", "api/found", "api/views", "api/answer",
    "api/export/run.npz", "static/main.js", "static/../server.py", "%00", "api/%ff",
)  # fmt: skip
TEXTS = ("ann", "", "x" * 200, "\ud800", "\x00", "<script>", "left", "tupi", "gaussian", "nan", "1e999", "-1", "0.3")


@cache
def _page(kind: int) -> Any:
    """Return the application of a small session that asks for comparisons, within groups, for values or for classes."""
    from tupi.page.server import make_app
    from tupi.page.session import Session
    from tupi.page.source import PageSource

    rng = np.random.default_rng(0)
    scores, views, names = rng.normal(size=30), {"a": rng.normal(size=(30, 2))}, [f"i{k}" for k in range(30)]
    source = (
        PageSource(scores, views),
        PageSource(scores, views, groups=np.arange(30) % 3, titles=names),
        PageSource(scores, views, task="regression"),
        PageSource(rng.dirichlet(np.ones(3), 30), views, task="classification"),
    )[kind]
    folder = tempfile.mkdtemp(prefix="tupi-fuzz-")
    session = Session(source, Path(folder) / "answers.jsonl")
    session.explorer.close()  # no requests here wait for what is computed, and other cases want the processor
    session.teacher._lane.close()
    logging.getLogger("tupi.page").setLevel(logging.CRITICAL)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(session.close)
    return make_app(session, "secret", "127.0.0.1", 80)


def page(rng: Rng) -> Case:
    """Draw a request to the page."""
    names = ("rater", "key", "answer", "left", "right", "item", "value", "lam", "sigma_w2", "t", "column", "method")
    names += ("kernel", "client", "choice", "use", "worth")
    values = (*TEXTS, 0, 1, 29, 30, -1, 2**70, 1.5, None, True, [], {})
    words = {name: pick(rng, *values) for name in names if rng.random() < 0.6}
    body = json.dumps(words).encode() if rng.random() < 0.8 else rng.bytes(int(rng.integers(200)))
    query = "&".join(f"{name}={quote(str(value), errors='replace')}" for name, value in words.items())
    kind = pick(rng, "application/json", "application/json", "text/plain", "")
    headers = [(b"host", b"127.0.0.1:80"), (b"content-type", kind.encode())]
    if rng.random() < 0.95:
        headers.append((b"x-tupi-token", b"secret"))
    path = "/" + pick(rng, *PATHS)
    scope = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http", "headers": headers}
    scope |= {"method": pick(rng, "GET", "GET", "POST", "POST", "PUT"), "path": unquote(path, errors="replace")}
    scope |= {"raw_path": path.encode(), "query_string": query.encode(), "root_path": "", "server": ("127.0.0.1", 80)}

    which = int(rng.integers(4))

    def call(given: Any) -> int:
        statuses: list[int] = []
        bodies = [{"type": "http.request", "body": given[1], "more_body": False}]

        async def receive() -> Any:
            return bodies.pop() if bodies else {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])

        asyncio.run(_page(which)(dict(given[0]), receive, send))
        return statuses[0]

    return Case("page", (scope, body), call, lambda _, status: None if status < 500 else f"status {status}")


KINDS = (  # how often each is drawn: those that take longest, seldom
    (denoise,) * 6 + (later.binary,) * 4 + (later.predict,) * 8 + (later.update,) + (later.drift,) * 6
    + (later.damaged,) * 6 + (later.altered,) * 3 + (later.command,) * 2 + (hsic,) * 4 + (accuracy,) * 2
    + (compare,) * 2 + (load,) * 5 + (command,) * 4 + (page,) * 10 + (surfaces.several,) * 3 + (surfaces.estimator,) * 4
    + (surfaces.tune,) * 2 + (surfaces.small,) * 6
)  # fmt: skip


def drawn(seed: int) -> Case:
    """Return the case of a seed."""
    rng = np.random.default_rng(seed)
    return pick(rng, *KINDS)(rng)
