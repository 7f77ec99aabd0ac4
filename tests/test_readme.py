"""The README's code runs as it stands, on real agents against the development server."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from ag2_chats import person
from ag2_model import assistant
from polling import eventually
from scripted_model import ScriptedModel

from memotel.devserver import DevServer
from memotel.settings import KEY_VARIABLES, SETTINGS, URL_VARIABLES

README = Path(__file__).parent.parent / "README.md"
TEXT = README.read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, flags=re.DOTALL)


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[DevServer]:
    with DevServer() as server:
        for variable in URL_VARIABLES.values():
            monkeypatch.setenv(variable, server.url)
        for variable in KEY_VARIABLES.values():
            monkeypatch.setenv(variable, "rk_readme")
        yield server


def test_readme_ag2_block_runs(service: DevServer) -> None:
    agent, model = assistant("assistant", "I will look.", "You like Assam.")
    names = {"assistant": agent, "person": person()}

    exec(blocks("python")[0], names)  # noqa: S102 # it is our own README

    assert len(model.seen) == 1
    assert service.items("ada")
    names["memory"].close()  # type: ignore[attr-defined] # the block makes it


def test_readme_autogen_block_runs(service: DevServer) -> None:
    import asyncio

    model = ScriptedModel(["You like Assam."])
    names: dict[str, object] = {"model_client": model}

    exec(blocks("python")[1], names)  # noqa: S102 # as above
    asyncio.run(names["agent"].run(task="Which tea do I like?"))  # type: ignore[attr-defined] # the block makes it
    report = names["memory"].flush()  # type: ignore[attr-defined] # as above

    assert len(model.seen) == 1
    assert report.pending == 0


def test_readme_telemetry_block_is_valid() -> None:
    code = blocks("python")[2]

    assert "prometheus_port=9464" in code
    compile(code, "README.md", "exec")


def test_readme_outbox_block_keeps_writes_in_the_directory(
    service: DevServer, tmp_path: Path
) -> None:
    names: dict[str, object] = {}
    code = blocks("python")[3].replace("/var/lib/agent", str(tmp_path))

    exec(code, names)  # noqa: S102 # as above
    memory = names["memory"]
    memory.warm()  # type: ignore[attr-defined] # the block makes it
    eventually(lambda: bool(list((tmp_path / "outbox").glob("*.db"))))
    memory.close()  # type: ignore[attr-defined] # as above

    assert list((tmp_path / "outbox").iterdir()) == []


def test_readme_scrape_configuration_is_yaml() -> None:
    [config] = blocks("yaml")

    assert yaml.safe_load(config)["scrape_configs"][0]["static_configs"][0]["targets"] == [
        "127.0.0.1:9464"
    ]


def test_readme_names_every_setting_and_its_variable() -> None:
    for setting in SETTINGS:
        assert f"`{setting.name}`" in TEXT, setting.name
        assert setting.variable in TEXT, setting.variable


def test_readme_links_lead_to_files() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", TEXT):
        if "://" not in target:
            assert (README.parent / target).exists(), target
