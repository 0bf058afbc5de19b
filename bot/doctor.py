"""``bobbin doctor``: every setting and every connection, each with what was found and how to mend it."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from typing import Any

import anthropic
import typer
from slack_sdk.errors import SlackApiError

from bot.clients import authenticate, model_client, slack_client
from bot.config import SCRIPTED, ConfigurationError, Settings, unknown_names
from bot.lock import FolderLock, Locked
from bot.manifest import manifest, scopes
from bot.remembering import make_embedder
from bot.secrets import Mask
from memory.db import Database, DatabaseError
from memory.index import Index, IndexFailed
from memory.probe import survives
from memory.vector import EmbedderError

OLDEST_PYTHON = (3, 11)
LEAST_SPACE = 200_000_000
"""Bytes that the disk of the data folder should have left."""
CLOCKS_APART = 5.0
"""Seconds. What is older than a question is no answer to it, and over HTTP Slack's signatures grow stale."""
PATIENCE = 20.0
"""Seconds for one answer over the network."""


@dataclass(frozen=True, slots=True)
class Finding:
    """``what`` was checked, what was ``said``, and the ``fix`` if it is not well."""

    well: bool
    what: str
    said: str
    fix: str = ""


async def examine(load: Callable[[], Settings]) -> AsyncGenerator[Finding]:
    """All checks, in the order in which things must be right."""
    yield python_version(sys.version_info[:3])
    try:
        settings = load()
    except ConfigurationError as error:
        for problem in error.problems:
            yield Finding(False, "settings", problem)
        return
    mask = Mask(settings.secrets)
    async for finding in _examine(settings):
        yield replace(finding, said=mask.text(finding.said), fix=mask.text(finding.fix))


async def _examine(settings: Settings) -> AsyncGenerator[Finding]:
    problems = settings.missing()
    for finding in (*_names(settings, [*problems, *unknown_names(os.environ)]), *_machine(settings)):
        yield finding
    yield await _database(settings)
    yield await _embedder(settings)
    if settings.chroma_url:
        yield await _index(settings)
    named = " ".join(problems)
    if "SLACK_BOT_TOKEN" not in named:
        async for finding in _slack(settings):
            yield finding
    if settings.mode == "socket" and "SLACK_APP_TOKEN" not in named:
        yield await _app_token(settings)
    if "ANTHROPIC_API_KEY" not in named:
        async for finding in _model(settings):
            yield finding


def _names(settings: Settings, problems: list[str]) -> list[Finding]:
    """What is missing or misspelt."""
    well = Finding(True, "settings", f"{settings.mode} mode, model {settings.model}")
    return [Finding(False, "settings", problem) for problem in problems] or [well]


async def show(findings: AsyncIterator[Finding]) -> bool:
    """Print each finding as it comes; whether all is well."""
    wrong = 0
    async for finding in findings:
        mark, colour = ("✓", typer.colors.GREEN) if finding.well else ("✗", typer.colors.RED)
        typer.echo(f"{typer.style(mark, fg=colour)} {finding.what} · {finding.said}")
        if finding.fix:
            typer.echo(f"    {finding.fix}")
        wrong += not finding.well
    typer.echo(f"\n{wrong} to mend." if wrong else "\nAll is well: bobbin run can start.")
    return not wrong


# -- this machine --------------------------------------------------------------------------------


def python_version(version: tuple[int, ...]) -> Finding:
    shown = ".".join(str(number) for number in version)
    if version[:2] >= OLDEST_PYTHON:
        return Finding(True, "Python", shown)
    return Finding(
        False, "Python", f"{shown} is too old", "Install Python 3.11 or newer and make the environment anew."
    )


def _machine(settings: Settings) -> Iterable[Finding]:
    """The data folder, and the port of the operators' page."""
    folder, running = settings.data_dir, False
    try:
        FolderLock(folder).release()
    except Locked:
        running = True
    except OSError as error:
        fix = "Set BOBBIN_DATA_DIR to a folder that this user may write."
        yield Finding(False, "data folder", f"{folder} cannot be written ({error.strerror})", fix)
        return
    free = shutil.disk_usage(folder).free
    said = f"{folder.resolve()}, {free / 1e9:.1f} GB free" + (", in use by a running Bobbin" if running else "")
    fix = "" if free >= LEAST_SPACE else "Make room: a full disk stops the bot from taking messages."
    yield Finding(not fix, "data folder", said, fix)
    yield _port(settings.http_host, settings.http_port, running=running)


def _port(host: str, port: int, *, running: bool) -> Finding:
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, socket.SOCK_STREAM) as one:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            one.bind(address)
    except OSError as error:
        if running:
            return Finding(True, "port", f"{host}:{port}, in use by the running Bobbin")
        fix = "Set BOBBIN_HTTP_PORT to a free port (0 takes any), or BOBBIN_HTTP_HOST to an address of this machine."
        return Finding(False, "port", f"{host}:{port} cannot be used ({error.strerror})", fix)
    return Finding(True, "port", f"{host}:{port} is free" if port else "any free one")


async def _database(settings: Settings) -> Finding:
    try:
        database = await asyncio.to_thread(Database, settings.database)
    except DatabaseError as error:
        return Finding(False, "database", str(error))
    try:
        await database.check_writable()
    except DatabaseError as error:
        return Finding(False, "database", str(error), "Give its user the right to write, or mend BOBBIN_DATABASE_URL.")
    finally:
        await asyncio.to_thread(database.close)
    return Finding(True, "database", f"{database.dialect}, opens and can be written")


# -- Slack ---------------------------------------------------------------------------------------


async def _embedder(settings: Settings) -> Finding:
    """Who makes vectors must make one; native code is tried in a process of its own first."""
    first = settings.embedder != "local" or await survives("embedder")
    try:
        async with asyncio.timeout(PATIENCE):
            embedder = await asyncio.to_thread(make_embedder, settings, first=first)
            vector = await asyncio.to_thread(embedder.query, "ready?")
    except (EmbedderError, TimeoutError) as error:
        said = str(error) or f"{settings.embedder}: no vector within {PATIENCE:.0f} s"
        return Finding(False, "embedder", said, "Until then facts are found by their words only.")
    return Finding(True, "embedder", f"{embedder.name}, {len(vector)} numbers a vector")


async def _index(settings: Settings) -> Finding:
    try:
        async with asyncio.timeout(PATIENCE):
            await asyncio.to_thread(lambda: Index(settings.chroma_url, "").workspaces())
    except (IndexFailed, TimeoutError) as error:
        fix = "Check BOBBIN_CHROMA_URL, or leave it empty. Until then facts are found by exact search."
        return Finding(False, "Chroma", str(error) or "no answer", fix)
    return Finding(True, "Chroma", f"{settings.chroma_url} answers")


async def _slack(settings: Settings) -> AsyncGenerator[Finding]:
    began = time.time()
    try:
        answer = await authenticate(slack_client(settings))
    except ConfigurationError as error:
        yield Finding(False, "Slack", str(error))
        return
    yield Finding(True, "Slack", f"workspace {answer['team']}, as @{answer['user']}")
    headers = {str(name).lower(): str(value) for name, value in answer.headers.items()}
    yield granted_scopes(headers.get("x-oauth-scopes", ""), scopes(manifest()))
    if (date := headers.get("date")) is not None:
        yield clock(parsedate_to_datetime(date).timestamp(), (began + time.time()) / 2)


def granted_scopes(granted: str, wanted: dict[str, str]) -> Finding:
    """``granted`` is Slack's header: names between commas."""
    missing = wanted.keys() - {name.strip() for name in granted.split(",")}
    if not missing:
        return Finding(True, "scopes", f"all {len(wanted)} of manifest.yml")
    listed = "; ".join(f"{name} ({wanted[name]})" for name in wanted if name in missing)
    fix = "Paste manifest.yml into the app's settings under App Manifest, save, and reinstall the app to the workspace."
    return Finding(False, "scopes", f"missing: {listed}", fix)


def clock(slack: float, ours: float) -> Finding:
    """Both in seconds since 1970; Slack names whole seconds, so half of one is added."""
    ahead = ours - (slack + 0.5)
    if abs(ahead) <= CLOCKS_APART:
        return Finding(True, "clock", f"within {CLOCKS_APART:g} s of Slack's")
    said = f"{abs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'} Slack's"
    return Finding(False, "clock", said, "Switch on time synchronisation (NTP) on this machine.")


async def _app_token(settings: Settings) -> Finding:
    client: Any = slack_client(settings)
    try:
        await client.apps_connections_open(app_token=settings.slack_app_token.get_secret_value())
    except SlackApiError as error:
        answer: Any = error.response
        fix = (
            "Make an app-level token with the scope connections:write (Basic Information, App-Level Tokens) of the "
            "same app as SLACK_BOT_TOKEN, and switch Socket Mode on."
        )
        return Finding(False, "app token", f"SLACK_APP_TOKEN is refused by Slack ({answer['error']})", fix)
    except Exception as error:
        return Finding(False, "app token", f"Slack did not answer ({type(error).__name__})", "Check the network.")
    return Finding(True, "app token", "Socket Mode can be opened")


# -- the model -----------------------------------------------------------------------------------


async def _model(settings: Settings) -> AsyncGenerator[Finding]:
    if settings.model == SCRIPTED:
        yield Finding(True, "model", "scripted: it plays a fixed part and needs no key")
        return
    if settings.provider != "anthropic":
        yield Finding(True, "model", f"{settings.provider} is not checked: its credentials are the cloud's")
        return
    async with model_client(settings) as client:
        try:
            async with asyncio.timeout(PATIENCE):
                known = [model.id async for model in client.models.list(limit=1000)]
        except (anthropic.AnthropicError, TimeoutError) as error:
            yield _key_refused(error)
            return
        yield Finding(True, "model key", f"accepted, {len(known)} models")
        yield await _model_exists(client, settings.model, known)


def _key_refused(error: Exception) -> Finding:
    if isinstance(error, anthropic.AuthenticationError | anthropic.PermissionDeniedError):
        said = f"ANTHROPIC_API_KEY is refused ({error.status_code})"
        return Finding(False, "model key", said, "Make a new key at platform.claude.com and copy all of it.")
    said = f"no good answer from the provider ({type(error).__name__})"
    return Finding(False, "model key", said, "Check the network and ANTHROPIC_BASE_URL, then try again.")


async def _model_exists(client: anthropic.AsyncAnthropic, model: str, known: list[str]) -> Finding:
    """The list holds full names only, so a name that is not in it is asked for as well."""
    try:
        if model not in known:
            async with asyncio.timeout(PATIENCE):
                await client.models.retrieve(model)
    except anthropic.NotFoundError:
        fix = f"Set BOBBIN_MODEL to one of: {', '.join(known[:12])}."
        return Finding(False, "model", f"{model} does not exist for this key", fix)
    except (anthropic.AnthropicError, TimeoutError) as error:
        return Finding(False, "model", f"{model} could not be looked up ({type(error).__name__})", "Try again.")
    return Finding(True, "model", f"{model} exists")
