"""Settings: an argument wins over its variable, a variable over the default; every mistake names its field."""

from pathlib import Path

import pytest

from memotel.config import RecallPolicy
from memotel.errors import ConfigurationError
from memotel.outcomes import Adapter, Provider
from memotel.settings import SETTINGS, resolve, switches

KEY = {"MEMORYSYNC_API_KEY": "ms_secret", "REKALL_API_KEY": "rk_secret"}
BOTH = [Provider.MEMORYSYNC, Provider.REKALL]


@pytest.mark.parametrize("provider", BOTH)
def test_settings_default_to_the_hosted_service(provider: Provider) -> None:
    settings = resolve(provider, Adapter.DIRECT, environ=KEY)

    assert settings.base_url.startswith("https://api.")
    assert settings.recall.budget_s == 1.2
    assert settings.recall.top_k == 5


def test_settings_take_the_argument_before_the_variable_before_the_default() -> None:
    env = {**KEY, "MEMOTEL_RECALL_TIMEOUT": "0.7", "MEMOTEL_TOP_K": "9"}

    settings = resolve(Provider.REKALL, Adapter.DIRECT, environ=env, recall_timeout=0.3)

    assert settings.recall.budget_s == 0.3
    assert settings.recall.top_k == 9
    assert settings.recall.min_prompt_chars == 8


def test_settings_each_have_a_variable() -> None:
    text = {float: "0.5", int: "7", str: "memory", bool: "true"}
    special = {
        "on_full": "raise",
        "proxy": "http://127.0.0.1:1",
        "verify": __file__,
        "cert": __file__,
        "http_engine": "httpcore",
    }
    for setting in SETTINGS:
        value = special.get(setting.name, text[setting.kind])
        env = {**KEY, setting.variable: value}
        settings = resolve(Provider.REKALL, Adapter.DIRECT, environ=env)
        holder = (
            next(
                getattr(settings, name)
                for name in ("recall", "permits", "writes", "outbox", "network", "__self__")
                if name == "__self__" or isinstance(getattr(settings, name), setting.policy)
            )
            if setting.policy is not type(settings)
            else settings
        )
        assert str(getattr(holder, setting.field)).lower() == value.lower(), setting.name


def test_settings_take_the_url_from_the_environment() -> None:
    env = {**KEY, "REKALL_API_URL": "http://localhost:9876"}

    assert resolve(Provider.REKALL, Adapter.DIRECT, environ=env).base_url == "http://localhost:9876"


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"recall_timeout": 0}, "recall_timeout"),
        ({"recall_timeout": float("nan")}, "recall_timeout"),
        ({"recall_timeout": "1"}, "recall_timeout"),
        ({"top_k": 0}, "top_k"),
        ({"top_k": True}, "top_k"),
        ({"min_score": 2.0}, "min_score"),
        ({"on_full": "explode"}, "on_full"),
        ({"outbox": "carrier-pigeon"}, "outbox"),
        ({"url": "ftp://example.org"}, "api_url"),
        ({"url": "http://memory.example.org"}, "api_url"),
        ({"url": "https://user:pass@example.org"}, "api_url"),
        ({"verify": "/no/such/file.pem"}, "verify"),
        ({"proxy": "socks5://x"}, "proxy"),
        ({"api_key": ""}, "api_key"),
        ({"api_key": "k", "api_key_file": "f"}, "api_key_file"),
        ({"api_key_file": "/no/such/key"}, "api_key_file"),
        ({"colour": "red"}, "colour"),
    ],
    ids=repr,
)
def test_settings_name_the_field_that_is_wrong(given: dict[str, object], named: str) -> None:
    with pytest.raises(ConfigurationError, match=named):
        resolve(Provider.REKALL, Adapter.DIRECT, environ=KEY, **given)  # type: ignore[arg-type] # wrong on purpose


def test_settings_name_the_variable_that_is_wrong() -> None:
    with pytest.raises(ConfigurationError, match="MEMOTEL_TOP_K"):
        resolve(Provider.REKALL, Adapter.DIRECT, environ={**KEY, "MEMOTEL_TOP_K": "many"})


@pytest.mark.parametrize("provider", BOTH)
def test_settings_without_a_credential_say_where_to_give_one(provider: Provider) -> None:
    with pytest.raises(ConfigurationError, match=f"{provider.upper()}_API_KEY"):
        resolve(provider, Adapter.DIRECT, environ={})


def test_settings_need_no_credential_when_everything_is_off() -> None:
    settings = resolve(Provider.REKALL, Adapter.DIRECT, environ={"MEMOTEL_DISABLED": "all"})

    assert settings.switches.is_all_off


@pytest.mark.parametrize(
    ("text", "recall", "writes"),
    [
        ("", False, False),
        ("recall", True, False),
        ("writes", False, True),
        ("recall, writes", True, True),
        ("all", True, True),
    ],
)
def test_switches_read_what_is_off(text: str, *, recall: bool, writes: bool) -> None:
    off = switches({"MEMOTEL_DISABLED": text})

    assert (off.recall, off.writes) == (recall, writes)


def test_switches_refuse_an_unknown_part() -> None:
    with pytest.raises(ConfigurationError, match="MEMOTEL_DISABLED"):
        switches({"MEMOTEL_DISABLED": "everything"})


def test_settings_allow_plain_http_to_loopback_and_where_told() -> None:
    for url in ("http://localhost:9876", "http://127.0.0.1:1", "http://[::1]:1"):
        assert resolve(Provider.REKALL, Adapter.DIRECT, environ=KEY, url=url).base_url == url
    far = resolve(
        Provider.REKALL,
        Adapter.DIRECT,
        environ=KEY,
        url="http://memory.internal",
        allow_insecure_http=True,
    )
    assert far.base_url == "http://memory.internal"


def test_account_tells_keys_services_and_projects_apart_and_hides_them() -> None:
    def account(**given: object) -> str:
        return resolve(Provider.MEMORYSYNC, Adapter.DIRECT, environ={}, **given).account  # type: ignore[arg-type] # as users pass them

    accounts = [
        account(api_key="ms_secret"),
        account(api_key="ms_other"),
        account(api_key="ms_secret", url="http://localhost:1"),
        account(api_key="ms_secret", project_id="proj_1"),
        account(headers={"x-user-id": "a"}),
        account(headers={"x-user-id": "b"}),
    ]

    assert len(set(accounts)) == len(accounts)
    assert account(api_key="ms_secret") == accounts[0]
    assert "secret" not in accounts[0]


def test_account_with_a_label_survives_a_rotated_key() -> None:
    one, two = (
        resolve(Provider.REKALL, Adapter.DIRECT, environ={}, api_key=key, account="support").account
        for key in ("rk_1", "rk_2")
    )

    assert one == two


def test_credential_file_and_callable_are_one_account_each(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text("rk_1\n")
    before = resolve(Provider.REKALL, Adapter.DIRECT, environ={}, api_key_file=path)
    path.write_text("rk_2\n")
    after = resolve(Provider.REKALL, Adapter.DIRECT, environ={}, api_key_file=path)

    assert before.account == after.account
    assert "rk_" not in repr(before)


def test_whole_policy_may_be_given() -> None:
    policy = RecallPolicy(budget_s=0.2)

    assert resolve(Provider.REKALL, Adapter.DIRECT, environ=KEY, recall=policy).recall is policy
