"""``bobbin demo``: the local workspace and its page, and the real bot beside it as a process of its own."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bot.config import SCRIPTED, ConfigurationError, Settings
from bot.demo.sample import add_history
from bot.demo.server import Running, serve
from bot.demo.workspace import Workspace

GRACE = 12.0
"""Seconds that the bot has to end when asked; a little more than it takes for itself."""
READY = b"bobbin ready"

SCRIPTED_NOTICE = (
    "A scripted model answers, by a fixed plan. Start the demo with ANTHROPIC_API_KEY set to talk to a real one."
)


@dataclass(slots=True)
class BotProcess:
    """The bot as a child process, with ``environment`` and nothing else. Its errors go to our terminal."""

    environment: dict[str, str] = field(default_factory=dict[str, str])
    folder: Path = Path()
    """Where it works: a folder without a bobbin.toml."""
    _process: asyncio.subprocess.Process | None = None
    _watching: asyncio.Task[None] | None = None

    async def start(self) -> int | None:
        """Start it and return None when it is ready, or its exit code if it ended before."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "bot", "run"),
            stdout=asyncio.subprocess.PIPE,
            env=self.environment,
            cwd=self.folder,
        )
        self._process = process
        ready: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()
        self._watching = asyncio.create_task(self._watch(process, ready))
        return await ready

    async def restart(self) -> None:
        """Kill it in the middle of whatever it does, as a crash would, and start it again."""
        await self._end(signal.SIGKILL)
        await self.start()

    async def stop(self) -> None:
        await self._end(signal.SIGTERM)

    async def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.returncode is None:
            process.send_signal(how)
        try:
            async with asyncio.timeout(GRACE):
                await process.wait()
        except TimeoutError:
            process.kill()
        if self._watching is not None:
            await self._watching

    async def _watch(self, process: asyncio.subprocess.Process, ready: asyncio.Future[int | None]) -> None:
        """Read its words until it ends, and say so if nobody asked it to."""
        assert process.stdout is not None
        async for line in process.stdout:
            if line.strip() == READY and not ready.done():
                ready.set_result(None)
        code = await process.wait()
        if not ready.done():
            ready.set_result(code)
        elif process is self._process:
            print(f"The bot ended by itself (exit code {code}). The page can start it again.", flush=True)


def is_scripted(settings: Settings) -> bool:
    """Whether the demo runs without a real model."""
    no_key = settings.provider == "anthropic" and not settings.anthropic_api_key.get_secret_value()
    return no_key or settings.model == SCRIPTED


def environment(inherited: Mapping[str, str], settings: Settings, running: Running, folder: Path) -> dict[str, str]:
    """What the bot runs with: the demo's workspace and folder, and of the settings only those of the model."""
    kept = {name: value for name, value in inherited.items() if not name.upper().startswith(("SLACK_", "BOBBIN_"))}
    code = str(Path(__file__).parent.parent)
    return {
        **kept,
        "PYTHONPATH": os.pathsep.join(filter(None, (code, inherited.get("PYTHONPATH")))),
        "SLACK_API_URL": running.api_url,
        "SLACK_BOT_TOKEN": running.workspace.bot_token,
        "SLACK_APP_TOKEN": running.workspace.app_token,
        "ANTHROPIC_API_KEY": settings.anthropic_api_key.get_secret_value(),
        "ANTHROPIC_BASE_URL": settings.anthropic_base_url,
        "BOBBIN_PROVIDER": settings.provider,
        "BOBBIN_MODEL": SCRIPTED if is_scripted(settings) else settings.model,
        "BOBBIN_FALLBACK_MODEL": settings.fallback_model,
        "BOBBIN_THINKING": str(settings.thinking),
        "BOBBIN_DATA_DIR": str(folder),
        "BOBBIN_HTTP_PORT": "0",
        "BOBBIN_LOG_LEVEL": inherited.get("BOBBIN_LOG_LEVEL", "warning"),
    }


async def run(settings: Settings, port: int, *, keep: bool) -> int:
    """Serve the page until SIGINT or SIGTERM; returns the exit code.

    Raises ``ConfigurationError`` when the port is taken.
    """
    stop, loop, bot = asyncio.Event(), asyncio.get_running_loop(), BotProcess()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    workspace = Workspace(notice=SCRIPTED_NOTICE if is_scripted(settings) else "")
    add_history(workspace)
    with _data_folder(keep=keep) as folder:
        async with _serving(workspace, port, bot) as running:
            bot.environment, bot.folder = environment(os.environ, settings, running, folder), folder
            if (code := await bot.start()) is not None:
                print(f"The bot did not start (exit code {code}); what it said stands above.", file=sys.stderr)
                return code or 1
            print(_welcome(running.url, bot.environment["BOBBIN_MODEL"]), flush=True)
            await stop.wait()
            print("\nEnding the bot and the demo.", flush=True)
    return 0


@contextmanager
def _data_folder(*, keep: bool) -> Generator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="bobbin-demo-"))
    try:
        yield folder
    finally:
        if keep:
            print(f"The bot's data is kept in {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)


@asynccontextmanager
async def _serving(workspace: Workspace, port: int, bot: BotProcess) -> AsyncGenerator[Running]:
    try:
        running = await serve(workspace, port, bot.restart)
    except OSError as error:
        raise ConfigurationError(
            f"port {port} on 127.0.0.1 cannot be used ({error.strerror}). "
            "Another demo may be running; choose another port with --port, or --port 0 for any free one."
        ) from error
    try:
        yield running
    finally:
        await bot.stop()
        await running.close()


def _welcome(url: str, model: str) -> str:
    scripted = "Answers come from a scripted model, since no ANTHROPIC_API_KEY is set. Nothing leaves this machine."
    real = f"Answers come from {model}: what you write on the page goes to its provider, and costs."
    return (
        f"\n  Bobbin demo   ➜   {url}\n\n"
        "  Open this address in a browser and mention @Bobbin.\n"
        f"  {scripted if model == SCRIPTED else real}\n"
        "  Ctrl-C ends the demo.\n"
    )
