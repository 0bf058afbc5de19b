"""The command line: ``bobbin run | demo | doctor``."""

from __future__ import annotations

import asyncio
import gc
import os
from typing import Annotated, NoReturn

import structlog
import typer
from rich.console import Console

from bot.config import ConfigurationError, Settings, load_settings, unknown_names
from bot.logs import configure
from bot.secrets import Mask

app = typer.Typer(no_args_is_help=True, add_completion=False, help="A Slack teammate that you host yourself.")


@app.callback()
def commands() -> None:
    """A Slack teammate that you host yourself."""


@app.command()
def run() -> None:
    """Connect to Slack and work until stopped."""
    settings = _settings()
    for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(threads, "1")  # before numpy is loaded: its threads would take the loop's time
    gc.disable()  # until everything stands: nothing that the start makes is garbage, and looking takes 0.3 s
    from bot.app import run as run_app  # noqa: PLC0415 - so that --help and wrong settings answer at once

    try:
        asyncio.run(run_app(settings))
    except ConfigurationError as error:
        _explain(error)


@app.command()
def demo(
    port: Annotated[int, typer.Option(help="Port of the page on 127.0.0.1; 0 takes any free one.")] = 8787,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the bot's data folder at the end.")] = False,
) -> None:
    """Try it: a workspace on this machine with the real bot in it. Needs no Slack and no key."""
    settings = _settings()
    from bot.trial import run as run_demo  # noqa: PLC0415 - as above

    try:
        raise typer.Exit(asyncio.run(run_demo(settings, port, keep=keep)))
    except ConfigurationError as error:
        _explain(error)


@app.command()
def doctor() -> None:
    """Check every setting and connection, and say how to mend what is wrong."""
    from bot.doctor import examine, show  # noqa: PLC0415 - as above

    if not asyncio.run(show(examine(load_settings))):
        raise typer.Exit(2)


def _settings() -> Settings:
    try:
        settings = load_settings()
    except ConfigurationError as error:
        _explain(error)
    configure(settings.log_level, settings.log_format, Mask(settings.secrets))
    for problem in unknown_names(os.environ):
        structlog.get_logger().warning(problem, action="unknown_setting")
    return settings


def _explain(error: ConfigurationError) -> NoReturn:
    """Name each problem with its fix, and leave with the code for a wrong configuration."""
    console = Console(stderr=True)
    console.print("[bold red]Bobbin cannot start:[/]")
    for problem in error.problems:
        console.print(f"  • {problem}", markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(2)


def main() -> None:
    app()


if __name__ == "__main__":
    main()
