"""The services under contract: the development server, and a real one where a key is given.

Environment: MEMOTEL_CONTRACT_MEMORYSYNC_KEY and MEMOTEL_CONTRACT_REKALL_KEY add the real
services; MEMOTEL_CONTRACT_MEMORYSYNC_URL and MEMOTEL_CONTRACT_REKALL_URL say where they are.
Each run writes some dozens of short memories there, of users whose names begin with
``memotel-contract-``.
"""

import os
import uuid
from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest
from contract_site import Site
from devserver_http import local_client

from memotel.devserver import DevServer

DEVELOPMENT = "development"
REAL = "real"


def targets(service: str) -> list[str]:
    has_key = f"MEMOTEL_CONTRACT_{service}_KEY" in os.environ
    return [DEVELOPMENT, REAL] if has_key else [DEVELOPMENT]


@pytest.fixture
def user() -> str:
    return f"memotel-contract-{uuid.uuid4().hex[:16]}"


@pytest.fixture(params=targets("MEMORYSYNC"))
def memorysync(request: pytest.FixtureRequest) -> Iterator[Site]:
    with ExitStack() as stack:
        url, key = _place("MEMORYSYNC", request.param, "https://api.memorysync.io", stack)
        yield _site(stack, url, {"X-API-Key": key})


@pytest.fixture(params=targets("REKALL"))
def rekall(request: pytest.FixtureRequest) -> Iterator[Site]:
    with ExitStack() as stack:
        url, key = _place("REKALL", request.param, "https://api.rekall.app", stack)
        yield _site(stack, url, {"Authorization": f"Bearer {key}"})


@pytest.fixture
def server() -> Iterator[DevServer]:
    """A development server, for what a real service cannot be made to do."""
    with DevServer() as server:
        yield server


def _site(stack: ExitStack, url: str, headers: dict[str, str]) -> Site:
    is_real = not url.startswith("http://127.0.0.1:")
    if is_real:
        client = httpx.Client(base_url=url, headers=headers, timeout=30.0)
    else:
        client = local_client(url, headers)
    return Site(stack.enter_context(client), is_real)


def _place(service: str, target: str, url: str, stack: ExitStack) -> tuple[str, str]:
    if target == DEVELOPMENT:
        return stack.enter_context(DevServer()).url, "rk_development"
    url = os.environ.get(f"MEMOTEL_CONTRACT_{service}_URL", url)
    return url, os.environ[f"MEMOTEL_CONTRACT_{service}_KEY"]
