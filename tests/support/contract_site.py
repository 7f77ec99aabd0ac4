"""A service under contract, and how long it may take to show what it was told."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import httpx

_T = TypeVar("_T")
REAL_PATIENCE_S = 90.0


@dataclass(frozen=True)
class Site:
    """One service. The development server shows a write at once, a real one some time later."""

    client: httpx.Client
    is_real: bool

    def eventually(self, ask: Callable[[], _T], is_shown: Callable[[_T], bool]) -> _T:
        """Ask until the answer shows what is expected, or for the last time; return the answer."""
        ends_at = time.monotonic() + (REAL_PATIENCE_S if self.is_real else 0.0)
        answer = ask()
        while not is_shown(answer) and time.monotonic() < ends_at:
            time.sleep(2.0)
            answer = ask()
        return answer

    def post(self, path: str, body: object, **headers: str) -> httpx.Response:
        """Send a POST request; an underscore in a header's name stands for a hyphen."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.client.post(path, json=body, headers=named)
