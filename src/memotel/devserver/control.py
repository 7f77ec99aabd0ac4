"""The server's own routes, for this machine only: ``/_faults``, ``/_state``, ``/_health``."""

import ipaddress
import json
import time
from collections.abc import Awaitable, Callable

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

    async def faults(request: Request) -> Response:
        now = time.monotonic()
        if request.method == "POST":
            try:
                new = _faults_in(await request.body())
            except ValueError as error:
                return JSONResponse({"detail": str(error)}, 422)
            for fault in new:
                world.faults.add(fault, now)
        elif request.method == "DELETE":
            world.faults.set((), now)
        on_faults()
        return JSONResponse([fault_fields(fault) for fault in world.faults.in_force(now)])

    async def state(request: Request) -> Response:
        return JSONResponse(state_fields(state_of(world)))

    async def health(request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    return [
        Route("/_faults", _loopback_only(faults), methods=["GET", "POST", "DELETE"]),
        Route("/_state", _loopback_only(state), methods=["GET"]),
        Route("/_health", health, methods=["GET"]),
    ]


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
