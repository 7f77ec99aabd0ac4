"""MemorySync v1: its handlers. Source: the service's public packages and documentation, 2026-11."""

import json
import re
from typing import Final
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from memotel.devserver.errors import ApiError, Code
from memotel.devserver.fields import Fields
from memotel.devserver.gate import Caller
from memotel.devserver.keys import Permission
from memotel.devserver.routes import Service, list_parts
from memotel.devserver.shapes import QuotaEvidence
from memotel.devserver.store import Fate, Found, Item, NewItem, Scope
from memotel.devserver.turns import (
    REPLAY_WINDOW_S,
    Processing,
    fact_of,
    is_a_persons,
    is_low_value,
    replay_key,
)
from memotel.devserver.world import World

MAX_TEXT: Final = 100_000
_PROJECT_ID: Final = re.compile(r"proj_[0-9a-f]{16}")


def identify(world: World, request: Request) -> Caller:
    """Return the caller by ``X-API-Key``; the end user, if told, by ``X-End-User-ID``."""
    key = request.headers.get("x-api-key")
    if not key:
        raise ApiError(401, Code.UNAUTHORIZED, "X-API-Key is missing.")
    return Caller(world.keys.account(key), request.headers.get("x-end-user-id", ""))


def projects(world: World, caller: Caller, request: Request, body: bytes) -> Response:
    """List the key's projects; the first one names its tenant."""
    caller.account.require(Permission.PROJECTS)
    account = caller.account
    return JSONResponse(
        [{"id": account.project, "name": "Development", "tenant_id": account.tenant}]
    )


def recall(world: World, caller: Caller, request: Request, body: bytes) -> Response:
    """Return the relevant memories and a block of text ready for a prompt, empty for none."""
    found = _found(world, caller, request, body)
    context = "\n".join(f"- {_shown(one.item)}" for one in found)
    return JSONResponse({"context": context, "memories": [_memory(world, one) for one in found]})


def query(world: World, caller: Caller, request: Request, body: bytes) -> Response:
    """Return the relevant memories, the best first."""
    found = _found(world, caller, request, body)
    return JSONResponse({"memories": [_memory(world, one) for one in found]})


def add_turn(world: World, caller: Caller, request: Request, body: bytes) -> Response:
    """Take a turn of a conversation: store it, recognise it, ignore it, or be over the quota."""
    caller.account.require(Permission.WRITE)
    fields = Fields.of(body)
    user, turn = _user(fields), _turn(fields)
    fields.check()
    scope = _scope(caller, request, _tenant(caller, fields), user)
    if caller.is_over_quota:
        return _quota_evidence(world, request)
    return _processed(request, _take(world, scope, turn))


def add(world: World, caller: Caller, request: Request, body: bytes) -> Response:
    """Store a text as a memory of the end user that ``X-End-User-ID`` names."""
    caller.account.require(Permission.WRITE)
    if not caller.user:
        raise ApiError(400, Code.MISSING_END_USER_ID, "X-End-User-ID is missing.")
    fields = Fields.of(body)
    note = NewItem(fields.text("text", most=MAX_TEXT), source=fields.optional_text("source"))
    metadata = json.dumps(fields.mapping("metadata"))
    fields.check()
    scope = _scope(caller, request, caller.account.tenant, caller.user)
    if caller.is_over_quota:
        return JSONResponse({"status": "ok"})
    if is_low_value(note.text):
        return JSONResponse({"status": "skipped", "reason": Processing.SKIPPED_LOW_VALUE})
    new = NewItem(note.text, source=note.source, metadata=metadata)
    item = world.store.add(scope, new, Fate.STORED, world.now())
    return JSONResponse({"id": item.id, "text": item.text, "status": "ok"})


def list_memories(world: World, caller: Caller, request: Request, body: bytes) -> Response:
    """List a user's memories, the newest first."""
    caller.account.require(Permission.READ)
    parts = list_parts(request.scope["raw_path"].decode("ascii"))
    if parts is None:
        raise ApiError(404, Code.NOT_FOUND, "Not Found")
    tenant, user = (unquote(part) for part in parts)
    scope = _scope(caller, request, _allowed(caller, tenant), user)
    items = world.store.memories(scope, _limit(request))
    return JSONResponse({"memories": [_listed(world, item) for item in items]})


def _found(world: World, caller: Caller, request: Request, body: bytes) -> list[Found]:
    caller.account.require(Permission.READ)
    fields = Fields.of(body)
    user, prompt = _user(fields), fields.text("prompt", most=MAX_TEXT)
    limit = fields.count("k", default=5, most=100)
    fields.check()
    scope = _scope(caller, request, _tenant(caller, fields), user)
    return [] if caller.is_over_quota else world.store.search(scope, prompt, limit)


def _user(fields: Fields) -> str:
    return fields.text("user_id", most=1_000)


def _tenant(caller: Caller, fields: Fields) -> str:
    tenant = fields.text("tenant_id", most=1_000)
    fields.check()
    return _allowed(caller, tenant)


def _allowed(caller: Caller, tenant: str) -> str:
    if tenant not in (caller.account.tenant, "default"):
        raise ApiError(403, Code.SCOPE_INSUFFICIENT, "This key has no access to that tenant.")
    return tenant


def _scope(caller: Caller, request: Request, tenant: str, user: str) -> Scope:
    project = request.headers.get("x-project-id", caller.account.project)
    if not _PROJECT_ID.fullmatch(project):
        raise ApiError(400, Code.VALIDATION, "X-Project-ID is not proj_ and 16 hex digits.")
    return Scope(Service.MEMORYSYNC, caller.account.fingerprint, tenant, project, user)


def _turn(fields: Fields) -> NewItem:
    text, speaker = fields.text("text", most=MAX_TEXT), fields.optional_text("speaker")
    occurred_at = fields.instant("occurred_at")
    return NewItem(
        text,
        role=fields.optional_text("role"),
        speaker=speaker,
        source=fields.optional_text("source"),
        occurred_at=occurred_at,
        metadata=json.dumps(fields.mapping("metadata")),
        key=replay_key(speaker, occurred_at, text),
    )


def _take(world: World, scope: Scope, turn: NewItem) -> Processing:
    """Decide what becomes of a turn, and keep it."""
    now = world.now()
    processing = _judge(turn)
    fate = Fate.STORED if processing is Processing.DISTILLING else Fate.IGNORED
    known = world.store.find_key(scope, turn.key, fate, now - REPLAY_WINDOW_S)
    if known is None:
        world.store.add(scope, turn, fate, now)
        return processing
    world.store.count_delivery(known)
    return Processing.SKIPPED_REPLAY if fate is Fate.STORED else processing


def _judge(turn: NewItem) -> Processing:
    if not is_a_persons(turn.role, turn.speaker, turn.text):
        return Processing.SKIPPED_NON_USER_TURN
    return Processing.SKIPPED_LOW_VALUE if is_low_value(turn.text) else Processing.DISTILLING


def _processed(request: Request, processing: Processing) -> Response:
    is_stored = processing is Processing.DISTILLING
    answer = {
        "memory_id": None,
        "status": "processing" if is_stored else "ok",
        "processing_status": processing,
        "already_exists": processing is Processing.SKIPPED_REPLAY,
        "request_id": request.state.request_id,
    }
    return JSONResponse(answer, 201)


def _quota_evidence(world: World, request: Request) -> Response:
    if world.shapes.quota_evidence is QuotaEvidence.BARE_OK:
        return JSONResponse({"status": "ok"})
    response = _processed(request, Processing.SKIPPED)
    response.status_code = 200
    return response


def _memory(world: World, found: Found) -> dict[str, object]:
    item = found.item
    return {"memory_id": f"m_{item.id}", world.shapes.text: _shown(item), "score": found.score}


def _listed(world: World, item: Item) -> dict[str, object]:
    return {
        "memory_id": f"m_{item.id}",
        world.shapes.text: _shown(item),
        "source": item.source,
        "metadata": json.loads(item.metadata),
        "created_at": item.created_at,
    }


def _shown(item: Item) -> str:
    """Return a memory's text; of a turn without the speaker in front."""
    return fact_of(item.text) if item.speaker or item.role else item.text


def _limit(request: Request) -> int:
    text = request.query_params.get("limit", "50")
    if not text.isdecimal() or not 1 <= int(text) <= 1_000:
        raise ApiError(422, Code.VALIDATION, "limit must be a whole number from 1 to 1000.")
    return int(text)
