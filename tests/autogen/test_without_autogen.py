"""Where autogen_core is not installed a memory works all the same, on contexts that look like AutoGen's."""

import subprocess
import sys

SCRIPT = '''
import sys

class Blocked:
    """Refuses imports as an environment without these packages does."""
    names = ("autogen_core", "autogen_agentchat", "autogen_ext", "pydantic")
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None

sys.meta_path.insert(0, Blocked())

import asyncio
from dataclasses import dataclass
from rekall_autogen import RekallMemory, create_memory_tools
from memotel.autogen.compat import HAS_AUTOGEN, MemoryContent, UserMessage
from memotel.devserver import DevServer
from memotel.errors import ConfigurationError

class Context:
    def __init__(self):
        self.kept = []
    async def add_message(self, message):
        self.kept.append(message)
    async def get_messages(self):
        return self.kept

async def main(url):
    # Time is no matter here, and a busy machine may take seconds for what a process does first.
    patience = {"recall_timeout": 60.0, "search_timeout": 60.0, "write_timeout": 60.0}
    memory = RekallMemory(url, "rk_1", capture="user", emit_event=True, **patience)
    await memory.add(MemoryContent("Ada drinks green tea", "text/plain", {"type": "semantic"}))
    found = await memory.query("green tea")
    assert type(found).__name__ == "MemoryQueryResult", found
    assert found.results[0].content == "Ada drinks green tea", found
    assert 0 < found.results[0].metadata["score"] <= 1, found
    context = Context()
    await context.add_message(UserMessage("Does Ada drink green tea?", source="user"))
    result = await memory.update_context(context)
    assert type(result).__name__ == "UpdateContextResult", result
    assert result.memories.results[0].content == "Ada drinks green tea", result
    shown = await context.get_messages()
    assert [m.type for m in shown] == ["SystemMessage", "UserMessage"], shown
    assert "green tea" in shown[0].content
    assert len(context.kept) == 1
    await memory.clear()
    assert (await memory.aflush(60.0)).pending == 0
    await memory.close()
    try:
        create_memory_tools(memory)
    except ConfigurationError as error:
        assert "memotel[autogen]" in str(error)
    else:
        raise AssertionError("tools were made without autogen_core")

assert not HAS_AUTOGEN
with DevServer() as server:
    asyncio.run(main(server.url))
assert "autogen_core" not in sys.modules
print("works")
'''


def test_memory_works_without_autogen_core() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT],
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "works\n", "")
