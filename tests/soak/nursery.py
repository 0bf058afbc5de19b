"""Starts the bot quickly, again and again: everything is loaded once, and each life is a fork of that.

Reads commands line by line: ``start`` begins a life and prints ``pid N``; ``wait`` prints ``ended CODE`` when it is
over. The bot's own lines go to the same place.
"""

from __future__ import annotations

import importlib
import os
import sys

from bot.__main__ import main


def live() -> None:
    """What ``python -m bot run`` does."""
    sys.argv = ["bobbin", "run"]
    code = 1
    try:
        main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0
    finally:
        sys.stdout.flush()
        os._exit(code)


def serve() -> None:
    importlib.import_module("bot.app")  # which loads everything else
    pid = 0
    for command in sys.stdin:
        if command.strip() == "start":
            if (pid := os.fork()) == 0:
                live()
            print(f"pid {pid}", flush=True)
        else:
            _, status = os.waitpid(pid, 0)
            print(f"ended {os.waitstatus_to_exitcode(status)}", flush=True)


if __name__ == "__main__":
    serve()
