"""The bot from outside, between two strict simulators that lie beside the checkout; skipped where they are not.

They refuse what the platforms refuse, and note what these let pass although a good program never does it.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SIMULATORS = ROOT.parent / "shared" / "sim"

Json = dict[str, Any]

pytestmark = pytest.mark.skipif(not SIMULATORS.is_dir(), reason=f"there are no simulators in {SIMULATORS}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def ask(url: str, body: object = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def until(holds: Callable[[], Any], what: str, seconds: float = 60) -> Any:
    """Poll until there is something."""
    end, last = time.monotonic() + seconds, "nothing"
    while time.monotonic() < end:
        try:
            if found := holds():
                return found
        except OSError as error:
            last = repr(error)
        time.sleep(0.05)
    raise AssertionError(f"not seen within {seconds:g} s: {what} ({last})")


@dataclass(slots=True)
class Outside:
    """Both simulators and one bot."""

    slack_url: str
    model_url: str
    processes: ExitStack = field(default_factory=ExitStack)

    def slack(self, command: str, **arguments: Any) -> Any:
        return ask(f"{self.slack_url}/sim/{command}", arguments)["result"]

    def model(self, command: str, body: object = None) -> Any:
        return ask(f"{self.model_url}/sim/{command}", body)

    def play(self, *parts: tuple[Json, Json]) -> None:
        """Answer by the first part that matches; in the end say something harmless."""
        steps = [{"match": match, "respond": respond} for match, respond in parts]
        self.model("scenario", {"steps": steps, "default": {"text": "Counted."}})

    def say(self, text: str, user: str = "ann", channel: str = "general", **more: Any) -> str:
        return str(self.slack("post", user=user, channel=channel, text=text, **more)["ts"])

    def answers(self, ts: str, channel: str = "general") -> list[str]:
        """The texts of our answers in a thread."""
        found = self.slack("transcript", channel=channel, thread_ts=ts, deleted=False)
        return [f"{m['visible_text']} {m['text']}" for m in found if _kind(m) == "answer"]

    def answered(self, ts: str, words: str, channel: str = "general") -> list[str]:
        def found() -> list[str]:
            answers = self.answers(ts, channel)
            return answers if any(re.search(words, answer) for answer in answers) else []

        return until(found, f"{words!r} in {channel} {ts}")

    def run(self, *command: str, **environment: str) -> None:
        bare = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
        process = subprocess.Popen(
            command, cwd=ROOT, env=bare | environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self.processes.callback(process.wait)
        self.processes.callback(process.kill)

    @property
    def requests(self) -> list[Json]:
        return self.model("requests")


def _kind(message: Json) -> str:
    metadata: Json = message["metadata"] or {}
    payload: Json = metadata.get("event_payload") or {}
    return str(payload.get("kind", ""))


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outside]:
    slack, model = free_port(), free_port()
    made = Outside(f"http://127.0.0.1:{slack}", f"http://127.0.0.1:{model}")
    manifest = str(ROOT / "manifest.yml")
    with made.processes:
        made.run(sys.executable, str(SIMULATORS / "slacksim.py"), "--port", str(slack), "--manifest", manifest)
        made.run(sys.executable, str(SIMULATORS / "claudesim.py"), "--port", str(model))
        until(lambda: made.slack("state"), "the chat's simulator")
        until(lambda: made.model("health"), "the model's simulator")
        made.run(
            *(sys.executable, "-m", "bot", "run"),
            SLACK_API_URL=f"{made.slack_url}/api/",
            SLACK_BOT_TOKEN="xoxb-sim-bot",
            SLACK_APP_TOKEN="xapp-1-sim",
            ANTHROPIC_BASE_URL=made.model_url,
            ANTHROPIC_API_KEY="sk-ant-sim",
            BOBBIN_DATA_DIR=str(tmp_path_factory.mktemp("outside")),
            BOBBIN_HTTP_PORT="0",
            BOBBIN_LEARN="false",
        )
        made.slack("wait_connected", count=2, timeout=60)
        yield made


@pytest.fixture(autouse=True)
def clean(outside: Outside) -> Iterator[None]:
    """After each story: no rule of either platform was broken."""
    yield
    outside.slack("clear_faults")
    summary = outside.model("summary")
    assert outside.slack("violations") == []
    assert summary["invalid_requests"] == []
    assert summary["prefix_breaks"] == []


def test_many_threads_at_once(outside: Outside) -> None:
    rooms = [f"room-{number}" for number in range(5)]
    for room in rooms:
        outside.slack("create_channel", name=room, members=["ann", "bob"])
    look = {"tools": [_count(6, 7, 0), _count(6, 7, 1)]}
    outside.play(({"step": 0}, look), ({"step": 1}, {"text": "Result: $tool_results"}))
    told = {
        (room, number): outside.say(f"<@BOT> many-threads {room}-{number}", channel=room)
        for number in range(2)
        for room in rooms
    }
    for (room, _), ts in told.items():
        assert len(outside.answered(ts, "Result", room)) == 1
    for (room, number), ts in told.items():
        mine = [r for r in outside.requests if f"{room}-{number}" in json.dumps(r["body"]["messages"])]
        assert len(mine) == 2, ts
        others = re.findall(r"room-\d-\d", json.dumps([r["body"]["messages"] for r in mine]))
        assert set(others) == {f"{room}-{number}"}, "threads hear nothing of each other"


def test_a_long_thread_of_many_tools_stays_in_the_cache(outside: Outside) -> None:
    turns = 5
    places = [(turn, step) for turn in range(turns) for step in range(3)]
    for_place = {(turn, step): [_count(turn, step, number) for number in range(2)] for turn, step in places}
    outside.play(*(({"last_user_regex": f"long-{t}", "step": s}, {"tools": for_place[t, s]}) for t, s in places))
    ts = outside.say("<@BOT> long-0")
    for turn in range(turns):
        if turn:
            outside.say(f"long-{turn}", thread_ts=ts)
        until(lambda turn=turn: len(outside.answers(ts)) == turn + 1, f"answer {turn}")
    ledger = outside.model("ledger")[-10:]
    read, total = sum(row["cache_read"] for row in ledger), sum(row["total_input"] for row in ledger)
    assert read / total > 0.8


def _count(turn: int, step: int, number: int) -> Json:
    return {"name": "calculate", "input": {"expression": f"{turn} * 100 + {step} * 10 + {number}"}}


def test_words_that_arrive_while_it_works_steer_the_next_step(outside: Outside) -> None:
    slow = {"tool": _count(1, 1, 1), "delay": 2}
    outside.play(({"any_regex": "other way"}, {"text": "The other way, then."}), ({"any_regex": "steer-me"}, slow))
    ts = outside.say("<@BOT> steer-me this way")
    until(lambda: [r for r in outside.requests if "steer-me" in json.dumps(r["body"])], "a question to the model")
    outside.say("no, the other way", thread_ts=ts)
    assert len(outside.answered(ts, "The other way, then")) == 1
    last = outside.requests[-1]["body"]["messages"][-1]["content"]
    assert [block["type"] for block in last] == ["tool_result", "text"]


def test_doubled_events_and_cut_sockets_are_one_answer(outside: Outside) -> None:
    outside.play(({"any_regex": "cut-me"}, {"text": "Once and whole.", "delay": 1.5}))
    outside.slack("event_fault", kind="duplicate", times=2, copies=3)
    ts = outside.say("<@BOT> cut-me")
    until(lambda: [r for r in outside.requests if "cut-me" in json.dumps(r["body"])], "a question to the model")
    outside.slack("wait_idle", timeout=20)
    outside.slack("drop_sockets")
    assert len(outside.answered(ts, "Once and whole")) == 1
    outside.slack("wait_connected", count=2, timeout=60)
    again = outside.say("and do you hear me? cut-me", thread_ts=ts)
    until(lambda: len(outside.answers(ts)) == 2, f"a second answer after {again}")
