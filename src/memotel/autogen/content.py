"""Between AutoGen's `MemoryContent` and the text that a memory service keeps.

| content | kept as |
|---|---|
| text, markdown, HTML and other `text/*` | the text |
| a JSON string | the string |
| a dict | its JSON, keys in their order |
| bytes of a text or JSON type | their UTF-8 text |
| an image, other bytes | `metadata["description"]` in brackets with its type; an error without one |

Whatever cannot be kept is an `InvalidRequestError`; nothing is dropped silently.
"""

import json
from collections.abc import Mapping
from typing import Any

from memotel.autogen.compat import MemoryContent, MemoryMimeType
from memotel.errors import InvalidRequestError
from memotel.values import Json, Memory
from memotel.wording import kind_of

MIME_KEY = "mime_type"
"""Metadata field in which a type other than plain text is kept beside the text."""


def mime_of(content: MemoryContent) -> str:
    """Return the MIME type as a string."""
    mime = content.mime_type
    return mime.value if isinstance(mime, MemoryMimeType) else str(mime)


def to_text(content: MemoryContent) -> str:
    """Return the text that stands for `content`; raises `InvalidRequestError` where none does."""
    given: object = content
    if not hasattr(given, "content"):
        raise _refused(f"content must be a MemoryContent, not {kind_of(given)}")
    value: object = content.content
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return _json_text(value)
    mime = mime_of(content)
    if isinstance(value, bytes | bytearray) and _is_textual(mime):
        return _decoded(bytes(value), mime)
    return _described(content, mime)


def _json_text(value: Mapping[str, object]) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise _refused("a dict must hold JSON values only") from error


def _is_textual(mime: str) -> bool:
    return mime.startswith("text/") or mime == MemoryMimeType.JSON.value or mime.endswith("+json")


def _decoded(value: bytes, mime: str) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _refused(f"bytes of type {mime} must be UTF-8") from error


def _described(content: MemoryContent, mime: str) -> str:
    description = (content.metadata or {}).get("description")
    if isinstance(description, str) and description.strip():
        kind = "image" if mime.startswith("image/") else mime
        return f"[{kind}: {description.strip()}]"
    raise _refused(
        f"content of type {mime} is kept as its description: set metadata['description']"
    )


def _refused(reason: str) -> InvalidRequestError:
    return InvalidRequestError(reason, status_code=0)


def metadata_of(content: MemoryContent) -> dict[str, Json]:
    """Return a new dict with the caller's metadata, made of JSON values, and the MIME type if it is not plain text."""
    mime = mime_of(content)
    kept = {str(key): _as_json(value) for key, value in (content.metadata or {}).items()}
    return kept if mime == MemoryMimeType.TEXT.value else {**kept, MIME_KEY: mime}


def _as_json(value: Any) -> Json:
    if isinstance(value, Mapping):
        return {str(key): _as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_as_json(item) for item in value]
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def from_memory(memory: Memory) -> MemoryContent:
    """Return a recalled item as AutoGen takes it: its `score` and `id` are in the metadata."""
    mime = memory.metadata.get(MIME_KEY)
    metadata: dict[str, Any] = {**memory.metadata, "id": memory.id, "score": memory.score}
    if mime == MemoryMimeType.JSON.value and (value := _parsed(memory.text)) is not None:
        return MemoryContent(content=value, mime_type=MemoryMimeType.JSON, metadata=metadata)
    is_markdown = mime == MemoryMimeType.MARKDOWN.value
    kind = MemoryMimeType.MARKDOWN if is_markdown else MemoryMimeType.TEXT
    return MemoryContent(content=memory.text, mime_type=kind, metadata=metadata)


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
