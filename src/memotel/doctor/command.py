"""`memotel doctor`: what is set, what works, and what to do about what does not."""

import argparse
import json
import logging
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from memotel.doctor.cases import Options
from memotel.doctor.examination import Surroundings, examine
from memotel.doctor.findings import Finding, Level, worst
from memotel.outcomes import Provider
from memotel.settings import read_environment

EXIT_FINE = 0
EXIT_WRONG = 1
MARKS = {Level.OK: "ok  ", Level.WARNING: "warn", Level.PROBLEM: "BAD "}


def main(argv: Sequence[str] | None = None) -> int:
    """Examine and report; return 0 where nothing is wrong, 1 where something is. Wrong usage exits with 2."""
    parser = _parser()
    given = parser.parse_args(argv)
    if given.write_probe and not given.user:
        parser.error("--write-probe writes to somebody's memory: say whose with --user NAME")
    if (given.base_url or given.api_key_file) and len(given.provider) != 1:
        parser.error("--base-url and --api-key-file are of one service: name it with --provider")
    # What is wrong is in the findings; the log would say it twice.
    logging.getLogger("memotel").addHandler(logging.NullHandler())
    found = examine(_options(given), Surroundings(read_environment()))
    return _written(list(found)) if given.json else _told(found)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="memotel doctor",
        description="Say what is set and where from, try the way to each memory service with one recall, and say what "
        "to do about what is wrong. It reads the environment: run it where and as the agents run. "
        "It shows no key, and writes nothing unless --write-probe is given.",
        epilog="Exit status: 0 nothing is wrong, 1 something is (lines marked BAD), 2 wrong usage.",
    )
    parser.add_argument(
        "--provider",
        action="append",
        default=[],
        choices=[provider.value for provider in Provider],
        metavar="|".join(Provider),
        help="examine this service only (may be repeated)",
    )
    parser.add_argument("--base-url", help="its address, in place of its variable")
    parser.add_argument("--api-key-file", type=Path, help="a file with its key")
    parser.add_argument("--write-probe", action="store_true", help="store one text as well")
    parser.add_argument("--user", metavar="NAME", help="whose memory the write probe goes to")
    parser.add_argument("--json", action="store_true", help="the same as data")
    return parser


def _options(given: argparse.Namespace) -> Options:
    return Options(
        providers=tuple(dict.fromkeys(map(Provider, given.provider))),
        url=given.base_url,
        key_file=given.api_key_file,
        write_user=given.user if given.write_probe else None,
    )


def _written(found: Sequence[Finding]) -> int:
    """Print everything as JSON."""
    sys.stdout.write(json.dumps(_report(found), indent=2) + "\n")
    return _status(found)


def _told(found: Iterable[Finding]) -> int:
    """Print each finding as it comes."""
    told: list[Finding] = []
    for finding in found:
        told.append(finding)
        sys.stdout.write(line(finding) + "\n")
        sys.stdout.flush()
    sys.stdout.write(f"\n{_summary(told)}\n")
    return _status(told)


def line(finding: Finding) -> str:
    """Return a finding as one line for people."""
    subject = f" {finding.subject}" if finding.subject else ""
    advice = f" -> {finding.advice}" if finding.advice else ""
    text = f"{MARKS[finding.level]} {finding.topic.value:<12}{subject}: {finding.message}{advice}"
    return " ".join(text.split("\n"))


def _summary(found: Sequence[Finding]) -> str:
    problems = sum(finding.level is Level.PROBLEM for finding in found)
    warnings = sum(finding.level is Level.WARNING for finding in found)
    if not problems and not warnings:
        return "All is well."
    return f"{problems} wrong, {warnings} to look at; everything else is well."


def _report(found: Sequence[Finding]) -> dict[str, object]:
    return {
        "status": worst(found).value,
        "exit_status": _status(found),
        "findings": [finding.as_json() for finding in found],
    }


def _status(found: Iterable[Finding]) -> int:
    return EXIT_WRONG if worst(found) is Level.PROBLEM else EXIT_FINE
