"""The server's own routes, for this machine only: ``/_faults``, ``/_state``, ``/_items``."""

import ipaddress
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from memotel.devserver.faults import Fault, fault_fields, fault_from
from memotel.devserver.state import state_fields, state_of
from memotel.devserver.world import World

OnFaults = Callable[[], None]
Handle = Callable[[Request], Awaitable[Response]]


def control_routes(world: World, on_faults: OnFaults) -> list[Route]:
    """Return the control routes. ``on_faults`` is called after each change of the faults."""
    control = _Control(world, on_faults)
    return [
        Route("/_faults", _loopback_only(control.show_faults), methods=["GET"]),
        Route("/_faults", _loopback_only(control.add_faults), methods=["POST"]),
        Route("/_faults", _loopback_only(control.clear_faults), methods=["DELETE"]),
        Route("/_state", _loopback_only(control.state), methods=["GET"]),
        Route("/_items", _loopback_only(control.items), methods=["GET"]),
        Route("/_health", control.health, methods=["GET"]),
    ]


class _Control:
    def __init__(self, world: World, on_faults: OnFaults) -> None:
        self._world = world
        self._on_faults = on_faults

    async def show_faults(self, request: Request) -> Response:
        in_force = self._world.faults.in_force(time.monotonic())
        return JSONResponse([fault_fields(fault) for fault in in_force])

    async def add_faults(self, request: Request) -> Response:
        try:
            new = _faults_in(await request.body())
        except ValueError as error:
            return JSONResponse({"detail": str(error)}, 422)
        for fault in new:
            self._world.faults.add(fault, time.monotonic())
        self._on_faults()
        return await self.show_faults(request)

    async def clear_faults(self, request: Request) -> Response:
        self._world.faults.set((), time.monotonic())
        self._on_faults()
        return await self.show_faults(request)

    async def state(self, request: Request) -> Response:
        return JSONResponse(state_fields(state_of(self._world)))

    async def items(self, request: Request) -> Response:
        user = request.query_params.get("user")
        items = self._world.store.items()
        return JSONResponse([asdict(i) for i in items if user in (None, i.scope.user)])

    async def health(self, request: Request) -> Response:
        return JSONResponse({"status": "ok"})


def _loopback_only(handle: Handle) -> Handle:
    async def endpoint(request: Request) -> Response:
        host = request.client.host if request.client else ""
        if not host or not ipaddress.ip_address(host.partition("%")[0]).is_loopback:
            return JSONResponse({"detail": "Only for this machine."}, 403)
        return await handle(request)

    return endpoint


def _faults_in(body: bytes) -> list[Fault]:
    """Read one fault or a list of faults.

    Raises:
        ValueError: no JSON, or no fault.
    """
    values = json.loads(body)
    values = values if isinstance(values, list) else [values]
    if not all(isinstance(value, dict) for value in values):
        raise ValueError("a fault is a JSON object with a kind")
    return [fault_from(value) for value in values]
