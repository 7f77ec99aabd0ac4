"""``memotel devserver`` as a process."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from raw_client import connect

from memotel.devserver import DevServer

COMMAND = [sys.executable, "-W", "error", "-m", "memotel.devserver"]


@contextmanager
def running(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run the command; yield the process and its URL."""
    process = subprocess.Popen(
        [*COMMAND, "--port", "0", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            assert process.stdout is not None
            found = re.search(r"https?://\S+", process.stdout.readline())
            assert found is not None, process.stderr and process.stderr.read()
            yield process, found.group()
        finally:
            process.kill()


def refused(*arguments: str) -> str:
    """Run a command that cannot start; return its only line."""
    ended = subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, timeout=60, check=False
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    (line,) = ended.stderr.splitlines()
    return line


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_command_serves_until_a_signal_also_while_a_request_hangs(number: signal.Signals) -> None:
    with running("--fault", "hang:on=recalls") as (process, url):
        with connect(url) as sock:
            sock.sendall(b"POST /v1/memory/recall HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
            shown = httpx.get(f"{url}/_faults", trust_env=False).json()
            assert shown == [{"kind": "hang", "on": "recalls"}]
            process.send_signal(number)
            assert process.wait(30) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_command_writes_the_authority_to_trust(tmp_path: Path) -> None:
    ca_file = tmp_path / "ca.pem"
    with running("--ca-file", str(ca_file)) as (_, url), connect(url, ca_file) as sock:
        assert url.startswith("https://localhost:")
        assert sock.getpeername()[1] > 0


def test_command_limits_keys_quota_and_rates() -> None:
    arguments = ("--key", "known", "--quota", "0", "--free-plan")
    with running(*arguments) as (_, url), httpx.Client(base_url=url, trust_env=False) as client:
        turn = {"tenant_id": "default", "user_id": "ada", "text": "human: I drink sencha"}
        sent = [
            client.post("/v1/memory/add_turn", json=turn, headers={"X-API-Key": key})
            for key in ("known", "unknown", "known", "known")
        ]
        assert [answer.status_code for answer in sent[:2]] == [200, 401]
        assert sent[0].json()["processing_status"] == "skipped"
        assert sent[0].headers["X-RateLimit-Limit"] == "2"


def test_taken_port_is_one_clear_line() -> None:
    with DevServer() as server:
        line = refused("--host", "127.0.0.1", "--port", str(server.port))
    assert line.startswith(f"memotel devserver: port {server.port} is taken")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--fault", "flood"), "kind='flood' is not one of"),
        (("--host", "0.0.0.0"), "--allow-remote) is needed"),
        (("--port", "0", "--db", "/no/such/folder/file"), "--db /no/such/folder/file: unable to"),
        (("--port", "0", "--ca-file", "/no/such/folder/ca.pem"), "--ca-file /no/such/folder/ca.p"),
        (("--host", "nobody.invalid"), "--host nobody.invalid: "),
        (("--fault", "delay:delay_s=x"), "delay_s='x' must be a number"),
    ],
)
def test_wrong_options_are_one_clear_line(arguments: tuple[str, ...], message: str) -> None:
    assert message in refused(*arguments)


def test_missing_extra_is_one_clear_line() -> None:
    code = "import sys; sys.modules['starlette'] = None; import memotel.devserver"
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1].endswith(
        "the development server needs 'memotel[devserver]'"
    )
