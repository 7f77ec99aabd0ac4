"""Nothing accepted is lost, and nothing is sent twice: real processes that exit, are killed, fork and share a directory."""

import json
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from unmeasured import unmeasured

from memotel.devserver import DevServer, Fault
from memotel.writes.disk import inspection as outside
from memotel.writes.disk.schema import outbox_files

USER = "ada"
PRELUDE = """
import json, os, signal, sys, threading, time
from memotel import Adapter, MemoryClient, Provider, Scope, Speaker, Turn, resolve
from memotel.config import OutboxPolicy, WritePolicy

URL, OUTBOX = sys.argv[1:3]

def client(api_key="ms_1", **given):
    policy = OutboxPolicy(url=OUTBOX, adopt_interval_s=0.1)
    given.setdefault("writes", WritePolicy(exit_drain_s=20.0, backoff_max_s=1.0))
    return MemoryClient(
        resolve(Provider.MEMORYSYNC, Adapter.DIRECT, url=URL, api_key=api_key, outbox_policy=policy, **given)
    )

def say(memory, *texts, session="s", user="ada"):
    for text in texts:
        memory.write(Turn(Scope(user, session), Speaker.HUMAN, text, source="test"))

def until(claim, seconds=40.0):
    end = time.monotonic() + seconds
    while not claim():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.01)
"""
QUICK = "writes=WritePolicy(exit_drain_s=0.0, backoff_max_s=1.0)"


@pytest.fixture
def server() -> Iterator[DevServer]:
    with DevServer() as server:
        yield server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "outbox"


def start(server: DevServer, folder: Path, body: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(body), server.url, f"sqlite://{folder}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**unmeasured(), "PYTHONWARNINGS": "error"},
    )


def run(server: DevServer, folder: Path, body: str, status: int = 0) -> tuple[str, str]:
    """Run a program to its end; return what it printed, and what it said on stderr."""
    with start(server, folder, body) as process:
        out, said = process.communicate(timeout=90)
        assert process.returncode == status, said
        return out, said


def stored(server: DevServer) -> list[str]:
    """Return the texts that the service has, having made sure that each was sent once."""
    items = server.items(USER)
    assert [item.deliveries for item in items] == [1] * len(items)
    return [item.text.removeprefix("human: ") for item in items]


def waiting(folder: Path) -> list[str]:
    return [row.write.turn.text for path in outbox_files(folder) for row in outside.waiting(path)]


DELIVER = """
    memory = client()
    memory.recall(Scope("ada", "s"), "what do you know")
    until(lambda: not os.listdir(OUTBOX[9:]) or memory.stats().totals.adopted >= {count})
    assert memory.flush(40.0).pending == 0
    print(json.dumps(memory.stats().totals.unaccounted))
"""


def deliver(server: DevServer, folder: Path, count: int) -> None:
    """Start a process that does nothing but recall, and let it deliver what it finds."""
    out, _ = run(server, folder, DELIVER.format(count=count))
    assert json.loads(out) == 0
    assert list(folder.iterdir()) == []


def test_normal_exit_during_an_outage_loses_nothing_and_says_nothing_of_losses(
    server: DevServer, folder: Path
) -> None:
    texts = [f"turn number {number}" for number in range(50)]
    server.faults.set(Fault("refuse"))
    _, said = run(server, folder, f"say(client({QUICK}), *{texts})")
    assert "dropped" not in said
    assert sorted(waiting(folder)) == sorted(texts)

    server.faults.clear()
    deliver(server, folder, 50)

    assert stored(server) == texts


def test_directory_and_files_are_the_users_alone(server: DevServer, folder: Path) -> None:
    server.faults.set(Fault("refuse"))
    run(server, folder, f"os.umask(0); say(client({QUICK}), 'one')")

    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


@pytest.mark.parametrize("mode", ["", "?synchronous=full"])
def test_sigkill_after_accept_loses_nothing_and_doubles_nothing(
    server: DevServer, folder: Path, mode: str
) -> None:
    server.faults.set(Fault("hang"))
    body = f"""
        OUTBOX += "{mode}"
        memory = client()
        say(memory, *(f"turn number {{number}}" for number in range(200)))
        print(memory.stats().totals.accepted, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    out, _ = run(server, folder, body, -signal.SIGKILL)
    assert out == "200\n"
    assert len(waiting(folder)) == 200

    server.faults.clear()
    deliver(server, folder, 200)

    assert stored(server) == [f"turn number {number}" for number in range(200)]


def test_sigterm_without_a_handler_loses_nothing(server: DevServer, folder: Path) -> None:
    server.faults.set(Fault("hang"))
    with start(
        server, folder, "say(client(), 'one', 'two'); print('ready', flush=True); time.sleep(60)"
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.terminate()
        assert process.wait(30) == -signal.SIGTERM
    server.faults.clear()
    deliver(server, folder, 2)

    assert stored(server) == ["one", "two"]


def test_four_workers_share_a_directory_and_the_others_deliver_for_one_that_is_killed(
    server: DevServer, folder: Path
) -> None:
    body = """
        me = {number}
        memory = client()
        say(memory, *(f"{{me}}: {{number}}" for number in range(100)), session=str(me))
        if me == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        print("ready", flush=True)
        sys.stdin.readline()
    """
    workers = [
        subprocess.Popen(
            [
                sys.executable,
                "-c",
                PRELUDE + textwrap.dedent(body.format(number=number)),
                server.url,
                f"sqlite://{folder}",
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=unmeasured(),
        )
        for number in range(4)
    ]
    try:
        assert workers[0].wait(60) == -signal.SIGKILL
        assert server.wait_until(lambda: len(server.items(USER)) == 400, 60.0)
    finally:
        for worker in workers[1:]:
            worker.communicate("\n", timeout=60)
        workers[0].communicate()

    assert [worker.returncode for worker in workers] == [-signal.SIGKILL, 0, 0, 0]
    assert sorted(stored(server)) == sorted(f"{w}: {n}" for w in range(4) for n in range(100))
    assert list(folder.iterdir()) == []


def test_writes_of_another_credential_are_never_sent_with_this_one(
    server: DevServer, folder: Path
) -> None:
    server.faults.set(Fault("refuse"))
    run(server, folder, f"say(client('ms_theirs', {QUICK}), 'theirs')")
    run(server, folder, f"say(client('ms_ours', {QUICK}), 'ours')")
    server.faults.clear()
    body = """
        memory = client("ms_ours")
        memory.recall(Scope("ada", "s"), "what do you know")
        until(lambda: memory.stats().totals.delivered == 1)
        from memotel.counts import Gauge
        until(lambda: memory.counts.snapshot()[Gauge.OUTBOX_FOREIGN][("memorysync",)] == 1)
    """
    run(server, folder, body)

    assert stored(server) == ["ours"]
    (left,) = outbox_files(folder)
    (row,) = outside.waiting(left)
    assert row.write.turn.text == "theirs"
    content = b"".join(path.read_bytes() for path in folder.iterdir())
    assert b"ms_theirs" not in content
    assert b"ms_ours" not in content


@pytest.mark.parametrize("when", ["before", "after"])
def test_forked_child_has_a_file_of_its_own_and_leaves_its_parent_alone(
    server: DevServer, folder: Path, when: str
) -> None:
    body = f"""
        memory = client()
        if "{when}" == "after":
            say(memory, *(f"before {{n}}" for n in range(20)))
        child = os.fork()
        who = "parent" if child else "child"
        say(memory, *(f"{{who}} {{n}}" for n in range(20)), session=who)
        accepted = memory.stats().totals.accepted
        assert accepted == (40 if child and "{when}" == "after" else 20), accepted
        if child:
            assert os.waitpid(child, 0)[1] == 0
            say(memory, "after the child's end")
    """
    _, said = run(server, folder, body)

    assert said == ""
    expected = {
        "after the child's end",
        *(f"{w} {n}" for w in ("parent", "child") for n in range(20)),
    }
    expected |= {f"before {n}" for n in range(20)} if when == "after" else set()
    assert set(stored(server)) == expected
    assert list(folder.iterdir()) == []


def test_forked_child_that_lives_on_does_not_keep_its_dead_parents_file(
    server: DevServer, folder: Path
) -> None:
    server.faults.set(Fault("hang"))
    body = """
        memory = client()
        say(memory, "what the parent said")
        if os.fork():
            os._exit(0)
        os.close(1), os.close(2)
        sys.stdin.readline()
    """
    command = [sys.executable, "-c", PRELUDE + textwrap.dedent(body), server.url]
    with subprocess.Popen(
        [*command, f"sqlite://{folder}"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=unmeasured(),
    ) as parent:
        assert parent.wait(30) == 0
        (path,) = outbox_files(folder)
        assert not outside.inspect(path).is_owned
        server.faults.clear()
        deliver(server, folder, 1)
        assert parent.stdin is not None
        parent.stdin.close()

    assert stored(server) == ["what the parent said"]


def test_multiprocessing_child_that_is_forked_amid_writes_of_other_threads_works(
    server: DevServer, folder: Path
) -> None:
    body = """
        import multiprocessing

        memory = client()
        stop = threading.Event()

        def chatter():
            number = 0
            while not stop.is_set() and number < 300:
                say(memory, f"chatter {number}", session="chatter")
                number += 1

        def work(me):
            say(memory, f"child {me}", session=str(me))
            assert memory.flush(40.0).pending == 0
            memory.close()

        thread = threading.Thread(target=chatter)
        thread.start()
        fork = multiprocessing.get_context("fork")
        children = [fork.Process(target=work, args=(me,)) for me in range(5)]
        for child in children:
            child.start()
        for child in children:
            child.join(60)
        stop.set()
        thread.join()
        print([child.exitcode for child in children], memory.stats().totals.unaccounted)
        print(memory.stats().totals.accepted)
    """
    out, said = run(server, folder, body)
    codes, accepted = out.splitlines()

    assert (codes, said) == ("[0, 0, 0, 0, 0] 0", "")
    assert len(stored(server)) == int(accepted) + 5
    assert list(folder.iterdir()) == []


def test_full_disk_costs_one_line_and_the_agent_goes_on(server: DevServer, folder: Path) -> None:
    """The kernel refuses to let the file grow, as a full disk would."""
    server.faults.set(Fault("refuse"))
    body = f"""
        import resource
        memory = client({QUICK})
        say(memory, "kept")
        resource.setrlimit(resource.RLIMIT_FSIZE, (64_000, resource.RLIM_INFINITY))
        say(memory, *("x" * 10_000 + str(number) for number in range(20)))
        assert memory.stats().totals.pending == 21
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        from memotel.counts import Gauge
        until(lambda: memory.counts.snapshot()[Gauge.OUTBOX_DEGRADED][("memorysync",)] == 0)
    """
    _, said = run(server, folder, body)

    assert said.count("outbox.degraded") == 1
    assert said.count("outbox.restored") == 1
    assert "Traceback" not in said
    assert len(waiting(folder)) == 21
    server.faults.clear()
    deliver(server, folder, 21)
    assert len(stored(server)) == 21


def test_process_that_only_recalls_makes_no_mess(server: DevServer, folder: Path) -> None:
    run(
        server,
        folder,
        """
        memory = client()
        memory.recall(Scope("ada", "s"), "what do you know")
        until(lambda: os.path.isdir(OUTBOX[9:]) and os.listdir(OUTBOX[9:]))
        """,
    )

    assert list(folder.iterdir()) == []


def test_import_and_construction_make_nothing(server: DevServer, folder: Path) -> None:
    out, _ = run(server, folder, "client(); print(threading.active_count())")

    assert out == "1\n"
    assert not folder.exists()


def test_variable_sets_the_outbox_and_a_network_file_system_is_refused_by_its_name(
    server: DevServer, folder: Path, tmp_path: Path
) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"9 1 0:9 / {tmp_path} rw - nfs4 server:/x rw\n")
    body = f"""
        from pathlib import Path
        from memotel import ConfigurationError, places
        os.environ["MEMOTEL_OUTBOX"] = OUTBOX
        settings = resolve(Provider.MEMORYSYNC, Adapter.DIRECT, url=URL, api_key="ms_1")
        assert settings.outbox.url == OUTBOX
        places.MOUNTS = Path("{mounts}")
        os.environ["MEMOTEL_OUTBOX"] = OUTBOX + "/below"
        try:
            resolve(Provider.MEMORYSYNC, Adapter.DIRECT, url=URL, api_key="ms_1")
        except ConfigurationError as error:
            print(error)
    """
    out, _ = run(server, folder, body)

    assert out.startswith("MEMOTEL_OUTBOX: outbox must lie on a local file system, not on nfs4")
