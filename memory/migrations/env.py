"""Run by alembic: migrate over the connection that the program has opened."""

from __future__ import annotations

from alembic import context

from memory.db import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
