"""The way to a service, tried: which proxy, how long DNS, connecting and TLS take, and what stands in the way."""

from collections.abc import Mapping
from dataclasses import replace

from memotel import runtime
from memotel.deadline import Deadline, monotonic
from memotel.doctor.cases import Case
from memotel.doctor.findings import Finding, Level, Topic
from memotel.doctor.masking import without_userinfo
from memotel.errors import MemotelError
from memotel.http import HttpClient
from memotel.http.proxies import choose_proxy
from memotel.outcomes import Phase
from memotel.values import Json

BUDGET_S = 5.0
GRACE_S = 1.0

ADVICE = {
    Phase.DNS: "check the host name in the base URL, and the resolver of this machine",
    Phase.CONNECT: "check that something listens there, and the firewall; behind a proxy set HTTPS_PROXY",
    Phase.TLS: "check the certificate; for an authority of your own set SSL_CERT_FILE or MEMOTEL_VERIFY",
}
ADVICE_PROXY = "check the proxy (MEMOTEL_PROXY, HTTPS_PROXY), or list the host in NO_PROXY"


class PhaseClock:
    """The progress of one connection: when each phase began."""

    def __init__(self) -> None:
        self._begun: list[tuple[Phase, float]] = [(Phase.QUEUE, monotonic())]

    @property
    def phase(self) -> Phase:
        """The phase that runs."""
        return self._begun[-1][0]

    @phase.setter
    def phase(self, phase: Phase) -> None:
        """Note that another phase begins."""
        self._begun.append((phase, monotonic()))

    def durations_s(self) -> dict[Phase, float]:
        """Return the seconds spent in each phase so far."""
        ends = [*(at for _, at in self._begun[1:]), monotonic()]
        spent: dict[Phase, float] = {}
        for (phase, begun), end in zip(self._begun, ends, strict=True):
            spent[phase] = spent.get(phase, 0.0) + end - begun
        spent.pop(Phase.QUEUE)
        return spent


def check_route(case: Case, environ: Mapping[str, str]) -> Finding:
    """Open one connection to the service, send nothing, and say how it went."""
    clock = PhaseClock()
    began = monotonic()
    try:
        proxy = choose_proxy(case.settings.base_url, case.settings.network.proxy, environ)
        through = f"through the proxy {proxy.url}" if proxy else "direct"
        runtime.current().loop.run(_connect(case, clock), BUDGET_S + GRACE_S)
    except MemotelError as error:
        return _finding(case, clock, f"{error}", advice=_advice(case, clock, environ))
    except TimeoutError:
        return _finding(case, clock, "no connection in time", advice=ADVICE[Phase.CONNECT])
    spent = ", ".join(f"{phase} {ms(s)}" for phase, s in clock.durations_s().items())
    text = f"{through}, connected in {ms(monotonic() - began)}" + (f" ({spent})" if spent else "")
    return _finding(case, clock, text)


async def _connect(case: Case, clock: PhaseClock) -> None:
    # Over aiohttp a warm-up opens no connection; the way is the same.
    network = replace(case.settings.network, engine="httpcore")
    client = HttpClient(case.settings.base_url, network, pool_size=1)
    try:
        await client.warm(Deadline.after(BUDGET_S), clock)
    finally:
        await client.aclose()


def _advice(case: Case, clock: PhaseClock, environ: Mapping[str, str]) -> str:
    try:
        proxy = choose_proxy(case.settings.base_url, case.settings.network.proxy, environ)
    except MemotelError:
        return ADVICE_PROXY
    if proxy is not None and clock.phase is not Phase.TLS:
        return f"it goes through {proxy.url}: {ADVICE_PROXY}"
    return ADVICE.get(clock.phase, ADVICE[Phase.CONNECT])


def _finding(case: Case, clock: PhaseClock, message: str, *, advice: str = "") -> Finding:
    data: dict[str, Json] = {f"{p}_s": round(s, 6) for p, s in clock.durations_s().items()}
    data["base_url"] = without_userinfo(case.settings.base_url)
    level = Level.PROBLEM if advice else Level.OK
    return Finding(Topic.ROUTE, case.provider, level, message, advice, data)


def ms(seconds: float) -> str:
    """Return a duration for reading, in whole milliseconds."""
    return f"{seconds * 1000:.0f} ms"
