"""Fetch one page from the public internet: no private address, no credentials, no end without a cap.

A host is resolved once for each hop, every address that comes back is checked, and the connection goes to
exactly those addresses. So a name that answers differently the next time changes nothing.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import zlib
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from email.message import Message
from http import HTTPStatus
from typing import Final, cast
from urllib.parse import urljoin

import httpcore

from tools.address import Target, check_url, is_global, refuse_reason, refused
from tools.base import ToolError

USER_AGENT: Final = "Bobbin/0.1 (+self-hosted Slack teammate)"
_READABLE: Final = ("application/json", "application/xml", "application/xhtml+xml")
_REDIRECTS: Final = (301, 302, 303, 307, 308)
_CONNECT_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a host can be reached: an IP address without zone, and a port."""

    address: str
    port: int


Resolver = Callable[[str, int], Awaitable[Sequence[Endpoint]]]
"""Host name and port to endpoints; raises ``OSError`` when the name is not known."""


@dataclass(frozen=True, slots=True)
class Limits:
    """``bytes`` holds on the wire and again after decompression; ``seconds`` is for all hops together."""

    bytes: int = 5_000_000
    seconds: float = 20.0
    redirects: int = 5


@dataclass(frozen=True, slots=True)
class Page:
    """What came back. ``url`` is the last of the redirects, ``media_type`` is in lower case."""

    url: str
    host: str
    media_type: str
    charset: str | None
    body: bytes


async def resolve(host: str, port: int) -> Sequence[Endpoint]:
    """Ask the system's resolver."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [Endpoint(str(address[0]), int(address[1])) for *_, address in found]


class PageFetcher:
    """Opens pages by GET. ``allow`` decides on each IP address before anything is sent to it."""

    def __init__(
        self,
        *,
        resolver: Resolver = resolve,
        allow: Callable[[str], bool] = is_global,
        limits: Limits = Limits(),
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        # At DEBUG the library writes response headers, and a redirect's address can hold a secret.
        logging.getLogger("httpcore.http11").setLevel(logging.INFO)
        self._resolver, self._allow, self.limits, self._ssl = resolver, allow, limits, ssl_context

    async def fetch(self, url: str) -> Page:
        """The page at ``url`` after at most ``limits.redirects`` redirects.

        Raises ``ToolError``: bad_url, address_refused, unknown_host, unreachable, timeout, too_large,
        too_many_redirects, unreadable_type, bad_encoding, or http_<status>.
        """
        target = check_url(url)
        try:
            async with asyncio.timeout(self.limits.seconds):
                for _ in range(self.limits.redirects + 1):
                    step = await self._hop(target)
                    if isinstance(step, Page):
                        return step
                    target = step
        except (TimeoutError, httpcore.TimeoutException) as error:
            message = f"{target.host} did not finish within {self.limits.seconds:g} s."
            raise ToolError(
                "timeout", message, hint="Try again later or use another source.", retryable=True
            ) from error
        except (httpcore.NetworkError, httpcore.ProtocolError) as error:
            message = f"{target.host} could not be read: {_cause(error)}."
            hint = "Check the host's spelling, or use another source."
            raise ToolError("unreachable", message, hint=hint, retryable=True) from error
        message = f"More than {self.limits.redirects} redirects, the last one to {target.host}."
        raise ToolError("too_many_redirects", message, hint="Give the final address of the page.")

    async def _hop(self, target: Target) -> Page | Target:
        backend = _Pinned(await self._endpoints(target))
        async with _get(target, backend, self._ssl) as response:
            headers = _headers(response)
            if response.status in _REDIRECTS and (location := headers.get("location")):
                return check_url(urljoin(target.url, location))
            _check_status(target, response.status)
            media_type, charset = _media_type(headers)
            _check_readable(target, media_type)
            body = await _read(response.aiter_stream(), headers, self.limits.bytes)
            return Page(target.url, target.host, media_type, charset, body)

    async def _endpoints(self, target: Target) -> Sequence[Endpoint]:
        try:
            literal = [Endpoint(target.host, target.port)]
            found = literal if target.is_literal else await self._resolver(target.host, target.port)
        except OSError:
            found = ()
        if not found:
            message = f"There is no address for the host {target.host}."
            raise ToolError("unknown_host", message, hint="Check its spelling.", retryable=True)
        for endpoint in found:
            if not self._allow(endpoint.address):
                why = refuse_reason(endpoint.address) or "it is not on the list of allowed addresses"
                raise refused(target.host, f"of its address {endpoint.address}, {why}")
        return found


class _Pinned(httpcore.AsyncNetworkBackend):
    """Connects to the endpoints that were checked, whatever host and port it is asked for."""

    def __init__(self, endpoints: Sequence[Endpoint]) -> None:
        self._endpoints = endpoints
        self._inner = cast("httpcore.AsyncNetworkBackend", httpcore.AnyIOBackend())

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the library's signature
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        *others, last = self._endpoints
        for endpoint in others:
            try:
                return await self._connect(endpoint, timeout)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return await self._connect(last, timeout)

    async def _connect(self, endpoint: Endpoint, seconds: float | None) -> httpcore.AsyncNetworkStream:
        return await self._inner.connect_tcp(endpoint.address, endpoint.port, timeout=seconds)


@asynccontextmanager
async def _get(
    target: Target, backend: httpcore.AsyncNetworkBackend, context: ssl.SSLContext | None
) -> AsyncGenerator[httpcore.Response]:
    """One request on a connection of its own: no proxy, no cookie, nothing shared between hops."""
    headers: Mapping[bytes | str, bytes | str] = {
        "Host": target.authority,
        "User-Agent": USER_AGENT,
        "Accept": "text/html, application/xhtml+xml, application/json, text/*;q=0.9, application/xml;q=0.8",
        "Accept-Encoding": "gzip",
        "Connection": "close",
    }
    origin = httpcore.Origin(target.scheme.encode(), target.host.encode(), target.port)
    url = httpcore.URL(scheme=origin.scheme, host=origin.host, port=origin.port, target=target.path.encode())
    timeouts = {"timeout": {"connect": _CONNECT_SECONDS}}
    connection = httpcore.AsyncHTTPConnection(origin, ssl_context=context, network_backend=backend)
    async with connection, connection.stream("GET", url, headers=headers, extensions=timeouts) as response:
        yield response


def _headers(response: httpcore.Response) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("utf-8", "replace") for name, value in response.headers}


def _media_type(headers: dict[str, str]) -> tuple[str, str | None]:
    message = Message()
    message["content-type"] = headers.get("content-type", "").replace("\n", " ").replace("\r", " ")
    charset = message.get_param("charset")
    media_type = message.get_content_type() if "content-type" in headers else ""
    return media_type, charset if isinstance(charset, str) else None


def _check_status(target: Target, status: int) -> None:
    if 200 <= status < 300:
        return
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "an unknown status"
    retryable = status in (408, 425, 429) or status >= 500
    hint = "Try again later." if retryable else "Check the address, or use another source; no sign-in is possible."
    raise ToolError(f"http_{status}", f"{target.host} answered {status} {phrase}.", hint=hint, retryable=retryable)


def _check_readable(target: Target, media_type: str) -> None:
    if media_type.startswith("text/") or media_type in _READABLE or media_type.endswith(("+json", "+xml")):
        return
    what = f"is {media_type}, which cannot be read yet" if media_type else "does not say of which type it is"
    hint = "Text, HTML, XML and JSON can be read. Look for a page in one of these."
    raise ToolError("unreadable_type", f"The content at {target.host} {what}.", hint=hint)


async def _read(stream: AsyncIterable[bytes], headers: dict[str, str], limit: int) -> bytes:
    """The body, decompressed. Stops at the first byte above ``limit`` on either side of the decompression."""
    declared = headers.get("content-length", "")
    if declared.isdecimal() and int(declared[:20]) > limit:
        raise _too_large(limit)
    encoding = headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "", "gzip", "x-gzip"):
        raise ToolError("bad_encoding", f"The content encoding {encoding!r} is not known.", hint="Use another source.")
    inflate = zlib.decompressobj(zlib.MAX_WBITS | 16) if "gzip" in encoding else None
    body, received = bytearray(), 0
    async for chunk in stream:
        received += len(chunk)
        if received > limit:
            raise _too_large(limit)
        try:
            body += chunk if inflate is None else inflate.decompress(chunk, limit + 1 - len(body))
        except zlib.error as error:
            raise ToolError("bad_encoding", "The compressed page is damaged.", retryable=True) from error
        if len(body) > limit:
            raise _too_large(limit)
    if inflate is not None and received and not inflate.eof:
        raise ToolError("bad_encoding", "The compressed page ends too early.", retryable=True)
    return bytes(body)


def _too_large(limit: int) -> ToolError:
    hint = "Look for a shorter page or a part of it."
    return ToolError("too_large", f"The page is larger than {limit / 1e6:g} MB.", hint=hint)


def _cause(error: Exception) -> str:
    """What the network said, without any part of the URL."""
    if isinstance(error.__cause__, ssl.SSLCertVerificationError):
        return f"its certificate is not valid ({error.__cause__.verify_message})"
    match error:
        case httpcore.ConnectError():
            return "no connection"
        case httpcore.ProtocolError():
            return "its answer is not valid HTTP"
        case _:
            return "the connection broke"
