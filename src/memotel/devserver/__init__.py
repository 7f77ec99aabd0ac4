"""A development server for both memory services, with faults on demand.

It speaks the whole contract of Rekall v2 and MemorySync v1 on one port. It is a development
server, not a memory product: relevance is words in common (BM25, mapped to 0..1).

::

    from memotel.devserver import DevServer, Fault

    with DevServer() as server:               # a free port on 127.0.0.1, its own thread and loop
        server.url                            # "http://127.0.0.1:40123", base URL of both services
        server.faults.set(Fault("delay", "recalls", delay_s=2.0))   # in force on return
        server.faults.add(Fault("status", "writes", status=503, retry_after_s=1, first_attempt=True))
        server.faults.clear()
        server.set_quota(0)                   # MemorySync: silently over quota; None lifts it
        server.items("ada")                   # what is stored for user ada; .deliveries == 1: once
        server.state().requests[Route.MEMORYSYNC_RECALL]    # requests of a route
        server.requests(Route.REKALL_CREATE)  # them, with headers, body, time, status

Any key is accepted unless ``keys=[...]`` is given; ``revoke(key)`` makes it bad, ``permit(key)``
restricts it. ``DevServer(tls=True)`` serves https; trust ``server.ca_file``. `Fault` lists the
kinds. ``stop()`` is quick, whatever hangs, and keeps the state; ``start()`` takes the same port.
"""

from memotel.devserver.faults import Fault, FaultKind, RetryAfter
from memotel.devserver.keys import Permission
from memotel.devserver.limits import (
    MEMORYSYNC_FREE,
    REKALL_FREE,
    REKALL_PRO,
    QuotaMode,
    RateLimit,
)
from memotel.devserver.routes import Route, Service
from memotel.devserver.server import DevServer
from memotel.devserver.state import State, UserState
from memotel.devserver.store import Fate, Item, Scope
from memotel.devserver.world import (
    Envelope,
    QuotaEvidence,
    ScoreField,
    SeenRequest,
    Shapes,
    TextField,
)

__all__ = [
    "MEMORYSYNC_FREE",
    "REKALL_FREE",
    "REKALL_PRO",
    "DevServer",
    "Envelope",
    "Fate",
    "Fault",
    "FaultKind",
    "Item",
    "Permission",
    "QuotaEvidence",
    "QuotaMode",
    "RateLimit",
    "RetryAfter",
    "Route",
    "Scope",
    "ScoreField",
    "SeenRequest",
    "Service",
    "Shapes",
    "State",
    "TextField",
    "UserState",
]
