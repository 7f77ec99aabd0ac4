"""What every service request passes before its handler: key, rate limit, quota; and its errors."""

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from starlette.requests import Request
from starlette.responses import Response

from memotel.devserver.errors import ApiError, Code, over_quota, render
from memotel.devserver.keys import Account
from memotel.devserver.limits import Allowance, Meter, QuotaMode
from memotel.devserver.routes import RECALLS, WRITES, Route, Service
from memotel.devserver.world import World


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks. ``user`` is empty where the service takes it from the body or the path.

    ``is_over_quota``: the silent quota is used up, so nothing is stored or found.
    """

    account: Account
    user: str = ""
    is_over_quota: bool = False


Identify = Callable[[World, Request], Caller]
Handle = Callable[[World, Caller, Request, bytes], Response]
Endpoint = Callable[[Request], Awaitable[Response]]


def gated(world: World, route: Route, identify: Identify, handle: Handle) -> Endpoint:
    """Return the Starlette endpoint of a route: ``handle`` behind key, rate limit and quota."""

    async def endpoint(request: Request) -> Response:
        body = await request.body()
        allowance = None
        try:
            caller = identify(world, request)
            meter = world.meter(route.service, caller.account.fingerprint)
            allowance = meter.take(route, world.now())
            _check_rate(allowance)
            _check_crowd(meter, request.state.in_progress)
            is_over = _spend(meter, route) or bool(getattr(request.state, "silent_quota", False))
            response = handle(world, replace(caller, is_over_quota=is_over), request, body)
        except ApiError as error:
            response = _error(world, route.service, request, error)
        _tell(response, route.service, allowance)
        return response

    return endpoint


def _check_rate(allowance: Allowance | None) -> None:
    if allowance is not None and allowance.retry_after_s is not None:
        message = "Rate limit exceeded."
        raise ApiError(429, Code.RATE_LIMITED, message, retry_after_s=allowance.retry_after_s)


def _check_crowd(meter: Meter, in_progress: int) -> None:
    """Refuse a request that came while too many of its key were in progress."""
    if meter.is_crowded(in_progress):
        message = "Too many requests at the same time."
        raise ApiError(429, Code.RATE_LIMITED, message, retry_after_s=1.0)


def _spend(meter: Meter, route: Route) -> bool:
    """Count a write against the quota; return whether the silent quota is used up.

    Every admitted write counts, whatever it stores; over the quota none does.
    """
    if not meter.is_over_quota():
        meter.adds += route in WRITES
        return False
    # Rekall counts memories created, and its searches go on; MemorySync stops both.
    is_concerned = route in WRITES or (route in RECALLS and route.service is Service.MEMORYSYNC)
    if is_concerned and meter.quota is not None and meter.quota.mode is QuotaMode.STRICT:
        raise over_quota(route.service)
    return is_concerned


def _error(world: World, service: Service, request: Request, error: ApiError) -> Response:
    return render(error, world.style(service), request.state.request_id)


def _tell(response: Response, service: Service, allowance: Allowance | None) -> None:
    if allowance is None:
        return
    response.headers["X-RateLimit-Limit"] = str(allowance.limit)
    response.headers["X-RateLimit-Remaining"] = str(allowance.remaining)
    response.headers["X-RateLimit-Reset"] = str(math.ceil(allowance.reset_at))
    if service is Service.REKALL:
        policy = f"{allowance.limit};w={allowance.window_s}"
        response.headers["X-RateLimit-Policy"] = policy
