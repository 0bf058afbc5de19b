from __future__ import annotations

import asyncio
import gzip
import logging
import ssl
import time
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tools.site import SMALL, Answer, Site, only_loopback, says, serving
from tools.base import ToolError
from tools.fetch import USER_AGENT, Endpoint, Limits, PageFetcher

HERE = Path(__file__).parent


def redirecting(*places: str, then: Answer | None = None) -> Answer:
    """Send path /0 to the first place, /1 to the next, and so on."""

    async def answer(path: str, writer: asyncio.StreamWriter) -> None:
        step = int(path[1:].split("?", maxsplit=1)[0] or 0)
        follow = says(status="302 Found", Location=places[step]) if step < len(places) else then or says()
        await follow(path, writer)

    return answer


async def failure(site: Site, url: str = "http://site.example/0", limits: Limits = SMALL) -> ToolError:
    with pytest.raises(ToolError) as caught:
        await site.fetcher(limits).fetch(url)
    assert caught.value.hint or caught.value.retryable
    return caught.value


async def test_a_page_comes_with_its_type_charset_and_body():
    async with serving(says(b"<p>hi", "Text/HTML; Charset=gb2312")) as site:
        page = await site.fetcher().fetch("http://site.example/a?b=c#d")
    assert (page.url, page.host, page.body) == ("http://site.example/a?b=c", "site.example", b"<p>hi")
    assert (page.media_type, page.charset) == ("text/html", "gb2312")
    assert site.requests[0].startswith("GET /a?b=c HTTP/1.1\r\nHost: site.example\r\n")
    assert f"User-Agent: {USER_AGENT}\r\n" in site.requests[0]


async def test_redirects_are_followed_and_the_last_url_is_told():
    async with serving(redirecting("/1", "http://b.example/2?x=y", "//c.example/3", "4")) as site:
        page = await site.fetcher().fetch("http://a.example/0")
    assert page.url == "http://c.example/4"
    assert [request.split()[4] for request in site.requests] == [*["a.example"] * 2, "b.example", *["c.example"] * 2]


async def test_the_sixth_redirect_is_one_too_many():
    five = [f"/{step}" for step in range(1, 6)]
    async with serving(redirecting(*five)) as site:
        assert (await site.fetcher().fetch("http://site.example/0")).url == "http://site.example/5"
    async with serving(redirecting(*five, "/6")) as site:
        assert (await failure(site)).code == "too_many_redirects"
    async with serving(redirecting("/0")) as site:
        assert (await failure(site)).code == "too_many_redirects"
        assert len(site.requests) == 6


@pytest.mark.parametrize(
    ("place", "code"),
    [
        ("http://169.254.169.254/latest/meta-data/", "address_refused"),
        ("http://127.0.0.1/", "address_refused"),
        ("http://[::1]/", "address_refused"),
        ("http://10-0-0-1.example/", "address_refused"),
        ("//192-168-1-1.example/", "address_refused"),
        ("http://site.example:8080/", "bad_url"),
        ("http://2130706433/", "bad_url"),
        ("file:///etc/passwd", "bad_url"),
        ("http://user:pw@site.example/", "bad_url"),
        ("http:\\\\127.0.0.1/", "bad_url"),
    ],
)
async def test_each_redirect_is_checked_like_the_first_url(place: str, code: str):
    async with serving(redirecting(place)) as site:
        assert (await failure(site)).code == code
        assert len(site.requests) == 1


async def test_a_resolver_that_changes_its_answer_is_asked_once_and_not_obeyed_later():
    answers = iter(["127.0.0.1", "10.0.0.1"])
    async with serving(redirecting("/1")) as site:

        async def rebinding(host: str, port: int) -> list[Endpoint]:
            return [Endpoint(next(answers), site.port)]

        fetcher = PageFetcher(resolver=rebinding, allow=only_loopback, limits=SMALL)
        with pytest.raises(ToolError) as caught:
            await fetcher.fetch("http://rebind.example/0")
        assert caught.value.code == "address_refused"
        assert len(site.requests) == 1


async def test_the_connection_goes_to_the_checked_address_without_a_second_look_up(monkeypatch: pytest.MonkeyPatch):
    async def no_look_up(*_: object, **__: object) -> None:
        raise AssertionError("a name was resolved a second time")

    async with serving(says()) as site:
        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", no_look_up)
        assert (await site.fetcher().fetch("http://does-not-exist.example/")).body == b"hello"


async def test_the_default_is_strict():
    with pytest.raises(ToolError) as caught:
        await PageFetcher().fetch("http://localhost/")
    assert caught.value.code == "address_refused"


async def test_the_next_address_is_tried_when_the_first_is_down():
    async with serving(says()) as site:
        closed = await asyncio.start_server(site.handle, "127.0.0.1", 0)
        dead = Endpoint("127.0.0.1", closed.sockets[0].getsockname()[1])
        closed.close()
        await closed.wait_closed()

        async def two(host: str, port: int) -> list[Endpoint]:
            return [dead, *site.here]

        async def none(host: str, port: int) -> list[Endpoint]:
            return [dead]

        assert (await PageFetcher(resolver=two, allow=only_loopback).fetch("http://two.example")).body == b"hello"
        with pytest.raises(ToolError) as caught:
            await PageFetcher(resolver=none, allow=only_loopback).fetch("http://none.example")
    assert (caught.value.code, caught.value.retryable) == ("unreachable", True)


@pytest.mark.parametrize("fails", [True, False])
async def test_an_unknown_host_is_named(fails: bool):
    async def resolver(host: str, port: int) -> list[Endpoint]:
        if fails:
            raise OSError("no such host")
        return []

    with pytest.raises(ToolError, match=r"nowhere\.example") as caught:
        await PageFetcher(resolver=resolver).fetch("http://nowhere.example")
    assert caught.value.code == "unknown_host"


async def test_a_slow_server_is_left_after_the_time_for_all_hops():
    hold = asyncio.Event()

    async def slow(path: str, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
        await writer.drain()
        await hold.wait()

    async with serving(redirecting("/1", then=slow)) as site:
        started = time.monotonic()
        error = await failure(site, limits=Limits(seconds=0.3))
        hold.set()
    assert time.monotonic() - started < 2
    assert (error.code, error.retryable) == ("timeout", True)


async def test_an_endless_body_stops_at_the_cap():
    sent = 0

    async def endless(path: str, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
        while not writer.is_closing():
            writer.write(b"x" * 65_536)
            sent += 65_536
            await writer.drain()

    async with serving(endless) as site:
        assert (await failure(site)).code == "too_large"
    assert sent < 20_000_000


async def test_an_endless_compressed_body_that_holds_nothing_stops_at_the_cap():
    empty_block = b"\x00\x00\x00\xff\xff"

    async def hollow(path: str, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n\r\n")
        writer.write(gzip.compress(b"")[:10])
        while not writer.is_closing():
            writer.write(empty_block * 10_000)
            await writer.drain()

    async with serving(hollow) as site:
        assert (await failure(site)).code == "too_large"


async def test_a_body_that_says_it_is_too_large_is_not_read():
    async def boasting(path: str, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 99999999999\r\n\r\n")

    async with serving(boasting) as site:
        assert (await failure(site)).code == "too_large"


def bomb(megabytes: int) -> bytes:
    packer = zlib.compressobj(9, wbits=31)
    block = bytes(1_000_000)
    return b"".join([*(packer.compress(block) for _ in range(megabytes)), packer.flush()])


async def test_a_compressed_bomb_stops_at_the_cap():
    packed = bomb(60)
    assert len(packed) < SMALL.bytes
    async with serving(says(packed, "text/html", Content_Encoding="gzip")) as site:
        assert (await failure(site)).code == "too_large"


@settings(max_examples=15, deadline=None)
@given(body=st.binary(max_size=3_000), cap=st.integers(1, 3_000), packed=st.booleans())
async def test_a_body_comes_whole_or_not_at_all(body: bytes, cap: int, packed: bool):
    headers = {"Content_Encoding": "gzip"} if packed else {}
    sent = gzip.compress(body) if packed else body
    async with serving(says(sent, **headers)) as site:
        if max(len(body), len(sent)) > cap:
            assert (await failure(site, limits=Limits(bytes=cap))).code == "too_large"
        else:
            page = await site.fetcher(Limits(bytes=cap)).fetch("http://site.example/0")
            assert page.body == body


@pytest.mark.parametrize(("encoding", "body"), [("br", b"x"), ("gzip, gzip", b"x"), ("gzip", b"no gzip at all")])
async def test_an_unknown_or_damaged_compression_is_an_error(encoding: str, body: bytes):
    async with serving(says(body, Content_Encoding=encoding)) as site:
        assert (await failure(site)).code == "bad_encoding"


async def test_a_compressed_page_that_ends_too_early_is_an_error():
    async with serving(says(gzip.compress(b"a long story" * 99)[:-12], Content_Encoding="gzip")) as site:
        assert (await failure(site)).code == "bad_encoding"


@pytest.mark.parametrize("kind", ["application/pdf", "image/png", "application/octet-stream", "video/mp4", ""])
async def test_a_type_that_cannot_be_read_is_named(kind: str):
    async with serving(says(b"%PDF-1.7", kind)) as site:
        error = await failure(site)
    assert error.code == "unreadable_type"
    assert kind in error.message


@pytest.mark.parametrize("kind", ["application/json", "application/ld+json", "application/rss+xml", "text/markdown"])
async def test_text_of_every_kind_can_be_read(kind: str):
    async with serving(says(b"[1]", kind)) as site:
        assert (await site.fetcher().fetch("http://site.example/0")).media_type == kind


@pytest.mark.parametrize(("status", "retryable"), [("404 Nope", False), ("503 Busy", True), ("429 Slow", True)])
async def test_an_error_status_is_told(status: str, retryable: bool):
    async with serving(says(status=status)) as site:
        error = await failure(site)
    assert (error.code, error.retryable) == (f"http_{status[:3]}", retryable)


@pytest.mark.parametrize("junk", [b"", b"SSH-2.0-OpenSSH_9.6\r\n", b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 50_000])
async def test_what_is_not_http_is_unreachable(junk: bytes):
    async def answer(path: str, writer: asyncio.StreamWriter) -> None:
        writer.write(junk)

    async with serving(answer) as site:
        assert (await failure(site)).code == "unreachable"


async def test_no_cookie_token_or_referrer_travels(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    cookie = says(status="302 Found", Location="http://other.example/1", Set_Cookie="session=c00kie; Path=/")

    async def answer(path: str, writer: asyncio.StreamWriter) -> None:
        await (cookie if path.startswith("/0") else says())(path, writer)

    async with serving(answer) as site:
        fetcher = site.fetcher()
        await fetcher.fetch("http://site.example/0?token=s3cret")
        await fetcher.fetch("http://site.example/2")
    for request in site.requests:
        names = [line.split(":")[0].lower() for line in request.split("\r\n")[1:] if line]
        assert names == ["host", "user-agent", "accept", "accept-encoding", "connection"]
    assert "s3cret" not in "".join(site.requests[1:])
    assert "s3cret" not in caplog.text


async def test_a_secret_in_a_redirect_is_not_logged(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    async with serving(redirecting("/1?token=s3cret")) as site:
        await site.fetcher().fetch("http://site.example/0")
    assert "s3cret" not in caplog.text


async def test_proxy_variables_are_ignored(monkeypatch: pytest.MonkeyPatch):
    async with serving(says(b"proxy")) as proxy, serving(says(b"direct")) as site:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        assert (await site.fetcher().fetch("http://site.example/")).body == b"direct"
        assert proxy.requests == []


@pytest.fixture
def server_tls() -> ssl.SSLContext:
    """A certificate for site.example only, signed by itself."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(HERE / "certificate.pem")
    return context


@pytest.fixture
def client_tls() -> ssl.SSLContext:
    return ssl.create_default_context(cafile=HERE / "certificate.pem")


async def test_the_certificate_must_be_for_the_host_name(server_tls: ssl.SSLContext, client_tls: ssl.SSLContext):
    asked: list[str] = []
    server_tls.sni_callback = lambda _socket, name, _context: asked.append(str(name))
    async with serving(says(), server_tls) as site:
        assert (await site.fetcher(tls=client_tls).fetch("https://site.example/")).body == b"hello"
        with pytest.raises(ToolError, match="certificate is not valid"):
            await site.fetcher(tls=client_tls).fetch("https://other.example/")
    assert asked == ["site.example", "other.example"]


async def test_an_unknown_authority_is_refused(server_tls: ssl.SSLContext):
    async with serving(says(), server_tls) as site:
        with pytest.raises(ToolError, match="certificate is not valid"):
            await site.fetcher().fetch("https://site.example/")
