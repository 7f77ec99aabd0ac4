"""Tables for people: plain text, each column as wide as it needs, safe to show on a terminal."""

from collections.abc import Sequence

UNITS = ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min"), (1.0, "s"))


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table with a head; numbers stand at the right."""
    widths = [max(len(row[at]) for row in (columns, *rows)) for at in range(len(columns))]
    is_number = [all(_is_number(row[at]) for row in rows) for at in range(len(columns))]
    return "\n".join(_line(row, widths, is_number) for row in (columns, *rows))


def _line(row: Sequence[str], widths: Sequence[int], is_number: Sequence[bool]) -> str:
    cells = (
        text.rjust(width) if is_right else text.ljust(width)
        for text, width, is_right in zip(row, widths, is_number, strict=True)
    )
    return "  ".join(cells).rstrip()


def _is_number(text: str) -> bool:
    return text.replace(",", "").isdigit()


def age(seconds: float) -> str:
    """Return a duration in its largest whole unit, such as `3 d`."""
    for size, unit in UNITS:
        if seconds >= size:
            return f"{int(seconds / size)} {unit}"
    return "0 s"


def safe(text: str) -> str:
    """Return a text on one line, in which nothing steers a terminal."""
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape", "replace").decode("ascii")
        for each in text
    )
