"""The HTTP core: one request over httpx, within an absolute deadline. Only this package imports httpx.

How the deadline holds over each transport:

| transport | how |
|---|---|
| our own (the default): httpcore's pool over our network | every wait in the network is clamped to the deadline and ends as an ordinary timeout; nothing is cancelled; exact |
| one of the caller's (`transport=`) | it is told the time left as httpx's per-wait timeouts, the deadline is looked at between chunks, and what still runs at the deadline is left behind, at most 64 requests at a time; weaker: the caller is answered in time, the work may go on |

A way in: `client.py` (send), `carriers.py` (the two rows above), `network.py` (the deadline), `errors.py` (the table).
"""

from memotel.http.client import HttpClient
from memotel.http.messages import HttpRequest, HttpResponse

__all__ = ["HttpClient", "HttpRequest", "HttpResponse"]
