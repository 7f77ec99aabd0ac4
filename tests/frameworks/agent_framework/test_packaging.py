"""The framework is optional: nothing else of memotel imports it, and where it is missing that is said in one line."""

from telemetry_rig import run_python

BLOCK = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "agent_framework":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Blocked())
"""


def test_missing_framework_is_said_with_what_to_install() -> None:
    script = """
try:
    import memotel.agent_framework
except ModuleNotFoundError as error:
    print(error)
"""
    said = run_python(BLOCK + script).stdout
    assert "pip install 'memotel[agent_framework]'" in said


def test_rest_of_memotel_works_without_the_framework() -> None:
    script = """
import memotel, memotel.autogen, rekall_autogen
memotel.MemoryClient
print("works")
"""
    assert run_python(BLOCK + script).stdout.strip() == "works"


def test_provider_imports_no_other_framework() -> None:
    script = """
import sys
import memotel.agent_framework
others = ("ag2", "autogen", "autogen_agentchat", "autogen_core", "memotel.ag2", "memotel.ag2_v1", "memotel.autogen")
print(sorted(name for name in others if name in sys.modules))
"""
    assert run_python(script).stdout.strip() == "[]"
