"""Rekall v2 on the wire: calls to requests, answers to values.

Whose memory a call is about follows from the credential: the wire has no field for a user. Where one credential serves
several people, a memory says in its metadata whose it is (`user_id`); `memotel.middleware.context` takes out what is
another's.

Sources: Rekall's AutoGen integration page and its public API documentation (v1 reference: errors,
limits, memory object), read in November 2026.
"""

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from memotel.backends import jsontext
from memotel.backends.errors import success_body
from memotel.backends.outgoing import header_value, user_of
from memotel.backends.reading import (
    id_of,
    mapping_of,
    memories_of,
    request_id_of,
    unexpected,
)
from memotel.backends.retry_after import Clock
from memotel.http.messages import HttpRequest, HttpResponse
from memotel.outcomes import Provider, QuotaEvidence, Speaker, WriteOutcome
from memotel.values import (
    Json,
    Memories,
    Memory,
    Recall,
    Save,
    Scope,
    Search,
    Turn,
    Write,
    WriteAnswer,
)

MAX_CONTENT_CHARS: Final = 50_000
"""Longest `content` that Rekall takes."""

MEMORY_TYPES: Final = frozenset(
    {
        "episodic",
        "semantic",
        "procedural",
        "long_term",
        "short_term",
        "execution",
        "preferences",
    }
)

_WRITE_PATH: Final = "/api/v2/memories"
_SEARCH_PATH: Final = "/api/v2/memories/search"
_ENVELOPES: Final = ("data", "results", "memories")
_SCORES: Final = ("score", "relevance", "similarity")
_USER: Final = "user_id"
_CONFLICT: Final = 409
_ROLES: Final = {Speaker.HUMAN: "user", Speaker.AI: "assistant"}


class RekallBackend:
    """Rekall's codec. Pure, but for `clock`, asked when a `Retry-After` date has no `Date` beside it."""

    provider = Provider.REKALL
    max_turn_chars = MAX_CONTENT_CHARS
    needs_tenant = False
    write_operation = "create_memory"

    def __init__(self, *, clock: Clock = time.time) -> None:
        self._clock = clock

    def credential_headers(self, credential: str | None) -> tuple[tuple[str, str], ...]:
        """Return the bearer header; none where the account's own headers carry the credential.

        Raises:
            ConfigurationError: the credential cannot be sent in a header.
        """
        if credential is None:
            return ()
        return (("Authorization", f"Bearer {header_value('api_key', credential)}"),)

    def tenant_request(self) -> HttpRequest:
        """Refuse: Rekall has no tenants (`needs_tenant` is False)."""
        raise NotImplementedError("Rekall has no tenants")

    def read_tenant(self, response: HttpResponse) -> str:
        """Refuse: Rekall has no tenants (`needs_tenant` is False)."""
        raise NotImplementedError("Rekall has no tenants")

    def recall_request(self, recall: Recall, tenant: str | None) -> HttpRequest:
        """Build a recall: a search for the prompt."""
        return _search(recall.prompt, recall.top_k)

    def read_recall(self, response: HttpResponse) -> Memories:
        """Read the answer to a recall; raises as `read_search`."""
        return self.read_search(response)

    def search_request(self, search: Search, tenant: str | None) -> HttpRequest:
        """Build a search of all that the credential sees: the wire has no field for the scope's user."""
        return _search(search.query, search.limit)

    def read_search(self, response: HttpResponse) -> Memories:
        """Read a list of memories in any documented envelope, each with its user; items without text are dropped.

        Raises:
            ServiceError: the status is not 2xx.
            ResponseFormatError: the body holds no list.
        """
        items = _listed(success_body(response, self.provider, self._clock))
        if items is None:
            raise unexpected(response, self.provider, "no list of memories")
        memories = memories_of(items, ids="id", texts=("content",), scores=_SCORES)
        return Memories(tuple(map(_with_user, memories)), request_id=request_id_of(response))

    def write_request(self, write: Write, tenant: str | None) -> HttpRequest:
        """Build the delivery of a write: the words, and whose they are and who said them when as metadata.

        Words beyond what Rekall takes are cut, and the metadata says so: a cut turn is kept, a refused one is lost.

        Raises:
            InvalidRequestError: the user id has no UTF-8 form.
        """
        turn = write.turn
        cut: dict[str, Json] = {"truncated": True} if len(turn.text) > MAX_CONTENT_CHARS else {}
        metadata = {**_circumstances(turn), **turn.metadata, **cut, **_owner(turn.scope)}
        return _create(turn.text[:MAX_CONTENT_CHARS], metadata, write.key)

    def read_write(self, response: HttpResponse) -> WriteAnswer:
        """Read the answer to a write. A 409 is a key already used: the service has it.

        Raises:
            ServiceError: any other status that is not 2xx.
            ResponseFormatError: the body is no memory with an id.
        """
        request_id = request_id_of(response)
        if response.status == _CONFLICT:
            return WriteAnswer(WriteOutcome.DUPLICATE, request_id=request_id)
        record = _created(success_body(response, self.provider, self._clock))
        record_id = id_of(record.get("id"))
        if record_id is None:
            raise unexpected(response, self.provider, "no memory with an id")
        return WriteAnswer(
            WriteOutcome.STORED, QuotaEvidence.HEALTHY, record_id, record, request_id
        )

    def save_request(self, save: Save, tenant: str | None) -> HttpRequest:
        """Build an explicit add, under the save's own key; raises as `write_request`."""
        source: dict[str, Json] = {"source": save.source} if save.source else {}
        return _create(save.text, {**source, **save.metadata, **_owner(save.scope)}, save.key)

    def read_save(self, response: HttpResponse) -> WriteAnswer:
        """Read the answer to an explicit add, as `read_write`."""
        return self.read_write(response)

    def idempotency_seed(self, write: Write) -> str | None:
        """Return None: the key goes out as it is."""
        return None


def _search(query: str, limit: int) -> HttpRequest:
    body = jsontext.dumps({"query": query, "limit": limit})
    return HttpRequest("POST", _SEARCH_PATH, _SEARCH_PATH, body)


def _create(content: str, metadata: Mapping[str, Json], key: str) -> HttpRequest:
    body = jsontext.dumps(
        {
            "content": content,
            "type": _type_of(metadata),
            "metadata": {**metadata, "idempotency_key": key},
        }
    )
    return HttpRequest("POST", _WRITE_PATH, _WRITE_PATH, body, (("Idempotency-Key", key),))


def _type_of(metadata: Mapping[str, Json]) -> str:
    named = metadata.get("type")
    return named if isinstance(named, str) and named in MEMORY_TYPES else "semantic"


def _circumstances(turn: Turn) -> dict[str, Json]:
    """Return what is known of an utterance; a turn's own metadata has precedence."""
    known = {
        "role": _ROLES.get(turn.speaker),
        "session_id": turn.scope.session_id,
        "speaker": turn.speaker_name,
        "said_at": turn.said_at,
        "source": turn.source,
    }
    return {name: value for name, value in known.items() if value}


def _owner(scope: Scope) -> dict[str, Json]:
    """Return whose memory it is. No other field has precedence: it keeps the users of one credential apart."""
    return {_USER: user_of(scope)} if scope.user_id else {}


def _with_user(memory: Memory) -> Memory:
    """Return a memory with the user whom its metadata names; it is nobody's where it was added by other means."""
    named = id_of(memory.metadata.get(_USER))
    return memory if named is None else replace(memory, user_id=named)


def _listed(body: Json) -> list[Json] | None:
    """Return the list of memories: bare, or one or two envelopes deep; None where there is none."""
    for _ in range(2):
        if not isinstance(body, dict):
            break
        name = next((name for name in _ENVELOPES if name in body), None)
        body = body.get(name) if name else None
        body = [] if name and body is None else body
    return body if isinstance(body, list) else None


def _created(body: Json) -> Mapping[str, Json]:
    outer = mapping_of(body)
    return mapping_of(outer.get("data")) if "id" not in outer else outer
