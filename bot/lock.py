"""One process for each data folder: SQLite and the vector index belong to a single process."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import IO


class Locked(Exception):
    """Another process works on this folder; the message says which and what to do."""


class FolderLock:
    """Held while the program runs; the system lets go of it when the process dies, however it dies."""

    def __init__(self, folder: Path) -> None:
        """Raises ``Locked``, or ``OSError`` when the folder cannot be written."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "bobbin.lock"
        self._file: IO[str] = path.open("a+")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.seek(0)
            holder = self._file.read().strip() or "unknown"
            self._file.close()
            raise Locked(
                f"another Bobbin (process {holder}) already works on {folder.resolve()}. Stop it first, "
                "or give this one its own BOBBIN_DATA_DIR, or use PostgreSQL through BOBBIN_DATABASE_URL."
            ) from error
        self._file.truncate(0)
        self._file.write(str(os.getpid()))
        self._file.flush()

    def release(self) -> None:
        self._file.close()
