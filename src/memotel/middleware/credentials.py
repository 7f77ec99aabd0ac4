"""The credential on every request: read once, and once more where the service rejects it."""

import asyncio
import threading

from memotel.backends.protocol import Backend
from memotel.calls import Answer, Call, Handler, Send
from memotel.credentials import Credential
from memotel.errors import AuthenticationError, BudgetExceededError, ConfigurationError
from memotel.http.messages import HttpRequest, HttpResponse
from memotel.middleware.tenant import Tenant
from memotel.outcomes import Phase

_UNAUTHORIZED = 401
Pairs = tuple[tuple[str, str], ...]


class Credentials:
    """One account's authorization headers. For the background loop's own tasks only.

    A callable or a file is read in a thread of its own: it may be slow, and must not hold up anybody else.
    """

    def __init__(self, credential: Credential | None, codec: Backend) -> None:
        self._credential = credential
        self._codec = codec
        self._headers: Pairs | None = None
        self._flight: asyncio.Future[str | None] | None = None

    def adopt(self, credential: Credential) -> None:
        """Use another credential from the next request on."""
        self._credential = credential
        self._headers = None
        self._flight = None

    @property
    def can_change(self) -> bool:
        """Whether reading the credential again may help."""
        return self._credential is not None and self._credential.can_change

    async def headers(self, call: Call) -> Pairs:
        """Return the headers of a request, reading the credential where it is not known yet."""
        if self._headers is None:
            await self.refresh(call)
        return self._headers or ()

    async def refresh(self, call: Call) -> bool:
        """Read the credential afresh, within the call's deadline; return whether it has changed."""
        if self._flight is None or self._flight.done():
            self._flight = _read_in_thread(self._credential)
        flight = self._flight
        await asyncio.wait({flight}, timeout=max(0.0, call.deadline.remaining_s()))
        if not flight.done():
            raise BudgetExceededError(
                "the deadline came while the credential was read", phase=Phase.QUEUE
            )
        headers = self._codec.credential_headers(flight.result())
        has_changed = headers != self._headers
        self._headers = headers
        return has_changed


def _read_in_thread(credential: Credential | None) -> "asyncio.Future[str | None]":
    loop = asyncio.get_running_loop()
    future: asyncio.Future[str | None] = loop.create_future()
    if credential is None or not credential.can_change:
        future.set_result(credential.text if credential else None)
        return future

    def settle(value: str | None, error: BaseException | None) -> None:
        if error is None:
            future.set_result(value)
            return
        # Whatever the source raised may quote the credential: only its type is passed on.
        future.set_exception(
            ConfigurationError(f"the credential could not be read ({type(error).__name__})")
        )
        future.exception()

    def read() -> None:
        try:
            value, error = asyncio.run(credential.read(is_fresh=True)), None
        except BaseException as caught:  # noqa: BLE001 # a user's callable may raise anything, SystemExit too
            value, error = None, caught
        loop.call_soon_threadsafe(settle, value, error)

    threading.Thread(target=read, name="memotel-credential", daemon=True).start()
    return future


def authorized(send: Send, credentials: Credentials) -> Send:
    """Put the authorization on each request."""

    async def send_authorized(call: Call, request: HttpRequest) -> HttpResponse:
        headers = await credentials.headers(call)
        return await send(call, request.with_headers(headers))

    return send_authorized


def reread(next_handler: Handler, credentials: Credentials, names: Tenant) -> Handler:
    """After a 401, read the credential once more and repeat the call where it has changed.

    The tenant is looked up again too: a new key may belong to another one.
    """

    async def handle(call: Call) -> Answer:
        try:
            return await next_handler(call)
        except AuthenticationError as error:
            is_worth_it = error.status_code == _UNAUTHORIZED and credentials.can_change
            if not (is_worth_it and await credentials.refresh(call)):
                raise
        names.forget()
        return await next_handler(call)

    return handle
