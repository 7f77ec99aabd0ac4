"""Write the tables of docs/stability.md from the names and versions that the code uses.

Usage: stability_tables.py [--check]. With --check nothing is written, and it fails where the file is not fresh.
"""

import importlib
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from memotel.doctor.versions import FRAMEWORKS, LIBRARIES
from memotel.settings import SETTINGS

TARGET = Path(__file__).parents[1] / "docs" / "stability.md"
PACKAGES = (
    "ag2_memorysync",
    "memotel",
    "memotel.ag2",
    "memotel.ag2_v1",
    "memotel.agent_framework",
    "memotel.autogen",
    "memotel.telemetry",
    "memotel.testing",
    "rekall_autogen",
)


def page(text: str) -> str:
    """Return the page with each table made again."""
    for name, table in (
        ("imports", imports()),
        ("settings", settings()),
        ("versions", versions()),
    ):
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        text, count = pattern.subn(lambda found, t=table: f"{found[1]}\n{t}\n{found[2]}", text)  # type: ignore[misc] # a default binds the loop's value
        if count != 1:
            raise SystemExit(f"docs/stability.md must have one place for {name}")
    return text


def imports() -> str:
    """Return the promised names of each package."""
    rows = [
        (f"`{name}`", " ".join(f"`{each}`" for each in importlib.import_module(name).__all__))
        for name in PACKAGES
    ]
    return _table(("package", "names"), rows)


def settings() -> str:
    """Return each setting and its variable."""
    return _table(
        ("setting", "variable"), [(f"`{each.name}`", f"`{each.variable}`") for each in SETTINGS]
    )


def versions() -> str:
    """Return the supported and the tested releases."""
    rows = [
        (
            f"`{each.distribution}`",
            each.what,
            f"`memotel[{each.extra}]`" if each.extra else "always",
            f"from {each.first}" + (f", before {each.before}" if each.before else ""),
            ", ".join(each.tested),
        )
        for each in (*FRAMEWORKS, *LIBRARIES)
    ]
    return _table(("package", "what", "comes with", "supported", "tested"), rows)


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def main(arguments: Sequence[str]) -> int:
    """Write the page, or check it; return the exit status."""
    before = TARGET.read_text(encoding="utf-8")
    after = page(before)
    if "--check" not in arguments:
        TARGET.write_text(after, encoding="utf-8")
    elif before != after:
        print(f"{TARGET.name} is not fresh: run python tools/stability_tables.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
