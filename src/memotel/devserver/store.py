"""The stored items in SQLite, in memory or in a file, with a full-text index (FTS5)."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from memotel.devserver.relevance import Match, scores, words_of
from memotel.devserver.routes import Service


class Fate(StrEnum):
    """What became of a write: kept as a memory, or found to hold nothing worth keeping."""

    STORED = "stored"
    IGNORED = "ignored"


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose memory it is. Nothing crosses from one scope to another.

    ``account`` is the fingerprint of the credential; Rekall has neither tenant nor project.
    """

    service: Service
    account: str
    tenant: str
    project: str
    user: str


@dataclass(frozen=True, slots=True)
class NewItem:
    """A write as it came. ``key`` is its replay or idempotency key, empty for none."""

    text: str
    type: str = ""
    role: str = ""
    speaker: str = ""
    source: str = ""
    occurred_at: str = ""
    metadata: str = "{}"
    key: str = ""


@dataclass(frozen=True, slots=True)
class Item:
    """A stored or ignored write.

    ``deliveries`` is how often it has arrived (1: exactly once); ``metadata`` is JSON text;
    ``created_at`` is in unix seconds of the server's clock.
    """

    id: int
    scope: Scope
    fate: Fate
    text: str
    type: str
    role: str
    speaker: str
    source: str
    occurred_at: str
    metadata: str
    key: str
    deliveries: int
    created_at: float


@dataclass(frozen=True, slots=True)
class Found:
    """A memory that a search found, with its score from 0 to 1."""

    item: Item
    score: float


# Of each word of a query: the newest memories that have it, which bounds the cost of a search.
CANDIDATES: Final = 100

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS scopes (
    id INTEGER PRIMARY KEY, service TEXT, account TEXT, tenant TEXT, project TEXT, user TEXT,
    UNIQUE (service, account, tenant, project, user));
CREATE TABLE IF NOT EXISTS items (
    id INTEGER PRIMARY KEY, scope INTEGER NOT NULL REFERENCES scopes, fate TEXT NOT NULL,
    text TEXT, type TEXT, role TEXT, speaker TEXT, source TEXT, occurred_at TEXT, metadata TEXT,
    key TEXT, deliveries INTEGER NOT NULL DEFAULT 1, created_at REAL NOT NULL);
CREATE INDEX IF NOT EXISTS items_by_key ON items (scope, key);
CREATE VIRTUAL TABLE IF NOT EXISTS texts USING fts5 (scope, text, tokenize = 'porter unicode61');
"""
_INSERT: Final = """
INSERT INTO items (scope, fate, created_at, text, type, role, speaker, source, occurred_at,
                   metadata, key)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_SELECT: Final = """
SELECT i.id, s.service, s.account, s.tenant, s.project, s.user, i.fate, i.text, i.type, i.role,
       i.speaker, i.source, i.occurred_at, i.metadata, i.key, i.deliveries, i.created_at
FROM items i JOIN scopes s ON s.id = i.scope
"""


class Store:
    """The items of all scopes. Not thread-safe: the server's loop owns it.

    ``path`` is a file, or ``:memory:``.
    """

    def __init__(self, path: str = ":memory:") -> None:
        self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._scope_ids: dict[Scope, int] = {}
        self._db.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;" + _SCHEMA)

    def close(self) -> None:
        """Close the database. Idempotent."""
        self._db.close()

    def clear(self) -> None:
        """Forget every item of every scope."""
        self._scope_ids.clear()
        with self._transaction():
            for table in ("items", "texts", "scopes"):
                self._db.execute(f"DELETE FROM {table}")  # noqa: S608  # names from the line above

    def add(self, scope: Scope, new: NewItem, fate: Fate, now: float) -> Item:
        """Store a write; only a `Fate.STORED` one can be found by a search."""
        scope_id = self._scope_id(scope)
        texts = (new.text, new.type, new.role, new.speaker, new.source, new.occurred_at)
        with self._transaction():
            cursor = self._db.execute(_INSERT, (scope_id, fate, now, *texts, new.metadata, new.key))
            item_id = cursor.lastrowid or 0
            if fate is Fate.STORED:
                self._index(item_id, scope_id, new.text)
        return Item(item_id, scope, fate, *texts, new.metadata, new.key, 1, now)

    def find_key(self, scope: Scope, key: str, fate: Fate, since: float = 0.0) -> Item | None:
        """Return the newest item of the scope with that key, created after ``since``."""
        items = self._items(
            "WHERE i.scope = ? AND i.key = ? AND i.fate = ? AND i.created_at > ?"
            " ORDER BY i.id DESC LIMIT 1",
            *(self._scope_id(scope), key, fate, since),
        )
        return items[0] if items and key else None

    def count_delivery(self, item: Item) -> None:
        """Note that the item has arrived once more."""
        self._db.execute("UPDATE items SET deliveries = deliveries + 1 WHERE id = ?", (item.id,))

    def search(self, scope: Scope, query: str, limit: int) -> list[Found]:
        """Return the scope's memories with words in common with the query, the best first."""
        words = words_of(query)
        ranked = scores(self._matches(scope, words), len(words))
        best = list(ranked.items())[:limit]
        return [Found(self._one("WHERE i.id = ?", item_id), score) for item_id, score in best]

    def memories(self, scope: Scope, limit: int) -> list[Item]:
        """Return the scope's memories, the newest first."""
        return self._items(
            "WHERE i.scope = ? AND i.fate = ? ORDER BY i.id DESC LIMIT ?",
            *(self._scope_id(scope), Fate.STORED, limit),
        )

    def items(self) -> list[Item]:
        """Return every item of every scope in the order of arrival."""
        return self._items("ORDER BY i.id")

    def _matches(self, scope: Scope, words: tuple[str, ...]) -> dict[int, Match]:
        matches: dict[int, Match] = {}
        scope_word = f"s{self._scope_id(scope)}"
        for word in words:
            for item_id, bm25 in self._db.execute(
                "SELECT rowid, bm25(texts, 0.0, 1.0) FROM texts WHERE texts MATCH ?"
                " ORDER BY rowid DESC LIMIT ?",
                (f'scope:"{scope_word}" AND text:"{word}"', CANDIDATES),
            ):
                match = matches.setdefault(item_id, Match())
                match.words += 1
                match.bm25 -= bm25
        return matches

    def _index(self, item_id: int, scope_id: int, text: str) -> None:
        self._db.execute(
            "INSERT INTO texts (rowid, scope, text) VALUES (?, ?, ?)",
            (item_id, f"s{scope_id}", text),
        )

    def _scope_id(self, scope: Scope) -> int:
        if scope not in self._scope_ids:
            self._scope_ids[scope] = self._stored_scope_id(scope)
        return self._scope_ids[scope]

    def _stored_scope_id(self, scope: Scope) -> int:
        values = (scope.service, scope.account, scope.tenant, scope.project, scope.user)
        self._db.execute(
            "INSERT INTO scopes (service, account, tenant, project, user) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT DO NOTHING",
            values,
        )
        row = self._db.execute(
            "SELECT id FROM scopes WHERE (service, account, tenant, project, user)"
            " = (?, ?, ?, ?, ?)",
            values,
        ).fetchone()
        return int(row[0])

    def _one(self, where: str, item_id: int) -> Item:
        return self._items(where, item_id)[0]

    def _items(self, where: str, *values: object) -> list[Item]:
        return [_item(*row) for row in self._db.execute(_SELECT + where, values)]

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            yield


def _item(*row: object) -> Item:
    item_id, service, account, tenant, project, user, fate, *rest = row
    scope = Scope(Service(str(service)), str(account), str(tenant), str(project), str(user))
    return Item(item_id, scope, Fate(str(fate)), *rest)  # type: ignore[arg-type]  # as _SELECT has them
