"""Faults: what can go wrong on purpose, for which requests, and how it is written down."""

import dataclasses
import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Final, Literal, TypeVar

from memotel.devserver.routes import Route, Service, routes_named


class FaultKind(StrEnum):
    """What happens to a request that a fault strikes."""

    DELAY = "delay"
    DRIP = "drip"
    HANG = "hang"
    SILENT = "silent"
    REFUSE = "refuse"
    RESET = "reset"
    RESET_BODY = "reset_body"
    STATUS = "status"
    MALFORMED = "malformed"
    HUGE = "huge"
    SILENT_QUOTA = "silent_quota"
    STRICT_QUOTA = "strict_quota"
    RATE_LIMIT = "rate_limit"


KindName = Literal[
    "delay",
    "drip",
    "hang",
    "silent",
    "refuse",
    "reset",
    "reset_body",
    "status",
    "malformed",
    "huge",
    "silent_quota",
    "strict_quota",
    "rate_limit",
]


class RetryAfter(StrEnum):
    """Where and how ``retry_after_s`` is told."""

    SECONDS = "seconds"
    DATE = "date"
    BODY = "body"


WHOLE_SERVER: Final = frozenset({FaultKind.SILENT, FaultKind.REFUSE})


@dataclasses.dataclass(frozen=True, slots=True)
class Fault:
    """One fault: a kind, the routes it strikes, and which of their requests.

    Kinds:
        ``delay``: the request is handled ``delay_s`` late (``sigma`` > 0: lognormal, ``delay_s``
        the median), also when its client has gone by then.
        ``drip``: the body comes one byte each ``interval_s``; ``head=True``: the head too.
        ``hang``: never answered. ``stored=True``: the write is stored first.
        ``silent``: TCP connects (the kernel's backlog), then nothing at all, no TLS either.
        ``refuse``: nobody listens; open connections are dropped.
        ``reset``: the connection is reset (RST; ``clean=True``: closed) before the first byte;
        ``stored=True``: after the write was stored.
        ``reset_body``: the same amid the body.
        ``status``: ``status`` in the service's error shape, with ``retry_after_s`` if given;
        ``stored=True``: after the write was stored.
        ``malformed``: 200 with ``body``, by default JSON that breaks off.
        ``huge``: 200 with valid JSON of ``size_bytes``.
        ``silent_quota``, ``strict_quota``, ``rate_limit``: as the service does them.

    Which requests: ``on`` is ``*``, ``rekall``, ``memorysync``, ``recalls``, ``writes`` or a
    route such as ``memorysync.recall``. ``first_attempt``: only the first time that a given
    write (idempotency key, replay key, else body) is seen. ``times``: that many requests at most.
    ``for_s``: for that long. ``flap_requests=(bad, good)``: strikes ``bad``, spares ``good``, and
    so on; ``flap_s=(bad, good)``: the same by seconds. ``silent`` and ``refuse`` concern the
    whole server: of these they take ``for_s`` alone.

    Raises:
        ValueError: an unknown kind or target, or a value out of its range; the message names it.
    """

    kind: FaultKind | KindName
    on: str = "*"
    _: dataclasses.KW_ONLY
    delay_s: float = 1.0
    sigma: float = 0.0
    interval_s: float = 0.02
    head: bool = False
    stored: bool = False
    clean: bool = False
    status: int = 500
    retry_after_s: float | None = None
    retry_after_as: RetryAfter | Literal["seconds", "date", "body"] = RetryAfter.SECONDS
    body: str = '{"memories": ['
    size_bytes: int = 2 * 1024 * 1024 + 1
    first_attempt: bool = False
    times: int | None = None
    for_s: float | None = None
    flap_requests: tuple[int, int] | None = None
    flap_s: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", _member(FaultKind, "kind", self.kind))
        object.__setattr__(
            self, "retry_after_as", _member(RetryAfter, "retry_after_as", self.retry_after_as)
        )
        routes_named(self.on)
        self._check_numbers()
        self._check_scope()

    @property
    def routes(self) -> frozenset[Route]:
        """The routes that the fault can strike."""
        routes = routes_named(self.on)
        if self.kind is FaultKind.SILENT_QUOTA:
            return frozenset(r for r in routes if r.service is Service.MEMORYSYNC)
        return routes

    def _check_numbers(self) -> None:
        for name in ("delay_s", "sigma", "interval_s", "size_bytes", "retry_after_s", "times"):
            value = getattr(self, name)
            if value is not None and value < 0:
                raise ValueError(f"{name}={value} must not be negative")
        if not 200 <= self.status <= 599:
            raise ValueError(f"status={self.status} must be from 200 to 599")
        for name in ("flap_requests", "flap_s"):
            pair = getattr(self, name)
            if pair is not None and (min(pair) < 0 or sum(pair) <= 0):
                raise ValueError(f"{name}={pair} must be two numbers, not negative, not both 0")

    def _check_scope(self) -> None:
        if not self.routes:
            raise ValueError(f"{self.kind} strikes no route of on={self.on!r}")
        if self.kind in WHOLE_SERVER and (
            self.on != "*" or self.first_attempt or self.times or self.flap_requests or self.flap_s
        ):
            raise ValueError(f"{self.kind} concerns the whole server: only for_s can limit it")


_E = TypeVar("_E", bound=StrEnum)


def _member(kind: type[_E], name: str, value: str) -> _E:
    try:
        return kind(value)
    except ValueError:
        raise ValueError(f"{name}={value!r} is not one of: {', '.join(kind)}") from None


_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "kind": (str,),
    "on": (str,),
    "delay_s": (int, float),
    "sigma": (int, float),
    "interval_s": (int, float),
    "head": (bool,),
    "stored": (bool,),
    "clean": (bool,),
    "status": (int,),
    "retry_after_s": (int, float),
    "retry_after_as": (str,),
    "body": (str,),
    "size_bytes": (int,),
    "first_attempt": (bool,),
    "times": (int,),
    "for_s": (int, float),
    "flap_requests": (list, tuple),
    "flap_s": (list, tuple),
}


_KINDS: Final[Mapping[tuple[type, ...], str]] = {
    (str,): "a text",
    (bool,): "true or false",
    (int,): "a whole number",
    (int, float): "a number",
    (list, tuple): "two numbers",
}


def fault_from(fields: Mapping[str, object]) -> Fault:
    """Read a fault from the fields of a JSON object.

    Raises:
        ValueError: a field that is unknown, of a wrong type or out of its range.
    """
    for name, value in fields.items():
        if name not in _TYPES:
            raise ValueError(f"{name} is no field of a fault; one of: {', '.join(_TYPES)}")
        _check_type(name, value)
    pairs = {name: _pair(name, value) for name, value in fields.items() if "flap" in name}
    if "kind" not in fields:
        raise ValueError("a fault needs a kind")
    return Fault(**{**fields, **pairs})  # type: ignore[arg-type]  # the loop has checked each type


def _check_type(name: str, value: object) -> None:
    is_number_for_bool = isinstance(value, bool) and bool not in _TYPES[name]
    if is_number_for_bool or not isinstance(value, _TYPES[name]):
        raise ValueError(f"{name}={value!r} must be {_KINDS[_TYPES[name]]}")


def _pair(name: str, value: object) -> tuple[float, float]:
    match value:
        case [int() | float() as bad, int() | float() as good]:
            return bad, good
    raise ValueError(f"{name}={value!r} must be two numbers")


def fault_from_text(text: str) -> Fault:
    """Read a fault from ``kind`` or ``kind:field=value,field=value``, the form of ``--fault``.

    Values are JSON or plain text, a pair is ``bad/good``: ``status:on=writes,flap_s=1/2``.

    Raises:
        ValueError: as `fault_from`.
    """
    kind, _, rest = text.partition(":")
    fields: dict[str, object] = {"kind": kind.strip()}
    for part in filter(None, rest.split(",")):
        name, _, value = part.partition("=")
        fields[name.strip()] = _value(value.strip())
    return fault_from(fields)


def _value(text: str) -> object:
    if text.count("/") == 1:
        return [_value(part) for part in text.split("/")]
    try:
        return json.loads(text)
    except ValueError:
        return text


def fault_fields(fault: Fault) -> dict[str, object]:
    """Return the fields of a fault that differ from the defaults, as `fault_from` reads them."""
    return {
        field.name: getattr(fault, field.name)
        for field in dataclasses.fields(fault)
        if field.name == "kind" or getattr(fault, field.name) != field.default
    }
