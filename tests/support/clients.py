"""Clients of the core that are closed when their test is over."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from memotel import Adapter, MemoryClient, Provider, resolve
from memotel.devserver import DevServer

MakeClient = Callable[..., MemoryClient]


@contextmanager
def making_clients(
    provider: Provider, server: DevServer, close_s: float = 0.0, **usual: Any
) -> Iterator[MakeClient]:
    """Give what makes a client of `server`, from settings that are `usual` unless others are given.

    Each is closed at the end, within `close_s` seconds.
    """
    made: list[MemoryClient] = []

    def make(**given: Any) -> MemoryClient:
        settings = {"api_key": "rk_1", **usual, **given}
        made.append(MemoryClient(resolve(provider, Adapter.DIRECT, url=server.url, **settings)))
        return made[-1]

    yield make
    for client in made:
        client.close(close_s)
