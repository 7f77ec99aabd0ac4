"""`memotel outbox` on real files: of a process that lives, of one that was killed, of one that is damaged."""

import json
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from memotel.devserver import DevServer, Fault
from memotel.outboxcli import main
from memotel.outboxcli.options import duration_s
from memotel.outboxcli.tables import age, safe
from memotel.writes.disk.schema import outbox_files

PATIENCE_S = 60.0
TEXTS = {"ada": ["ada likes oolong tea", "ada has two cats"], "bob": ["bob rides a red bike"]}

OWNER = """
import json, os, sys, time
from memotel import Adapter, MemoryClient, Provider, Scope, Speaker, Turn, resolve
from memotel.config import OutboxPolicy, WritePolicy

url, directory, key, texts = sys.argv[1:]
memory = MemoryClient(resolve(
    Provider.MEMORYSYNC, Adapter.DIRECT, url=url, api_key=key,
    outbox_policy=OutboxPolicy(url=f"sqlite://{directory}", adopt_interval_s=0.2),
    writes=WritePolicy(exit_drain_s=30.0, backoff_max_s=0.5),
))
for user, said in json.loads(texts).items():
    for text in said:
        memory.write(Turn(Scope(user, f"{user}'s session"), Speaker.HUMAN, text))
memory.recall(Scope("eve", "s"), "start, whatever there is to write")
print("accepted", flush=True)
for order in sys.stdin:
    if order.strip() == "flush":
        report = memory.flush(30.0)
        print(report.pending, report.failed, flush=True)
"""


class Owner:
    """A process that has accepted writes and lives until it is ended or killed."""

    def __init__(self, server: DevServer, directory: Path, key: str, texts: object) -> None:
        command = (sys.executable, "-c", OWNER, server.url, str(directory), key, json.dumps(texts))
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._answer() == "accepted"

    @property
    def pid(self) -> int:
        return self._process.pid

    def flush(self) -> str:
        """Have it flush; return what is pending and what failed."""
        assert self._process.stdin is not None
        self._process.stdin.write("flush\n")
        self._process.stdin.flush()
        return self._answer()

    def end(self) -> None:
        """Let it end as any script does."""
        self._process.communicate(timeout=PATIENCE_S)
        assert self._process.returncode == 0

    def kill(self) -> None:
        """Kill it without warning."""
        self._process.send_signal(signal.SIGKILL)
        self._process.communicate(timeout=PATIENCE_S)

    def _answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


class Owners:
    """Starts owners, and kills what is left of them."""

    def __init__(self, server: DevServer, directory: Path) -> None:
        self.server, self.directory = server, directory
        self._left = ExitStack()

    def start(self, texts: object = None, key: str = "ms_red") -> Owner:
        owner = Owner(self.server, self.directory, key, TEXTS if texts is None else texts)
        self._left.callback(owner.kill)
        return owner

    def close(self) -> None:
        self._left.close()


@pytest.fixture
def server() -> Iterator[DevServer]:
    with DevServer() as server:
        yield server


@pytest.fixture
def owners(server: DevServer, tmp_path: Path) -> Iterator[Owners]:
    directory = tmp_path / "outbox"
    directory.mkdir()
    found = Owners(server, directory)
    yield found
    found.close()


@pytest.fixture
def away(server: DevServer) -> None:
    server.faults.set(Fault("status", "writes", status=503))


@pytest.fixture
def rejecting(server: DevServer) -> None:
    server.faults.set(Fault("status", "writes", status=422))


def data(capsys: pytest.CaptureFixture[str], *arguments: object, status: int = 0) -> Any:
    capsys.readouterr()
    assert main([*map(str, arguments), "--json"]) == status
    found = json.loads(capsys.readouterr().out)
    assert found["exit_status"] == status
    return found


def said(capsys: pytest.CaptureFixture[str], *arguments: object, status: int = 0) -> str:
    capsys.readouterr()
    assert main([*map(str, arguments)]) == status
    return capsys.readouterr().out


def texts(server: DevServer) -> list[str]:
    return sorted(item.text.removeprefix("human: ") for item in server.items())


def everything() -> list[str]:
    return sorted(text for said in TEXTS.values() for text in said)


@pytest.mark.usefixtures("away")
def test_status_tells_a_living_owner_from_one_that_was_killed(
    owners: Owners, capsys: pytest.CaptureFixture[str]
) -> None:
    dead, alive = owners.start(key="ms_red"), owners.start(key="ms_blue")
    dead.kill()
    found = data(capsys, "status", owners.directory)["files"]
    assert {int(file["origin"]["pid"]): file["is_owned"] for file in found} == {
        dead.pid: False,
        alive.pid: True,
    }
    books = [account for file in found for account in file["accounts"]]
    assert [(each["pending"], each["accepted"], each["unaccounted"]) for each in books] == [
        (3, 3, 0)
    ] * 2
    shown = said(capsys, "status", owners.directory)
    assert f"{dead.pid} ended" in shown
    assert f"{alive.pid} lives" in shown
    assert "memorysync" in shown


@pytest.mark.usefixtures("away")
@pytest.mark.parametrize("is_killed", [False, True])
def test_list_shows_no_words_unless_asked(
    owners: Owners, capsys: pytest.CaptureFixture[str], *, is_killed: bool
) -> None:
    owner = owners.start()
    if is_killed:
        owner.kill()
    for options in ((), ("--json",)):
        shown = said(capsys, "list", owners.directory, *options)
        assert "ada's session" in shown
        assert not [text for text in everything() if text in shown]
        shown = said(capsys, "list", owners.directory, "--show-content", *options)
        assert all(text in shown for text in everything())


@pytest.mark.usefixtures("away")
def test_list_finds_writes_by_all_that_is_given(
    owners: Owners, capsys: pytest.CaptureFixture[str]
) -> None:
    owners.start(key="ms_red")
    owners.start({"ada": ["ada of the other account"]}, key="ms_blue").kill()

    def found(*options: str) -> list[str]:
        command = ("list", owners.directory, "--show-content", *options)
        return sorted(each["text"] for each in data(capsys, *command)["writes"])

    red = next(
        each["account"]
        for each in data(capsys, "list", owners.directory)["writes"]
        if each["user"] == "bob"
    )
    key = data(capsys, "list", owners.directory, "--user", "bob")["writes"][0]["key"]
    assert found("--user", "bob") == TEXTS["bob"]
    assert found("--key", key) == TEXTS["bob"]
    assert found("--session", "ada's session", "--account", red) == sorted(TEXTS["ada"])
    assert found("--account", red[:8]) == everything()
    assert found("--older-than", "1h") == []
    assert found("--user", "ada", "--older-than", "0s", "--waiting") == sorted(
        [*TEXTS["ada"], "ada of the other account"]
    )
    assert found("--dead") == []
    assert "No write fits" in said(capsys, "list", owners.directory, "--user", "nobody")


@pytest.mark.usefixtures("away")
def test_purge_of_a_killed_owners_file_leaves_no_word_on_disk_and_the_rest_is_delivered(
    owners: Owners, capsys: pytest.CaptureFixture[str]
) -> None:
    owners.start().kill()
    assert data(capsys, "purge", owners.directory, "--user", "ada")["waiting"] == 2
    left = b"".join(path.read_bytes() for path in owners.directory.iterdir())
    assert b"oolong" not in left
    assert b"red bike" in left
    books = data(capsys, "status", owners.directory)["files"][0]["accounts"][0]
    assert (books["pending"], books["ended"]["dropped"], books["unaccounted"]) == (1, 2, 0)
    owners.server.faults.clear()
    heir = owners.start({})
    assert owners.server.wait_until(lambda: texts(owners.server) == TEXTS["bob"], PATIENCE_S)
    heir.end()
    assert outbox_files(owners.directory) == []


@pytest.mark.usefixtures("away")
def test_purge_of_a_living_owners_file_is_heeded_by_it(
    owners: Owners, capsys: pytest.CaptureFixture[str]
) -> None:
    owner = owners.start()
    shown = said(capsys, "purge", owners.directory, "--session", "ada's session")
    assert "2 waiting writes and 0 dead letters were removed" in shown
    owners.server.faults.clear()
    owner.end()
    assert texts(owners.server) == TEXTS["bob"]


@pytest.mark.usefixtures("rejecting")
@pytest.mark.parametrize("is_killed", [False, True])
def test_resend_puts_dead_letters_back_and_they_arrive(
    owners: Owners, capsys: pytest.CaptureFixture[str], *, is_killed: bool
) -> None:
    owner = owners.start()
    assert owner.flush().startswith(
        "0 "
    )  # a write may be rejected before the flush begins to count
    assert [
        (each["state"], "422" in each["cause"])
        for each in data(capsys, "list", owners.directory, "--dead")["writes"]
    ] == [("dead", True)] * 3
    if is_killed:
        owner.kill()
    owners.server.faults.clear()
    assert data(capsys, "resend", owners.directory, "--user", "ada")["resent"] == 2
    if is_killed:
        owner = owners.start({})
    assert owners.server.wait_until(
        lambda: texts(owners.server) == sorted(TEXTS["ada"]), PATIENCE_S
    )
    left = data(capsys, "list", owners.directory)["writes"]
    assert [(each["state"], each["user"]) for each in left] == [("dead", "bob")]
    assert "1 dead letters were put back; a process" in said(capsys, "resend", owners.directory)
    assert owners.server.wait_until(lambda: texts(owners.server) == everything(), PATIENCE_S)
    assert "0 dead letters were put back." in said(capsys, "resend", owners.directory)
    owner.end()
    assert outbox_files(owners.directory) == []


@pytest.mark.usefixtures("rejecting")
def test_purge_of_dead_letters_alone_leaves_what_waits(
    owners: Owners, capsys: pytest.CaptureFixture[str]
) -> None:
    owner = owners.start({"ada": TEXTS["ada"]})
    assert owner.flush().startswith("0 ")  # as above
    owners.server.faults.set(Fault("status", "writes", status=503))
    owners.start({"bob": TEXTS["bob"]}, key="ms_blue")
    found = data(capsys, "purge", owners.directory, "--all", "--dead")
    assert (found["waiting"], found["dead"]) == (0, 2)
    found = data(capsys, "purge", owners.directory, "--all", "--waiting")
    assert (found["waiting"], found["dead"]) == (1, 0)


@pytest.mark.usefixtures("away")
def test_a_damaged_file_is_named_and_the_others_are_shown(
    owners: Owners, capsys: pytest.CaptureFixture[str]
) -> None:
    owners.start()
    damaged = owners.directory / "outbox-00000000000000000000-0badf11e.db"
    damaged.write_bytes(b"no database at all, whatever its name says" * 100)
    for action in ("status", "list"):
        found = data(capsys, action, owners.directory, status=1)
        assert [each["file"] for each in found["problems"]] == [damaged.name]
    assert len(data(capsys, "list", owners.directory, status=1)["writes"]) == 3
    found = data(capsys, "purge", owners.directory, "--user", "ada", status=1)
    assert found["waiting"] == 2
    capsys.readouterr()
    assert main(["purge", str(owners.directory), "--user", "ada"]) == 1
    assert damaged.name in capsys.readouterr().err


def test_a_file_that_was_set_aside_is_pointed_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "outbox-0-old.db.corrupt-1700000000").write_bytes(b"words may be here")
    (tmp_path / "outbox-0-old.db.corrupt-1700000000-wal").write_bytes(b"and here")
    found = data(capsys, "status", tmp_path, status=1)
    assert [each["file"] for each in found["problems"]] == ["outbox-0-old.db.corrupt-1700000000"]


def test_a_file_of_a_newer_memotel_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "outbox-00000000000000000000-0badf11e.db"
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    (problem,) = data(capsys, "status", tmp_path, status=1)["problems"]
    assert "99" in problem["reason"]


def test_an_empty_directory_is_fine_also_by_its_setting(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "Nothing is kept" in said(capsys, "status", tmp_path)
    assert "Nothing is kept" in said(capsys, "status", f"sqlite://{tmp_path}")
    assert data(capsys, "purge", tmp_path, "--all")["waiting"] == 0


@pytest.mark.usefixtures("away")
def test_an_account_is_named_by_a_beginning_that_only_it_has(
    owners: Owners, capsys: pytest.CaptureFixture[str]
) -> None:
    owners.start()
    owners.start(key="ms_blue")
    for beginning, reason in (("", "2 accounts"), ("nobody", "no account")):
        assert main(["list", str(owners.directory), "--account", beginning]) == 2
        assert reason in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("purge",), "purge needs to know which"),
        (("purge", "--older-than", "soon"), "'soon' is no age"),
        (("list", "--waiting", "--dead"), "not allowed with"),
        (("status", "--user", "ada"), "unrecognized"),
    ],
)
def test_wrong_usage_says_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], reason: str
) -> None:
    action, *options = arguments
    with pytest.raises(SystemExit) as ended:
        main([action, str(tmp_path), *options])
    assert ended.value.code == 2
    assert reason in capsys.readouterr().err


@pytest.mark.parametrize("place", ["nowhere", "sqlite:///nowhere/at/all", "redis://host"])
def test_a_directory_that_is_none_is_one_line(
    capsys: pytest.CaptureFixture[str], place: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["status", place])
    assert ended.value.code == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_the_command_runs_without_any_extra(tmp_path: Path) -> None:
    block = "import sys; sys.modules.update(rich=None, starlette=None, autogen=None); "
    run = "from memotel.cli import main; raise SystemExit(main())"
    done = subprocess.run(
        [sys.executable, "-c", block + run, "outbox", "status", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_ages_are_read_and_shown() -> None:
    assert [duration_s(text) for text in ("90", "1.5m", "2h", "7d", "1w")] == [
        90.0,
        90.0,
        7_200.0,
        604_800.0,
        604_800.0,
    ]
    assert [age(seconds) for seconds in (0.0, 59.0, 61.0, 7_200.0, 200_000.0)] == [
        "0 s",
        "59 s",
        "1 min",
        "2 h",
        "2 d",
    ]
    assert duration_s("1h") < time.time()


def test_what_steers_a_terminal_is_shown_and_not_sent_to_it() -> None:
    assert safe("a\x1b[2Jb\nc\u202ed\udc80") == "a\\x1b[2Jb\\nc\\u202ed\\udc80"
    assert safe("zo\u00eb \u732b") == "zo\u00eb \u732b"
