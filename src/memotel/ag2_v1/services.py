"""The service half: one class a service, each little more than its signature."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Unpack

from memotel.ag2_v1.base import AgentMemory
from memotel.client import MemoryClient
from memotel.credentials import CredentialCallable
from memotel.errors import ConfigurationError, MemotelError
from memotel.memory.errors import MemorySyncAPIError
from memotel.memory.options import Options
from memotel.memory.scopes import checked_id, scope_of
from memotel.memory.template import DEFAULT_CONTEXT_TEMPLATE, REKALL_CONTEXT_TEMPLATE
from memotel.outcomes import Adapter, Provider
from memotel.settings import resolve


class MemorySyncMemory(AgentMemory):
    """MemorySync as the long-term memory of AG2 agents; see `Options` for the settings without a line of their own here.

    Args:
        user_id: whose memory it is; required.
        session_id: the session that turns are filed under; a new one where none is given.
        api_key: the key, or a callable (sync or async) that returns it; else MEMORYSYNC_API_KEY.
        base_url: where the service is; else MEMORYSYNC_BASE_URL or the public service.
        project_id: the project (`proj_...`), where the key has several.
        context_template: what is put in front of the question; `{context}` in it is replaced, never formatted.
        persist_roles: whose words are kept, of "human" and "ai".
        source: the name under which the service files the turns.
        api_key_file: a file that holds the key, read again when it is refused.
        headers: sent with every request.

    Raises:
        ConfigurationError: a setting is wrong; the message names it, the value and what is allowed.
    """

    def __init__(
        self,
        user_id: str,
        session_id: str | None = None,
        *,
        api_key: str | CredentialCallable | None = None,
        base_url: str | None = None,
        project_id: str | None = None,
        context_template: str = DEFAULT_CONTEXT_TEMPLATE,
        persist_roles: Collection[str] = ("human", "ai"),
        source: str = "ag2",
        api_key_file: str | Path | None = None,
        headers: Mapping[str, str] | None = None,
        **options: Unpack[Options],
    ) -> None:
        settings = resolve(
            Provider.MEMORYSYNC,
            Adapter.AG2_V1,
            url=base_url,
            api_key=api_key,
            api_key_file=api_key_file,
            project_id=project_id,
            headers=headers,
            **options,
        )
        super().__init__(
            MemoryClient(settings),
            scope=scope_of(checked_id("user_id", user_id), session_id),
            template=context_template,
            persist_roles=persist_roles,
            source=source,
        )

    def _as_raised(self, error: MemotelError) -> MemotelError:
        return MemorySyncAPIError.of(error)


class RekallMemory(AgentMemory):
    """Rekall as the long-term memory of AG2 agents; see `Options` for the settings without a line of their own here.

    Args:
        user_id: whose memory. Rekall itself knows a user by the key alone; where one key serves several people, what was
            written under another user_id is neither shown nor found. Without one, it is all that the key sees.
        session_id: the session that turns are filed under; a new one where none is given.
        api_url: where the service is; else REKALL_API_URL or the public service.
        api_key: the key (`rk_...`), or a callable that returns it; else REKALL_API_KEY.
        access_token: a token (`rat_...`) in place of a key, or a callable that returns it.
        context_template: what is put in front of the question; `{context}` in it is replaced, never formatted.
        persist_roles: whose words are kept, of "human" and "ai".
        source: the name under which the service files the turns.
        api_key_file: a file that holds the key, read again when it is refused.
        headers: sent with every request; may carry the authentication.

    Raises:
        ConfigurationError: a setting is wrong; the message names it, the value and what is allowed.
    """

    def __init__(
        self,
        user_id: str = "",
        session_id: str | None = None,
        *,
        api_url: str | None = None,
        api_key: str | CredentialCallable | None = None,
        access_token: str | CredentialCallable | None = None,
        context_template: str = REKALL_CONTEXT_TEMPLATE,
        persist_roles: Collection[str] = ("human", "ai"),
        source: str = "ag2",
        api_key_file: str | Path | None = None,
        headers: Mapping[str, str] | None = None,
        **options: Unpack[Options],
    ) -> None:
        if api_key is not None and access_token is not None:
            raise ConfigurationError("api_key and access_token are both given; give one of them")
        settings = resolve(
            Provider.REKALL,
            Adapter.AG2_V1,
            url=api_url,
            api_key=api_key if access_token is None else access_token,
            api_key_file=api_key_file,
            headers=headers,
            **options,
        )
        super().__init__(
            MemoryClient(settings),
            scope=scope_of(user_id, session_id),
            template=context_template,
            persist_roles=persist_roles,
            source=source,
        )
