"""The credentials that the server accepts, and what each may do."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from memotel.devserver.errors import ApiError, Code
from memotel.devserver.routes import Service


class Permission(StrEnum):
    """What a key may do; by default all three."""

    PROJECTS = "projects"
    READ = "read"
    WRITE = "write"


@dataclass(frozen=True, slots=True)
class Account:
    """The holder of a credential, known by a fingerprint; the credential itself is not kept."""

    fingerprint: str
    permissions: frozenset[Permission]

    @property
    def tenant(self) -> str:
        """The MemorySync tenant: the fixed ``default`` for a key that may not list projects."""
        may_list = Permission.PROJECTS in self.permissions
        return f"tenant_{self.fingerprint}" if may_list else "default"

    @property
    def project(self) -> str:
        """The MemorySync project used where the request names none."""
        return f"proj_{self.fingerprint}"

    def require(self, permission: Permission) -> None:
        """Raise a 403 unless the account has the permission."""
        if permission not in self.permissions:
            message = f"This key lacks the scope {permission}."
            raise ApiError(403, Code.SCOPE_INSUFFICIENT, message)


DEVELOPMENT: Final = Account("development", frozenset(Permission))


class Keyring:
    """Which keys are good. Without a list any key is; keys can be revoked and restricted.

    Not thread-safe: the server's loop owns it.
    """

    def __init__(self, keys: Iterable[str] | None = None) -> None:
        self._known = None if keys is None else {fingerprint_of(key) for key in keys}
        self._revoked: set[str] = set()
        self._permissions: dict[str, frozenset[Permission]] = {}

    def revoke(self, key: str) -> None:
        """Answer 401 to this key from now on."""
        self._revoked.add(fingerprint_of(key))

    def restore(self, key: str) -> None:
        """Take a revocation back."""
        self._revoked.discard(fingerprint_of(key))

    def permit(self, key: str, permissions: Iterable[Permission]) -> None:
        """Let this key do these things only."""
        self._permissions[fingerprint_of(key)] = frozenset(permissions)

    def account(self, key: str) -> Account:
        """Return the account of a key.

        Raises:
            ApiError: 401, the key is unknown or revoked; a token (``rat_``): expired.
        """
        fingerprint = fingerprint_of(key)
        if fingerprint in self._revoked and key.startswith("rat_"):
            raise ApiError(401, Code.TOKEN_EXPIRED, "The access token has expired.")
        is_known = self._known is None or fingerprint in self._known
        if not is_known or fingerprint in self._revoked:
            raise ApiError(401, Code.UNAUTHORIZED, "The API key is invalid.")
        return Account(fingerprint, self._permissions.get(fingerprint, frozenset(Permission)))


def account_in(service: Service, headers: Mapping[str, str]) -> str:
    """Return the fingerprint of the credential in a request's headers, good or bad.

    `DEVELOPMENT` where Rekall's caller has none; header names are in lower case.
    """
    if service is Service.MEMORYSYNC:
        return fingerprint_of(headers.get("x-api-key", ""))
    key = headers.get("authorization", "").partition(" ")[2]
    return fingerprint_of(key) if key else DEVELOPMENT.fingerprint


def fingerprint_of(key: str) -> str:
    """Return 16 hex digits that stand for a credential."""
    return hashlib.blake2b(key.encode(), digest_size=8).hexdigest()
