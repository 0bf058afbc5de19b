"""The log, the inbox, and what is derived from them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_FROZEN = ("records", "results")


def upgrade() -> None:
    op.create_table(
        "threads",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("key", sa.Text, nullable=False, unique=True),
        sa.Column("followed", sa.Boolean, nullable=False),
        sa.Column("open", sa.Boolean, nullable=False),
        sa.Column("read_from", sa.Integer, nullable=False),
    )
    op.create_index("open_threads", "threads", ["open"])
    op.create_table(
        "records",
        sa.Column("thread", sa.Integer, sa.ForeignKey("threads.id"), primary_key=True, autoincrement=False),
        sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "results",
        sa.Column("thread", sa.Integer, sa.ForeignKey("threads.id"), primary_key=True, autoincrement=False),
        sa.Column("handle", sa.Text, primary_key=True),
        sa.Column("text", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "inbox",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("event", sa.Text, nullable=False, unique=True),
        sa.Column("identity", sa.Text, nullable=False, unique=True),
        sa.Column("thread", sa.Text, nullable=False),
        sa.Column("received", sa.Float, nullable=False),
        sa.Column("done", sa.Boolean, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_index("inbox_waiting", "inbox", ["done", "thread"])
    op.create_table(
        "posts",
        sa.Column("message", sa.Text, primary_key=True),
        sa.Column("thread", sa.Text, nullable=False),
        sa.Column("of", sa.Integer, nullable=False),
        sa.Column("what", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "spend",
        sa.Column("day", sa.Text, primary_key=True),
        sa.Column("subject", sa.Text, primary_key=True),
        sa.Column("dollars", sa.Float, nullable=False),
        sqlite_with_rowid=False,
    )
    _freeze()


def _freeze() -> None:
    """The database itself refuses to change or remove what was written to the log."""
    if op.get_bind().dialect.name == "sqlite":
        for table in _FROZEN:
            for verb in ("UPDATE", "DELETE"):
                op.execute(
                    f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} "
                    f"BEGIN SELECT RAISE(ABORT, '{table} are append-only'); END"
                )
        return
    op.execute(
        "CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION '% are append-only', TG_TABLE_NAME; END $$"
    )
    for table in _FROZEN:
        op.execute(
            f"CREATE TRIGGER {table}_frozen BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()"
        )


def downgrade() -> None:
    raise NotImplementedError("Bobbin's schema only goes forward; restore a backup instead.")
