import asyncio
import importlib
import os
from types import ModuleType

import http_calls
import pytest


@pytest.fixture(params=["asyncio", "uvloop"])
def any_loop(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the test once on asyncio's own loop and once on uvloop, which closes and cancels in its own ways."""
    if request.param == "uvloop":
        monkeypatch.setattr(http_calls, "new_loop", needed("uvloop").new_event_loop)
    else:
        monkeypatch.setattr(http_calls, "new_loop", asyncio.SelectorEventLoop)


def needed(module: str) -> ModuleType:
    """Return an optional module; without it the test is skipped, and fails where CI is set."""
    if os.environ.get("CI"):
        return importlib.import_module(module)
    found: ModuleType = pytest.importorskip(module)
    return found
