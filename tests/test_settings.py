"""Settings: an argument wins over its variable, a variable over the default; every mistake names its field."""

import asyncio
import copy
import pickle
import ssl
from dataclasses import fields
from pathlib import Path

import pytest

from memotel.config import ClientSettings, RecallPolicy, WritePolicy
from memotel.credentials import Credential
from memotel.errors import ConfigurationError
from memotel.outcomes import Adapter, Provider
from memotel.settings import SETTINGS, resolve, switches
from memotel.wording import with_article

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


SECONDS = "must be a number of seconds above 0, not"
OUT_OF_RANGE = [
    ("write_timeout", "0", f"write_timeout {SECONDS} 0.0"),
    ("recall_timeout", "-1", f"recall_timeout {SECONDS} -1.0"),
    (
        "exit_drain_timeout",
        "-1",
        "exit_drain_timeout must be a number of seconds from 0 up, not -1.0",
    ),
    ("max_recalls_in_flight", "0", "max_recalls_in_flight must be a whole number from 1 up, not 0"),
    ("outbox_max_bytes", "0", "outbox_max_bytes must be a whole number from 1 up, not 0"),
    ("keepalive", "0", f"keepalive {SECONDS} 0.0"),
    ("http_engine", "curl", "http_engine must be one of auto, httpcore, httpcore2, aiohttp, not"),
    ("outbox", "/var/lib/agent", "outbox must be 'memory' or 'sqlite:///absolute/path"),
    ("min_score", "7", "min_score must be a number from 0 to 1, not 7.0"),
]


@pytest.mark.parametrize(("name", "text", "message"), OUT_OF_RANGE)
def test_value_out_of_range_names_the_setting_and_the_variable_it_came_from(
    name: str, text: str, message: str
) -> None:
    variable = f"MEMOTEL_{name.upper()}"
    with pytest.raises(ConfigurationError) as caught:
        resolve(Provider.REKALL, Adapter.DIRECT, environ={**KEY, variable: text})
    assert str(caught.value).startswith(f"{variable}: {message}")


@pytest.mark.parametrize(("name", "text", "message"), OUT_OF_RANGE)
def test_value_out_of_range_names_the_argument_where_that_is_what_counts(
    name: str, text: str, message: str
) -> None:
    value = float(text) if "." in message.rpartition(" ")[2] else text
    value = int(text) if "whole" in message else value
    env = {**KEY, f"MEMOTEL_{name.upper()}": "7"}
    with pytest.raises(ConfigurationError) as caught:
        resolve(Provider.REKALL, Adapter.DIRECT, environ=env, **{name: value})  # type: ignore[arg-type] # wrong on purpose
    assert str(caught.value).startswith(message)


def test_policy_that_is_made_by_hand_names_its_own_field() -> None:
    with pytest.raises(ConfigurationError, match=r"^attempt_budget_s must be"):
        WritePolicy(attempt_budget_s=0)
    with pytest.raises(ConfigurationError, match=r"^budget_s must be"):
        RecallPolicy(budget_s=0)


def test_address_from_a_variable_is_named_by_it_and_given_by_argument_is_not() -> None:
    env = {**KEY, "MEMORYSYNC_BASE_URL": "localhost:9876"}
    with pytest.raises(ConfigurationError, match=r"^MEMORYSYNC_BASE_URL: base_url must be"):
        resolve(Provider.MEMORYSYNC, Adapter.DIRECT, environ=env)
    with pytest.raises(ConfigurationError, match=r"^base_url must be"):
        resolve(Provider.MEMORYSYNC, Adapter.DIRECT, environ=env, url="memory")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"recal_timeout": 1}, "recal_timeout is not a setting here; did you mean recall_timeout?"),
        ({"top-k": 1}, "top-k is not a setting here; did you mean top_k?"),
        (
            {"base_url": "x"},
            "base_url is not a setting of rekall here: its address is api_url",
        ),
        ({"colour": 1}, "colour is not a setting here; the settings are account, "),
    ],
)
def test_unknown_setting_is_answered_with_what_was_probably_meant(
    given: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        resolve(Provider.REKALL, Adapter.DIRECT, environ=KEY, **given)  # type: ignore[arg-type] # wrong on purpose
    assert str(caught.value).startswith(message)


def test_unknown_service_or_adapter_is_refused_and_a_name_will_do() -> None:
    with pytest.raises(ConfigurationError, match="provider must be one of memorysync, rekall, not"):
        resolve("mem0", Adapter.DIRECT, environ=KEY)  # type: ignore[arg-type] # wrong on purpose
    with pytest.raises(ConfigurationError, match="adapter must be one of ag2, "):
        resolve(Provider.REKALL, "crew", environ=KEY)  # type: ignore[arg-type] # wrong on purpose
    named = resolve("rekall", "direct", environ=KEY)  # type: ignore[arg-type] # as scripts call it
    assert named.provider is Provider.REKALL
    assert named.adapter is Adapter.DIRECT


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


def settings_of(**given: object) -> ClientSettings:
    return resolve(Provider.MEMORYSYNC, Adapter.DIRECT, environ=KEY, **given)  # type: ignore[arg-type] # as users pass them


def refusal(**given: object) -> str:
    with pytest.raises(ConfigurationError) as caught:
        settings_of(**given)
    return str(caught.value)


URLS = [
    *(123, 0, b"https://user:hush@example.org", "rk_hush", "https://", "https://exam ple.org"),
    *("https://user:hush@example.org", "https://:hush@example.org", "https://@example.org"),
    *("https://us?er:hush@example.org", "https://example.org/?key=hush", "https://example.org/?"),
    *("https://example.org/?key=a@hush", "https://example.org/#hush", "https://[::1"),
    *("https://user:hush@[::1", "https://example.org:99999", "https://example.org:abc"),
    *("https://example.org:0", "ftp://user:hush@example.org"),
]


@pytest.mark.parametrize("url", URLS, ids=repr)
def test_url_that_is_none_or_holds_more_is_refused_without_its_secrets(url: object) -> None:
    message = refusal(url=url)

    assert message.startswith("base_url must be an http:// or https:// URL, not ")
    assert "no user information, query or fragment, and a valid port" in message
    assert "hush" not in message


def test_url_is_shown_without_its_secrets() -> None:
    assert "'ftp://***@example.org/x?***'" in refusal(url="ftp://me:hush@example.org/x?key=1")


def test_reprs_show_no_secrets() -> None:
    settings = settings_of(
        headers={"x-key": "hush"}, proxy="http://me:hush@localhost:1", cert=("a", "b", "hush")
    )

    assert "hush" not in repr(settings)
    assert "hush" not in repr(settings.network)


def test_credential_is_never_pickled_and_copies_are_itself() -> None:
    credential = Credential("rk_secret")

    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(credential)
    assert copy.copy(credential) is credential
    assert copy.deepcopy(settings_of()).credential is not None
    assert copy.deepcopy([credential])[0] is credential


@pytest.mark.parametrize("name", ["allow_insecure_http", "record_session_id", "propagate"])
@pytest.mark.parametrize("value", ["false", 0, 1], ids=repr)
def test_switches_take_true_and_false_only(name: str, value: object) -> None:
    assert refusal(**{name: value}) == f"{name} must be True or False, not {value!r}"


POLICIES = {
    f"{f.name}_policy" if f.name == "outbox" else f.name: f.default_factory()
    for f in fields(ClientSettings)
    if callable(f.default_factory) and f.name != "switches"
}


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("value", [5, "x", {}, False], ids=repr)
def test_whole_policy_of_another_type_is_refused(name: str, value: object) -> None:
    assert refusal(**{name: value}).startswith(
        f"{name} must be {with_article(type(POLICIES[name]).__name__)}"
    )


@pytest.mark.parametrize(
    ("policy", "name", "value"),
    [
        ("recall", "top_k", 3),
        ("permits", "max_recalls_in_flight", 3),
        ("writes", "write_timeout", 1.0),
        ("outbox_policy", "on_full", "raise"),
        ("network", "proxy", ""),
        ("network", "headers", {"a": "b"}),
    ],
)
def test_policy_beside_one_of_its_settings_is_refused(
    policy: str, name: str, value: object
) -> None:
    message = refusal(**{policy: POLICIES[policy], name: value})

    assert message.startswith(f"{name} and {policy} are both given; give one of them")


WRONG: dict[str, list[object]] = {
    "api_key": [5, b"hush", "  ", "hush\nhush", "hush\u2019"],
    "api_key_file": [5, "\0"],
    "headers": ["hush", [("a", "hush")], {"": "hush"}, {"a": 1}, {1: "hush"}, {"a": "hush\nb: c"}],
    "transport": [object],
    "cert": [5, False, "", (), ["a", "b"], ("a", "b", b"hush")],
    "proxy": [5, "hush", "http://me:hush@[::1", "http://me:hush@x:99999"],
    "redact": ["hide"],
    "project_id": [5, " "],
    "account": [5, ""],
    "verify": [5, "", Path("/no/such/file.pem"), "x" * 5_000],
}


@pytest.mark.parametrize("name", WRONG)
def test_argument_of_another_kind_is_refused(name: str) -> None:
    for value in WRONG[name]:
        message = refusal(**{name: value})

        assert message.startswith(f"{name} must be ")
        assert "hush" not in message


def test_key_is_taken_without_the_blanks_around_it() -> None:
    credential = settings_of(api_key=" ms_other\n").credential

    assert credential is not None
    assert credential.text == "ms_other"


def test_key_variable_that_no_header_carries_is_named() -> None:
    with pytest.raises(ConfigurationError, match="REKALL_API_KEY must be a key") as caught:
        resolve(Provider.REKALL, Adapter.DIRECT, environ={"REKALL_API_KEY": "hush\u2019"})
    assert "hush" not in str(caught.value)


NUMBERS = [
    (policy, f.name)
    for policy in map(type, POLICIES.values())
    for f in fields(policy)
    if isinstance(f.default, int | float) and not isinstance(f.default, bool)
]


@pytest.mark.parametrize(("policy", "name"), NUMBERS)
@pytest.mark.parametrize(
    "value", [None, "1", True, float("nan"), float("inf"), -1, [], 1j], ids=repr
)
def test_number_that_is_none_is_refused(policy: type, name: str, value: object) -> None:
    with pytest.raises(ConfigurationError, match="must be"):
        policy(**{name: value})


@pytest.mark.parametrize(("policy", "name"), [n for n in NUMBERS if n[1].endswith("_s")])
@pytest.mark.parametrize("value", [1.1e9, 10**400, 10**5_000], ids=["e9", "e400", "e5000"])
def test_duration_of_centuries_is_refused(policy: type, name: str, value: float) -> None:
    with pytest.raises(ConfigurationError, match="at most 1,000,000,000, not"):
        policy(**{name: value})


def test_verify_variable_is_a_boolean_or_a_file() -> None:
    for text, expected in (("false", False), ("TRUE", True), ("0", False), (__file__, __file__)):
        env = {**KEY, "MEMOTEL_VERIFY": text}
        network = resolve(Provider.REKALL, Adapter.DIRECT, environ=env).network
        assert network.verify == expected


def test_verify_may_be_a_path() -> None:
    assert (
        resolve(
            Provider.REKALL, Adapter.DIRECT, verify=Path(__file__), api_key="k", environ={}
        ).network.verify
        == __file__
    )


@pytest.mark.parametrize("loop", ["uvlop", "none"])
def test_loop_variable_is_asyncio_or_auto(loop: str) -> None:
    with pytest.raises(ConfigurationError, match="MEMOTEL_LOOP must be asyncio or auto"):
        resolve(Provider.REKALL, Adapter.DIRECT, environ={"MEMOTEL_LOOP": loop})


def test_verify_variable_that_is_neither_says_what_is_allowed() -> None:
    with pytest.raises(ConfigurationError, match="verify must be True, False, a CA file"):
        resolve(Provider.REKALL, Adapter.DIRECT, environ={**KEY, "MEMOTEL_VERIFY": "flase"})


@pytest.mark.parametrize("label", [None, "support"])
def test_account_tells_services_tls_and_proxies_apart(label: str | None) -> None:
    def account(provider: Provider = Provider.REKALL, **given: object) -> str:
        given = {"url": "http://localhost:1", "api_key": "k", "account": label, **given}
        return resolve(provider, Adapter.DIRECT, environ={}, **given).account  # type: ignore[arg-type] # as users pass them

    contexts = [ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) for _ in range(2)]
    accounts = [
        account(),
        account(Provider.MEMORYSYNC),
        account(verify=False),
        account(verify=__file__),
        *(account(verify=context) for context in contexts),
        account(cert="a"),
        account(cert=("a", "b", "hush")),
        account(proxy=""),
        account(proxy="http://me:hush@localhost:1"),
    ]

    assert len(set(accounts)) == len(accounts)
    assert all(len(key) == 32 and int(key, 16) for key in accounts)
    assert account(verify=contexts[0]) == accounts[4]
    assert account(verify=True) == accounts[0]


@pytest.mark.parametrize("value", [None, 5, b"hush", "", " ", "hush\nhush"], ids=repr)
def test_callable_that_returns_no_key_is_refused_without_what_it_returned(value: object) -> None:
    credential = Credential(function=lambda: value)  # type: ignore[arg-type,return-value] # wrong on purpose

    with pytest.raises(ConfigurationError, match="what the api_key callable returns") as caught:
        asyncio.run(credential.read())
    assert "hush" not in str(caught.value)


def test_callable_may_be_async() -> None:
    async def key() -> str:
        return "rk_1\n"

    assert asyncio.run(Credential(function=key).read()) == "rk_1"
