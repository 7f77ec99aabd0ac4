"""The HTTP core: one request, within an absolute deadline. Only this package imports httpx and httpcore.

How the deadline holds over each transport that is offered (`NetworkPolicy.engine` and `.transport`):

| transport | how the deadline holds | what is known of a failure |
|---|---|---|
| httpcore (default), httpcore2: our connections and our network behind its interfaces; its pool for plain http through a proxy | every wait in the network is clamped to the deadline and ends as an ordinary timeout; nothing is cancelled | phase, and whether a byte was sent or had come, exactly |
| httpx-aiohttp (the extra `fast`; direct connections only) | one timer cancels the exchange, which aiohttp survives; names are resolved by our resolver | phase coarser (a handshake is connecting, writing is reading); sent is noted before the head goes out; half an answer's head may go unnoticed |
| one of the caller's (`transport=`) | it is told the time left as httpx's per-wait timeouts, the deadline is looked at between chunks, and what still runs at the deadline is left behind, at most 64 requests at a time: the caller is answered in time, the work may go on | everything counts as sent |

A way in: `client.py` (send), `engines.py` (the rows above), `line.py` and `answers.py` (a request out, its answer back),
`network.py` (the deadline), `errors.py` (failures).
"""

from memotel.http.client import HttpClient
from memotel.http.messages import HttpRequest, HttpResponse

__all__ = ["HttpClient", "HttpRequest", "HttpResponse"]
