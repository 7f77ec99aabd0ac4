"""The faults in force, and which of them strike a given request."""

from dataclasses import dataclass, field

from memotel.devserver.faults import WHOLE_SERVER, Fault, FaultKind
from memotel.devserver.routes import Route


@dataclass(slots=True)
class _Armed:
    """A fault in force, with what it has done so far."""

    fault: Fault
    since: float
    struck: int = 0
    matched: int = 0
    attempted: set[str] = field(default_factory=set)

    def is_in_force(self, now: float) -> bool:
        for_s = self.fault.for_s
        return for_s is None or now - self.since < for_s

    def strikes(self, route: Route, fingerprint: str, now: float) -> bool:
        if route not in self.fault.routes or not self.is_in_force(now):
            return False
        if self._is_spent() or not (self._is_first(fingerprint) and self._is_bad_phase(now)):
            return False
        self.struck += 1
        return True

    def _is_spent(self) -> bool:
        return self.fault.times is not None and self.struck >= self.fault.times

    def _is_first(self, fingerprint: str) -> bool:
        is_first = fingerprint not in self.attempted
        self.attempted.add(fingerprint)
        return is_first or not self.fault.first_attempt

    def _is_bad_phase(self, now: float) -> bool:
        self.matched += 1
        if self.fault.flap_requests is not None:
            bad, good = self.fault.flap_requests
            return (self.matched - 1) % (bad + good) < bad
        if self.fault.flap_s is not None:
            bad_s, good_s = self.fault.flap_s
            return (now - self.since) % (bad_s + good_s) < bad_s
        return True


class FaultBook:
    """The faults in force. Not thread-safe: the server's loop owns it.

    Times are seconds of one monotonic clock, passed in.
    """

    def __init__(self) -> None:
        self._armed: list[_Armed] = []

    def set(self, faults: tuple[Fault, ...], now: float) -> None:
        """Put these faults in force instead of all others."""
        self._armed = [_Armed(fault, now) for fault in faults]

    def add(self, fault: Fault, now: float) -> None:
        """Put one more fault in force."""
        self._armed.append(_Armed(fault, now))

    def in_force(self, now: float) -> tuple[Fault, ...]:
        """Return the faults whose time is not over, in the order they were added."""
        return tuple(armed.fault for armed in self._armed if armed.is_in_force(now))

    def whole_server(self, now: float) -> FaultKind | None:
        """Return the kind, silent or refuse, that holds for the whole server; else None."""
        kinds = [FaultKind(f.kind) for f in self.in_force(now) if f.kind in WHOLE_SERVER]
        return kinds[-1] if kinds else None

    def next_end(self, now: float) -> float | None:
        """Return when the next fault with a time limit ends, None if there is none."""
        limits = ((armed.since, armed.fault.for_s) for armed in self._armed)
        ends = [since + for_s for since, for_s in limits if for_s is not None]
        return min((end for end in ends if end > now), default=None)

    def strike(self, route: Route, fingerprint: str, now: float) -> tuple[Fault, ...]:
        """Return the faults that strike this request and count it.

        ``fingerprint`` is equal for all attempts of one write.
        """
        return tuple(a.fault for a in self._armed if a.strikes(route, fingerprint, now))
