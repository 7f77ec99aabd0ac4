"""Where a credential comes from, how it is read again without ever being shown, and what else may hold one."""

import hashlib
import inspect
import re
from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import NoReturn, Self
from urllib.parse import SplitResult, urlsplit

from memotel.errors import ConfigurationError
from memotel.wording import kind_of

_NAME = re.compile(r"[a-z0-9.:/-]{0,20}")  # no key of a service: these have a prefix and a "_"
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

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a Credential cannot be pickled: it would carry a secret out of the process"
        )

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
            self._value = carried("api_key_file", self._path.read_text(encoding="utf-8"))
        elif self._callable is not None:
            value = self._callable()
            value = await value if inspect.isawaitable(value) else value
            self._value = carried("what the api_key callable returns", value)
        return self._value


def carried(name: str, value: object) -> str:
    """Return a key without the blanks around it; raises `ConfigurationError` where no header carries it."""
    key = value.strip() if isinstance(value, str) else ""
    if key and all(" " <= char <= "~" for char in key):
        return key
    got = kind_of(value)
    if isinstance(value, str):
        got = "text with other characters" if key else "an empty value"
    raise ConfigurationError(f"{name} must be a key of printable ASCII characters, not {got}")


def masked(text: str) -> str:
    """Return a URL as a message may show it: nothing before an "@", no query; other text only where it is a short name."""
    scheme, separator, rest = text.partition("://")
    if not separator or not scheme.isalnum():
        return repr(text) if _NAME.fullmatch(text) else "text without a scheme"
    bare, mark, _ = rest.replace("#", "?").partition("?")
    if mark and "@" in rest[len(bare) :]:
        return f"'{scheme}://***'"
    _, at, place = bare.rpartition("@")
    return repr(f"{scheme}://{'***@' if at else ''}{place}{'?***' if mark else ''}")


def url_parts(url: object) -> SplitResult | None:
    """Return the parts of an http:// or https:// URL with a usable host and port, else None."""
    return _parts(url) if isinstance(url, str) else None


@lru_cache(64)
def _parts(url: str) -> SplitResult | None:
    if any(char <= " " or char == "\x7f" for char in url):
        return None
    try:
        parts = urlsplit(url)
        is_url = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    return parts if is_url else None


def exists(path: object) -> bool:
    """Whether it is the text of a path that is there; one that cannot be looked up is not."""
    try:
        return isinstance(path, str) and bool(path) and Path(path).exists()
    except (OSError, ValueError):
        return False


def are_headers(headers: object) -> bool:
    """Whether this is a mapping of what can be request headers."""
    return isinstance(headers, Mapping) and all(_is_header(*pair) for pair in headers.items())


def _is_header(name: object, value: object) -> bool:
    if not (isinstance(name, str) and isinstance(value, str) and name.strip()):
        return False
    return not any(char in name + value for char in "\r\n\0")


def account_key(base_url: str, project_id: str | None, source: str) -> str:
    """Return the account: BLAKE2 of where it is and who asks, 32 hex digits; it reveals neither."""
    parts = "\x1f".join((base_url.rstrip("/"), project_id or "", source))
    return hashlib.blake2b(
        parts.encode(errors="surrogatepass"), digest_size=16, person=b"memotel-account"
    ).hexdigest()
