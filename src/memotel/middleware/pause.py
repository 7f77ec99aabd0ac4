"""Calls that the service has asked not to make: with a key it rejected, or inside a rate limit's pause."""

from collections.abc import Callable

from memotel.calls import Answer, Call, Handler
from memotel.config import KEY_SETTINGS
from memotel.deadline import monotonic
from memotel.errors import AuthenticationError, RateLimitedError
from memotel.notices import Event, Notices
from memotel.outcomes import Provider
from memotel.policy.pauses import CredentialLatch, RatePause

_UNAUTHORIZED = 401


def pause(
    next_handler: Handler,
    latch: CredentialLatch,
    rate: RatePause,
    *,
    notices: Notices,
    on_accepted: Callable[[], None] = lambda: None,
) -> Handler:
    """Refuse at once what could not succeed; learn from each answer whether it can again.

    A rejected key lets one call a minute through, as the check; `on_accepted` is called when one is let in again. A 429
    holds recalls back for its Retry-After.
    """

    async def handle(call: Call) -> Answer:
        now = monotonic()
        _refuse(call, latch, rate, now)
        try:
            answer = await next_handler(call)
        except AuthenticationError as error:
            if error.status_code == _UNAUTHORIZED:
                latch.reject(monotonic())
                _say_rejected(notices, call.provider)
            raise
        except RateLimitedError as error:
            rate.limit(monotonic(), error.retry_after_s)
            raise
        if latch.accept():
            on_accepted()
        _say_accepted(notices)
        return answer

    return handle


def watch_credential(next_handler: Handler, notices: Notices) -> Handler:
    """Say where the service rejects the credential of a write, and where it accepts it again; hold nothing back."""

    async def handle(call: Call) -> Answer:
        try:
            answer = await next_handler(call)
        except AuthenticationError as error:
            if error.status_code == _UNAUTHORIZED:
                _say_rejected(notices, call.provider)
            raise
        _say_accepted(notices)
        return answer

    return handle


def _refuse(call: Call, latch: CredentialLatch, rate: RatePause, now: float) -> None:
    wait_s = rate.wait_s(now)
    if wait_s > 0:
        raise RateLimitedError(
            f"{call.provider} asked for a pause; {wait_s:.1f} s of it are left",
            status_code=429,
            retry_after_s=wait_s,
        )
    if not latch.lets_through(now):
        raise AuthenticationError(
            f"{call.provider} rejected the credential; check {KEY_SETTINGS[call.provider]}",
            status_code=_UNAUTHORIZED,
        )


def _say_rejected(notices: Notices, provider: Provider) -> None:
    notices.enter(
        Event.CREDENTIALS_REJECTED,
        f"the service answered 401; recalls are skipped and writes wait until {KEY_SETTINGS[provider]} is right",
    )


def _say_accepted(notices: Notices) -> None:
    notices.enter(Event.CREDENTIALS_ACCEPTED, "the service accepts the credential again")
