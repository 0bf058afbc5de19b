"""Does a test notice? Runs the tests that concern a module against one mutant, in a copy of the tree.

A server by fork: what all tests import from outside is imported once, and what is ours anew for each mutant. So a
trial costs what its tests cost, and a mutant that hangs, or that eats all memory, is ended by the system.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import resource
import shutil
import signal
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

Verdict = Literal["killed", "timed out", "survived"]
OURS = {"bot", "memory", "tools", "tests", "bench"}
QUIET = ("-x", "-q", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning")
NOT_COPIED = (".git", ".venv", "data", "docs", "__pycache__", ".hypothesis", ".pytest_cache", ".ruff_cache")
MEMORY = 8 * 1024**3
"""Bytes of addresses that one trial may use."""


class UnmeasurableError(Exception):
    """The tests fail, or do not reach the module, without any fault in it: nothing can be measured."""


@dataclass(frozen=True, slots=True)
class Bench:
    """A copy of the tree, and the tests that concern one module of it."""

    tree: Path
    module: str
    tests: Sequence[str]
    limit: float
    """Seconds of one trial."""

    def run(self, source: str) -> Verdict:
        file = self.tree / self.module
        whole = file.read_text(encoding="utf-8")
        file.write_text(source, encoding="utf-8")
        try:
            status = _in_a_child(self, self.limit, keep=False)
        finally:
            file.write_text(whole, encoding="utf-8")
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM:
            return "timed out"
        return "survived" if status == 0 else "killed"


def prepare(root: Path, folder: Path, module: str, tests: Sequence[str]) -> Bench:
    """Copy the tree, see that the tests hold there, and learn how long they take and what they import."""
    tree = folder / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(root, tree, ignore=shutil.ignore_patterns(*NOT_COPIED))
    first = Bench(tree, module, tests, 900.0)
    _check(_in_a_child(first, first.limit, keep=True), tree)
    _import_what_is_not_ours((tree / "imported").read_text(encoding="utf-8").splitlines())
    began = time.monotonic()
    _check(_in_a_child(first, first.limit, keep=True), tree)
    return Bench(tree, module, tests, 3 * (time.monotonic() - began) + 5)


def _check(status: int, tree: Path) -> None:
    if status != 0:
        raise UnmeasurableError((tree / "output").read_text(encoding="utf-8", errors="replace")[-4_000:])


def _import_what_is_not_ours(names: Sequence[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            with contextlib.suppress(Exception):
                importlib.import_module(name)


def _in_a_child(bench: Bench, limit: float, *, keep: bool) -> int:
    """The exit status of the tests in a process of their own. ``keep``: a first run, which may leave things behind."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        status = 99
        try:
            os.setpgrp()
            signal.setitimer(signal.ITIMER_REAL, limit)
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            status = _tests(bench, keep=keep)
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # what it started
    return status


def _tests(bench: Bench, *, keep: bool) -> int:
    output = os.open(bench.tree / "output", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    for name in [name for name in sys.modules if name.partition(".")[0] in OURS]:
        del sys.modules[name]
    here = {"", str(Path.cwd())}
    sys.path[:] = [str(bench.tree), *(path for path in sys.path if path not in here)]
    sys.dont_write_bytecode = not keep  # two mutants of one size and second would be taken for each other
    os.chdir(bench.tree)
    importlib.invalidate_caches()
    status = pytest.main([*QUIET, f"--basetemp={bench.tree.parent / 'scratch'}", *bench.tests])
    if keep:  # not what begins with "_": asyncio, for one, comes up wrong if its inner module is imported before it
        modules = sorted(name for name in sys.modules if name.partition(".")[0] not in OURS and name[0] != "_")
        (bench.tree / "imported").write_text("\n".join(modules), encoding="utf-8")
        tested = sys.modules.get(bench.module.removesuffix(".py").replace("/", "."))
        if tested is None or not str(tested.__file__).startswith(str(bench.tree)):
            print(f"these tests do not reach {bench.module} in the copy")
            return 98
    return int(status)
