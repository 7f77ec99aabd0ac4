import asyncio

import http_calls
import pytest
from http_calls import needed

GROUNDS = (
    ("asyncio", "httpcore"),
    ("uvloop", "httpcore"),
    ("asyncio", "httpcore2"),
    ("uvloop", "aiohttp"),
)
"""Loops and engines in the pairs that matter: the default, the extra `fast` whole, and each of them half."""


@pytest.fixture(params=["asyncio", "uvloop"])
def any_loop(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the test once on asyncio's own loop and once on uvloop, which closes and cancels in its own ways."""
    use_loop(request.param, monkeypatch)


@pytest.fixture(params=["httpcore", "httpcore2", "aiohttp"])
def any_engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run the test once over each engine that is offered, and return which."""
    return use_engine(request.param, monkeypatch)


@pytest.fixture(params=GROUNDS, ids="-".join)
def any_ground(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run the test on each of `GROUNDS`, and return the engine."""
    loop, engine = request.param
    use_loop(loop, monkeypatch)
    return use_engine(engine, monkeypatch)


def use_loop(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make = needed("uvloop").new_event_loop if name == "uvloop" else asyncio.SelectorEventLoop
    monkeypatch.setattr(http_calls, "new_loop", make)


def use_engine(name: str, monkeypatch: pytest.MonkeyPatch) -> str:
    needed("httpx_aiohttp" if name == "aiohttp" else name)
    monkeypatch.setattr(http_calls, "engine", name)
    return name
