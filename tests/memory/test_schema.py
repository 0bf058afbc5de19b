"""The schema is brought up to date when it is not, and left alone (without loading what does it) when it is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.config import Config
from alembic.script import ScriptDirectory

from memory.db import MIGRATIONS, Database, newest_schema

OPEN = "import sys; from memory.db import Database; Database(sys.argv[1]).close(); print('alembic' in sys.modules)"


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'bobbin.db'}"


def loads_alembic(url: str) -> bool:
    done = subprocess.run([sys.executable, "-c", OPEN, url], check=True, capture_output=True, text=True)
    return done.stdout.strip() == "True"


def set_version(url: str, version: str) -> None:
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = :version"), {"version": version})
    engine.dispose()


def version_of(url: str) -> str:
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        found = connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar_one()
    engine.dispose()
    return str(found)


def test_the_newest_revision_is_the_head_of_the_migrations() -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    assert newest_schema() == ScriptDirectory.from_config(config).get_current_head()


def test_a_new_database_gets_the_newest_schema(url: str) -> None:
    Database(url).close()
    assert version_of(url) == newest_schema()


def test_a_database_that_is_up_to_date_is_left_alone(url: str) -> None:
    assert loads_alembic(url)
    assert not loads_alembic(url)


def test_a_database_without_a_version_is_migrated(url: str) -> None:
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)"))
    engine.dispose()
    Database(url).close()
    assert version_of(url) == newest_schema()


def test_a_database_at_another_version_goes_through_the_migrations(url: str) -> None:
    Database(url).close()
    set_version(url, "9999")
    with pytest.raises(Exception, match="9999"):
        Database(url)
