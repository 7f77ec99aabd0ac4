"""The Prometheus of the tests is itself tested: it scrapes itself."""

from collections.abc import Callable

import pytest
from prometheus_process import PrometheusServer, require_binary

Start = Callable[..., PrometheusServer]


def test_prometheus_scrapes_its_target(prometheus_server: Start) -> None:
    first = prometheus_server([])
    address = first.url.removeprefix("http://")
    second = prometheus_server([address], job="other")
    up = second.wait_for_series("up == 1")
    assert [(s.labels["job"], s.labels["instance"]) for s in up] == [("other", address)]
    assert first.query("up") == []


def test_wait_until_ends_when_the_claim_never_holds(prometheus_server: Start) -> None:
    server = prometheus_server([])
    with pytest.raises(AssertionError, match=r"within 0\.2 s"):
        server.wait_until(lambda _: False, 0.2)


def test_missing_binary_fails_in_ci_and_skips_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="CI needs it"):
        require_binary("no-such-program-here")
    monkeypatch.delenv("CI")
    with pytest.raises(pytest.skip.Exception):
        require_binary("no-such-program-here")
