"""AG2 1 and classic AG2 in one environment, and each without the other."""

from pathlib import Path

import pytest
from telemetry_rig import run_python

from memotel.devserver import DevServer

SUPPORT = str(Path(__file__).parents[2] / "support")
BLOCK = """
import sys
sys.path.insert(0, SUPPORT)
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Blocked())
"""
FIRST = """
import asyncio
from ag2 import Agent
from ag2_v1_model import ScriptedConfig
from memotel.ag2_v1 import MemorySyncMemory
with MemorySyncMemory("ada", api_key="k", base_url=URL, recall_timeout=5.0) as memory:
    agent = Agent("planner", config=ScriptedConfig("noted"), plugins=[memory.plugin()])
    asyncio.run(agent.ask("I always drink oolong tea in the morning"))
    assert memory.flush(20).pending == 0
"""
CLASSIC = """
import warnings
warnings.simplefilter("ignore")  # autogen warns while it is imported
from ag2_chats import chat, person
from ag2_memorysync import MemorySyncCapability
from ag2_model import assistant
with MemorySyncCapability("bob", api_key="k", base_url=URL, recall_timeout=5.0) as memory:
    agent, _ = assistant("planner", "noted")
    memory.add_to_agent(agent)
    chat(person(), agent, "I always drink oolong tea in the morning", max_turns=1)
    assert memory.flush(20).pending == 0
"""
LOADED = "print(*sorted({name.partition('.')[0] for name in sys.modules} & {'ag2', 'autogen'}))"


def run(server: DevServer, code: str, *blocked: str) -> str:
    """Run `code` in a fresh interpreter without the packages `blocked`; return which of the two were loaded."""
    setting = f"SUPPORT, URL, BLOCKED = {SUPPORT!r}, {server.url!r}, {blocked!r}\n"
    return run_python(f"{setting}{BLOCK}{code}\n{LOADED}").stdout.strip().splitlines()[-1]


def test_ag2_1_works_without_classic_ag2(memory_server: DevServer) -> None:
    assert run(memory_server, FIRST, "autogen", "autogen_core", "autogen_agentchat") == "ag2"
    assert len(memory_server.items("ada", fate=None)) == 2


def test_classic_ag2_works_without_ag2_1(memory_server: DevServer) -> None:
    assert run(memory_server, CLASSIC, "ag2", "autogen_core", "autogen_agentchat") == "autogen"
    assert len(memory_server.items("bob", fate=None)) == 2


@pytest.mark.parametrize("code", [FIRST + CLASSIC, CLASSIC + FIRST], ids=["new-first", "old-first"])
def test_both_work_in_one_process(memory_server: DevServer, code: str) -> None:
    assert run(memory_server, code) == "ag2 autogen"
    assert len(memory_server.items("ada", fate=None)) == 2
    assert len(memory_server.items("bob", fate=None)) == 2


def test_importing_the_adapter_imports_no_framework() -> None:
    code = "import sys\nimport memotel.ag2_v1\n" + LOADED
    assert run_python(code).stdout.strip() == ""
