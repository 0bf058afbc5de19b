"""One process for each data folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bot.lock import FolderLock, Locked

HOLD = """
import sys, pathlib
from bot.lock import FolderLock
lock = FolderLock(pathlib.Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def holder(folder: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_process_is_refused_and_told_by_whom(tmp_path: Path) -> None:
    process = holder(tmp_path / "data")
    try:
        with pytest.raises(Locked) as caught:
            FolderLock(tmp_path / "data")
        assert f"process {process.pid}" in str(caught.value)
        assert str(tmp_path / "data") in str(caught.value)
        assert "BOBBIN_DATA_DIR" in str(caught.value)
    finally:
        process.communicate("")


def test_a_process_that_was_killed_holds_nothing(tmp_path: Path) -> None:
    process = holder(tmp_path)
    process.kill()
    process.communicate()
    lock = FolderLock(tmp_path)
    assert (tmp_path / "bobbin.lock").read_text() == str(os.getpid())
    lock.release()


def test_released_is_free(tmp_path: Path) -> None:
    FolderLock(tmp_path).release()
    FolderLock(tmp_path).release()


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        FolderLock(tmp_path / "file")
