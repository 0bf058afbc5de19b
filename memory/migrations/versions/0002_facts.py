"""What is remembered about the team: facts, the words in them, what was forgotten, and how far was learned."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "facts",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("workspace", "text", "kind", "subject", "value")),
        sa.Column("confidence", sa.Float, nullable=False),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("scope", "place", "channel", "room")),
        sa.Column("shared", sa.Boolean, nullable=False),
        *(sa.Column(n, sa.Text, nullable=False) for n in ("author", "author_name", "keeper", "message", "link")),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("created", sa.Float, nullable=False),
        sa.Column("valid_from", sa.Float, nullable=False),
        sa.Column("invalid_at", sa.Float, nullable=True),
        sa.Column("superseded_by", sa.Integer, nullable=True),
        sa.Column("used", sa.Float, nullable=True),
        sa.Column("uses", sa.Integer, nullable=False),
        sa.Column("normal", sa.Text, nullable=False),
        sa.Column("embedder", sa.Text, nullable=False),
        sa.Column("vector", sa.LargeBinary, nullable=True),
        sqlite_autoincrement=True,  # an id is never used again: the index may still hold an old one
    )
    op.create_index("facts_in_place", "facts", ["workspace", "status", "scope", "place"])
    op.create_index("facts_of_message", "facts", ["message"])
    op.create_index("facts_normal", "facts", ["normal"])
    op.create_table(
        "fact_words",
        sa.Column("workspace", sa.Text, primary_key=True),
        sa.Column("word", sa.Text, primary_key=True),
        sa.Column("fact", sa.Integer, primary_key=True, autoincrement=False),
        sqlite_with_rowid=False,
    )
    op.create_index("words_of_fact", "fact_words", ["fact"])
    op.create_table("forgotten", sa.Column("mark", sa.Text, primary_key=True), sqlite_with_rowid=False)
    op.create_table(
        "learned",
        sa.Column("thread", sa.Integer, sa.ForeignKey("threads.id"), primary_key=True, autoincrement=False),
        sa.Column("upto", sa.Integer, nullable=False),
        sqlite_with_rowid=False,
    )
    # What was said before there was a memory is not learned from: nobody expected it to be.
    op.execute("INSERT INTO learned (thread, upto) SELECT thread, MAX(seq) FROM records GROUP BY thread")


def downgrade() -> None:
    raise NotImplementedError("Bobbin's schema only goes forward; restore a backup instead.")
