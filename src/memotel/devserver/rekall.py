"""Rekall v2: its handlers. Source: its AutoGen integration page and public API reference, 2026-11."""

import json
from datetime import UTC, datetime
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from memotel.devserver.errors import ApiError, Code
from memotel.devserver.fields import Fields
from memotel.devserver.gate import Caller
from memotel.devserver.keys import DEVELOPMENT, Permission
from memotel.devserver.routes import Service
from memotel.devserver.shapes import Envelope
from memotel.devserver.store import Fate, Found, Item, NewItem, Scope
from memotel.devserver.world import World

MAX_CONTENT: Final = 50_000
TYPES: Final = frozenset(
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


def identify(world: World, request: Request) -> Caller:
    """Return the caller by ``Authorization: Bearer rk_...|rat_...``, else by ``x-user-id``.

    ``x-user-id`` beside a key tells the key's users apart.
    """
    user = request.headers.get("x-user-id", "")
    authorization = request.headers.get("authorization")
    if authorization is None and user:
        return Caller(DEVELOPMENT, user)
    scheme, _, key = (authorization or "").partition(" ")
    if scheme.lower() != "bearer" or not key.startswith(("rk_", "rat_")):
        raise ApiError(401, Code.UNAUTHORIZED, "Authorization: Bearer rk_... is missing.")
    return Caller(world.keys.account(key), user)


def create(world: World, caller: Caller, request: Request, body: bytes) -> Response:
    """Store a memory once per idempotency key; 409 for a key already used."""
    caller.account.require(Permission.WRITE)
    new = _new(Fields.of(body), request)
    scope = _scope(caller)
    known = world.store.find_key(scope, new.key, Fate.STORED)
    if known is not None:
        world.store.count_delivery(known)
        raise ApiError(409, Code.CONFLICT, "This idempotency key was already used.")
    item = world.store.add(scope, new, Fate.STORED, world.now())
    return JSONResponse(_created(world, item), 201)


def search(world: World, caller: Caller, request: Request, body: bytes) -> Response:
    """Return the relevant memories, the best first."""
    caller.account.require(Permission.READ)
    fields = Fields.of(body)
    query = fields.text("query", most=MAX_CONTENT)
    limit = fields.count("limit", default=10, most=100)
    fields.check()
    found = world.store.search(_scope(caller), query, limit)
    memories = [_scored(world, one) for one in found]
    envelope = world.shapes.envelope
    return JSONResponse(memories if envelope is Envelope.BARE else {envelope: memories})


def _new(fields: Fields, request: Request) -> NewItem:
    content = fields.text("content", most=MAX_CONTENT)
    kind = fields.optional_text("type") or "semantic"
    metadata = fields.mapping("metadata")
    fields.check(400)
    if kind not in TYPES:
        allowed = ", ".join(sorted(TYPES))
        raise ApiError(400, Code.INVALID_MEMORY_TYPE, f"The type must be one of: {allowed}.")
    in_body = metadata.get("idempotency_key")
    key = request.headers.get("idempotency-key") or (in_body if isinstance(in_body, str) else "")
    return NewItem(content, type=kind, metadata=json.dumps(metadata), key=key)


def _scope(caller: Caller) -> Scope:
    return Scope(Service.REKALL, caller.account.fingerprint, "", "", caller.user)


def _created(world: World, item: Item) -> dict[str, object]:
    is_bare = world.shapes.envelope is Envelope.BARE
    return _memory(item) if is_bare else {"data": _memory(item)}


def _memory(item: Item) -> dict[str, object]:
    return {
        "id": f"mem_{item.id}",
        "type": item.type,
        "content": item.text,
        "metadata": json.loads(item.metadata),
        "created_at": datetime.fromtimestamp(item.created_at, UTC).isoformat(),
    }


def _scored(world: World, found: Found) -> dict[str, object]:
    return {**_memory(found.item), world.shapes.score: found.score}
