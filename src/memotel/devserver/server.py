"""The development server as an object: on a thread of its own, with a loop of its own."""

import time
import weakref
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from memotel.devserver.controls import Change, Faults
from memotel.devserver.faults import Fault
from memotel.devserver.keys import Keyring, Permission
from memotel.devserver.limits import Quota, QuotaMode, RateLimit
from memotel.devserver.listener import Listening
from memotel.devserver.loop_thread import LoopThread
from memotel.devserver.routes import Route, Service
from memotel.devserver.serving import Serving
from memotel.devserver.shapes import Shapes
from memotel.devserver.sockets import bind
from memotel.devserver.state import State, requests_of, state_of
from memotel.devserver.store import Fate, Item, Store
from memotel.devserver.tls import ThrowawayCa
from memotel.devserver.world import SeenRequest, World

_T = TypeVar("_T")


class DevServer:
    """A development server for both memory services.

    ``port`` 0 takes a free one and keeps it over `stop` and `start`. ``db`` is a file; without
    it items live in memory, as long as this object. ``keys`` are the only ones accepted, if
    given. ``keep_alive_s`` is how long an idle connection is kept. ``seed`` fixes the random
    delays. Every method can be called from any thread, and while the server is stopped.
    """

    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        tls: bool = False,
        db: str | Path | None = None,
        keys: Iterable[str] | None = None,
        faults: Iterable[Fault] = (),
        allow_remote: bool = False,
        keep_alive_s: float = 75.0,
        seed: int = 0,
    ) -> None:
        self._host, self._port, self._allow_remote = host, port, allow_remote
        self._listening = Listening(keep_alive_s=keep_alive_s, seed=seed)
        store = Store(":memory:" if db is None else str(db))
        self._world = World(store, Keyring(keys))
        self._world.faults.set(tuple(faults), time.monotonic())
        self._ca = ThrowawayCa() if tls else None
        self._thread: LoopThread | None = None
        self._serving: Serving | None = None
        self.faults = Faults(self._world, self._change_faults)
        weakref.finalize(self, _release, store, self._ca)

    def start(self) -> Self:
        """Listen and serve; return when connections are accepted. A second call does nothing.

        Raises:
            ValueError: the host is not loopback and ``allow_remote`` is False.
            OSError: the port is taken, or the host is unknown.
        """
        if self._thread is None:
            sockets = bind(self._host, self._port, allow_remote=self._allow_remote)
            self._port = sockets[0].getsockname()[1]
            names = (self._host, "localhost", "127.0.0.1", "::1")
            tls = None if self._ca is None else self._ca.context(*names)
            self._thread = LoopThread("memotel-devserver")
            self._serving = self._thread.call(
                lambda: Serving(self._world, sockets, tls, self._listening)
            )
            self._thread.run(self._serving.follow_faults())
        return self

    def stop(self) -> None:
        """Stop at once, whatever hangs: connections are dropped. Idempotent; state is kept."""
        if self._thread is not None and self._serving is not None:
            self._thread.run(self._serving.close())
            self._thread.stop()
        self._thread, self._serving = None, None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def port(self) -> int:
        """The port; 0 before the first start of a server with a free port."""
        return self._port

    @property
    def url(self) -> str:
        """The base URL of both services."""
        scheme = "http" if self._ca is None else "https"
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"{scheme}://{host}:{self._port}"

    @property
    def ca_file(self) -> Path | None:
        """The PEM file of the throwaway authority; None without TLS."""
        return None if self._ca is None else self._ca.ca_file

    @property
    def connections_open(self) -> int:
        """How many client connections are open."""
        serving = self._serving
        return 0 if serving is None else self._call(lambda: serving.connections_open)

    def set_quota(
        self,
        adds: int | None,
        mode: QuotaMode = QuotaMode.SILENT,
        service: Service = Service.MEMORYSYNC,
    ) -> None:
        """Allow each key this many writes from now on; None lifts the quota.

        Raises:
            ValueError: ``adds`` is negative, or a silent quota for Rekall, which has none.
        """
        if service is Service.REKALL and adds is not None and mode is QuotaMode.SILENT:
            raise ValueError("mode='silent' is no quota of Rekall: it answers an error")
        quota = None if adds is None else Quota(adds, mode)
        self._call(lambda: self._world.set_quota(quota, (service,)))

    def set_rate_limit(self, rate: RateLimit | None, service: Service | None = None) -> None:
        """Limit each key of a service (None: of both) from now on; None lifts the limit."""
        services = tuple(Service) if service is None else (service,)
        self._call(lambda: self._world.set_rate(rate, services))

    def set_shapes(self, shapes: Shapes) -> None:
        """Choose among the documented shapes of the answers."""
        self._call(lambda: setattr(self._world, "shapes", shapes))

    def revoke(self, key: str) -> None:
        """Answer 401 to this key or token from now on."""
        self._call(lambda: self._world.keys.revoke(key))

    def restore(self, key: str) -> None:
        """Accept a revoked key again."""
        self._call(lambda: self._world.keys.restore(key))

    def permit(self, key: str, *permissions: Permission) -> None:
        """Let this key do these things only; without ``projects`` its tenant is ``default``."""
        self._call(lambda: self._world.keys.permit(key, permissions))

    def advance(self, seconds: float) -> None:
        """Put the server's clock forward: replay window and rate limits follow it."""
        self._call(lambda: self._world.advance(seconds))

    def state(self) -> State:
        """Return the counts of each user and of each route."""
        return self._call(lambda: state_of(self._world))

    def items(self, user: str | None = None, fate: Fate | None = Fate.STORED) -> tuple[Item, ...]:
        """Return the items in the order of arrival; None: of any user, of any fate."""
        found = self._call(self._world.store.items)
        return tuple(
            item for item in found if user in (None, item.scope.user) and fate in (None, item.fate)
        )

    def requests(self, *routes: Route) -> tuple[SeenRequest, ...]:
        """Return the requests seen (the last 10,000) of these routes; of none named: of all."""
        return self._call(lambda: requests_of(self._world, routes))

    def wait_until(self, claim: Callable[[], bool], timeout_s: float = 10.0) -> bool:
        """Check a claim now, when a request comes and when it ends; return if it came true.

        For tests of what arrives in the background:
        ``assert server.wait_until(lambda: len(server.items("ada")) == 3)``.
        """
        return self._world.changes.wait_until(claim, timeout_s)

    def reset(self) -> None:
        """Forget items, requests, faults, quotas and limits. Keys stay as they are."""
        serving = self._serving
        self._call(self._world.reset if serving is None else serving.reset)

    def _call(self, work: Callable[[], _T]) -> _T:
        return work() if self._thread is None else self._thread.call(work)

    def _change_faults(self, change: Change) -> None:
        if self._thread is None or self._serving is None:
            change()
        else:
            self._thread.run(self._serving.change_faults(change))


def _release(store: Store, ca: ThrowawayCa | None) -> None:
    store.close()
    if ca is not None:
        ca.remove()
