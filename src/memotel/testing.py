"""A pytest plugin: a memory service for tests, over real HTTP, with faults on demand.

It is active wherever memotel is installed and imports nothing until a fixture is used::

    def test_agent_answers_during_an_outage(memory_server, fault):
        fault("hang", on="recalls")
        memory = MemorySyncCapability(user_id="ada", api_key="k", base_url=memory_server.url)

Each test has a server of its own, on a port of its own (it starts in some 10 ms): what memotel
keeps per account (connections, breaker, quota) then never leaks from one test into the next.
The ``devserver`` extra is needed; without it the test is skipped, or fails where ``CI`` is set.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Protocol

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memotel.devserver import DevServer, Fault

__all__ = ["SetFault", "fault", "memory_server", "memory_server_tls"]


class SetFault(Protocol):
    """Puts one more fault in force: ``fault("delay", on="recalls", delay_s=2.0)``."""

    def __call__(self, kind: str, on: str = "*", **settings: object) -> Fault:
        """Add the fault and return it; `memotel.devserver.Fault` lists kinds and settings."""


@pytest.fixture
def memory_server() -> Iterator[DevServer]:
    """A running development server on http, healthy and empty."""
    with _server(tls=False) as server:
        yield server


@pytest.fixture
def memory_server_tls() -> Iterator[DevServer]:
    """The same on https; trust its ``ca_file``."""
    with _server(tls=True) as server:
        yield server


@pytest.fixture
def fault(memory_server: DevServer) -> SetFault:
    """Add faults to `memory_server`."""
    from memotel.devserver.faults import fault_from

    def add(kind: str, on: str = "*", **settings: object) -> Fault:
        new = fault_from({"kind": kind, "on": on, **settings})
        memory_server.faults.add(new)
        return new

    return add


def _server(*, tls: bool) -> DevServer:
    try:
        from memotel.devserver import DevServer
    except ImportError as error:
        reason = f"the development server needs pip install 'memotel[devserver]': {error}"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
    return DevServer(tls=tls)
