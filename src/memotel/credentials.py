"""Where a credential comes from, and how it is read again without ever being shown."""

import hashlib
import inspect
from collections.abc import Awaitable, Callable
from pathlib import Path

CredentialCallable = Callable[[], str | Awaitable[str]]


class Credential:
    """A key or token: given as a string, a callable (sync or async), or a file.

    Its repr never shows it. `source` identifies where it comes from, for the account key: the string itself for a
    string (two keys are two accounts), the callable's or file's name otherwise (a rotated key is the same account).
    """

    __slots__ = ("_callable", "_path", "_text", "_value")

    def __init__(
        self,
        text: str | None = None,
        *,
        function: CredentialCallable | None = None,
        path: Path | None = None,
    ) -> None:
        self._text = text
        self._callable = function
        self._path = path
        self._value: str | None = text

    def __repr__(self) -> str:
        kind = "file" if self._path else "callable" if self._callable else "text"
        return f"Credential({kind}, hidden)"

    @property
    def source(self) -> str:
        """What tells this credential's account from another's; hashed before it is kept anywhere."""
        if self._path is not None:
            return f"file:{self._path}"
        if self._callable is not None:
            name = getattr(self._callable, "__qualname__", type(self._callable).__qualname__)
            return (
                f"callable:{getattr(self._callable, '__module__', '')}.{name}:{id(self._callable)}"
            )
        return f"text:{self._text}"

    @property
    def text(self) -> str | None:
        """The credential where it was given as a string, or as last read."""
        return self._value

    @property
    def can_change(self) -> bool:
        """Whether reading it again may give another value."""
        return self._callable is not None or self._path is not None

    async def read(self, *, is_fresh: bool = False) -> str | None:
        """Return the credential, asking its source where `is_fresh` or nothing was read yet."""
        if self._value is not None and not (is_fresh and self.can_change):
            return self._value
        if self._path is not None:
            self._value = self._path.read_text(encoding="utf-8").strip()
        elif self._callable is not None:
            value = self._callable()
            self._value = await value if inspect.isawaitable(value) else value
        return self._value


def account_key(base_url: str, project_id: str | None, source: str) -> str:
    """Return the account: BLAKE2 of where it is and who asks, 32 hex digits; it reveals neither."""
    parts = "\x1f".join((base_url.rstrip("/"), project_id or "", source))
    return hashlib.blake2b(parts.encode(), digest_size=16, person=b"memotel-account").hexdigest()
