"""The first thing a request meets: it is noted, given an id, and struck by the faults in force."""

import hashlib
import json
import time
import uuid
from random import Random

from starlette.types import ASGIApp, Receive, Scope, Send

from memotel.devserver.exchange import Exchange, read_body
from memotel.devserver.routes import route_of
from memotel.devserver.strike import strike
from memotel.devserver.wire import STATE_KEY
from memotel.devserver.world import Arrival, SeenRequest, World


class Front:
    """The outermost ASGI application. ``seed`` fixes the random delays."""

    def __init__(self, world: World, app: ASGIApp, seed: int) -> None:
        self._world = world
        self._app = app
        self._random = Random(seed)  # noqa: S311  # delays, no secrets

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one HTTP request."""
        ended = self._world.ended
        seen = _seen(scope, await read_body(receive))
        scope["state"]["request_id"] = seen.request_id
        arrival = Arrival(seen)
        wire = scope["state"][STATE_KEY]
        exchange = Exchange(self._world, self._app, scope, send, arrival, wire, ended)
        if seen.route is None:
            await exchange.respond(await exchange.answer())
            return
        self._world.requests.append(arrival)
        self._world.arrivals[seen.route] += 1
        faults = self._world.faults.strike(seen.route, fingerprint(seen), seen.at)
        await strike(exchange, faults, self._random)


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
    """Return what all attempts of one write share: its key, else its replay key, else its body."""
    key = seen.headers.get("idempotency-key")
    return key or _replay_fingerprint(seen.body) or hashlib.sha256(seen.body).hexdigest()


def _replay_fingerprint(body: bytes) -> str:
    try:
        values = json.loads(body)
    except ValueError:
        return ""
    if not isinstance(values, dict) or "speaker" not in values:
        return ""
    names = ("tenant_id", "user_id", "speaker", "occurred_at", "text")
    return json.dumps([values.get(name) for name in names])
