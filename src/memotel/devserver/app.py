"""The application: both services' routes, the control routes, the fault layer around them."""

from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute
from starlette.types import ASGIApp

from memotel.devserver import memorysync, rekall
from memotel.devserver.control import OnFaults, control_routes
from memotel.devserver.errors import error_of_status, render
from memotel.devserver.faults import RetryAfter
from memotel.devserver.front import Front
from memotel.devserver.gate import Handle, Identify, gated
from memotel.devserver.routes import PATHS, Route, Service
from memotel.devserver.world import World

_HANDLERS: Final[dict[Route, tuple[Identify, Handle]]] = {
    Route.REKALL_CREATE: (rekall.identify, rekall.create),
    Route.REKALL_SEARCH: (rekall.identify, rekall.search),
    Route.MEMORYSYNC_PROJECTS: (memorysync.identify, memorysync.projects),
    Route.MEMORYSYNC_RECALL: (memorysync.identify, memorysync.recall),
    Route.MEMORYSYNC_QUERY: (memorysync.identify, memorysync.query),
    Route.MEMORYSYNC_ADD_TURN: (memorysync.identify, memorysync.add_turn),
    Route.MEMORYSYNC_ADD: (memorysync.identify, memorysync.add),
    Route.MEMORYSYNC_LIST: (memorysync.identify, memorysync.list_memories),
}
# The user in the list path can hold an encoded slash, so the handler splits the raw path.
_LIST_PATH: Final = ("GET", "/v1/memory/{parts:path}")


def create_app(world: World, on_faults: OnFaults, seed: int = 0) -> ASGIApp:
    """Return the ASGI application; it runs on `wire.WiredProtocol` only."""
    routes = [_route(world, route) for route in Route]
    routes += control_routes(world, on_faults)

    def http_error(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        is_rekall = request.url.path.startswith("/api/")
        service = Service.REKALL if is_rekall else Service.MEMORYSYNC
        known = error_of_status(status, None, RetryAfter.SECONDS)
        return render(known, world.style(service), request.state.request_id)

    inner = Starlette(routes=routes, exception_handlers={HTTPException: http_error})
    inner.router.redirect_slashes = False
    return Front(world, inner, seed)


def _route(world: World, route: Route) -> StarletteRoute:
    method, path = PATHS.get(route, _LIST_PATH)
    identify, handle = _HANDLERS[route]
    return StarletteRoute(path, gated(world, route, identify, handle), methods=[method])
