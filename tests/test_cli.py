"""The `memotel` command: help, a missing extra, a taken port; each is one clear line."""

import socket
import subprocess
import sys
from importlib.metadata import version

import pytest

from memotel.cli import COMMANDS

RUN = "from memotel.cli import main; raise SystemExit(main())"


def run(*arguments: str, without: str | None = None) -> "subprocess.CompletedProcess[str]":
    block = f"import sys; sys.modules[{without!r}] = None; " if without else ""
    return subprocess.run(
        [sys.executable, "-c", block + RUN, *arguments],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def test_command_help_names_every_command() -> None:
    done = run("--help")

    assert done.returncode == 0
    assert all(name in done.stdout for name in COMMANDS)


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_each_command_has_help(command: str) -> None:
    done = run(command, "--help")

    assert done.returncode == 0
    assert f"memotel {command}" in done.stdout


@pytest.mark.parametrize(
    ("command", "missing"),
    [
        ("demo", "rich"),
        ("demo", "autogen"),
        ("demo", "autogen_agentchat"),
        ("devserver", "starlette"),
    ],
)
def test_missing_extra_is_one_line(command: str, missing: str) -> None:
    done = run(command, without=missing)

    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert missing in done.stderr
    assert "pip install" in done.stderr


def test_demo_on_a_taken_port_is_one_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = run("demo", "--fast", "--metrics-port", str(port))

    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert str(port) in done.stderr


def test_unknown_command_is_named() -> None:
    done = run("dance")

    assert done.returncode == 2
    assert "dance" in done.stderr


def test_fast_demo_ends_well_and_says_so() -> None:
    done = run("demo", "--fast", "--metrics-port", "0")

    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "All is well." in done.stdout
    assert "= " in done.stdout
    assert "circuit_open" in done.stdout
    assert "You told me: " in done.stdout


def test_no_command_names_those_that_there_are() -> None:
    done = run()

    assert done.returncode == 2
    assert "say which command: demo, devserver, doctor, outbox" in done.stderr


def test_version_is_the_installed_one() -> None:
    done = run("--version")

    assert done.returncode == 0
    assert done.stdout == f"memotel {version('memotel')}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("demo", "--metrics-port", "99999"), "--metrics-port must be a port from 0 to 65535"),
        (("devserver", "--port", "99999"), "--port: must be a port from 0 to 65535, not '99999'"),
        (("devserver", "--port", "http"), "--port: must be a port from 0 to 65535, not 'http'"),
        (("devserver", "--quota", "-1"), "--quota: must be a whole number from 0 up, not '-1'"),
        (("doctor", "--provider", "mem0"), "choose from 'memorysync', 'rekall'"),
        (("outbox", "status", ""), "DIRECTORY is empty"),
        (("outbox", "status", "redis://me:hush@queue"), "outbox must be 'memory' or 'sqlite:///"),
    ],
    ids=" ".join,
)
def test_wrong_option_is_named_with_what_is_allowed(
    arguments: tuple[str, ...], message: str
) -> None:
    done = run(*arguments)

    assert done.returncode == 2
    assert message in done.stderr
    assert "hush" not in done.stderr
