"""What the server holds and has seen, as a snapshot."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

from memotel.devserver.routes import Route
from memotel.devserver.store import Fate, Scope
from memotel.devserver.world import SeenRequest, World


@dataclass(frozen=True, slots=True)
class UserState:
    """The counts of one scope.

    ``stored`` and ``ignored`` count distinct writes; ``deliveries`` how often they arrived, so
    it exceeds their sum when a write came more than once.
    """

    scope: Scope
    stored: int
    ignored: int
    deliveries: int


@dataclass(frozen=True, slots=True)
class State:
    """A snapshot: the users with their counts, and the number of requests of each route."""

    users: tuple[UserState, ...]
    requests: Mapping[Route, int]

    @property
    def stored(self) -> int:
        """All distinct writes kept as memories."""
        return sum(user.stored for user in self.users)


def state_of(world: World) -> State:
    """Take the snapshot."""
    counts: Counter[tuple[Scope, Fate]] = Counter()
    deliveries: Counter[Scope] = Counter()
    for item in world.store.items():
        counts[item.scope, item.fate] += 1
        deliveries[item.scope] += item.deliveries
    users = tuple(
        UserState(scope, counts[scope, Fate.STORED], counts[scope, Fate.IGNORED], count)
        for scope, count in deliveries.items()
    )
    return State(users, {route: world.arrivals[route] for route in Route})


def state_fields(state: State) -> dict[str, object]:
    """Return the snapshot as the fields of a JSON object."""
    return {"users": [asdict(user) for user in state.users], "requests": dict(state.requests)}


def requests_of(world: World, routes: tuple[Route, ...]) -> tuple[SeenRequest, ...]:
    """Return the requests kept of these routes, of all if none is named, the oldest first."""
    return tuple(
        replace(arrival.request, status=arrival.status)
        for arrival in world.requests
        if not routes or arrival.request.route in routes
    )
