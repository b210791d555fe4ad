"""How the page holds when many people use it at once: starts `tupi serve`, and people who look and answer.

    python -m benchmarks.load [--people 20] [--seconds 300] [--n 1800] [--answers 0] [--json FILE]

Each person opens the page, follows its events, answers a question about every two seconds, and moves a slider to
another setting about every ten. Times are those of a client: of an answer until the reply that it is saved came with
the next question, and of a first frame from the request for a ranking until its first step came. ``--answers`` begins
with so many answers in the file. The exit code is 1 if a target is missed.

Memory is flat if nothing grows once the page has all that it keeps on purpose. That is bounded, and all of it is there
when nearly all positions of the sliders have been computed to their last step, and the answers are about more items
than methods are fitted to while people answer (`tupi.page.knowledge.MOST_LIVE`). What is printed says when that was.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import signal
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import numpy as np

from benchmarks.page import serve, write_files
from tupi.page.knowledge import MOST_LIVE
from tupi.page.trails import MEMORY

THINKING = 2.0  # mean seconds that a person looks at a question
LOOKING = 10.0  # mean seconds between two moves of a slider
WARM = 15.0  # seconds before memory is first looked at
LIMITS = {"answer": 500.0, "first frame": 1000.0}  # milliseconds that 99 of 100 must stay below
GROWTH = 0.10  # of the memory, once the page has all that it keeps
NEARLY = 0.95  # of all steps: the last few settings are a matter of luck
FIRST = ["/", "/static/main.js", "/api/facts", "/api/ids", "/api/initial", "/api/figures", "/api/status", "/api/found"]


@dataclass
class Seen:
    """What all clients saw: milliseconds by kind, and what went wrong."""

    times: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in LIMITS})
    errors: list[str] = field(default_factory=list)
    saved: set[str] = field(default_factory=set)
    items: set[int] = field(default_factory=set)  # that there are answers about
    memory: list[Memory] = field(default_factory=list)


@dataclass(frozen=True)
class Memory:
    """What the server holds at some moment: seconds since the beginning, bytes, and what it keeps on purpose."""

    seconds: float
    size: int
    steps: int
    items: int


class Person:
    """Somebody with the page open."""

    def __init__(self, number: int, client: httpx.AsyncClient, seen: Seen, facts: dict[str, list[float]]) -> None:
        self.name, self.client, self.seen, self.facts = f"person {number}", client, seen, facts
        self.random = random.Random(number)

    async def use(self, end: float) -> None:
        """Use the page until the end."""
        for path in FIRST:
            await self._get(path)
        tasks = [asyncio.create_task(one(end)) for one in (self.answer, self.look, self.listen)]
        for outcome in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(outcome, BaseException):
                self.seen.errors.append(f"{self.name}: {outcome!r}")

    async def _get(self, path: str, **query: object) -> httpx.Response:
        response = await self.client.get(path, params=query)
        if response.status_code != 200:
            self.seen.errors.append(f"GET {path}: {response.status_code} {response.text[:80]}")
        return response

    async def answer(self, end: float) -> None:
        """Answer question after question."""
        question = (await self._get("/api/question", rater=self.name)).json()["question"]
        while question is not None and time.monotonic() < end:
            await asyncio.sleep(self.random.expovariate(1 / THINKING))
            key = f"{self.name}:{self.random.random()}"
            pair = {side: question[side]["item"] for side in ("left", "right")}
            words = {"rater": self.name, "key": key, "answer": self.random.choice(("left", "right", "equal")), **pair}
            began = time.monotonic()
            response = await self.client.post("/api/answer", json=words)
            if response.status_code != 200:
                self.seen.errors.append(f"answer: {response.status_code} {response.text[:80]}")
                return
            self.seen.times["answer"].append(1000 * (time.monotonic() - began))
            self.seen.saved.add(key)
            self.seen.items.update(pair.values())
            question = response.json()["question"]

    async def look(self, end: float) -> None:
        """Look at a ranking until it is complete, and at another one later."""
        while time.monotonic() < end:
            look = {name: self.random.choice(self.facts[f"{name}s"]) for name in ("lam", "sigma_w2")}
            began = time.monotonic()
            async for _ in self._frames(look):
                if began:
                    self.seen.times["first frame"].append(1000 * (time.monotonic() - began))
                    began = 0.0
            await asyncio.sleep(self.random.expovariate(1 / LOOKING))

    async def _frames(self, look: dict[str, float]) -> AsyncIterator[bytes]:
        query = {"method": "tupi", "kernel": "gaussian", "t": 8, "client": self.name, **look}
        async with self.client.stream("GET", "/api/path", params=query) as response:
            if response.status_code != 200:
                self.seen.errors.append(f"path: {response.status_code}")
                return
            async for part in response.aiter_raw():
                yield part

    async def listen(self, end: float) -> None:
        """Follow what changes."""
        async with self.client.stream("GET", "/api/events") as response:
            async for _ in response.aiter_raw():
                if time.monotonic() > end:
                    return


async def crowd(address: str, people: int, seconds: float, seen: Seen) -> int:
    """Let people use the page, and note what they see; return how many steps all positions of the sliders have."""
    parts = urlsplit(address)
    headers = {"X-Tupi-Token": parse_qs(parts.query)["token"][0]}
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(
        base_url=f"http://{parts.netloc}", headers=headers, timeout=60, limits=limits
    ) as client:
        facts = (await client.get("/api/facts")).json()
        # Views are embedded when somebody first looks at a method that needs it: that is not what is measured here.
        first = {"method": "tupi", "kernel": "gaussian", "lam": 0.3, "sigma_w2": 0.1, "t": 1, "client": "first"}
        await client.get("/api/path", params=first)
        begin = time.monotonic()
        end = begin + seconds

        async def look_at_memory() -> None:
            await asyncio.sleep(min(WARM, seconds / 4))
            while (now := time.monotonic()) < end:
                steps = (await client.get("/api/status")).json()["steps"]
                seen.memory.append(Memory(now - begin, _resident(), steps, len(seen.items)))
                await asyncio.sleep(max(1.0, seconds / 60))

        watching = asyncio.create_task(look_at_memory())
        async with asyncio.TaskGroup() as group:
            for k in range(people):
                group.create_task(Person(k, client, seen, facts).use(end))
        await watching
    return len(facts["lams"]) * len(facts["sigma_w2s"]) * (facts["last"] + 1)


SERVER: list[subprocess.Popen[str]] = []


def _resident() -> int:
    """Return the bytes that the server holds in memory."""
    pages = Path(f"/proc/{SERVER[0].pid}/statm").read_text().split()[1]
    return int(pages) * 4096


def seed_answers(path: Path, n: int, count: int) -> set[int]:
    """Write so many answers by earlier people; return the items that they are about."""
    rng, items = np.random.default_rng(0), set[int]()
    lines = [{"tupi": "answers", "format": 1, "items": n, "by": "row"}]
    for k in range(count):
        left, right = (int(item) for item in rng.choice(n, 2, replace=False))
        words = {"key": f"old {k}", "rater": f"earlier {k % 30}", "left": left, "right": right, "answer": "left"}
        lines.append(words | {"drawn": "random" if k % 2 else "chosen"})
        items |= {left, right}
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return items


def judge_memory(memory: list[Memory], steps: int, n: int) -> bool:
    """Print how memory went, and return whether it is flat once the page has all that it keeps."""
    for one in memory[:: max(1, len(memory) // 8)]:
        kept = f"{one.steps:,} of {steps:,} steps, answers about {one.items:,} items"
        print(f"  after {one.seconds:3.0f} s {one.size / 1e6:4.0f} MB: {kept}")
    full = [one for one in memory if one.steps >= NEARLY * steps and one.items > MOST_LIVE]
    if not full:
        print("memory: not all that the page keeps was there; run it for longer")
        return False
    first, last = full[0], full[-1]
    growth = last.size / first.size - 1
    print(
        f"all that is kept was there after {first.seconds:.0f} s: {steps * n * 4 / 1e6:.0f} MB of steps (at most "
        f"{MEMORY / 1e6:.0f} MB are kept), and fits to the latest answers about {MOST_LIVE} items"
    )
    verdict = "ok" if growth <= GROWTH else "GROWS"
    print(f"memory {first.size / 1e6:.0f} MB to {last.size / 1e6:.0f} MB since then: {100 * growth:+.1f}%: {verdict}")
    return growth <= GROWTH


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--n", type=int, default=1800)
    parser.add_argument("--answers", type=int, default=0)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        words = write_files(folder, given.n)
        seen = Seen()
        if given.answers:
            seen.items |= seed_answers(folder / "answers.jsonl", given.n, given.answers)
        process, address = serve(folder, words)
        SERVER[:] = [process]
        try:
            steps = asyncio.run(crowd(address, given.people, given.seconds, seen))
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(30)
        kept = {json.loads(line).get("key") for line in (folder / "answers.jsonl").read_text().splitlines()}
    print(f"{given.people} people for {given.seconds:.0f} s, {given.n:,} items, {given.answers:,} answers before")
    good = not seen.errors and seen.saved <= kept
    print(f"{len(seen.saved):,} answers called saved, {len(seen.saved - kept)} lost; {len(seen.errors)} errors")
    for error in seen.errors[:5]:
        print(f"  {error}")
    figures = {}
    for kind, limit in LIMITS.items():
        middle, most = np.percentile(seen.times[kind], [50, 99])
        figures[kind] = {"n": len(seen.times[kind]), "p50": middle, "p99": most, "limit": limit}
        good &= bool(most <= limit)
        verdict = "ok" if most <= limit else "TOO SLOW"
        print(f"{kind:12s} {len(seen.times[kind]):5d} times: p50 {middle:5.0f} ms, p99 {most:5.0f} ms: {verdict}")
    good &= judge_memory(seen.memory, steps, given.n)
    if given.json is not None:
        memory = [asdict(one) for one in seen.memory]
        given.json.write_text(json.dumps({"figures": figures, "errors": len(seen.errors), "memory": memory}) + "\n")
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
