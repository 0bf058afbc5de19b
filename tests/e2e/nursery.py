"""Bots as processes of their own that begin at once: forked from one that has imported the program already."""

from __future__ import annotations

import multiprocessing
import os
import sys
from multiprocessing.process import BaseProcess
from pathlib import Path

_CONTEXT = multiprocessing.get_context("forkserver")


def hatch(folder: Path, environment: dict[str, str]) -> BaseProcess:
    """Start ``bobbin run`` in this folder; what it writes is in ``out.txt`` and ``log.txt`` there."""
    _CONTEXT.set_forkserver_preload(["bot.__main__", "bot.app"])
    process = _CONTEXT.Process(target=_live, args=(str(folder), environment), daemon=True)
    process.start()
    return process


def _live(folder: str, environment: dict[str, str]) -> None:
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for number, name in ((1, "out.txt"), (2, "log.txt")):
        os.dup2(os.open(name, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), number)
    sys.argv = ["bobbin", "run"]
    from bot.__main__ import main

    main()
