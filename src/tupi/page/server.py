"""The server: a session's answers over HTTP, and the page's own files."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import contextmanager
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from tupi.page.frames import encode, in_words, text
from tupi.page.looks import Look, read_look
from tupi.page.security import Guard, TooLargeError, TooSlowError
from tupi.page.session import Session
from tupi.results.report import plotly_script
from tupi.runtime.errors import InputError

MEDIA_TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "npz": "application/octet-stream",
    "py": "text/x-python; charset=utf-8",
    "sh": "text/x-shellscript; charset=utf-8",
}
STATUS_EVERY = 0.15  # seconds: more often nobody can read
KEEP_ALIVE = 5.0  # seconds of silence after which a sign of life is sent
log = logging.getLogger("tupi.page")
Handler = Callable[[Request], Awaitable[Response]]


class Page:
    """The routes of one session."""

    def __init__(self, session: Session) -> None:
        self.session = session
        # Read once, so that no request ever names a file.
        colors = files("tupi.results") / "report_assets" / "colors.css"  # shared with the report
        self._static = {
            entry.name: entry.read_bytes()
            for entry in (*(files("tupi.page") / "static").iterdir(), colors)
            if entry.name.rpartition(".")[2] in MEDIA_TYPES
        }
        self._plotly = plotly_script()

    def routes(self) -> list[Route]:
        """Return all routes."""
        gets: dict[str, Handler] = {
            "/": self.index,
            "/static/{name}": self.static,
            "/plotly.js": self.plotly,
            "/api/facts": self.facts,
            "/api/ids": self.ids,
            "/api/titles": self.titles,
            "/api/groups": self.groups,
            "/api/initial": self.initial,
            "/api/figures": self.figures,
            "/api/path": self.path,
            "/api/heat": self.heat,
            "/api/found": self.found,
            "/api/views": self.views,
            "/api/scores": self.scores,
            "/api/events": self.events,
            "/api/status": self.status,
            "/api/image/{item:int}": self.image,
            "/api/item/{item:int}": self.item,
            "/api/question": self.question,
            "/api/decision": self.decision,
            "/api/decided": self.decided,
            "/api/export/{name}": self.export,
        }
        posts: dict[str, Handler] = {
            "/api/answer": self.answer,
            "/api/undo": self.undo,
            "/api/decide": self.decide,
            "/api/stop": self.stop,
        }
        return [Route(path, handler, methods=["GET"]) for path, handler in gets.items()] + [
            Route(path, handler, methods=["POST"]) for path, handler in posts.items()
        ]

    async def index(self, request: Request) -> Response:
        """Return the page; an address with the token becomes one without, and a cookie."""
        if "token" not in request.query_params:
            return _file("html", self._static["index.html"])
        response = RedirectResponse("/", 303)
        response.set_cookie(
            f"tupi_{request.url.port}", request.query_params["token"], httponly=True, samesite="strict", path="/"
        )
        response.headers["Cache-Control"] = "no-store"
        return response

    async def static(self, request: Request) -> Response:
        """Return one of the page's own files."""
        name = request.path_params["name"]
        if name not in self._static:
            raise HTTPException(404)
        return _file(name.rpartition(".")[2], self._static[name])

    async def plotly(self, request: Request) -> Response:
        """Return plotly's script as its package ships it."""
        return Response(
            self._plotly, media_type=MEDIA_TYPES["js"], headers={"Cache-Control": "private, max-age=86400, immutable"}
        )

    async def facts(self, request: Request) -> Response:
        """Return what the page needs to know once."""
        return _json(self.session.facts())

    async def ids(self, request: Request) -> Response:
        """Return all ids."""
        return _binary(await run_in_threadpool(self.session.ids))

    async def titles(self, request: Request) -> Response:
        """Return all titles."""
        return _binary(await run_in_threadpool(self.session.titles))

    async def groups(self, request: Request) -> Response:
        """Return the group of each item."""
        return _binary(await run_in_threadpool(self.session.groups))

    async def initial(self, request: Request) -> Response:
        """Return the initial scores and ranks."""
        return _binary(await run_in_threadpool(self.session.initial, self._look(request).column))

    async def figures(self, request: Request) -> Response:
        """Return patterns of the figures."""
        return _json(await run_in_threadpool(self.session.figures))

    async def scores(self, request: Request) -> Response:
        """Return how well the known steps of a look agree with the labels of now."""
        look = self._look(request)
        if not look.has_steps:
            raise HTTPException(404)
        return _json(await run_in_threadpool(self.session.explorer.scores, look))

    async def heat(self, request: Request) -> Response:
        """Return the scores of all known settings."""
        return _json(await run_in_threadpool(self.session.explorer.heat, self._look(request)))

    async def found(self, request: Request) -> Response:
        """Return what a method's labels say of its result."""
        return _json(await run_in_threadpool(self.session.found, self._look(request).method))

    async def views(self, request: Request) -> Response:
        """Return what is known of each view in a method's result."""
        words = request.query_params
        return _json(await run_in_threadpool(self.session.views, self._look(request).method, "worth" in words))

    async def status(self, request: Request) -> Response:
        """Return what changes by itself."""
        return _json(await run_in_threadpool(self.session.status))

    async def item(self, request: Request) -> Response:
        """Return all that is known of an item."""
        position, method = request.path_params["item"], self._look(request).method
        return _json(await run_in_threadpool(self.session.about_item, position, method))

    async def image(self, request: Request) -> Response:
        """Return an item's picture."""
        found = await run_in_threadpool(self.session.picture, request.path_params["item"])
        if found is None:
            raise HTTPException(404)
        return Response(found[0], media_type=found[1], headers={"Cache-Control": "private, max-age=3600"})

    def _look(self, request: Request) -> Look:
        return read_look(request.query_params, self.session.n_columns)

    async def path(self, request: Request) -> Response:
        """Stream the steps of a look, one frame each, as they become known."""
        look, client = self._look(request), request.query_params.get("client", "")[:64]
        return StreamingResponse(
            self._frames(client, look), media_type="application/octet-stream", headers={"Cache-Control": "no-store"}
        )

    async def _frames(self, client: str, look: Look) -> AsyncIterator[bytes]:
        explorer = self.session.explorer
        explorer.look(client, look)
        try:
            with _changes(self.session) as changed:
                t = 0
                while t <= explorer.last(look):
                    changed.clear()
                    frame = await run_in_threadpool(explorer.frame, look, t)
                    if frame is not None:
                        yield frame
                        t += 1
                    elif problem := explorer.problem_with(look):
                        yield _error_frame(problem)
                        return
                    else:
                        await changed.wait()
        finally:
            explorer.leave(client, look)

    async def events(self, request: Request) -> Response:
        """Stream the status whenever it changed, as server-sent events."""
        return StreamingResponse(self._events(), media_type="text/event-stream", headers={"Cache-Control": "no-store"})

    async def _events(self) -> AsyncIterator[str]:
        with _changes(self.session) as changed:
            shown = ""
            while True:
                changed.clear()
                text = json.dumps(await run_in_threadpool(self.session.status), allow_nan=False)
                yield ": alive\n\n" if text == shown else f"data: {text}\n\n"
                shown = text
                await asyncio.sleep(STATUS_EVERY)
                try:
                    await asyncio.wait_for(changed.wait(), KEEP_ALIVE)
                except TimeoutError:
                    continue

    async def question(self, request: Request) -> Response:
        """Return what a rater is asked about."""
        rater = text(dict(request.query_params), "rater")
        return _json(await run_in_threadpool(self.session.question, rater))

    async def answer(self, request: Request) -> Response:
        """Save an answer; the reply says so only when the disk has it."""
        words = await _words(request)
        rater, key = text(words, "rater"), text(words, "key")
        await run_in_threadpool(self.session.answer, rater, key, words)
        return _json({"saved": key} | await run_in_threadpool(self.session.question, rater))

    async def undo(self, request: Request) -> Response:
        """Take a rater's last answer back."""
        words = await _words(request)
        rater, key = text(words, "rater"), text(words, "key")
        undone = await run_in_threadpool(self.session.teacher.undo, rater, key)
        return _json({"undone": undone is not None} | await run_in_threadpool(self.session.question, rater))

    async def decide(self, request: Request) -> Response:
        """Start a decision."""
        words = await _words(request)
        look = read_look({name: str(value) for name, value in words.items()}, self.session.n_columns)
        self.session.decide(text(words, "choice"), text(words, "use"), look)
        return _json({"started": True})

    async def stop(self, request: Request) -> Response:
        """Give up a decision."""
        await _words(request)
        self.session.decider.stop()
        return _json({"stopped": True})

    async def decision(self, request: Request) -> Response:
        """Return the latest decision."""
        return _json(await run_in_threadpool(self.session.decider.facts))

    async def decided(self, request: Request) -> Response:
        """Return the scores and ranks of the latest decision."""
        frame = await run_in_threadpool(self.session.decided, self._look(request).column)
        if frame is None:
            raise HTTPException(404)
        return _binary(frame)

    async def export(self, request: Request) -> Response:
        """Return a file to take away."""
        name = request.path_params["name"]
        if name not in self.session.decider.downloads():
            raise HTTPException(404)
        content = await run_in_threadpool(self.session.decider.download, name)
        return Response(
            content,
            media_type=MEDIA_TYPES[name.rpartition(".")[2]],
            headers={"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"},
        )


@contextmanager
def _changes(session: Session):  # type: ignore[no-untyped-def]
    """Give an event of this loop that is set whenever the session changes."""
    loop, event = asyncio.get_running_loop(), asyncio.Event()

    def tell() -> None:
        if not event.is_set():  # else whoever waits has not looked since, and will see this change, too
            loop.call_soon_threadsafe(event.set)

    leave = session.signal.listen(tell)
    try:
        yield event
    finally:
        leave()


def _error_frame(problem: str) -> bytes:
    return encode({"error": problem})


def _file(kind: str, content: bytes) -> Response:
    return Response(content, media_type=MEDIA_TYPES[kind], headers={"Cache-Control": "no-cache"})


def _json(value: Any) -> Response:
    return JSONResponse(value, headers={"Cache-Control": "no-store"})


def _binary(content: bytes) -> Response:
    return Response(content, media_type="application/octet-stream", headers={"Cache-Control": "no-store"})


async def _words(request: Request) -> dict[str, Any]:
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise HTTPException(415, "The body must be JSON.")
    try:
        words = json.loads(await request.body())
    except (ValueError, RecursionError):
        words = None
    if not isinstance(words, dict):
        raise HTTPException(400, "The body must be a JSON object.")
    return words


async def _refused(request: Request, problem: Exception) -> Response:
    status, words = 400, str(problem)
    if isinstance(problem, HTTPException):
        status, words = problem.status_code, problem.detail
    elif isinstance(problem, TooLargeError):
        status, words = 413, "The request is too large."
    elif isinstance(problem, TooSlowError):
        status, words = 408, "The request came too slowly."
    log.warning("refused %s %r: %d", request.method, request.url.path[:200], status)
    return PlainTextResponse(words, status)


async def _failed(request: Request, problem: Exception) -> Response:
    log.error("failed %s %r", request.method, request.url.path[:200], exc_info=problem)
    words = "This could not be saved: the disk may be full." if isinstance(problem, OSError) else in_words(problem)
    return PlainTextResponse(words, 500)


def make_app(session: Session, token: str, host: str, port: int, remote: bool = False) -> Guard:
    """Return the application of a session, guarded."""
    app = Starlette(
        routes=Page(session).routes(),
        exception_handlers={
            InputError: _refused,
            HTTPException: _refused,
            TooLargeError: _refused,
            TooSlowError: _refused,
            Exception: _failed,
        },
    )
    return Guard(app, token, host, port, remote)
