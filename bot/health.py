"""What operators see: GET /healthz and /metrics, and Slack's HTTP mode on the same port."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass, field

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

Checks = Callable[[], Awaitable[dict[str, str]]]
"""Names of parts -> ``ok``, ``ok, but ...`` for what people do not notice, or what is wrong with them."""


@dataclass(slots=True)
class Counters:
    """Figures since the start, by name in the form that Prometheus reads."""

    values: dict[str, float] = field(default_factory=dict[str, float])

    def add(self, name: str, amount: float = 1) -> None:
        self.values[name] = self.values.get(name, 0) + amount

    def text(self) -> str:
        return "".join(f"bobbin_{name} {value:g}\n" for name, value in sorted(self.values.items()))


def operator_app(checks: Checks, metrics: Callable[[], str], routes: list[Route] | None = None) -> Starlette:
    async def healthz(_: Request) -> Response:
        found = await checks()
        well = all(state.split(",")[0] == "ok" for state in found.values())
        return JSONResponse({"status": "ok" if well else "failing", **found}, status_code=200 if well else 503)

    async def show_metrics(_: Request) -> Response:
        return PlainTextResponse(metrics())

    return Starlette(routes=[Route("/healthz", healthz), Route("/metrics", show_metrics), *(routes or [])])


class Server(uvicorn.Server):
    """Uvicorn inside our own loop: signals are handled in one place, by the program."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


def server(app: Starlette, host: str, port: int) -> Server:
    return Server(uvicorn.Config(app, host=host, port=port, log_level="warning", access_log=False, lifespan="off"))
