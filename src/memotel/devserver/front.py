"""The first thing a request meets: it is noted, given an id, and struck by the faults in force."""

import hashlib
import json
import time
import uuid
from random import Random
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from memotel.devserver.errors import ApiError, Code
from memotel.devserver.exchange import MAX_BODY_BYTES, Exchange, read_body
from memotel.devserver.keys import account_in
from memotel.devserver.routes import Route, route_of
from memotel.devserver.strike import strike
from memotel.devserver.wire import STATE_KEY
from memotel.devserver.world import Arrival, SeenRequest, World

_OWNER_HEADERS: Final = (
    *("x-api-key", "authorization", "x-user-id"),
    *("x-project-id", "x-end-user-id"),
)
_TOO_LARGE: Final = ApiError(413, Code.VALIDATION, "The body is too large.")


class Front:
    """The outermost ASGI application. ``seed`` fixes the random delays."""

    def __init__(self, world: World, app: ASGIApp, seed: int) -> None:
        self._world = world
        self._app = app
        self._random = Random(seed)  # noqa: S311  # delays, no secrets

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one HTTP request."""
        ended = self._world.ended
        body = await read_body(receive)
        if body is None:
            return
        seen = _seen(scope, body)
        scope["state"]["request_id"] = seen.request_id
        arrival = Arrival(seen)
        wire = scope["state"][STATE_KEY]
        exchange = Exchange(self._world, self._app, scope, send, arrival, wire, ended)
        if len(body) > MAX_BODY_BYTES:
            await exchange.respond(exchange.error(_TOO_LARGE))
        elif seen.route is None:
            await exchange.respond(await exchange.answer())
        else:
            await self._serve(exchange, seen, seen.route)

    async def _serve(self, exchange: Exchange, seen: SeenRequest, route: Route) -> None:
        world = self._world
        world.requests.append(exchange.arrival)
        world.arrivals[route] += 1
        world.changes.tell()
        in_progress = world.in_progress
        account = (route.service, account_in(route.service, seen.headers))
        in_progress[account] += 1
        exchange.scope["state"]["in_progress"] = in_progress[account]
        try:
            faults = world.faults.strike(route, fingerprint(seen), seen.at)
            await strike(exchange, faults, self._random)
        finally:
            in_progress[account] -= 1
            world.changes.tell()


def _seen(scope: Scope, body: bytes) -> SeenRequest:
    path = scope["raw_path"].decode("ascii")
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    return SeenRequest(
        route=route_of(scope["method"], path),
        method=scope["method"],
        path=path,
        headers=headers,
        body=body,
        request_id=f"req_{uuid.uuid4().hex[:16]}",
        at=time.monotonic(),
    )


def fingerprint(seen: SeenRequest) -> str:
    """Return what all attempts of one write share and other writes do not.

    Its idempotency key, else its replay key, else its body; with whose it is.
    """
    key = seen.headers.get("idempotency-key") or _replay_fingerprint(seen.body)
    owner = [seen.headers.get(name, "") for name in _OWNER_HEADERS]
    return "|".join((*owner, key or hashlib.sha256(seen.body).hexdigest()))


def _replay_fingerprint(body: bytes) -> str:
    try:
        values = json.loads(body)
    except ValueError:
        return ""
    if not isinstance(values, dict) or "speaker" not in values:
        return ""
    names = ("tenant_id", "user_id", "speaker", "occurred_at", "text")
    return json.dumps([values.get(name) for name in names])
