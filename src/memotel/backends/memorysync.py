"""MemorySync v1 on the wire: calls to requests, answers to values.

Sources: the public packages memorysync 1.10.1, ag2-memorysync 1.0.2 and 1.1.0, and the service's public
documentation (patterns, rate limits, silent degradation), read in November 2026.
"""

import time
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

from memotel.backends import jsontext
from memotel.backends.errors import success_body
from memotel.backends.memorysync_turn import (
    FAILED,
    IGNORED,
    MAX_TEXT_CHARS,
    OVER_QUOTA,
    STORED,
    Fate,
    fate_of,
    framework_of,
    role_of,
    session_of,
    speaker_of,
)
from memotel.backends.outgoing import header_value, user_header, user_of
from memotel.backends.reading import (
    SERVICE_NAMES,
    id_of,
    mapping_of,
    memories_of,
    request_id_of,
    unexpected,
)
from memotel.backends.retry_after import Clock, retry_after_s
from memotel.errors import ServiceUnavailableError
from memotel.http.messages import HttpRequest, HttpResponse
from memotel.outcomes import Provider, Speaker
from memotel.values import (
    Json,
    Memories,
    Memory,
    Recall,
    Save,
    Scope,
    Search,
    Write,
    WriteAnswer,
)

_TENANT_PATH: Final = "/org/projects"
_RECALL_PATH: Final = "/v1/memory/recall"
_QUERY_PATH: Final = "/v1/memory/query"
_TURN_PATH: Final = "/v1/memory/add_turn"
_ADD_PATH: Final = "/memory/add"
_LIST_TEMPLATE: Final = "/v1/memory/{tenant}/{user}/list"
_TEXTS: Final = ("value", "text", "raw_text")


class MemorySyncBackend:
    """MemorySync's codec. Pure, but for `clock`, asked when a `Retry-After` date has no `Date` beside it.

    Raises:
        ConfigurationError: `project_id` (`proj_` and 16 hex digits) cannot be sent in a header.
    """

    provider = Provider.MEMORYSYNC
    max_turn_chars = MAX_TEXT_CHARS
    needs_tenant = True
    write_operation = "upsert_memory"

    def __init__(self, project_id: str | None = None, *, clock: Clock = time.time) -> None:
        project = header_value("project_id", project_id) if project_id is not None else None
        self._project_headers = (("X-Project-ID", project),) if project is not None else ()
        self._clock = clock

    def credential_headers(self, credential: str | None) -> tuple[tuple[str, str], ...]:
        """Return the key's header (none for None) and the project's.

        Raises:
            ConfigurationError: the credential cannot be sent in a header.
        """
        if credential is None:
            return self._project_headers
        return (("X-API-Key", header_value("api_key", credential)), *self._project_headers)

    def tenant_request(self) -> HttpRequest:
        """Build the tenant look-up."""
        return HttpRequest("GET", _TENANT_PATH, _TENANT_PATH)

    def read_tenant(self, response: HttpResponse) -> str:
        """Return the tenant of the first project.

        Raises:
            AuthenticationError: 401 or 403, the key lacks that scope (or was refused for a moment).
            ServiceError: any other status that is not 2xx.
            ResponseFormatError: there is no project with a tenant.
        """
        match success_body(response, self.provider, self._clock):
            case [{"tenant_id": str(tenant)}, *_] if tenant:
                return tenant
        raise unexpected(response, self.provider, "no project that has a tenant")

    def recall_request(self, recall: Recall, tenant: str | None) -> HttpRequest:
        """Build a recall."""
        return _ask(_RECALL_PATH, recall.scope, tenant, prompt=recall.prompt, k=recall.top_k)

    def read_recall(self, response: HttpResponse) -> Memories:
        """Read a ready block and the memories behind it. Both empty: nothing relevant, or silent quota.

        Raises:
            ServiceError: the status is not 2xx.
            ResponseFormatError: neither a context nor memories, or of another type.
        """
        body = mapping_of(success_body(response, self.provider, self._clock))
        if "context" not in body and "memories" not in body:
            raise unexpected(response, self.provider, "neither context nor memories")
        context = body.get("context") or ""
        if not isinstance(context, str):
            raise unexpected(response, self.provider, "a context that is no text")
        memories = self._memories(body.get("memories"), response)
        return Memories(memories, context, request_id_of(response))

    def search_request(self, search: Search, tenant: str | None) -> HttpRequest:
        """Build a search."""
        return _ask(_QUERY_PATH, search.scope, tenant, prompt=search.query, k=search.limit)

    def read_search(self, response: HttpResponse) -> Memories:
        """Read memories, best first; items without text are dropped.

        Raises:
            ServiceError: the status is not 2xx.
            ResponseFormatError: the body has no list `memories`.
        """
        body = mapping_of(success_body(response, self.provider, self._clock))
        if "memories" not in body:
            raise unexpected(response, self.provider, "no memories")
        memories = self._memories(body["memories"], response)
        return Memories(memories, request_id=request_id_of(response))

    def list_request(self, scope: Scope, tenant: str, limit: int) -> HttpRequest:
        """Build the listing of a user's memories; its answer reads as a search's."""
        path = f"/v1/memory/{_path_part(tenant)}/{_path_part(user_of(scope))}/list?limit={limit}"
        return HttpRequest("GET", path, _LIST_TEMPLATE)

    def write_request(self, write: Write, tenant: str | None) -> HttpRequest:
        """Build the delivery of a write, exactly as the service's own adapters send a turn.

        The words are cut at 16,000 characters. No `occurred_at`: it is part of the replay key, and with
        one we would not converge with those adapters; the time goes into the metadata.
        """
        turn = write.turn
        words = jsontext.valid_text(turn.text[:MAX_TEXT_CHARS])
        role = role_of(turn.speaker)
        said_at = {"said_at": turn.said_at} if turn.said_at else {}
        body: dict[str, Json] = {
            "tenant_id": _required(tenant),
            "user_id": user_of(turn.scope),
            "source": turn.source or framework_of(write),
            "text": f"{role}: {words}",
            "role": "user" if turn.speaker is Speaker.HUMAN else "assistant",
            "speaker": speaker_of(write, words),
            "metadata": {**said_at, **turn.metadata, "session_id": session_of(write)},
            "sync_embed": False,
        }
        return HttpRequest("POST", _TURN_PATH, _TURN_PATH, jsontext.dumps(body))

    def read_write(self, response: HttpResponse) -> WriteAnswer:
        """Read the answer to a turn.

        Raises:
            ServiceUnavailableError: the service took the turn and failed to process it; send it again.
            ServiceError: the status is not 2xx.
            ResponseFormatError: the body says nothing that is documented.
        """
        body = mapping_of(success_body(response, self.provider, self._clock))
        if FAILED in (body.get("processing_status"), body.get("status")):
            raise self._failed(response)
        fate = fate_of(body)
        if fate is None:
            raise unexpected(response, self.provider, "no word on what became of the turn")
        return _answer(fate, id_of(body.get("memory_id")), body, response)

    def save_request(self, save: Save, tenant: str | None) -> HttpRequest:
        """Build an explicit add; the user goes into a header.

        Raises:
            ConfigurationError: a header cannot carry this user id unchanged.
        """
        body = {
            "text": save.text,
            "source": save.source or "memotel",
            "metadata": dict(save.metadata),
        }
        user = user_header(save.scope)
        headers = (("X-End-User-ID", user),)
        return HttpRequest("POST", _ADD_PATH, _ADD_PATH, jsontext.dumps(body), headers)

    def read_save(self, response: HttpResponse) -> WriteAnswer:
        """Read the answer to an explicit add: stored, nothing durable in it, or silent quota.

        Raises:
            ServiceError: the status is not 2xx.
            ResponseFormatError: none of the three.
        """
        body = mapping_of(success_body(response, self.provider, self._clock))
        record_id = id_of(body.get("id"))
        if record_id is not None:
            return _answer(STORED, record_id, body, response)
        match body.get("status"):
            case "skipped":
                return _answer(IGNORED, None, body, response)
            case "ok":
                return _answer(OVER_QUOTA, None, body, response)
        raise unexpected(response, self.provider, "no word on what became of the text")

    def idempotency_seed(self, write: Write) -> str | None:
        """Return the speaker of the turn, by which the service recognises a replay within 30 days."""
        return speaker_of(write, jsontext.valid_text(write.turn.text[:MAX_TEXT_CHARS]))

    def _memories(self, value: Json, response: HttpResponse) -> tuple[Memory, ...]:
        if value is None:
            return ()
        if not isinstance(value, list):
            raise unexpected(response, self.provider, "memories that are no list")
        return memories_of(value, ids="memory_id", texts=_TEXTS, scores=("score",))

    def _failed(self, response: HttpResponse) -> ServiceUnavailableError:
        request_id = request_id_of(response)
        suffix = f", request {request_id}" if request_id else ""
        name = SERVICE_NAMES[self.provider]
        return ServiceUnavailableError(
            f"{name} answered {response.status} ({FAILED}){suffix}: "
            "it could not process the turn; try again later",
            status_code=response.status,
            code=FAILED,
            retry_after_s=retry_after_s(response, None, self._clock),
            request_id=request_id,
        )


def _ask(path: str, scope: Scope, tenant: str | None, *, prompt: str, k: int) -> HttpRequest:
    body = {
        "tenant_id": _required(tenant),
        "user_id": user_of(scope),
        "prompt": prompt,
        "k": k,
    }
    return HttpRequest("POST", path, path, jsontext.dumps(body))


def _required(tenant: str | None) -> str:
    if not tenant:
        raise ValueError("MemorySync needs a tenant; look it up first")
    return tenant


def _path_part(text: str) -> str:
    """Percent-encode one part of a path; `.` and `..` too, which are no names in a path."""
    encoded = quote(text, safe="")
    return encoded.replace(".", "%2E") if encoded in {".", ".."} else encoded


def _answer(
    fate: Fate, record_id: str | None, record: Mapping[str, Json], response: HttpResponse
) -> WriteAnswer:
    return WriteAnswer(*fate, record_id, record, request_id_of(response))
