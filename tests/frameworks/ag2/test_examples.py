"""The example runs as it is written, against the development server and a model with a script."""

import asyncio
import runpy
from pathlib import Path
from typing import Any

import pytest
from ag2_model import LLM_CONFIG, ScriptedModel, with_model

from autogen import ConversableAgent
from memotel.devserver import DevServer

EXAMPLE = Path(__file__).parents[3] / "examples" / "ag2_support_bot.py"


def quoting(messages: list[dict[str, Any]]) -> str:
    """Answer with what the last message says."""
    return str(messages[-1]["content"])


def test_support_bot_remembers_each_person_and_only_them(
    memory_server: DevServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORYSYNC_BASE_URL", memory_server.url)
    monkeypatch.setenv("MEMORYSYNC_API_KEY", "dev")
    monkeypatch.setenv("MEMOTEL_RECALL_TIMEOUT", "5")
    example = runpy.run_path(str(EXAMPLE))
    model = ScriptedModel(*[quoting] * 4)
    make = example["support_bot"]

    def support_bot(memory: Any, llm_config: Any) -> ConversableAgent:
        return with_model(make(memory, llm_config), model)

    main = example["main"]
    main.__globals__["support_bot"] = support_bot
    ada, bob = asyncio.run(main(LLM_CONFIG))
    assert "Lumen 40" in ada
    assert "Korona 7" not in ada
    assert "Korona 7" in bob
    assert "Lumen 40" not in bob
    assert len(memory_server.items("ada")) == 2
    assert memory_server.items("support-desk") == ()


def test_example_is_short_enough_to_read() -> None:
    assert len(EXAMPLE.read_text().splitlines()) <= 60
