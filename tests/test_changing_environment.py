"""Settings read an environment that other threads change meanwhile."""

from collections.abc import Iterator
from typing import Any

from memotel.outcomes import Adapter, Provider
from memotel.settings import resolve


class Changing(dict[str, str]):
    """An environment in which a variable is set whenever one is looked at by name."""

    def __getitem__(self, name: str) -> str:
        self.grow()
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.grow()
        return super().get(name, default)

    def grow(self) -> None:
        self[f"APP_{len(self)}"] = "1"


class Vanishing(dict[str, str]):
    """An environment whose first variable of memotel's is gone once its names were listed."""

    def __iter__(self) -> Iterator[str]:
        names = list(super().__iter__())
        self.pop("MEMOTEL_TOP_K", None)
        return iter(names)


def test_environment_may_grow_while_it_is_read() -> None:
    environ = Changing({"MEMOTEL_TOP_K": "3", "MEMOTEL_OUTBOX_MAX_WRITES": "7"})
    settings = resolve(Provider.REKALL, Adapter.DIRECT, api_key="k", environ=environ)
    assert settings.recall.top_k == 3
    assert settings.outbox.max_writes == 7


def test_variable_may_go_while_it_is_read() -> None:
    environ = Vanishing({"MEMOTEL_TOP_K": "3", "MEMOTEL_OUTBOX_MAX_WRITES": "7"})
    settings = resolve(Provider.REKALL, Adapter.DIRECT, api_key="k", environ=environ)
    assert settings.recall.top_k == 5
    assert settings.outbox.max_writes == 7
