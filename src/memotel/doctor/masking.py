"""Secrets out of what the doctor says: by what is said in the first place, and once more over all of it."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from memotel.settings import KEY_VARIABLES

HIDDEN = "***"
MIN_SECRET_CHARS = 4
"""Shorter values are words that occur by chance; a key or a password that short is none."""

_URL_VARIABLES = (
    "MEMOTEL_PROXY",
    "MEMOTEL_OUTBOX",
    "MEMORYSYNC_BASE_URL",
    "REKALL_API_URL",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
)
_PROXY_VARIABLES = ("http_proxy", "https_proxy", "all_proxy")


def without_userinfo(text: str) -> str:
    """Return a URL without its user and password and without what follows the path; other text as it is."""
    scheme, separator, rest = text.partition("://")
    if not separator:
        return text.rpartition("@")[2]
    bare = rest.partition("?")[0].partition("#")[0]
    return f"{scheme}://{bare.rpartition('@')[2]}"


def secrets_in(environ: Mapping[str, str], key_file: Path | None = None) -> tuple[str, ...]:
    """Return every secret that the environment and the key file hold, longest first."""
    found = {environ.get(name, "") for name in KEY_VARIABLES.values()}
    proxies = [*_PROXY_VARIABLES, *(name.upper() for name in _PROXY_VARIABLES)]
    for name in (*_URL_VARIABLES, *proxies):
        found |= _userinfo(environ.get(name, ""))
    found |= _content(key_file)
    spellings = {form for text in found for form in (text, text.strip())}
    return tuple(sorted((s for s in spellings if len(s) >= MIN_SECRET_CHARS), key=len)[::-1])


def scrubbed(text: str, secrets: Iterable[str]) -> str:
    """Return `text` with each secret replaced, however it is spelled in it."""
    for secret in secrets:
        for spelling in (secret, repr(secret)[1:-1], quote(secret, safe="")):
            text = text.replace(spelling, HIDDEN)
    return text


def _userinfo(url: str) -> set[str]:
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
    except ValueError:
        return {url.rpartition("@")[0]}
    raw = parts.netloc.rpartition("@")[0]
    password = parts.password or ""
    return {raw, password, unquote(password)}


def _content(path: Path | None) -> set[str]:
    if path is None:
        return set()
    try:
        return {path.read_text(encoding="utf-8").strip()}
    except (OSError, UnicodeDecodeError):
        return set()
