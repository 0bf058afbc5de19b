"""A web server on the loopback that answers as a test wants, and the surroundings of a call."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from memory.types import Person, ThreadKey
from tools.base import ToolContext
from tools.fetch import Endpoint, Limits, PageFetcher

SMALL = Limits(bytes=100_000, seconds=5.0, redirects=5)

Answer = Callable[[str, asyncio.StreamWriter], Awaitable[None]]


class Site:
    """A server on a free port of the loopback that keeps every request it got."""

    def __init__(self, answer: Answer) -> None:
        self.requests: list[str] = []
        self.port = 0
        self._answer = answer

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = (await reader.readuntil(b"\r\n\r\n")).decode()
            self.requests.append(request)
            await self._answer(request.split()[1], writer)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def resolve(self, host: str, port: int) -> list[Endpoint]:
        """Every name leads here, except those that spell an address."""
        return [Endpoint(host.removesuffix(".example").replace("-", "."), port)] if host[0].isdigit() else self.here

    @property
    def here(self) -> list[Endpoint]:
        return [Endpoint("127.0.0.1", self.port)]

    def fetcher(self, limits: Limits = SMALL, tls: ssl.SSLContext | None = None) -> PageFetcher:
        return PageFetcher(resolver=self.resolve, allow=only_loopback, limits=limits, ssl_context=tls)


def only_loopback(address: str) -> bool:
    return address == "127.0.0.1"


@asynccontextmanager
async def serving(answer: Answer, tls: ssl.SSLContext | None = None) -> AsyncGenerator[Site]:
    site = Site(answer)
    server = await asyncio.start_server(site.handle, "127.0.0.1", 0, ssl=tls)
    site.port = server.sockets[0].getsockname()[1]
    try:
        yield site
    finally:
        server.close()
        await server.wait_closed()


def says(body: bytes = b"hello", content_type: str = "text/plain", status: str = "200 OK", **headers: str) -> Answer:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}"]
    lines += [f"Content-Type: {content_type}"] if content_type else []
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    head = ("\r\n".join(lines) + "\r\n\r\n").encode()

    async def answer(path: str, writer: asyncio.StreamWriter) -> None:
        writer.write(head + body)

    return answer


def context(time_zone: str = "UTC", now: datetime = datetime(2026, 3, 5, 12, 30, 15, tzinfo=UTC)) -> ToolContext:
    chat: Any = None  # these tools ask nothing of the chat platform
    return ToolContext(ThreadKey("t"), "call", Person(id="u", name="Ana", time_zone=time_zone), now, chat)
