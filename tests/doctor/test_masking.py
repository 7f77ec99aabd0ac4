"""No secret in any output: by what is said, and by a last look over all of it."""

import contextlib
import io
import string

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memotel.doctor import main
from memotel.doctor.masking import HIDDEN, scrubbed, secrets_in, without_userinfo

WORDS = string.ascii_letters + string.digits + "-_.~!$&'()*+,;=%:@/ \"\\é"
secret = st.text(WORDS, min_size=8, max_size=40).map(str.strip).filter(lambda s: len(s) >= 8)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://me:pw@host:1/a?token=x#y", "https://host:1/a"),
        ("https://host/a", "https://host/a"),
        ("me:pw@host:3128", "host:3128"),
        ("host:3128", "host:3128"),
        ("redis://:p@ss@host", "redis://host"),
    ],
)
def test_userinfo_and_query_are_left_out(url: str, expected: str) -> None:
    assert without_userinfo(url) == expected


def test_secrets_of_the_environment_are_known() -> None:
    found = secrets_in(
        {"REKALL_API_KEY": " rk_abcdef ", "https_proxy": "http://robot:p%40ssword@proxy:1"}
    )

    assert {"rk_abcdef", "p%40ssword", "p@ssword", "robot:p%40ssword"} <= set(found)


@given(secret)
def test_scrubbed_text_holds_no_secret(key: str) -> None:
    text = f"the key {key} and {key!r}"

    assert key not in scrubbed(text, secrets_in({"REKALL_API_KEY": key})).replace(HIDDEN, "\0")


@settings(
    max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture]
)  # each example runs the whole command twice
@given(key=secret, name=st.sampled_from(["REKALL_API_URL", "MEMOTEL_PROXY", "MEMOTEL_OUTBOX"]))
def test_key_never_appears(monkeypatch: pytest.MonkeyPatch, key: str, name: str) -> None:
    key = f"rk_{key}"
    with monkeypatch.context() as patch:
        patch.setenv("REKALL_API_KEY", key)
        patch.setenv("REKALL_API_URL", "http://127.0.0.1:1")
        patch.setenv("MEMOTEL_RECALL_TIMEOUT", "0.2")
        patch.setenv(name, f"http://robot:{key}@127.0.0.1:1/{key}")
        for arguments in ([], ["--json"]):
            said, logged = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(logged):
                main(["--provider", "rekall", *arguments])
            assert "settings" in said.getvalue()
            assert key not in said.getvalue() + logged.getvalue()
