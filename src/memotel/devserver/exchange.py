"""One request and its answer, as the fault layer handles them."""

import asyncio
from dataclasses import dataclass

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memotel.devserver.errors import ApiError, render
from memotel.devserver.routes import Service
from memotel.devserver.wire import Wire
from memotel.devserver.world import Arrival, World

MAX_BODY_BYTES = 4 * 1024 * 1024

Headers = tuple[tuple[bytes, bytes], ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole HTTP answer, not sent yet."""

    status: int
    headers: Headers
    body: bytes


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request that has been read, and the means to answer it."""

    world: World
    app: ASGIApp
    scope: Scope
    send: Send
    arrival: Arrival
    wire: Wire
    ended: asyncio.Event

    @property
    def service(self) -> Service:
        """The service asked; MemorySync for a path that neither has."""
        route = self.arrival.request.route
        return Service.MEMORYSYNC if route is None else route.service

    @property
    def request_id(self) -> str:
        """The id of this request, told in ``X-Request-ID``."""
        return self.arrival.request.request_id

    async def answer(self) -> Answer:
        """Let the service handle the request; return its answer."""
        return await ask(self.app, self.scope, self.arrival.request.body)

    def error(self, error: ApiError) -> Answer:
        """Return an error in the shape of the route's service."""
        return of_response(render(error, self.world.style(self.service), self.request_id))

    async def respond(self, answer: Answer) -> None:
        """Send the whole answer."""
        await self.begin(answer)
        await self.part(answer.body, is_last=True)

    async def begin(self, answer: Answer) -> None:
        """Send the head of an answer."""
        self.arrival.status = answer.status
        await self.send(
            {
                "type": "http.response.start",
                "status": answer.status,
                "headers": [*answer.headers, (b"x-request-id", self.request_id.encode())],
            }
        )

    async def part(self, data: bytes, *, is_last: bool = False) -> None:
        """Send a part of the body."""
        await self.send({"type": "http.response.body", "body": data, "more_body": not is_last})

    async def pause(self, seconds: float) -> bool:
        """Wait; return False if the server was reset or stopped meanwhile: then do not answer."""
        try:
            async with asyncio.timeout(seconds):
                await self.ended.wait()
        except TimeoutError:
            return True
        return False


def of_response(response: Response) -> Answer:
    """Return a Starlette response as an `Answer`."""
    return Answer(response.status_code, tuple(response.raw_headers), bytes(response.body))


async def read_body(receive: Receive) -> bytes | None:
    """Read a request's body, at most one part more than `MAX_BODY_BYTES`.

    None: the client left before it had sent the whole.
    """
    body = bytearray()
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        if len(body) <= MAX_BODY_BYTES:
            body += message["body"]
        more = message["more_body"]
    return bytes(body)


async def ask(app: ASGIApp, scope: Scope, body: bytes) -> Answer:
    """Call an ASGI application with a body that was read already; return its whole answer."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    await app(scope, receive, send)
    body_out = b"".join(message.get("body", b"") for message in sent[1:])
    return Answer(sent[0]["status"], tuple(sent[0].get("headers", ())), body_out)
