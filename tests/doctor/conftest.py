"""A doctor in this process: a clean environment, the development server, and what was found as data."""

import json
import os

import pytest
from doctor_rig import KEY, Doctor, Examined

from memotel.devserver import DevServer
from memotel.doctor import main


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    prefixes = ("MEMOTEL_", "OTEL_", "MEMORYSYNC_", "REKALL_", "KUBERNETES_")
    for name in list(os.environ):
        if name.startswith(prefixes) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


@pytest.fixture
def healthy(memory_server: DevServer, monkeypatch: pytest.MonkeyPatch) -> DevServer:
    """Both services configured by their variables, on a server that is well."""
    for name in ("MEMORYSYNC", "REKALL"):
        monkeypatch.setenv(f"{name}_API_KEY", KEY)
    monkeypatch.setenv("MEMORYSYNC_BASE_URL", memory_server.url)
    monkeypatch.setenv("REKALL_API_URL", memory_server.url)
    monkeypatch.setenv("MEMOTEL_RECALL_TIMEOUT", "5")
    return memory_server


@pytest.fixture
def doctor(capsys: pytest.CaptureFixture[str]) -> Doctor:
    def run(*arguments: str) -> Examined:
        status = main([*arguments, "--json"])
        text = capsys.readouterr().out
        return Examined(status, text, json.loads(text)["findings"])

    return run
