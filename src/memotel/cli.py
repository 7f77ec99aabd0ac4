"""The `memotel` command: the demo, the development server, the doctor and the outbox."""

import argparse
import importlib
import sys
from collections.abc import Sequence

EXIT_USAGE = 2

COMMANDS = {
    "demo": ("memotel.demo", "real agents with memory, live, with metrics to scrape"),
    "devserver": (
        "memotel.devserver.__main__",
        "both memory services on this machine, for development",
    ),
    "doctor": ("memotel.doctor", "is memory set up, does it work, and what is to be done"),
    "outbox": ("memotel.outboxcli", "accepted writes on disk: status, list, resend, purge"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit status. A missing extra is one clear line."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    command, rest = _parse(arguments)
    module_name = COMMANDS[command][0]
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        missing = (error.name or "").split(".")[0]
        if missing == "memotel":
            raise
        reason = f"it needs {missing}" if missing else str(error)
        extra = "devserver" if command == "devserver" else "all"
        sys.stderr.write(f'memotel {command}: {reason}; pip install "memotel[{extra}]"\n')
        return EXIT_USAGE
    status: int = module.main(rest)
    return status


class _Version(argparse.Action):
    """Shows the release. It is looked up only here: that takes as long as all the rest of the start."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        release = importlib.import_module("importlib.metadata").version("memotel")
        sys.stdout.write(f"memotel {release}\n")
        parser.exit()


def _parse(arguments: list[str]) -> tuple[str, list[str]]:
    parser = argparse.ArgumentParser(
        prog="memotel",
        description="Memory middleware for agents, with the instruments on.",
        epilog="\n".join(f"  {name:<10} {text}" for name, (_, text) in COMMANDS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--version", action=_Version, nargs=0, help="show program's version number and exit"
    )
    parser.add_argument("command", choices=sorted(COMMANDS), help="see below")
    parser.add_argument("rest", nargs=argparse.REMAINDER, help="its options; add --help for them")
    if not arguments:
        parser.error(f"say which command: {', '.join(COMMANDS)}; --help says what each is for")
    parsed = parser.parse_args(arguments)
    return parsed.command, parsed.rest


if __name__ == "__main__":
    raise SystemExit(main())
