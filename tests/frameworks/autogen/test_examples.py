"""The example for AutoGen does what its first line says."""

import asyncio
import runpy
from pathlib import Path

import pytest
from blocks import blocks_in
from scripted_model import ScriptedModel, text_seen

from memotel.devserver import DevServer

EXAMPLE = Path(__file__).parents[3] / "examples" / "autogen_assistant.py"


def test_example_remembers_across_conversations(
    memory_server: DevServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REKALL_API_URL", memory_server.url)
    monkeypatch.setenv("REKALL_API_KEY", "rk_example")
    monkeypatch.setenv("MEMOTEL_RECALL_TIMEOUT", "10")
    converse = runpy.run_path(str(EXAMPLE))["converse"]
    model = ScriptedModel(["Noted.", "You drink green tea."])
    assert asyncio.run(converse(model)) == ["Noted.", "You drink green tea."]
    assert [blocks_in(seen) for seen in model.seen] == [0, 1]
    assert "I drink green tea in the morning." in text_seen(model.seen[1])


def test_example_is_short() -> None:
    assert len(EXAMPLE.read_text().splitlines()) <= 60
