"""Output of tools that nobody here wrote: the long-context calls of the Berkeley function-calling leaderboard.

Its package is fetched when the benchmark runs. The calls that its authors give as right are made on its own simple
APIs (a file system, a broker, a ticket desk, ...), whose results are long on purpose.
"""

from __future__ import annotations

import ast
import copy
import importlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WHERE = Path(__file__).parents[1] / "build" / "bfcl"
PINNED = Path(__file__).parent / "bfcl.txt"
NAME = "BFCL_v4_multi_turn_long_context.json"


@dataclass(frozen=True, slots=True)
class Turn:
    """What a person asks, and the calls that answer it, each with what it returned."""

    words: str
    calls: tuple[tuple[str, str], ...]


def fetch() -> None:
    """Install the package into a folder of its own. Raises ``CalledProcessError`` without a package index."""
    if not (WHERE / "bfcl_eval").is_dir():
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        command += ["--no-deps", "--require-hashes", "--target", str(WHERE), "-r", str(PINNED)]
        subprocess.run(command, check=True)  # noqa: S603 - a pinned package with its hash


def turns() -> Iterator[Turn]:
    """All turns of all tasks, in order."""
    if str(WHERE) not in sys.path:
        sys.path.append(str(WHERE))
    data = WHERE / "bfcl_eval" / "data"
    right = {task["id"]: task["ground_truth"] for task in _lines(data / "possible_answer" / NAME)}
    for task in _lines(data / NAME):
        methods = _methods(task)
        for asked, calls in zip(task["question"], right[task["id"]], strict=True):
            words = "\n".join(message["content"] for message in asked)
            yield Turn(words or "Go on.", tuple((call, _made(call, methods)) for call in calls))


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    return (json.loads(line) for line in path.read_text("utf-8").splitlines())


def _methods(task: dict[str, Any]) -> dict[str, Callable[..., Any]]:
    """What can be called in a task, on new objects in the state that the task begins with."""
    backend: Any = importlib.import_module("bfcl_eval.constants.executable_backend_config")
    methods = dict[str, Callable[..., Any]]()
    for name in task["involved_classes"]:
        made = getattr(importlib.import_module(backend.CLASS_FILE_PATH_MAPPING[name]), name)()
        if name not in backend.STATELESS_CLASSES:
            made._load_scenario(copy.deepcopy(task["initial_config"].get(name, {})), long_context=True)
        methods |= {one: getattr(made, one) for one in dir(made) if not one.startswith("_")}
    return methods


def _made(call: str, methods: dict[str, Callable[..., Any]]) -> str:
    """The result of a call such as ``cd(folder='document')``, whose arguments are literals."""
    parsed = ast.parse(call, mode="eval").body
    assert isinstance(parsed, ast.Call)
    assert isinstance(parsed.func, ast.Name)
    given = [ast.literal_eval(one) for one in parsed.args]
    named = {one.arg: ast.literal_eval(one.value) for one in parsed.keywords if one.arg}
    result = methods[parsed.func.id](*given, **named)
    if result is None:  # a tool of ours would say so; five times nothing in a row is taken for a loop
        return f"{call}: done"
    return result if isinstance(result, str) else json.dumps(result, default=str)
