"""The command ``memotel devserver``, also ``python -m memotel.devserver``."""

import argparse
import errno
import shutil
import signal
import socket
import sqlite3
import sys
import threading
from collections.abc import Sequence
from typing import Final

from memotel.devserver.faults import fault_from_text
from memotel.devserver.limits import MEMORYSYNC_FREE, REKALL_FREE
from memotel.devserver.routes import Service
from memotel.devserver.server import DevServer

DEFAULT_PORT: Final = 9876
MAX_PORT: Final = 65_535
EXIT_USAGE: Final = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until SIGINT or SIGTERM; return the exit code: 0, or 2 with one line on stderr."""
    options = _parser().parse_args(argv)
    try:
        server = _started(options)
    except (OSError, ValueError, sqlite3.Error) as error:
        sys.stderr.write(f"memotel devserver: {_reason(error, options)}\n")
        return EXIT_USAGE
    with server:
        _say(_banner(server, options))
        _wait_for_signal()
    return 0


def _started(options: argparse.Namespace) -> DevServer:
    server = DevServer(
        options.host,
        options.port,
        tls=options.tls or options.ca_file is not None,
        db=options.db,
        keys=options.key,
        faults=[fault_from_text(text) for text in options.fault],
        allow_remote=options.allow_remote,
        seed=options.seed,
    )
    server.set_quota(options.quota)
    if options.free_plan:
        server.set_rate_limit(MEMORYSYNC_FREE, Service.MEMORYSYNC)
        server.set_rate_limit(REKALL_FREE, Service.REKALL)
    server.start()
    if options.ca_file is not None and server.ca_file is not None:
        try:
            shutil.copyfile(server.ca_file, options.ca_file)
        except OSError:
            server.stop()
            raise
    return server


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="memotel devserver",
        description="Serve both memory services on this machine, for development and tests. "
        "Relevance is words in common (BM25, mapped to 0..1): no memory product.",
    )
    parser.add_argument("--host", default="localhost", help="default: %(default)s")
    parser.add_argument(
        "--port", type=_port, default=DEFAULT_PORT, help="0 = a free one; default: %(default)s"
    )
    parser.add_argument("--allow-remote", action="store_true", help="allow a host not loopback")
    parser.add_argument("--tls", action="store_true", help="https with a throwaway authority")
    parser.add_argument("--ca-file", help="also write its certificate (PEM) there; implies --tls")
    parser.add_argument("--db", help="keep items in this SQLite file; default: in memory")
    parser.add_argument("--key", action="append", help="accept only this key (repeatable)")
    parser.add_argument(
        "--fault",
        action="append",
        default=[],
        metavar="KIND:FIELD=VALUE,...",
        help="a fault (repeatable), such as delay:on=recalls,delay_s=2 or status:status=503",
    )
    parser.add_argument("--quota", type=_count, help="MemorySync writes per key, then silence")
    parser.add_argument("--free-plan", action="store_true", help="the free plans' rate limits")
    parser.add_argument("--seed", type=int, default=0, help="of random delays")
    return parser


def _port(text: str) -> int:
    if not (text.isdecimal() and int(text) <= MAX_PORT):
        raise argparse.ArgumentTypeError(f"must be a port from 0 to {MAX_PORT}, not {text!r}")
    return int(text)


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"must be a whole number from 0 up, not {text!r}")
    return int(text)


def _reason(error: Exception, options: argparse.Namespace) -> str:
    """Say which option cannot be used, and why."""
    if isinstance(error, sqlite3.Error):
        return f"--db {options.db}: {error}; give a file in a folder that is there"
    if isinstance(error, socket.gaierror):
        return f"--host {options.host}: {error.strerror}"
    if not isinstance(error, OSError):
        return str(error)
    if error.errno == errno.EADDRINUSE:
        return (
            f"port {options.port} is taken: stop what listens there, or choose another with --port"
        )
    if options.ca_file is not None and error.filename is not None:
        return f"--ca-file {options.ca_file}: {error.strerror}"
    return f"--host {options.host} --port {options.port}: {error.strerror}"


def _banner(server: DevServer, options: argparse.Namespace) -> str:
    lines = [f"memotel devserver: Rekall v2 and MemorySync v1 on {server.url}"]
    if server.ca_file is not None:
        lines.append(f"trust this authority: {options.ca_file or server.ca_file}")
    lines += [f"fault in force: {fault.kind} on {fault.on}" for fault in server.faults.in_force()]
    lines.append(f"faults: POST {server.url}/_faults; state: GET {server.url}/_state; Ctrl-C ends")
    return "\n".join(lines)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _wait_for_signal() -> None:
    is_over = threading.Event()
    previous = {
        number: signal.signal(number, lambda *_: is_over.set())
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        is_over.wait()
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


if __name__ == "__main__":
    sys.exit(main())
