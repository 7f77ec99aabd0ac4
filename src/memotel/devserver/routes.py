"""The routes that the development server answers, and the names a fault can strike them by."""

from enum import StrEnum
from types import MappingProxyType
from typing import Final


class Service(StrEnum):
    """The two memory services."""

    REKALL = "rekall"
    MEMORYSYNC = "memorysync"


class Route(StrEnum):
    """One call of one service."""

    REKALL_CREATE = "rekall.create"
    REKALL_SEARCH = "rekall.search"
    MEMORYSYNC_PROJECTS = "memorysync.projects"
    MEMORYSYNC_RECALL = "memorysync.recall"
    MEMORYSYNC_QUERY = "memorysync.query"
    MEMORYSYNC_ADD_TURN = "memorysync.add_turn"
    MEMORYSYNC_ADD = "memorysync.add"
    MEMORYSYNC_LIST = "memorysync.list"

    @property
    def service(self) -> Service:
        """The service that the route belongs to."""
        return Service(self.value.partition(".")[0])


RECALLS: Final = frozenset({Route.REKALL_SEARCH, Route.MEMORYSYNC_RECALL, Route.MEMORYSYNC_QUERY})
WRITES: Final = frozenset({Route.REKALL_CREATE, Route.MEMORYSYNC_ADD_TURN, Route.MEMORYSYNC_ADD})

PATHS: Final = MappingProxyType(
    {
        Route.REKALL_CREATE: ("POST", "/api/v2/memories"),
        Route.REKALL_SEARCH: ("POST", "/api/v2/memories/search"),
        Route.MEMORYSYNC_PROJECTS: ("GET", "/org/projects"),
        Route.MEMORYSYNC_RECALL: ("POST", "/v1/memory/recall"),
        Route.MEMORYSYNC_QUERY: ("POST", "/v1/memory/query"),
        Route.MEMORYSYNC_ADD_TURN: ("POST", "/v1/memory/add_turn"),
        Route.MEMORYSYNC_ADD: ("POST", "/memory/add"),
    }
)
_BY_PATH: Final = {path: route for route, path in PATHS.items()}


def route_of(method: str, raw_path: str) -> Route | None:
    """Name the route of a request; None for a path or method that no service has.

    ``raw_path`` is still percent-encoded: a user ``a/b`` is one part of the list path.
    """
    route = _BY_PATH.get((method, raw_path))
    if route is None and method == "GET" and list_parts(raw_path) is not None:
        return Route.MEMORYSYNC_LIST
    return route


def list_parts(raw_path: str) -> tuple[str, str] | None:
    """Return the encoded (tenant, user) of ``/v1/memory/{tenant}/{user}/list``, else None."""
    match raw_path.split("/"):
        case ["", "v1", "memory", tenant, user, "list"] if tenant and user:
            return tenant, user
    return None


def routes_named(target: str) -> frozenset[Route]:
    """Return the routes of a target: ``*``, a service, ``recalls``, ``writes`` or one route.

    Raises:
        ValueError: no such target; the message lists them.
    """
    groups = {"*": frozenset(Route), "recalls": RECALLS, "writes": WRITES}
    groups |= {s: frozenset(r for r in Route if r.service is s) for s in Service}
    groups |= {route: frozenset({route}) for route in Route}
    if target not in groups:
        raise ValueError(f"on={target!r} is no target; one of: {', '.join(groups)}")
    return groups[target]
