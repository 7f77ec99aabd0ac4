"""The doctor against the development server: healthy, and each thing that goes wrong."""

import json
import socket
from collections.abc import Iterator

import pytest
from doctor_rig import KEY, Doctor

from memotel.devserver import DevServer
from memotel.doctor import main
from memotel.testing import SetFault

SERVICES = ("memorysync", "rekall")


@pytest.fixture
def nobody() -> Iterator[str]:
    """An address on which nobody listens while the test runs."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


def test_doctor_finds_a_healthy_set_up_well(healthy: DevServer, doctor: Doctor) -> None:
    found = doctor()

    assert found.problems() == []
    assert found.status == 0
    for service in SERVICES:
        recall = found.one("recall", service)
        assert recall["level"] == "ok"
        assert recall["data"]["outcome"] == "empty"
        route = found.one("route", service)
        assert "direct" in route["message"]
        assert route["data"]["connect_s"] >= 0
        assert found.one("state", service)["data"]["circuit"] == "closed"
        assert found.one("outbox", service)["data"]["pending"] == 0
    assert healthy.items() == ()


def test_doctor_names_the_source_of_each_setting(healthy: DevServer, doctor: Doctor) -> None:
    found = doctor()

    place, rest = found.of("settings", "memorysync")
    assert place["data"]["base_url"] == {"value": healthy.url, "source": "MEMORYSYNC_BASE_URL"}
    assert place["data"]["key"] == {"is_present": True, "source": "MEMORYSYNC_API_KEY"}
    assert rest["data"]["recall_timeout"] == {"value": 5.0, "source": "MEMOTEL_RECALL_TIMEOUT"}
    assert rest["data"]["top_k"] == {"value": 5, "source": "default"}


def test_doctor_takes_one_service_by_arguments(
    memory_server: DevServer, doctor: Doctor, tmp_path_factory: pytest.TempPathFactory
) -> None:
    key_file = tmp_path_factory.mktemp("keys") / "key"
    key_file.write_text(KEY)

    found = doctor(
        "--provider", "rekall", "--base-url", memory_server.url, "--api-key-file", str(key_file)
    )

    place, _ = found.of("settings", "rekall")
    assert found.status == 0
    assert place["data"]["base_url"]["source"] == "argument"
    assert place["data"]["key"]["source"] == "argument"
    assert found.of("settings", "memorysync") == []


@pytest.mark.parametrize("service", SERVICES)
def test_doctor_finds_a_dead_key(healthy: DevServer, doctor: Doctor, service: str) -> None:
    healthy.revoke(KEY)

    found = doctor("--provider", service)

    assert found.status == 1
    assert found.one("route")["level"] == "ok"
    assert found.one("recall")["data"]["outcome"] == "rejected"
    assert "key" in found.one("recall")["advice"]
    assert found.one("state")["data"]["is_key_rejected"] is True


@pytest.mark.parametrize(
    ("variable", "value", "advice"),
    [
        ("REKALL_API_URL", "{url}/nowhere", "check the URL"),
        ("MEMOTEL_CERT", "/no/such.pem", "cert cannot be used: /no/such.pem"),
    ],
)
def test_doctor_says_why_a_recall_is_refused_where_it_is_not_the_key(
    healthy: DevServer,
    doctor: Doctor,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    value: str,
    advice: str,
) -> None:
    if variable == "MEMOTEL_CERT":
        monkeypatch.setenv("REKALL_API_URL", healthy.url.replace("http:", "https:"))
    monkeypatch.setenv(variable, value.format(url=healthy.url))

    found = doctor("--provider", "rekall")

    assert found.one("recall")["data"]["outcome"] == "rejected"
    assert advice in found.one("recall")["advice"]
    assert "key" not in found.one("recall")["advice"]


def test_doctor_finds_an_unreachable_service(
    healthy: DevServer, doctor: Doctor, nobody: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REKALL_API_URL", f"http://{nobody}")

    found = doctor("--provider", "rekall")

    assert found.status == 1
    assert found.one("route")["level"] == "problem"
    assert nobody in found.one("route")["message"]
    assert "listens" in found.one("route")["advice"]
    assert found.one("recall")["data"]["outcome"] == "unavailable"


def test_doctor_finds_a_timeout(
    healthy: DevServer, doctor: Doctor, fault: SetFault, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault("hang", on="recalls")
    monkeypatch.setenv("MEMOTEL_RECALL_TIMEOUT", "0.3")

    found = doctor("--provider", "memorysync")

    assert found.status == 1
    assert found.one("recall")["data"]["outcome"] == "timeout"
    assert "MEMOTEL_RECALL_TIMEOUT" in found.one("recall")["advice"]


def test_doctor_warns_of_a_slow_service(
    healthy: DevServer, doctor: Doctor, fault: SetFault, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault("delay", on="recalls", delay_s=2.2)
    monkeypatch.setenv("MEMOTEL_RECALL_TIMEOUT", "4")

    found = doctor("--provider", "rekall")

    assert found.status == 0
    assert found.one("recall")["level"] == "warning"
    assert "slow" in found.one("recall")["advice"]


def test_doctor_finds_a_silent_quota_by_its_write_probe(healthy: DevServer, doctor: Doctor) -> None:
    healthy.set_quota(0)

    without = doctor("--provider", "memorysync")
    probed = doctor("--provider", "memorysync", "--write-probe", "--user", "ada")

    assert without.status == 0
    assert "--write-probe" in without.one("recall")["message"]
    assert probed.status == 1
    assert probed.one("write")["data"]["outcome"] == "quota"
    assert probed.one("state")["data"]["quota"] == "silent"
    assert "plan" in probed.one("state")["advice"]


@pytest.mark.parametrize("service", SERVICES)
def test_doctor_writes_for_the_named_user_when_told(
    healthy: DevServer, doctor: Doctor, service: str
) -> None:
    found = doctor("--provider", service, "--write-probe", "--user", "ada")

    assert found.one("write")["data"]["outcome"] == "stored"
    assert len(healthy.items()) == 1


def test_doctor_names_the_proxy_without_its_password(
    doctor: Doctor, nobody: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REKALL_API_KEY", KEY)
    monkeypatch.setenv("REKALL_API_URL", "https://memory.invalid")
    monkeypatch.setenv("HTTPS_PROXY", f"http://robot:pass-phrase-9@{nobody}")

    found = doctor()

    assert found.status == 1
    assert f"http://{nobody}" in found.one("route")["advice"]
    assert "HTTPS_PROXY" in found.one("route")["advice"]
    assert "pass-phrase-9" not in found.text
    assert "robot" not in found.text


def test_doctor_finds_nothing_configured(doctor: Doctor) -> None:
    found = doctor()

    assert found.status == 1
    assert "MEMORYSYNC_API_KEY" in found.one("settings")["advice"]


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("MEMOTEL_TOP_K", "many", "MEMOTEL_TOP_K"),
        ("REKALL_API_URL", "gopher://x", "api_url"),
        ("REKALL_API_URL", "https://me:pass-phrase-9@host", "user information"),
        ("MEMOTEL_DISABLED", "maybe", "MEMOTEL_DISABLED"),
    ],
)
def test_doctor_names_a_wrong_setting(
    healthy: DevServer,
    doctor: Doctor,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    value: str,
    says: str,
) -> None:
    monkeypatch.setenv(name, value)

    found = doctor("--provider", "rekall")

    assert found.status == 1
    assert any(says in str(each["message"]) for each in found.of("settings"))
    assert "pass-phrase-9" not in found.text


def test_doctor_warns_of_memory_switched_off(
    healthy: DevServer, doctor: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMOTEL_DISABLED", "recall")

    found = doctor("--provider", "rekall")

    assert found.status == 0
    assert found.one("settings", "MEMOTEL_DISABLED")["level"] == "warning"
    assert found.one("recall")["data"]["outcome"] == "skipped"


def test_doctor_warns_of_a_misspelt_variable(
    healthy: DevServer, doctor: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMOTEL_RECAL_TIMEOUT", "1")

    found = doctor("--provider", "rekall")

    assert "MEMOTEL_RECALL_TIMEOUT" in found.one("settings", "MEMOTEL_RECAL_TIMEOUT")["advice"]


@pytest.mark.parametrize(
    "arguments",
    [["--write-probe"], ["--base-url", "http://localhost:1"], ["--provider", "nobody"], ["x"]],
)
def test_wrong_usage_exits_with_two(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)

    assert ended.value.code == 2


def test_report_for_people_has_one_line_for_each_finding(
    healthy: DevServer, doctor: Doctor, capsys: pytest.CaptureFixture[str]
) -> None:
    healthy.revoke(KEY)
    found = doctor("--provider", "rekall")

    status = main(["--provider", "rekall"])
    lines = capsys.readouterr().out.strip().splitlines()

    assert status == 1
    assert len(lines) == len(found.findings) + 2
    bad = [line for line in lines if line.startswith("BAD")]
    assert len(bad) == len(found.problems())
    assert all(" -> " in line for line in bad)
    assert "wrong" in lines[-1]


def test_json_says_status_and_exit_status(
    healthy: DevServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--json", "--provider", "rekall"]) == 0

    said = json.loads(capsys.readouterr().out)
    assert said["exit_status"] == 0
    assert said["status"] in ("ok", "warning")
