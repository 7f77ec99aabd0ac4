"""Where a call becomes a request and a response an answer; the innermost handler."""

from collections.abc import Callable
from typing import cast

from memotel.backends.protocol import Backend
from memotel.calls import Answer, Call, Handler, Send
from memotel.http.messages import HttpRequest, HttpResponse
from memotel.outcomes import Operation
from memotel.values import Recall, Save, Search, Write

Encode = Callable[[Call], HttpRequest]
Decode = Callable[[HttpResponse], Answer]


def backend(codec: Backend, send: Send) -> Handler:
    """Encode the call, send it, decode the answer."""
    routes: dict[Operation, tuple[Encode, Decode]] = {
        Operation.RECALL: (
            lambda call: codec.recall_request(cast("Recall", call.request), call.tenant),
            codec.read_recall,
        ),
        Operation.SEARCH: (
            lambda call: codec.search_request(cast("Search", call.request), call.tenant),
            codec.read_search,
        ),
        Operation.SAVE: (
            lambda call: codec.save_request(cast("Save", call.request), call.tenant),
            codec.read_save,
        ),
        Operation.WRITE: (
            lambda call: codec.write_request(cast("Write", call.request), call.tenant),
            codec.read_write,
        ),
    }

    async def handle(call: Call) -> Answer:
        encode, decode = routes[call.operation]
        return decode(await send(call, encode(call)))

    return handle
