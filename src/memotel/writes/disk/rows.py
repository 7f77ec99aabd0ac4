"""A waiting write as a row of an outbox file, and back: with its account, never with a credential."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from memotel.backends.jsontext import plain
from memotel.outcomes import Adapter, Provider, Speaker
from memotel.values import Scope, Turn, Write

COLUMNS: Final = (
    "number, account, key, provider, size_bytes, accepted_at, expires_at, parked_at, body"
)
"""The columns of a waiting write, in the order that `row_of` reads."""

Values = tuple[Any, ...]
_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_SPEAKERS: Final = {speaker.value: speaker for speaker in Speaker}
_ADAPTERS: Final = {adapter.value: adapter for adapter in Adapter}


@dataclass(frozen=True, slots=True)
class Row:
    """A write that waits in an outbox file. Wall-clock seconds.

    Attributes:
        number: what the file knows it by.
        write: the write, its account included.
        provider: the service that it is for.
        size_bytes: what it counts against the outbox's bytes.
        expires_at: when it is given up.
        parked_at: since when it waits for a quota; None where it does not.
    """

    number: int
    write: Write
    provider: Provider
    size_bytes: int
    expires_at: float
    parked_at: float | None = None


def pack(write: Write) -> bytes:
    """Return what a row keeps of a write beside its account, its key and the time of its acceptance.

    Text goes in as it is, also where it has no UTF-8 form (half a surrogate pair). Metadata that JSON does not know
    goes in as a backend would send it.
    """
    turn = write.turn
    fields = {
        "user": turn.scope.user_id,
        "session": turn.scope.session_id,
        "speaker": turn.speaker.value,
        "text": turn.text,
        "name": turn.speaker_name,
        "message": turn.message_id,
        "observer": turn.observer,
        "said_at": turn.said_at,
        "source": turn.source,
        "metadata": turn.metadata or None,
        "adapter": write.adapter.value,
        "occurrence": write.occurrence,
        "trace": write.trace,
    }
    try:
        text = _encode(fields)
    except (TypeError, ValueError, RecursionError):
        text = _encode(fields | {"metadata": plain(turn.metadata)})
    return text.encode("utf-8", "surrogatepass")


def unpack(body: bytes, account: str, key: str, accepted_at: float) -> Write:
    """Return the write that `pack` packed; raises `ValueError` where the body is none.

    A speaker or an adapter that a later version added reads as `OTHER` and `DIRECT`.
    """
    try:
        fields = json.loads(body.decode("utf-8", "surrogatepass"))
        return _write(fields, account, key, accepted_at)
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError("the row holds no write") from error


def _write(fields: Mapping[str, Any], account: str, key: str, accepted_at: float) -> Write:
    text, metadata = fields["text"], fields.get("metadata") or {}
    if not (isinstance(text, str) and isinstance(metadata, dict)):
        raise TypeError("no words")
    turn = Turn(
        Scope(fields["user"], fields["session"]),
        _SPEAKERS.get(fields["speaker"], Speaker.OTHER),
        text,
        speaker_name=fields.get("name"),
        message_id=fields.get("message"),
        observer=fields.get("observer") or "",
        said_at=fields.get("said_at"),
        source=fields.get("source") or "",
        metadata=metadata,
    )
    hash((turn.scope, turn.observer))  # what writes are found by
    return Write(
        turn,
        key,
        account,
        accepted_at,
        _ADAPTERS.get(fields["adapter"], Adapter.DIRECT),
        occurrence=int(fields.get("occurrence") or 1),
        trace=fields.get("trace"),
    )


def values_of(row: Row) -> Values:
    """Return a row as the file stores it, in the order of `COLUMNS`."""
    write = row.write
    return (
        row.number,
        write.account,
        write.key,
        row.provider.value,
        row.size_bytes,
        write.accepted_at,
        row.expires_at,
        row.parked_at,
        pack(write),
    )


def row_of(values: Values) -> Row:
    """Return the row whose `COLUMNS` are given; raises `ValueError` where they hold none."""
    number, account, key, provider, size_bytes, accepted_at, expires_at, parked_at, body = values
    times = (accepted_at, expires_at, 0.0 if parked_at is None else parked_at)
    if not (isinstance(size_bytes, int) and all(isinstance(at, float) for at in times)):
        raise ValueError("the row's numbers are none")
    write = unpack(body, account, key, accepted_at)
    return Row(number, write, Provider(provider), size_bytes, expires_at, parked_at)
