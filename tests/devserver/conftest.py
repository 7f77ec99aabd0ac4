"""A server of each scheme, and an HTTP client for it."""

from collections.abc import Iterator

import httpx
import pytest
from devserver_http import client_of

from memotel.devserver import DevServer


@pytest.fixture(params=["http", "https"])
def server(request: pytest.FixtureRequest) -> Iterator[DevServer]:
    with DevServer(tls=request.param == "https") as server:
        yield server


@pytest.fixture
def client(server: DevServer) -> Iterator[httpx.Client]:
    with client_of(server) as client:
        yield client
