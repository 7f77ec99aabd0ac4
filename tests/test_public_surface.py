"""What users may import: sorted, complete, importable without any extra, and nothing starts by it."""

import importlib
import inspect
import subprocess
import sys
from types import ModuleType

import pytest

SURFACES = (
    "ag2_memorysync",
    "ag2_memorysync.capability",
    "memotel",
    "memotel.ag2",
    "memotel.ag2_v1",
    "memotel.autogen",
    "memotel.telemetry",
    "memotel.testing",
    "rekall_autogen",
)
FACADES = tuple(name for name in SURFACES if name not in ("memotel", "memotel.testing"))
EXTRAS = (
    "ag2",
    "autogen",
    "autogen_agentchat",
    "autogen_core",
    "httpx_aiohttp",
    "opentelemetry.exporter",
    "opentelemetry.sdk",
    "prometheus_client",
    "pydantic",
    "redis",
    "rich",
    "starlette",
    "trustme",
    "uvicorn",
    "uvloop",
)
BLOCK = f"""
import sys
BLOCKED = {EXTRAS!r}
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if any(name == found or name.startswith(found + ".") for found in BLOCKED):
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocked())
"""


def run(code: str) -> str:
    """Run `code` in a fresh interpreter with warnings as errors; return what it printed."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def imported_by(name: str, heavy: tuple[str, ...]) -> list[str]:
    """Return which of `heavy` the import of `name` brings, beside what coverage has imported."""
    code = f"import sys\nbefore = set(sys.modules)\nimport {name}\n"
    return [n for n in run(code + "print(*set(sys.modules) - before)").split() if n in heavy]


def exported(module: ModuleType) -> list[str]:
    names = module.__all__
    assert isinstance(names, list)
    return names


def surface_key(name: str) -> tuple[int, str]:
    """Constants first, then classes, then functions: the order that ruff's RUF022 keeps."""
    kind = 0 if name.isupper() else 1 if name[0].isupper() else 2
    return kind, name


@pytest.mark.parametrize("name", SURFACES)
def test_all_is_sorted_and_every_name_is_there(name: str) -> None:
    module = importlib.import_module(name)
    names = exported(module)
    assert names == sorted(set(names), key=surface_key)
    for exported_name in names:
        assert getattr(module, exported_name) is not None


@pytest.mark.parametrize("name", FACADES)
def test_all_is_complete(name: str) -> None:
    module = importlib.import_module(name)
    public = {
        found
        for found, value in vars(module).items()
        if not found.startswith("_") and not inspect.ismodule(value)
    }
    assert public == set(exported(module))


def test_memotel_exports_what_its_public_module_lists() -> None:
    import memotel
    import memotel.public

    assert exported(memotel) == exported(memotel.public)
    assert all(hasattr(memotel.public, name) for name in memotel.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing_of_that_name'"):
        _ = memotel.nothing_of_that_name


@pytest.mark.parametrize("name", SURFACES)
def test_surface_imports_without_any_extra(name: str) -> None:
    code = f"{BLOCK}\nimport importlib\nm = importlib.import_module({name!r})\n"
    assert run(code + "print(all(getattr(m, n) is not None for n in m.__all__))") == "True"


def test_import_starts_no_thread_and_no_loop() -> None:
    imports = ", ".join(("threading", *SURFACES))
    code = f"import {imports}\nfrom memotel.runtime import current\n"
    assert run(code + "print(threading.active_count(), current().loop.is_started)") == "1 False"


def test_importing_memotel_is_cheap() -> None:
    heavy = ("asyncio", "autogen", "autogen_core", "httpx", "opentelemetry", "ssl")
    assert imported_by("memotel", heavy) == []


def test_pytest_plugin_is_light_until_a_fixture_is_used() -> None:
    heavy = ("httpx", "opentelemetry", "starlette", "trustme", "uvicorn")
    assert imported_by("memotel.testing", heavy) == []


def test_names_that_users_of_the_older_package_import_are_there() -> None:
    assert (
        run(
            "from ag2_memorysync import (DEFAULT_CONTEXT_TEMPLATE, MemorySyncAPIError,"
            " MemorySyncCapability, fnv1a64, register_memory_tools)\n"
            "from ag2_memorysync.capability import speaks_for_a_person\n"
            "from rekall_autogen import RekallMemory\n"
            "print(fnv1a64('human:hello'), '{context}' in DEFAULT_CONTEXT_TEMPLATE)"
        )
        == "dc7ad99e64417378 True"
    )
