"""Reads the fields of a JSON request body, collecting what is wrong with them."""

import json
from collections.abc import Mapping

from memotel.devserver.errors import ApiError, Code, Problem


class Fields:
    """The fields of one request body. Read them all, then `check`.

    A field that is wrong reads as its zero value and is remembered as a problem.
    """

    def __init__(self, values: Mapping[str, object]) -> None:
        self._values = values
        self._problems: list[Problem] = []

    @classmethod
    def of(cls, body: bytes) -> "Fields":
        """Read a body.

        Raises:
            ApiError: 422, it is no JSON object.
        """
        try:
            values = json.loads(body)
        except ValueError:
            values = None
        if not isinstance(values, dict):
            problem = Problem("body", "must be a JSON object")
            raise ApiError(422, Code.VALIDATION, "The body is invalid.", problems=(problem,))
        return cls(values)

    def check(self, status: int = 422) -> None:
        """Raise an ApiError of that status if a field read so far was wrong."""
        if self._problems:
            message = "; ".join(f"{p.field}: {p.message}" for p in self._problems)
            raise ApiError(status, Code.VALIDATION, message, problems=tuple(self._problems))

    def text(self, name: str, *, most: int = 1_000_000) -> str:
        """Return a required text of 1 to ``most`` characters."""
        value = self._values.get(name)
        if not isinstance(value, str):
            return self._wrong(name, "field required" if value is None else "must be a string")
        if not 1 <= len(value) <= most:
            return self._wrong(name, f"must have 1 to {most} characters")
        return value

    def optional_text(self, name: str) -> str:
        """Return a text that may be absent or null: then it is empty."""
        value = self._values.get(name)
        if value is None or isinstance(value, str):
            return value or ""
        return self._wrong(name, "must be a string")

    def instant(self, name: str) -> str:
        """Return an optional time, a string or a number, as text."""
        value = self._values.get(name)
        if value is None or isinstance(value, str | int | float):
            return "" if value is None else str(value)
        return self._wrong(name, "must be a time")

    def count(self, name: str, *, default: int, most: int) -> int:
        """Return an optional whole number from 1 to ``most``."""
        value = self._values.get(name, default)
        if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most:
            return value
        self._wrong(name, f"must be a whole number from 1 to {most}")
        return default

    def mapping(self, name: str) -> dict[str, object]:
        """Return an optional JSON object; empty when absent."""
        value = self._values.get(name)
        if value is None or isinstance(value, dict):
            return value or {}
        self._wrong(name, "must be an object")
        return {}

    def _wrong(self, name: str, message: str) -> str:
        self._problems.append(Problem(name, message))
        return ""
