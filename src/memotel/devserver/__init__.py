"""A development server for both memory services, with faults on demand.

It speaks the whole contract of Rekall v2 and MemorySync v1 on one port. It is a development
server, not a memory product: relevance is words in common (BM25, mapped to 0..1).

::

    with DevServer() as server:               # a free port on 127.0.0.1, its own thread and loop
        server.url                            # "http://127.0.0.1:40123", base URL of both services
        server.faults.set(Fault("delay", "recalls", delay_s=2.0))   # in force on return
        server.faults.add(Fault("status", "writes", status=503, first_attempt=True))
        server.faults.clear()
        server.set_quota(0)                   # MemorySync: silently over quota; None lifts it
        server.items("ada")                   # what is stored for user ada; .deliveries == 1: once
        server.state().requests[Route.MEMORYSYNC_RECALL]    # how many requests of a route
        server.requests(Route.REKALL_CREATE)  # them, with headers, body, time, status
        server.wait_until(lambda: len(server.items("ada")) == 3)    # at each request

Any key is good unless ``keys=[...]`` is given; ``revoke(key)``, ``permit(key)`` change that.
``DevServer(tls=True)`` serves https; trust ``server.ca_file``. `Fault` lists the kinds.
``stop()`` is quick, whatever hangs, and keeps the state; ``start()`` takes the same port.
"""

try:
    from memotel.devserver.server import DevServer
except ImportError as error:
    raise ImportError(f"{error}: the development server needs 'memotel[devserver]'") from error

from memotel.devserver.faults import Fault, FaultKind, RetryAfter
from memotel.devserver.keys import Permission
from memotel.devserver.limits import MEMORYSYNC_FREE, REKALL_FREE, QuotaMode, RateLimit
from memotel.devserver.routes import Route, Service
from memotel.devserver.shapes import Shapes
from memotel.devserver.state import State, UserState
from memotel.devserver.store import Fate, Item, Scope
from memotel.devserver.world import SeenRequest

__all__ = [
    "MEMORYSYNC_FREE",
    "REKALL_FREE",
    "DevServer",
    "Fate",
    "Fault",
    "FaultKind",
    "Item",
    "Permission",
    "QuotaMode",
    "RateLimit",
    "RetryAfter",
    "Route",
    "Scope",
    "SeenRequest",
    "Service",
    "Shapes",
    "State",
    "UserState",
]
