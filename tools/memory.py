"""What the agent may do with the memory: remember, recall, forget, list, share.

Remembering and forgetting change nothing but the bot's own notes, can be undone by a word, and show
in the thread: they run without asking, unless the conversation holds text of others, which might
have asked for it. What was said in private is shared with everyone only after a yes.
"""

from __future__ import annotations

from typing import Any, Protocol

from pydantic import Field, model_validator

from tools.base import Arguments, Effect, Output, Tool, ToolContext, tool


class Remember(Arguments):
    text: str = Field(
        min_length=1,
        max_length=600,
        description="One claim that stands for itself: names for pronouns, dates for 'tomorrow'. As it was said.",
    )

    corrects: int | None = Field(
        default=None, description="The number of the note that was wrong, if this says what is right instead."
    )


class Recall(Arguments):
    query: str = Field(min_length=1, max_length=1_000, description="What you want to know, in any language.")


class Forget(Arguments):
    id: int | None = Field(default=None, description="The number of the note.")
    query: str | None = Field(default=None, min_length=1, description="What it is about, if you have no number.")

    @model_validator(mode="after")
    def _one(self) -> Forget:
        if (self.id is None) == (self.query is None):
            raise ValueError("give either the number of the note or what it is about")
        return self


class ListMemories(Arguments):
    pass


class ShareMemory(Arguments):
    id: int = Field(description="The number of the note.")
    text: str = Field(
        min_length=1,
        max_length=600,
        description="The note's text, word for word: whoever approves it sees what will be known.",
    )


class Notebook(Protocol):
    """Each raises ``ToolError`` for what cannot be done. Who reads the reply decides what is found."""

    async def remember(self, context: ToolContext, text: str, corrects: int | None = None) -> Output: ...
    async def recall(self, context: ToolContext, query: str) -> Output: ...
    async def forget(self, context: ToolContext, number: int | None, query: str | None) -> Output: ...
    async def listed(self, context: ToolContext) -> Output: ...
    async def share(self, context: ToolContext, number: int, text: str) -> Output: ...


def memory_tools(notebook: Notebook) -> tuple[Tool[Any], ...]:
    @tool(Effect.NOTE, idempotent=True)
    async def remember(arguments: Remember, context: ToolContext) -> Output:
        """Keep something a person told you and wants kept, for later conversations, or correct a note."""
        return await notebook.remember(context, arguments.text, arguments.corrects)

    @tool(Effect.READ, untrusted=True, polling=True)
    async def recall(arguments: Recall, context: ToolContext) -> Output:
        """Look up what people here said earlier, in other threads too. Notes may be out of date."""
        return await notebook.recall(context, arguments.query)

    @tool(Effect.NOTE, idempotent=True)
    async def forget(arguments: Forget, context: ToolContext) -> Output:
        """Remove a note for good, when the person who said it (or had it kept) asks for that."""
        return await notebook.forget(context, arguments.id, arguments.query)

    @tool(Effect.READ, untrusted=True, polling=True)
    async def list_memories(arguments: ListMemories, context: ToolContext) -> Output:
        """List the newest notes that may be shown in this conversation."""
        return await notebook.listed(context)

    @tool(Effect.WRITE, idempotent=True)
    async def share_memory(arguments: ShareMemory, context: ToolContext) -> Output:
        """Let the whole workspace know a note that was told to you in private. Only its author may have that done."""
        return await notebook.share(context, arguments.id, arguments.text)

    return remember, recall, forget, list_memories, share_memory
